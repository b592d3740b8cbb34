"""The command streamnb.

Law: an error is one sentence on standard error and exit status 2, never a traceback. What only some commands need is
imported by them: help and mistakes answer at once.
"""

import io
import json
import os
import signal
import sys
from typing import Any, NoReturn

import click

from consumers.config import DECISION_SETTINGS, FIELD_SETTINGS, SCORE_SETTINGS, Config
from consumers.errors import BrokerError, InterruptedRunError, RefusalError
from consumers.flags import KAFKA_FLAGS, configured, given_flags, make_console, read_config
from consumers.kafka import commands as kafka_commands
from consumers.kafka.settings import KafkaSettings
from consumers.kafka.topics import is_kafka
from consumers.settings import KAFKA, Setting, load, settings

_ALL = {setting.name for setting in settings()}
_STATE_ONLY = {"snapshots", "keep_snapshots", "snapshot_records", "snapshot_seconds"}
_LATE = {"labels", "max_waiting", "tell_unmatched"}
_EVALUATED = _ALL - _STATE_ONLY - {"output", "dead_letters", "explain", "drift", "tell_unmatched"}
_READ = {"inputs", "format", "max_record_bytes", *FIELD_SETTINGS}
_PREDICTED = {*_READ, *SCORE_SETTINGS, *DECISION_SETTINGS, *_LATE, "output", "dead_letters", "explain", "drift"}
_NOT_UNLEARNED = "not-unlearned.jsonl"


@click.group(context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(package_name="streamnb")
def cli() -> None:
    """Naive Bayes for streams of events: predicts, learns as labels come, goes on where it stopped."""


@cli.command()
@configured(_ALL | KAFKA_FLAGS)
def run(file: str | None, **flags: Any) -> None:
    """Predict each event, then learn it if it has a label."""
    config = read_config(file, flags)
    _run(config, emit=True)


@cli.command()
@configured(_ALL - {"output", "explain"} | KAFKA_FLAGS)
def train(file: str | None, **flags: Any) -> None:
    """Learn and measure; write no predictions."""
    _run(read_config(file, flags), emit=False)


def _run(config: Config, *, emit: bool) -> None:
    """Run, then show the report and where everything is."""
    from consumers import programs, report

    console, of_topics = make_console(), is_kafka(config)
    try:
        if of_topics:
            from consumers.kafka import programs as kafka_programs

            state = kafka_programs.run(config, console, emit=emit)
        else:
            state = programs.run(config, console, emit=emit, keep=True)
    except InterruptedRunError as error:
        where = "committed" if of_topics else f"saved in {config.snapshots}"
        error.saved = f"; all that was read is {where}, and the same command goes on from there"
        raise
    report.show_report(console, report.summary(state), config.label)
    if of_topics:
        return
    _where(console, {"predictions": config.output} if emit else {}, config)
    console.print(f"snapshots: {config.snapshots}")


@cli.command()
@click.argument("snapshot")
@configured(_PREDICTED | KAFKA_FLAGS)
def predict(snapshot: str, file: str | None, **flags: Any) -> None:
    """Predict with SNAPSHOT, a file or a folder of them, or a topic of states; learn nothing.

    What is label, id, and to be ignored is known from the snapshot, where the flags do not say otherwise.
    """
    from consumers import programs, report

    config, console = read_config(file, flags), make_console()
    given = set(given_flags(flags))
    if is_kafka(config):
        from consumers.kafka import programs as kafka_programs

        state = kafka_programs.predict(config, console, snapshot, given)
        report.show_report(console, report.summary(state), config.label)
        return
    state = programs.predict(config, console, snapshot, given)
    report.show_report(console, report.summary(state), config.label)
    _where(console, {"predictions": config.output}, config)


@cli.command()
@configured(_EVALUATED)
@click.option("--json", "as_json", is_flag=True, help="Print the report as JSON.")
def evaluate(file: str | None, as_json: bool, **flags: Any) -> None:
    """Predict, learn and measure; write nothing but the report."""
    from consumers import programs, report

    config = read_config(file, flags)
    if is_kafka(config):
        raise RefusalError("evaluate reads files: streamnb train measures what it learns from topics")
    state = programs.run(config, make_console(), emit=False, keep=False)
    if as_json:
        click.echo(json.dumps(report.summary(state)))
    else:
        report.show_report(make_console(stderr=False), report.summary(state), config.label)


@cli.command()
@click.argument("snapshot")
@configured({"application"})
@click.option("--json", "as_json", is_flag=True, help="Print everything as JSON.")
@click.option("--top", default=5, show_default=True, type=click.IntRange(min=0), help="Values to show of a feature.")
@click.option("--feature", help="The one feature to show.")
def inspect(snapshot: str, file: str | None, as_json: bool, top: int, feature: str | None, **flags: Any) -> None:
    """Show what is in SNAPSHOT, a file or a folder of them, or a topic of states."""
    from consumers import programs, report
    from streamnb.describe import describe

    state, recorded, lengths = programs.read_known(snapshot, read_config(file, flags).kafka, make_console())
    try:
        described = describe(state.model, top, feature)
    except ValueError as error:
        raise RefusalError(str(error)) from error
    positions = [
        {"stream": stream, "partition": partition, "offset": offset}
        for (stream, partition), offset in state.positions.items()
    ]
    if as_json:
        whole = {"model": described, "report": report.summary(state), "positions": positions}
        click.echo(json.dumps({**whole, "settings": recorded, "outputs": lengths}))
        return
    console = make_console(stderr=False)
    report.show_model(console, described)
    if feature is not None:
        return
    report.show_report(console, report.summary(state), recorded.get("label", "label"))
    for place in positions:
        partition = f", partition {place['partition']}" if place["partition"] else ""
        console.print(f"position: {report.printable(place['stream'])}{partition}, next offset {place['offset']:,}")


@cli.command()
@click.argument("snapshots", nargs=-1, required=True)
@click.option("-o", "--output", required=True, help="The file to write the merged snapshot to.")
@configured({"application"})
def merge(snapshots: tuple[str, ...], output: str, file: str | None, **flags: Any) -> None:
    """Merge SNAPSHOTS, files or folders of them, or topics of states, into the model of them all."""
    from consumers import edit

    state = edit.merge(snapshots, output, read_config(file, flags).kafka, make_console())
    make_console().print(f"{output}: {len(snapshots)} snapshots merged, {state.model.learned:,} events learned")


@cli.command()
@click.argument("snapshot")
@configured(_READ | {"dead_letters"}, dead_letters=_NOT_UNLEARNED)
def unlearn(snapshot: str, file: str | None, **flags: Any) -> None:
    """Take events back out of SNAPSHOT, a file or a folder of them: what is left is as if they had never come.

    Label, weight and time of each event have to be those it was learned with. In a folder, older snapshots, which still
    hold the events, are removed. The inputs of a TOML file, which were learned, are not taken for those to unlearn.
    """
    from consumers import edit

    given, console = set(given_flags(flags)), make_console()
    config = read_config(file, {"dead_letters": _NOT_UNLEARNED, "inputs": ("-",), **given_flags(flags)})
    taken_back, reasons = edit.unlearn(snapshot, config, console, given)
    console.print(f"{snapshot}: {taken_back:,} events unlearned")
    for reason, count in reasons.most_common():
        console.print(f"not unlearned, {reason}: {count:,} (in {config.dead_letters})")
    if reasons:
        sys.exit(1)


@cli.command()
@click.argument("snapshot")
@click.argument("event")
@click.option("--label", help="The class to explain, as JSON or text.  [default: the most probable]")
@click.option("--against", help="The class to compare it with.  [default: the most probable of the others]")
@click.option("--json", "as_json", is_flag=True, help="Print the explanation as JSON.")
@configured({"application"})
def explain(
    snapshot: str,
    event: str,
    label: str | None,
    against: str | None,
    as_json: bool,
    file: str | None,
    **flags: Any,
) -> None:
    """Tell why SNAPSHOT, a file, a folder of them or a topic of states, gives EVENT, a JSON object, its class.

    EVENT is read from standard input where it is -.
    """
    from consumers import programs, report

    kafka = read_config(file, flags).kafka
    explanation = programs.explain(snapshot, kafka, event, label, against, make_console())
    if as_json:
        click.echo(json.dumps(report.reasons(explanation)))
        return
    for line in str(explanation).split("\n"):
        click.echo(report.printable(line))


@cli.command("config")
@click.option("--config", "file", metavar="FILE", help="A TOML file of settings to lay over the defaults.")
def showread_config(file: str | None) -> None:
    """Print every setting with its value and its meaning, as TOML."""
    config = read_config(file, {})
    _show_settings(settings(), config)
    click.echo(f"\n[{KAFKA}]  # flags too, but for topics, which addresses name (kafka://HOST:PORT/TOPIC), and secrets")
    _show_settings(settings(KafkaSettings), config.kafka)


def _show_settings(shown: list[Setting], holder: Any) -> None:
    for setting in shown:
        value = getattr(holder, setting.name)
        text = json.dumps(list(value) if setting.several else value, ensure_ascii=False)
        if setting.secret and value:
            click.echo(f"# {setting.name} is set  # {setting.description}")
        else:
            click.echo(f"{setting.name} = {text}  # {setting.description}")


@cli.command()
@click.option("--folder", default="streamnb-demo", show_default=True, help="Where the stream and the results go.")
def demo(folder: str) -> None:
    """Run on a real stream that river ships: 49,097 sensor readings of a space shuttle, anomalies labelled."""
    from consumers.demo import write_stream

    stream = write_stream(folder)
    config = load(
        None,
        {
            "inputs": (stream,),
            "label": "anomaly",
            "output": f"{folder}/predictions.jsonl",
            "dead_letters": f"{folder}/dead-letters.jsonl",
            "snapshots": f"{folder}/snapshots",
        },
        {},
    )
    _run(config, emit=True)


for command in (kafka_commands.topics, kafka_commands.replay, kafka_commands.lag):
    cli.add_command(command)


def _where(console: Any, outputs: dict[str, str], config: Config) -> None:
    drift = {"drifts": config.drift} if config.drift else {}
    for name, path in {**outputs, "dead letters": config.dead_letters, **drift}.items():
        console.print(f"{name}: {'standard output' if path == '-' else path}")


def main() -> None:
    """Run the command, and say what went wrong in one sentence."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")
    try:
        cli.main(prog_name="streamnb", standalone_mode=False, obj=os.environ)
    except click.ClickException as error:
        _fail(error.format_message(), 2)
    except (click.Abort, KeyboardInterrupt):
        _fail("stopped by SIGINT", 128 + signal.SIGINT)
    except OSError as error:  # such as a full disk behind standard output; a reader that leaves is click's to notice
        _fail(f"standard output cannot be written: {error.strerror}", 1)
    except RefusalError as error:
        _fail(str(error), 2)
    except BrokerError as error:
        _fail(str(error), 1)
    except InterruptedRunError as error:
        _fail(f"{error}{error.saved}", 128 + error.signal)


def _fail(message: str, status: int) -> NoReturn:
    click.echo(f"streamnb: {message}", err=True)
    sys.exit(status)


if __name__ == "__main__":
    main()
