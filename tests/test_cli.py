"""The commands: what they print, what they leave, and what they say when something is wrong."""

import gzip
import json
import os
import pty
import random
import shutil
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import orjson
import pytest

from consumers.cli import cli
from consumers.kafka.settings import KafkaSettings
from consumers.loop import SnapshotPolicy
from consumers.settings import settings
from consumers.snapshots import SnapshotFolder
from streamnb import NaiveBayes, load, save, snapshot
from streamnb.snapshot import VERSION
from tests.command import json_lines, predictions, streamnb, streamnb_process

ROOT = Path(__file__).resolve().parents[1]
LINES = b"".join(
    b'{"id":%d,"n":%d,"k":"%s","label":"%s"}\n' % (place, place % 5, b"xyz"[place % 3 :][:1], b"ab"[place % 2 :][:1])
    for place in range(60)
)


@pytest.fixture
def command(tmp_path, capfd, monkeypatch):
    """Return the command, in a folder that holds events.jsonl."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "events.jsonl").write_bytes(LINES)
    return lambda *arguments: streamnb(capfd, monkeypatch, *arguments)


def everything(folder: Path) -> dict[str, bytes]:
    """Return every file below a folder with its content."""
    return {str(path): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def test_run_leaves_predictions_dead_letters_and_a_snapshot_and_says_where(command, tmp_path):
    outcome = command("run", "events.jsonl")
    assert (outcome.status, outcome.out) == (0, "")
    for said in (
        "60 records read",
        "accuracy",
        "log loss",
        "Cohen's kappa",
        "accuracy of no change",
        "Kappa-Temporal",
        "Brier score",
        "expected calibration error",
        "reliability of the answers",
        "recall",
        "predictions.jsonl",
        "snapshots",
    ):
        assert said in outcome.err
    assert len(predictions(tmp_path / "predictions.jsonl")) == 60
    assert (tmp_path / "dead-letters.jsonl").read_bytes() == b""
    assert load((tmp_path / "snapshots" / f"{60:020d}.snapshot").read_bytes()).learned == 60


def test_the_report_is_plain_text_when_not_on_a_terminal(command):
    assert "\x1b" not in command("run", "events.jsonl").err


def test_run_again_goes_on_with_what_is_new(command, tmp_path):
    command("run", "events.jsonl")
    before = everything(tmp_path)
    again = command("run", "events.jsonl")
    assert "going on from the snapshot at record 60" in again.err
    assert everything(tmp_path) == before
    with (tmp_path / "events.jsonl").open("ab") as file:
        file.write(LINES)
    (tmp_path / "more.jsonl").write_bytes(LINES)
    command("run", "events.jsonl", "more.jsonl")
    answers = predictions(tmp_path / "predictions.jsonl")
    assert [answer.learned for answer in answers] == list(range(180))
    assert [answer.stream for answer in answers[120:]] == ["more.jsonl"] * 60


def test_train_writes_no_predictions_and_ends_in_the_state_that_run_ends_in(command, tmp_path):
    assert command("train", "events.jsonl", "--snapshots", "trained").status == 0
    assert not (tmp_path / "predictions.jsonl").exists()
    (tmp_path / "dead-letters.jsonl").unlink()
    command("run", "events.jsonl")
    models = [load((tmp_path / folder / f"{60:020d}.snapshot").read_bytes()) for folder in ("trained", "snapshots")]
    assert save(models[0]) == save(models[1])


def test_predict_answers_from_a_snapshot_and_learns_nothing(command, tmp_path):
    (tmp_path / "events.jsonl").write_bytes(LINES.replace(b"label", b"class"))
    command("train", "events.jsonl", "--label", "class")
    (tmp_path / "dead-letters.jsonl").unlink()
    before = everything(tmp_path / "snapshots")
    outcome = command("predict", "snapshots", "events.jsonl", "--output", "answers.jsonl")
    assert (outcome.status, everything(tmp_path / "snapshots")) == (0, before)
    model = load(max((tmp_path / "snapshots").iterdir()).read_bytes())
    events = json_lines(tmp_path / "events.jsonl")
    for answer, event in zip(predictions(tmp_path / "answers.jsonl"), events, strict=True):
        features = {"n": event["n"], "k": event["k"]}
        assert answer.label == model.predict_one(features)
        assert dict(answer.probabilities) == model.predict_proba_one(features)
        assert answer.learned == 60
    assert "accuracy" in outcome.err  # labels that are there, under the key that was learned, are measured


def test_predict_takes_a_model_saved_from_python_and_labels_it_never_saw(command, tmp_path):
    model = NaiveBayes()
    model.learn_one({"n": 1}, "other")
    (tmp_path / "model.snapshot").write_bytes(save(model))
    outcome = command("predict", "model.snapshot", "events.jsonl")
    assert outcome.status == 0
    assert "0.00%" in outcome.err
    assert {answer.label for answer in predictions(tmp_path / "predictions.jsonl")} == {"other"}


def test_predict_with_nothing_learned_gives_no_answers(command, tmp_path):
    (tmp_path / "model.snapshot").write_bytes(save(NaiveBayes()))
    assert command("predict", "model.snapshot", "events.jsonl").status == 0
    assert {(answer.label, tuple(answer.probabilities)) for answer in predictions(tmp_path / "predictions.jsonl")} == {
        (None, ())
    }


def test_evaluate_writes_nothing_but_its_report(command, tmp_path):
    before = everything(tmp_path)
    outcome = command("evaluate", "events.jsonl", "--json")
    assert everything(tmp_path) == before
    report = json.loads(outcome.out)
    assert (report["records"], report["measured"], report["unanswered"]) == (60, 59, 1)
    assert [each["class"] for each in report["classes"]] == ["a", "b"]
    assert "accuracy" in command("evaluate", "events.jsonl").out


def test_the_report_tells_of_calibration_and_no_change_over_how_many_events(command, tmp_path):
    """A model saved from Python answers "a" to 0.75: three of four are right, and of the last three two unchanged."""
    model = NaiveBayes()
    for label in "aaab":
        model.learn_one({}, label)
    (tmp_path / "model.snapshot").write_bytes(save(model))
    (tmp_path / "events.jsonl").write_text("".join(f'{{"label": "{label}"}}\n' for label in "baaa"))
    shown = command("predict", "model.snapshot", "events.jsonl").err
    told = {cells[1].strip(): [cell.strip() for cell in cells[2:-1]] for cells in _table_rows(shown)}
    assert told["accuracy"] == ["75.00%", "4"]
    assert told["accuracy of no change"] == ["66.67%", "3"]
    assert told["Kappa-Temporal"] == ["1.0000", "3"]
    assert told["Brier score"] == ["0.3750", "4"]
    assert told["expected calibration error"] == ["0.0000", "4"]
    assert told["0.7 - 0.8"] == ["4", "75.00%", "75.00%"]
    assert "0.8 - 0.9" not in shown  # no answer was as sure
    assert max(len(line) for line in shown.splitlines() if line[0] in "┏│") <= 80


def _table_rows(shown):
    return [line.split("│") for line in shown.splitlines() if line.startswith("│")]


def test_the_report_for_programs_has_every_bin_and_none_where_there_is_nothing_to_tell(command, tmp_path):
    (tmp_path / "events.jsonl").write_text('{"n": 1, "label": "a"}\n{"n": 1, "label": "a"}\n')
    report = json.loads(command("evaluate", "events.jsonl", "--json").out)
    assert (report["measured"], report["compared"], report["binned"]) == (1, 1, 1)
    assert (report["no_change_accuracy"], report["kappa_temporal"]) == (1.0, None)
    assert (report["brier_score"], report["expected_calibration_error"]) == (0.0, 0.0)
    assert [(each["above"], each["to"], each["events"]) for each in report["reliability"]] == [
        (place / 10, (place + 1) / 10, int(place == 9)) for place in range(10)
    ]
    assert report["reliability"][0] == {"above": 0.0, "to": 0.1, "events": 0, "probability": None, "right": None}
    assert report["reliability"][9]["probability"] == report["reliability"][9]["right"] == 1.0


def test_inspect_shows_what_is_in_a_snapshot(command):
    command("run", "events.jsonl")
    shown = command("inspect", "snapshots").out
    for said in ("classes", "numeric features", "categorical features", "'x'", "events.jsonl", "accuracy"):
        assert said in shown
    whole = json.loads(command("inspect", "snapshots", "--json", "--top", "1").out)
    assert whole["model"]["classes"] == [
        {"class": "a", "weight": 30.0, "prior": 0.5},
        {"class": "b", "weight": 30.0, "prior": 0.5},
    ]
    assert whole["model"]["numeric"][0]["classes"][0] == {"class": "a", "weight": 30.0, "mean": 2.0, "variance": 2.0}
    assert whole["model"]["categorical"] == [
        {"feature": "k", "distinct": 3, "values": [{"value": "x", "weights": [10.0, 10.0]}]}
    ]
    assert whole["positions"] == [{"stream": "events.jsonl", "partition": 0, "offset": len(LINES)}]
    assert whole["settings"]["label"] == "label"


def test_config_prints_every_setting_as_toml_that_runs(command, tmp_path):
    shown = command("config").out
    assert len(shown.splitlines()) == len(settings()) + len(["", "[kafka]"]) + len(settings(KafkaSettings))
    (tmp_path / "config.toml").write_text(shown)
    assert command("config", "--config", "config.toml").out == shown
    assert command("evaluate", "--config", "config.toml", "events.jsonl").status == 0


def test_flags_go_before_the_file(command, tmp_path):
    (tmp_path / "config.toml").write_text('inputs = ["none.jsonl"]\nlabel = "k"\nignore = ["label", "n"]\n')
    report = json.loads(command("evaluate", "--config", "config.toml", "events.jsonl", "--json").out)
    assert [each["class"] for each in report["classes"]] == ["x", "y", "z"]


@pytest.mark.parametrize(
    ("toml", "said"),
    [
        ("lable = 'y'", "lable is no setting: the settings are inputs, format, label"),
        ("smoothing = -1", "smoothing is -1: it must be a number"),
        ("smoothing = 'much'", "smoothing is 'much': it must be a number"),
        ("keep_snapshots = 0", "keep_snapshots is 0: it must be a whole number"),
        ("format = 'xml'", "format is 'xml': it must be one of auto, jsonl, csv"),
        ("unbiased = 1", "unbiased is 1: it must be true or false"),
        ("ignore = 'x'", "ignore is 'x': it must be a list, each of them a string"),
        ("ignore = ['label']", "a key can be only one of them"),
        ("numeric = ['a']\ncategorical = ['a']", "a key can be only one of them"),
        ("smoothing = 1e-300", "smoothing is 1e-300: it must be 0 or at least"),
        ("label", "config.toml is not TOML"),
        ("inputs = []", "inputs is []: it must be a list"),
        ("likelihoods = ['a=auto', 'a=1,2']", "likelihoods has 'a=1,2': the likelihood of 'a' is given twice"),
        ("text = ['a']\nlikelihoods = ['a=auto']", "likelihoods has 'a=auto', but 'a' is declared text"),
    ],
)
def test_a_wrong_setting_is_named_with_what_is_allowed(command, tmp_path, toml, said):
    (tmp_path / "config.toml").write_text(toml)
    outcome = command("run", "--config", "config.toml", *([] if "inputs" in toml else ["events.jsonl"]))
    assert outcome.status == 2
    assert said in outcome.err
    assert len(outcome.err.splitlines()) == 1


@pytest.mark.parametrize("flags", [["--format", "xml"], ["--smoothing", "much"], ["--no-such", "1"], ["--smoothing"]])
def test_a_wrong_flag_is_named(command, flags):
    outcome = command("run", "events.jsonl", *flags)
    assert outcome.status == 2
    assert flags[0] in outcome.err


def newer(data: bytes) -> bytes:
    """Return a snapshot as a later version of the format would begin it."""
    body = snapshot._HEAD.pack(snapshot.VERSION + 1, 0) + data[52:]
    return b"streamnb" + snapshot._digest(body) + body


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["run", "none.jsonl"], "none.jsonl cannot be read: No such file"),
        (["run", "folder"], "folder cannot be read: Is a directory"),
        (["run", "events.jsonl", "--output", "none/out.jsonl"], "there is no folder none"),
        (["run", "events.jsonl", "--output", "folder"], "folder cannot be written: it is a folder"),
        (["run", "events.jsonl", "--output", "there.jsonl"], "there.jsonl is there already, and no snapshot"),
        (["run", "events.jsonl", "--dead-letters", "none/dead.jsonl"], "there is no folder none"),
        (["run", "events.jsonl", "--snapshots", "there.jsonl"], "there.jsonl is not a folder"),
        (["run", "events.jsonl", "--snapshots", "none/deep"], "none is not a folder"),
        (
            ["run", "events.jsonl", "--snapshots", "newer"],
            f"its format is version {VERSION + 1}, and this program reads up to {VERSION}",
        ),
        (["run", "events.jsonl", "--snapshots", "damaged"], "every snapshot in damaged is damaged"),
        (
            ["run", "events.jsonl", "--snapshots", "other"],
            "label is 'label', and the snapshots in other were made with",
        ),
        (["run", "events.jsonl", "events.jsonl"], "inputs names events.jsonl twice"),
        (["run", "events.jsonl", "./events.jsonl"], "inputs names ./events.jsonl twice"),
        (["run", "events.jsonl", "--output", "x", "--dead-letters", "./x"], "./x and x are one file"),
        (["run", "none", "--output", "none"], "none cannot be read"),
        (["run", "events.jsonl", "--output", "../latest/events.jsonl"], "there is no folder"),
        (["run", "events.jsonl", "twice.csv"], "twice.csv cannot be read as CSV"),
        (["run", "events.jsonl", "caf\udce9.jsonl"], "its name is not UTF-8"),
        (["run", "events.jsonl", "--output", "caf\udce9.jsonl"], "its name is not UTF-8"),
        (["run", "events.jsonl", "--output", "x" * 300], "File name too long"),
        (["run", "events.jsonl", "--snapshots", "x" * 300], "File name too long"),
        (["predict", "x" * 300, "events.jsonl"], "File name too long"),
        (["run", "events.jsonl", "--output", "x", "--snapshots", "x"], "x is to hold snapshots"),
        (["run", "events.jsonl", "--output", "events.jsonl"], "events.jsonl is there already"),
        (["run", "events.jsonl", "--snapshot-seconds", "inf"], "snapshot_seconds is inf: it must be a number"),
        (["run", "events.jsonl", "--id", "k", "--label", "k"], "id is given 'k', and so is label"),
        (["run", "events.jsonl", "--config", "none.toml"], "config file none.toml cannot be read"),
        (["predict", "none", "events.jsonl"], "snapshot none cannot be read"),
        (["predict", "folder", "events.jsonl"], "there is no snapshot in the folder folder"),
        (["predict", "there.jsonl", "events.jsonl"], "it does not begin as a snapshot does"),
        (["inspect", "newer"], f"its format is version {VERSION + 1}"),
        (["evaluate", "none.jsonl"], "none.jsonl cannot be read"),
        (["demo", "--folder", "there.jsonl"], "cannot be written"),
    ],
)
def test_what_cannot_be_done_is_one_sentence_and_touches_nothing(command, tmp_path, arguments, said):
    model = save(NaiveBayes())
    (tmp_path / "folder").mkdir()
    (tmp_path / "there.jsonl").write_text("mine")
    (tmp_path / "twice.csv").write_text("a,a\n1,2\n")
    for folder, data in (("newer", newer(model)), ("damaged", model[:-1])):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / f"{1:020d}.snapshot").write_bytes(data)
    command("train", "events.jsonl", "--label", "k", "--snapshots", "other")
    (tmp_path / "dead-letters.jsonl").unlink()
    before = everything(tmp_path)
    outcome = command(*arguments)
    assert outcome.status == 2
    assert outcome.err.startswith("streamnb: ")
    assert said in outcome.err
    assert len(outcome.err.splitlines()) == 1
    assert everything(tmp_path) == before


def test_a_damaged_snapshot_is_named_and_the_one_before_it_serves(command, tmp_path):
    command("run", "events.jsonl")
    before = everything(tmp_path)
    newest = max((tmp_path / "snapshots").iterdir())
    data = bytearray(newest.read_bytes())
    data[len(data) // 2] ^= 1
    newest.write_bytes(data)
    outcome = command("run", "events.jsonl")
    assert outcome.status == 0
    assert f"snapshot snapshots/{newest.name} is damaged" in outcome.err
    assert everything(tmp_path) == before


def test_predict_and_inspect_name_a_damaged_snapshot_too(command, tmp_path):
    command("run", "events.jsonl")
    (tmp_path / "snapshots" / f"{61:020d}.snapshot").write_bytes(b"damaged")
    for arguments in (["inspect", "snapshots"], ["predict", "snapshots", "events.jsonl", "--output", "answers.jsonl"]):
        (tmp_path / "dead-letters.jsonl").unlink(missing_ok=True)
        outcome = command(*arguments)
        assert outcome.status == 0
        assert f"{61:020d}.snapshot is damaged" in outcome.err


def test_a_file_is_one_stream_however_its_path_is_spelled(command, tmp_path):
    command("run", "events.jsonl")
    before = everything(tmp_path)
    for path in ("./events.jsonl", str(tmp_path / "events.jsonl"), f"../{tmp_path.name}/events.jsonl"):
        assert command("run", path).status == 0
        assert everything(tmp_path) == before


def test_what_data_says_is_no_markup_and_moves_no_terminal(command, tmp_path):
    odd = ["[/b]", "[red]x", ":smile:", "a\x1b[31mRED"]
    lines = [{"k": text, f"n{text}": [1], "label": text} for text in odd] * 2
    (tmp_path / "events.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    said = command("run", "events.jsonl", "--output", "o[bold].jsonl").err + command("inspect", "snapshots").out
    for shown in ("'[/b]'", "'[red]x'", "':smile:'", "'a\\x1b[31mRED'", "o[bold].jsonl", "n:smile:", "na\\x1b[31mRED"):
        assert shown in said
    assert "\x1b" not in said


def test_names_lead_into_nested_objects(command, tmp_path):
    lines = [{"u": {"id": place, "y": "ab"[place % 2], "secret": place}, "n": place % 2} for place in range(6)]
    (tmp_path / "events.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    assert command("run", "events.jsonl", "--id", "u.id", "--label", "u.y", "--ignore", "u.secret").status == 0
    assert [answer.id for answer in predictions(tmp_path / "predictions.jsonl")] == list(range(6))
    model = load(max((tmp_path / "snapshots").iterdir()).read_bytes())
    assert (model.schema(), model.classes) == ({"n": "numeric"}, ["a", "b"])


def test_predict_knows_from_the_snapshot_what_is_label_and_id_unless_told(command, tmp_path):
    command("train", "events.jsonl", "--label", "k", "--id", "n", "--ignore", "label")
    for name, flags, ids in (("known", [], [0, 1, 2]), ("told", ["--id", "id"], [0, 1, 2])):
        outcome = command(
            "predict", "snapshots", "events.jsonl", "--output", name, "--dead-letters", f"{name}.dead", *flags
        )
        assert "measured over 60 labelled events" in outcome.err
        assert [answer.id for answer in predictions(tmp_path / name)][:3] == ids
    assert predictions(tmp_path / "known")[5].id == 0
    assert predictions(tmp_path / "told")[5].id == 5


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"a;b\n1;2\n" * 3, "every record is a dead letter: is the format right"),
        (b'{"n": 1}\n' * 3, "no event had a label under the key label"),
    ],
)
def test_a_run_that_learned_nothing_says_what_may_be_wrong(command, tmp_path, content, said):
    (tmp_path / "events.jsonl").write_bytes(content)
    assert said in command("run", "events.jsonl").err


def test_an_interrupt_before_there_is_anything_to_save_is_one_line(command, monkeypatch):
    def interrupted(*_, **__):
        raise KeyboardInterrupt

    monkeypatch.setattr("consumers.programs.run", interrupted)
    outcome = command("run", "events.jsonl")
    assert (outcome.status, outcome.err.strip()) == (130, "streamnb: stopped by SIGINT")


def test_a_snapshot_falls_due_while_standard_input_is_silent(tmp_path):
    command = [sys.executable, "-m", "consumers.cli", "run", "--output", "-", "--snapshot-seconds", "0.1"]
    with subprocess.Popen(command, cwd=tmp_path, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        process.stdin.write(LINES)
        process.stdin.flush()
        deadline = time.monotonic() + 60
        while not (tmp_path / "snapshots" / f"{60:020d}.snapshot").exists():
            assert time.monotonic() < deadline
            time.sleep(0.05)
        process.kill()
        process.stdin.close()


def test_a_file_that_lost_what_was_read_is_refused(command, tmp_path):
    command("run", "events.jsonl")
    (tmp_path / "events.jsonl").write_bytes(LINES[:100])
    assert "shorter than where the last run stopped" in command("run", "events.jsonl").err
    (tmp_path / "events.jsonl").write_bytes(LINES)
    (tmp_path / "predictions.jsonl").write_bytes(b"")
    assert "the last snapshot accounts for" in command("run", "events.jsonl").err


def test_a_compressed_file_that_lost_what_was_read_is_refused(command, tmp_path):
    (tmp_path / "events.jsonl.gz").write_bytes(gzip.compress(LINES))
    command("run", "events.jsonl.gz")
    for data in (gzip.compress(LINES[:100]), gzip.compress(LINES)[:100]):
        (tmp_path / "events.jsonl.gz").write_bytes(data)
        assert "shorter than where the last run stopped" in command("run", "events.jsonl.gz").err


def test_standard_input_to_standard_output(tmp_path):
    outcome = streamnb_process(tmp_path, "run", "--output", "-", stdin=LINES)
    assert outcome.status == 0
    assert [json.loads(line)["id"] for line in outcome.out.splitlines()] == list(range(60))
    again = streamnb_process(tmp_path, "run", "-", "--output", "-", stdin=LINES)
    assert json.loads(again.out.splitlines()[0])["learned"] == 60


def test_an_event_on_standard_input_is_answered_while_the_stream_is_open(tmp_path):
    command = [sys.executable, "-m", "consumers.cli", "run", "--output", "-"]
    with subprocess.Popen(command, cwd=tmp_path, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.stdin
        assert process.stdout
        for place in range(3):
            process.stdin.write(b'{"id":%d,"n":1,"label":"a"}\n' % place)
            process.stdin.flush()
            assert json.loads(process.stdout.readline())["id"] == place
        process.stdin.close()
        assert process.wait() == 0


def test_a_second_run_over_the_same_snapshots_is_refused_while_the_first_is_going(tmp_path):
    command = [sys.executable, "-m", "consumers.cli", "run", "--output", "-"]
    with subprocess.Popen(command, cwd=tmp_path, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        process.stdin.write(LINES)
        process.stdin.flush()
        process.stdout.readline()
        (tmp_path / "events.jsonl").write_bytes(LINES)
        before = everything(tmp_path)
        outcome = streamnb_process(tmp_path, "run", "events.jsonl")
        assert everything(tmp_path) == before
        process.stdin.close()
        assert process.wait() == 0
    assert outcome.status == 2
    assert outcome.err == "streamnb: another run is going on with the snapshots in snapshots: stop it first\n"


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_ends_a_run_with_all_saved(tmp_path, number):
    command = [sys.executable, "-m", "consumers.cli", "run", "--output", "-"]
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    with subprocess.Popen(command, cwd=tmp_path, **pipes) as process:
        process.stdin.write(LINES)
        process.stdin.flush()
        for _ in range(60):
            process.stdout.readline()
        process.send_signal(number)
        _, said = process.communicate(timeout=60)
    assert process.returncode == 128 + number
    assert said.decode().splitlines() == [
        (
            f"streamnb: stopped by {number.name}; all that was read is saved in snapshots, "
            "and the same command goes on from there"
        )
    ]
    assert load(max((tmp_path / "snapshots").iterdir()).read_bytes()).learned == 60


def turned(size: int, turn: int) -> bytes:
    """Return events of two classes whose numbers change places at one of them."""
    chance = random.Random(4)
    events = (
        {"n": chance.gauss(3 * ((place % 2) ^ (place >= turn)), 1), "label": "ab"[place % 2]} for place in range(size)
    )
    return b"".join(orjson.dumps(event) + b"\n" for event in events)


def test_a_drift_is_told_on_the_console_in_a_file_and_in_the_report(command, tmp_path):
    lines = turned(4_000, 2_000)
    (tmp_path / "events.jsonl").write_bytes(lines)
    outcome = command("run", "--model", "naive", "events.jsonl", "--drift", "drift.jsonl")
    (alarm,) = json_lines(tmp_path / "drift.jsonl")
    assert alarm.pop("offset") == sum(map(len, lines.splitlines(keepends=True)[:2_500]))
    before, after = ([alarm.pop(f"{name}_{when}") for name in ("wrong", "loss")] for when in ("before", "after"))
    assert before == pytest.approx([0.1, 0.2], abs=0.1)
    assert after == pytest.approx([0.8, 3.0], abs=1.0)
    assert alarm.pop("since") == pytest.approx(500, abs=50)
    # The first event is not measured, since nothing was learned before it.
    assert alarm == {"of": "predictions", "stream": "events.jsonl", "partition": 0, "measured": 2_500, "changed": []}
    told = [line for line in outcome.err.splitlines() if line.startswith("DRIFT")]
    assert len(told) == 1
    assert "of events.jsonl: log loss 0." in told[0]
    for said in ("drifts, at which what was learned came to hold less well: 1", "drifts: drift.jsonl"):
        assert said in outcome.err
    assert json.loads(command("inspect", "snapshots", "--json").out)["report"]["drifts"] == 1


def test_a_model_that_has_adapted_tells_what_changed_in_its_longest_memory(command, tmp_path):
    """Its predictions are as good as before within some ten events."""
    (tmp_path / "events.jsonl").write_bytes(turned(4_000, 2_000))
    outcome = command("run", "events.jsonl", "--drift", "drift.jsonl")
    (alarm,) = json_lines(tmp_path / "drift.jsonl")
    assert (alarm["of"], alarm["measured"]) == ("longest memory", 2_500)
    assert [name for name, _ in alarm["changed"]] == ["n"]
    assert "DRIFT: longest memory became worse" in outcome.err
    report = json.loads(command("inspect", "snapshots", "--json").out)["report"]
    assert report["accuracy"] > 0.9


def test_a_model_that_learns_no_more_is_told_by_its_predictions(command, tmp_path):
    (tmp_path / "events.jsonl").write_bytes(turned(1_000, 1_000))
    (tmp_path / "later.jsonl").write_bytes(turned(4_000, 2_000))
    command("train", "events.jsonl")
    command("predict", "snapshots", "later.jsonl", "--output", "-", "--drift", "drift.jsonl")
    (alarm,) = json_lines(tmp_path / "drift.jsonl")
    assert alarm["of"] == "predictions"


def test_a_run_that_goes_on_finds_the_drift_that_it_would_have_found(command, tmp_path):
    lines, half = turned(4_000, 2_000), 60_001
    (tmp_path / "whole.jsonl").write_bytes(lines)
    (tmp_path / "events.jsonl").write_bytes(lines[: lines.index(b"\n", half) + 1])
    names = ("--output", "answers.jsonl", "--dead-letters", "dead.jsonl", "--snapshots", "others")
    command("run", "--model", "naive", "whole.jsonl", "--drift", "whole-drift.jsonl", *names)
    command("run", "--model", "naive", "events.jsonl", "--drift", "drift.jsonl")
    (tmp_path / "events.jsonl").write_bytes(lines)
    assert "DRIFT" in command("run", "--model", "naive", "events.jsonl", "--drift", "drift.jsonl").err
    found = (tmp_path / "drift.jsonl").read_bytes()
    assert found.replace(b"events", b"whole") == (tmp_path / "whole-drift.jsonl").read_bytes() != b""
    before = everything(tmp_path)
    refused = command("predict", "snapshots", "whole.jsonl", "--drift", "drift.jsonl", "--output", "-")
    assert refused.status == 2
    assert "drift.jsonl is there already" in refused.err
    assert everything(tmp_path) == before


def test_a_drift_is_looked_for_where_it_is_asked_for_and_by_predict_too(command, tmp_path):
    (tmp_path / "events.jsonl").write_bytes(turned(4_000, 3_000)[:60_000])
    assert "DRIFT" not in command("train", "events.jsonl").err
    assert command("evaluate", "events.jsonl", "--drift", "drift.jsonl").status == 2
    (tmp_path / "events.jsonl").write_bytes(turned(4_000, 3_000))
    (tmp_path / "streamnb.toml").write_text('drift = "drift.jsonl"')
    assert "DRIFT" not in command("evaluate", "events.jsonl", "--config", "streamnb.toml").err
    assert not (tmp_path / "drift.jsonl").exists()
    outputs = ("--output", "answers.jsonl", "--dead-letters", "dead.jsonl", "--drift", "drift.jsonl")
    outcome = command("predict", "snapshots", "events.jsonl", *outputs)
    assert ("DRIFT" in outcome.err, len(json_lines(tmp_path / "drift.jsonl"))) == (True, 1)


def test_a_reader_that_leaves_ends_the_run_without_a_traceback(tmp_path):
    (tmp_path / "events.jsonl").write_bytes(LINES * 1_000)
    shell = f"{sys.executable} -m consumers.cli run events.jsonl --output - | head -n 1"
    ran = subprocess.run(["bash", "-c", shell], cwd=tmp_path, capture_output=True, check=False)
    assert ran.stdout.count(b"\n") == 1
    assert b"Traceback" not in ran.stderr


def test_a_full_disk_is_one_sentence(tmp_path):
    if not Path("/dev/full").exists():
        pytest.skip("this system has no /dev/full")
    (tmp_path / "events.jsonl").write_bytes(LINES)
    (tmp_path / "full.jsonl").symlink_to("/dev/full")
    outcome = streamnb_process(tmp_path, "run", "events.jsonl", "--output", "full.jsonl")
    assert outcome.status == 2
    assert "No space left on device" in outcome.err
    assert "Traceback" not in outcome.err


def test_standard_output_that_is_full_is_one_sentence(tmp_path):
    if not Path("/dev/full").exists():
        pytest.skip("this system has no /dev/full")
    (tmp_path / "events.jsonl").write_bytes(LINES)
    for arguments in ("run events.jsonl --output -", "evaluate events.jsonl --json", "config"):
        shell = f"{sys.executable} -m consumers.cli {arguments} > /dev/full"
        ran = subprocess.run(["bash", "-c", shell], cwd=tmp_path, capture_output=True, text=True, check=False)
        assert ran.returncode != 0
        assert "standard output cannot be written: No space left on device" in ran.stderr
        assert "Traceback" not in ran.stderr


def test_a_signal_takes_no_record_out_of_a_pipe_that_it_does_not_save(tmp_path):
    """All that was written is, but for one line that was cut, either learned or still in the pipe."""
    lines = b"".join(b'{"n":%d,"label":"a"}\n' % place for place in range(100_000))
    ours, theirs = os.pipe()
    writer = threading.Thread(target=_write_until_closed, args=(theirs, lines))
    writer.start()
    command = [sys.executable, "-m", "consumers.cli", "run", "--output", "/dev/stdout"]
    with subprocess.Popen(command, cwd=tmp_path, stdin=ours, stdout=subprocess.PIPE) as process:
        process.stdout.readline()
        process.send_signal(signal.SIGTERM)
        process.stdout.read()
        process.wait()
    left = b""
    while part := os.read(ours, 1 << 20):
        left += part
    writer.join()
    os.close(ours)
    learned = load(max((tmp_path / "snapshots").iterdir()).read_bytes()).learned
    whole = left.count(b"\n") - (not left.startswith(b'{"n"'))
    assert 100_000 - 1 <= learned + max(whole, 0) <= 100_000


def _write_until_closed(descriptor, data):
    with open(descriptor, "wb") as pipe:  # noqa: PTH123 - a descriptor has no path
        pipe.write(data)


def test_a_report_adds_up(command, tmp_path):
    (tmp_path / "events.jsonl").write_bytes(b'{"n":1}\n{"n":1}\n{"n":1,"label":"a"}\n{"n":2}\noops\n')
    report = json.loads(command("evaluate", "events.jsonl", "--json").out)
    dead = sum(each["records"] for each in report["dead_letters"])
    assert report["records"] == report["predicted"] + report["unpredicted"] + dead == 5
    assert (report["predicted"], report["unpredicted"], report["unanswered"]) == (1, 3, 1)


def test_a_snapshot_from_a_stranger_is_refused_whatever_is_in_it(command, tmp_path):
    command("run", "events.jsonl")
    whole = max((tmp_path / "snapshots").iterdir()).read_bytes()
    plain, parts = snapshot.unpack(whole)
    for change in ({"tally": {}}, {"tally": {**plain["tally"], "records": "q"}}, {"config": 7}, {"positions": [1]}):
        (tmp_path / "odd.snapshot").write_bytes(snapshot.pack({**plain, **change}, parts))
        outcome = command("inspect", "odd.snapshot")
        assert outcome.status == 2
        assert "its content is not that of a run" in outcome.err


def test_of_snapshots_the_one_just_written_is_kept_whatever_lies_beside_it(tmp_path):
    folder = SnapshotFolder(str(tmp_path / "snapshots"), keep=1)
    folder.make()
    (tmp_path / "snapshots" / f"{9:020d}.snapshot").write_bytes(b"damaged")
    for number in (3, 4, 5):
        folder.save(number, b"%d" % number, [])
    folder.close()
    assert sorted(path.name for path in (tmp_path / "snapshots").iterdir()) == [
        f"{5:020d}.snapshot",
        f"{9:020d}.snapshot",
    ]


def test_every_command_has_help(command):
    assert command("--help").status == 0
    for name in cli.commands:
        shown = command(name, "--help")
        assert shown.status == 0
        assert len(cli.commands[name].help) > 20
        assert name in shown.out
        for option in cli.commands[name].params:
            assert option.param_type_name == "argument" or option.help, f"{name} {option.name} has no help"


def test_help_imports_nothing_heavy():
    code = "import sys, consumers.cli; print(sorted(set(sys.modules) & {'numpy', 'numba', 'river', 'rich', 'scipy'}))"
    ran = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True)
    assert ran.stdout == "[]\n"


def test_a_run_shows_its_progress_on_a_terminal(tmp_path):
    (tmp_path / "events.jsonl").write_bytes(LINES)
    ours, theirs = pty.openpty()
    command = [sys.executable, "-m", "consumers.cli", "evaluate", "events.jsonl"]
    with subprocess.Popen(command, cwd=tmp_path, stdout=subprocess.DEVNULL, stderr=theirs) as process:
        os.close(theirs)
        shown = b""
        try:
            while part := os.read(ours, 4096):
                shown += part
        except OSError:  # how a terminal ends
            pass
        assert process.wait() == 0
    assert b"60 records" in shown
    assert b"a second, accuracy" in shown


@pytest.mark.parametrize("home", ["read-only", "writable"])
def test_a_cold_start_in_a_read_only_install_answers(tmp_path, home):
    """Numba keeps compiled code beside the package, else in the user's cache, else not at all."""
    code = (
        "import sys; sys.path.insert(0, sys.argv[1])\n"
        "import streamnb; assert streamnb.__file__.startswith(sys.argv[1])\n"
        "m = streamnb.NaiveBayes(); m.learn_one({'a': 1.0}, 'x'); print(m.predict_one({'a': 1.0}))"
    )
    install = tmp_path / "install"
    shutil.copytree(ROOT / "streamnb", install / "streamnb", ignore=shutil.ignore_patterns("__pycache__"))
    # A file where a folder is wanted stops even root from writing.
    (install / "streamnb" / "__pycache__").write_text("")
    place = tmp_path / "home"
    place.write_text("") if home == "read-only" else place.mkdir()
    environment = {**os.environ, "HOME": str(place), "XDG_CACHE_HOME": str(place), "PYTHONDONTWRITEBYTECODE": "1"}
    environment.pop("NUMBA_CACHE_DIR", None)
    ran = subprocess.run(
        [sys.executable, "-c", code, str(install)], env=environment, cwd=tmp_path, capture_output=True, check=False
    )
    assert (ran.stdout, ran.stderr) == (b"x\n", b"")


def test_the_demo_runs_and_runs_again(command, tmp_path):
    first = command("demo")
    assert first.status == 0
    assert "49,097 records read" in first.err
    assert len((tmp_path / "streamnb-demo" / "predictions.jsonl").read_bytes().splitlines()) == 49_097
    before = everything(tmp_path)
    assert command("demo").status == 0
    assert everything(tmp_path) == before


def test_the_clock_makes_snapshots_due_too():
    policy = SnapshotPolicy(records=100, seconds=5.0)
    assert [policy.due(*when) for when in ((99, 4.9), (100, 0.0), (1, 5.0), (0, 1e9))] == [False, True, True, False]


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("evaluate", "kafka://localhost:1/events"), "evaluate reads files"),
        (("predict", "snapshots", "kafka://localhost:1/events"), "the inputs are topics, and snapshots is none"),
        (("predict", "kafka:///a,b", "kafka://localhost:1/events"), "SNAPSHOT names 2 topics"),
        (("run", "kafka://localhost:1/events", "events.jsonl"), "inputs is 'events.jsonl', and the inputs are topics"),
        (("run", "kafka://localhost:1/events,events"), "the topic events is given two parts to play"),
        (("run", "kafka://localhost:1/events", "kafka://localhost:2/more"), "the addresses name several clusters"),
        (("run", "kafka:///events"), "no broker is named"),
        (("run", "kafka://ada:hunter2@localhost:1/events"), "inputs has an address with a user or a password"),
        (("run", "kafka://localhost/events"), "a broker is HOST:PORT, and 'localhost' is not"),
        (("run", "kafka://localhost:1/"), "an address of topics is kafka://HOST:PORT/TOPIC"),
    ],
)
def test_topics_that_cannot_be_are_told_before_a_broker_is_asked(command, arguments, said):
    outcome = command(*arguments)
    assert (outcome.status, outcome.out) == (2, "")
    assert said in outcome.err
    assert "hunter2" not in outcome.err
