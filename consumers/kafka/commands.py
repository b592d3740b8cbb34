"""The commands about Kafka alone: topics create, replay, lag.

Law: as of the command streamnb, of which they are a part.
"""

import sys
from typing import Any

import click

from consumers.config import Config
from consumers.errors import ConfigError
from consumers.flags import configured, make_console, read_config
from consumers.kafka.topics import is_kafka, with_topics

_SECURITY = {
    *("security_protocol", "sasl_mechanism", "username", "token_file"),
    *("ssl_ca", "ssl_certificate", "ssl_key", "ssl_check_hostname", "secrets"),
}
_CONNECTION = {"brokers", "application", "client", "connect_seconds", *_SECURITY}
_TOPICS = {"inputs", "labels", "output", "dead_letters", "snapshots", "drift"}


@click.group()
def topics() -> None:
    """Make the topics that an application reads and writes."""


@topics.command()
@click.option(
    "--partitions",
    type=click.IntRange(1, 100_000),
    default=4,
    show_default=True,
    help="Of topics of events that are not there yet.",
)
@click.option(
    "--replication",
    type=click.IntRange(1, 32_767),
    help="How often each partition is kept.  [default: the cluster's own]",
)
@configured(_TOPICS | _CONNECTION | {"max_message_bytes"})
def create(file: str | None, partitions: int, replication: int | None, **flags: Any) -> None:
    """Make all topics of the settings that are not there; extend those that are too small, and check the others.

    INPUTS are topics of events, as kafka://HOST:PORT/TOPIC. Topics that are read together get as many partitions each,
    and those that are written as many as they. The exit status is 1 if one has settings that will not do.
    """
    from contextlib import closing

    from consumers.kafka.clients import connect
    from consumers.kafka.creating import create_topics

    kafka = _read_topics(read_config(file, flags)).kafka
    with closing(connect(kafka).admin()) as admin:
        told = create_topics(admin, kafka, partitions, replication or -1)
    for each in told:
        click.echo(f"{each.topic}: {each.text}")
    if not all(each.good for each in told):
        sys.exit(1)


@click.command()
@click.argument("path", metavar="FILE")
@click.argument("topic")
@click.option("--rate", type=click.FloatRange(0, 1e9), default=0.0, help="Events a second; 0 is as fast as possible.")
@click.option("--key", help="The field whose value is the key of the message.  [default: the id]")
@configured(
    {"format", "max_record_bytes", "label", "id", "categorical", "bag", "text"}
    | _CONNECTION
    | {"max_message_bytes", "transaction_seconds"},
)
def replay(path: str, topic: str, file: str | None, rate: float, key: str | None, **flags: Any) -> None:
    """Feed FILE, JSON Lines or CSV, or standard input (-), to TOPIC, a name or kafka://HOST:PORT/TOPIC.

    Rows of CSV become objects; their cells become numbers where they look like it, but for label, id, and what is
    declared to be no number. Records that are no events are told and not sent, and the exit status is 1 then.
    """
    from consumers.kafka.replaying import replay as run

    config = read_config(file, {**flags, "inputs": (path,)})
    dead = run(config, make_console(), topic, key=key or config.id, rate=rate)
    if dead:
        sys.exit(1)


@click.command()
@configured({"inputs", "labels", "group"} | _CONNECTION)
@click.option("--json", "as_json", is_flag=True, help="Print a line of JSON instead.")
@click.option("--watch", type=click.FloatRange(min=0.1), metavar="SECONDS", help="Look again and again.")
def lag(file: str | None, as_json: bool, watch: float | None, **flags: Any) -> None:
    """Show how far a group has read its topics, who reads them, and which states it has saved.

    INPUTS are topics of events, as kafka://HOST:PORT/TOPIC. The group is that of train and run; for predict, give
    --group APPLICATION-predict.
    """
    import time
    from contextlib import closing

    import msgspec

    from consumers.interrupts import Interrupts
    from consumers.kafka.clients import connect
    from consumers.kafka.lag import lines_of, progress_of

    kafka = _read_topics(read_config(file, flags)).kafka
    group = kafka.group or kafka.application
    with closing(connect(kafka).admin()) as admin, Interrupts() as interrupts:
        while True:
            progress = progress_of(admin, group, [*kafka.events, *kafka.labels], time.time())
            if as_json:
                click.echo(msgspec.json.encode({"group": group, "partitions": progress}))
            else:
                click.echo("\n".join(lines_of(group, progress)))
            if watch is None:
                return
            interrupts.pause(watch, time.sleep)


def _read_topics(config: Config) -> Config:
    """Return settings that name every topic; ConfigError where no topic of events is named."""
    if not is_kafka(config) and config.inputs == Config().inputs:
        raise ConfigError("no topic of events is named: give kafka://HOST:PORT/TOPIC, or events in the table [kafka]")
    return with_topics(config)
