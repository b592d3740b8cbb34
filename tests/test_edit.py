"""Snapshots merged, unlearned, explained and shown, and those that the releases before wrote."""

import json
import os
import random
import shutil
import signal
import stat
import subprocess
import sys
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any

import orjson
import pytest
from rich.console import Console

from consumers import edit
from consumers.settings import check
from consumers.snapshots import SnapshotFolder
from consumers.state import State
from streamnb import NaiveBayes, load, save
from streamnb.arrays import LOW
from tests.command import json_lines, naive, predictions, streamnb, streamnb_process
from tests.crash import STEPS, fork, kill_at

ROOT = Path(__file__).resolve().parents[1]
LABELS = ["a", 1, "1", True, 0.5]


def stream(seed: int, length: int) -> list[dict]:
    """Return events of all kinds, under labels of all types."""
    chance = random.Random(seed)
    lines = []
    for place in range(length):
        line = {"id": place, "n": chance.gauss(0, 1), "k": chance.choice("xyz"), "label": chance.choice(LABELS)}
        line |= {
            "say": chance.choice(["free entry", "see you", "win win win"]),
            "deep": {"er": chance.choice([1, 2.5])},
        }
        line |= {"w": chance.choice([0.5, 1, 2, None]), "t": chance.uniform(0, 50)}
        lines.append(line)
    return lines


LINES = stream(1, 60)


@pytest.fixture
def command(tmp_path, capfd, monkeypatch):
    """Return the command, in a folder that holds events.jsonl."""
    monkeypatch.chdir(tmp_path)
    write(tmp_path / "events.jsonl", LINES)
    return lambda *arguments: streamnb(capfd, monkeypatch, *naive(arguments))


def write(path: Path, lines: Sequence[Any]) -> None:
    path.write_bytes(b"".join((line if isinstance(line, bytes) else orjson.dumps(line)) + b"\n" for line in lines))


def trained(command: Any, name: str, lines: Sequence[Any], *flags: str) -> Path:
    """Return the last snapshot of a run over lines, in a folder of this name."""
    write(Path(f"{name}.jsonl"), lines)
    files = ("--snapshots", name, "--output", f"{name}.p", "--dead-letters", f"{name}.d")
    outcome = command("run", f"{name}.jsonl", *files, *flags)
    assert outcome.status == 0, outcome.err
    return max(Path(name).iterdir())


def everything(folder: Path) -> dict[str, bytes]:
    """Return every file below a folder with its content."""
    return {str(path): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def answers(command: Any, snapshot: str, *flags: str) -> list[dict[str, float]]:
    """Return what `predict` says of events.jsonl: the probability of each class, by its label and type."""
    outcome = command("predict", snapshot, "events.jsonl", "--output", "said", "--dead-letters", "said.dead", *flags)
    assert outcome.status == 0, outcome.err
    said = predictions(Path("said"))
    Path("said").unlink()
    Path("said.dead").unlink()
    return [{repr(label): share for label, share in answer.probabilities} for answer in said]


def assert_alike(command: Any, one: str, other: str, *flags: str) -> None:
    """Assert that two snapshots are of one model, up to rounding."""
    for mine, theirs in zip(answers(command, one, *flags), answers(command, other, *flags), strict=True):
        assert mine == pytest.approx(theirs, abs=1e-9)
    told = [json.loads(command("inspect", each, "--json", "--top", "99").out)["model"] for each in (one, other)]
    for key in ("classes", "features", "bad_values"):
        mine, theirs = ({json.dumps(next(iter(each.values()))): each for each in model[key]} for model in told)
        assert mine.keys() == theirs.keys()
        for name, each in mine.items():
            numbers = {what: value for what, value in each.items() if isinstance(value, float)}
            assert numbers == pytest.approx({what: theirs[name][what] for what in numbers}, abs=1e-9)


FLAGS = ("--text", "say", "--weight", "w", "--ignore", "t")
TIMED = ("--text", "say", "--weight", "w", "--time", "t", "--half-life", "9")


# Merge


@pytest.mark.parametrize("flags", [FLAGS, TIMED, (*FLAGS, "--bags", "complement"), (*FLAGS, "--bags", "bernoulli")])
def test_snapshots_merged_are_the_model_of_the_whole(command, flags):
    trained(command, "whole", LINES, *flags)
    for name, lines in (("one", LINES[:20]), ("two", LINES[20:25]), ("three", LINES[25:])):
        trained(command, name, lines, *flags)
    outcome = command("merge", "one", "two", "three", "-o", "merged")
    assert (outcome.status, outcome.err) == (0, "merged: 3 snapshots merged, 60 events learned\n")
    assert_alike(command, "merged", "whole")


def test_measures_tallies_and_bad_values_add_up(command):
    lines = [
        {"n": 1, "label": "a"},
        {"n": 2, "label": 1},
        {"n": "odd", "label": "a"},
        b"oops",
        {"n": 3, "label": [1]},
        {},
    ]
    for name, some in (("one", lines), ("two", [*lines, b"[1]"])):
        trained(command, name, some)
    command("merge", "one", "two", "-o", "merged")
    first, second, both = (json.loads(command("inspect", each, "--json").out) for each in ("one", "two", "merged"))
    for key in ("records", "predicted", "learned", "measured", "unanswered", "unpredicted", "compared", "binned"):
        assert both["report"][key] == first["report"][key] + second["report"][key]
    assert both["report"]["confusion"] == [
        [one + other for one, other in zip(*rows, strict=True)]
        for rows in zip(first["report"]["confusion"], second["report"]["confusion"], strict=True)
    ]
    assert {each["reason"]: each["records"] for each in both["report"]["dead_letters"]} == {
        "not JSON": 2,
        "its label cannot be a class": 2,
        "not an object": 1,
    }
    assert both["report"]["bad_values"] == both["model"]["bad_values"] == [{"feature": "n", "values": 2}]
    assert (both["positions"], both["outputs"], both["settings"]) == ([], {}, first["settings"])


def test_merging_is_the_same_bytes_each_time_and_changes_no_input(command, tmp_path):
    one, two = trained(command, "one", LINES[:30], *FLAGS), trained(command, "two", LINES[30:], *FLAGS)
    before = everything(tmp_path)
    command("merge", "one", str(two), "-o", "first")
    command("merge", str(one), "two", "-o", "second")
    after = everything(tmp_path)
    assert after.pop(str(tmp_path / "first")) == after.pop(str(tmp_path / "second"))
    assert after == before


def test_one_snapshot_merged_is_its_model_and_the_same_one_twice_weighs_twice(command):
    one = trained(command, "one", LINES, *FLAGS)
    command("merge", "one", "-o", "alone")
    assert save(load(Path("alone").read_bytes())) == save(load(one.read_bytes()))
    command("merge", "one", "one", "-o", "twice")
    model = load(Path("twice").read_bytes())
    assert model.learned == 120
    assert model.class_weights == [2 * weight for weight in load(one.read_bytes()).class_weights]


def test_what_does_not_go_together_is_refused_with_the_reason(command, tmp_path):
    trained(command, "plain", LINES)
    trained(command, "smooth", LINES, "--smoothing", "2")
    trained(command, "fading", LINES, "--half-life", "5")
    trained(command, "odd", [{"n": "red", "label": "a"}])
    (tmp_path / "damaged").write_bytes(max((tmp_path / "plain").iterdir()).read_bytes()[:-1])
    (tmp_path / "empty").mkdir()
    (tmp_path / "there").write_text("mine")
    os.mkfifo(tmp_path / "pipe")
    before = everything(tmp_path)
    for arguments, said in (
        (
            ["plain", "smooth", "-o", "x"],
            "smooth cannot be merged with plain: these models cannot be merged: smoothing is 1.0 in one and 2.0",
        ),
        (["plain", "fading", "-o", "x"], "half_life is None in one and 5.0 in another"),
        (["plain", "odd", "-o", "x"], "the feature 'n' is numeric in one and categorical in another"),
        (["plain", "damaged", "-o", "x"], "snapshot damaged cannot be used: its checksum does not match"),
        (["plain", "none", "-o", "x"], "snapshot none cannot be read: No such file"),
        (["plain", "empty", "-o", "x"], "there is no snapshot in the folder empty"),
        (["plain", "events.jsonl", "-o", "x"], "snapshot events.jsonl cannot be used: it does not begin"),
        (["plain", "-o", "there"], "there is there already: move it away, or name another file (-o)"),
        (["plain", "-o", "empty"], "empty cannot be written: it is a folder"),
        (["plain", "-o", "none/x"], "none/x cannot be written: there is no folder none"),
        (["plain", "-o", "-"], "- cannot hold a snapshot: name a file (-o)"),
        (["plain", "-o", "pipe"], "pipe cannot hold a snapshot: name a file (-o)"),
        (["plain", "-o", "a\udcff"], "its name is not UTF-8"),
        (["plain", "-o", "a\0b"], "cannot be used"),
        (["plain"], "Missing option '-o'"),
        (["-o", "x"], "Missing argument"),
    ):
        outcome = command("merge", *arguments)
        assert (outcome.status, outcome.out, outcome.err.count("\n")) == (2, "", 1), arguments
        assert said in outcome.err
    assert everything(tmp_path) == before
    assert stat.S_ISFIFO((tmp_path / "pipe").stat().st_mode)


def test_a_snapshot_merges_with_a_model_of_the_same_settings_saved_from_python(command, tmp_path):
    trained(command, "one", [{"n": 1, "label": "a"}], "--priors", "a=1", "--priors", "b=0")
    model = NaiveBayes(prior={"a": 1, "b": 0})
    model.learn_one({"n": 2}, "b")
    (tmp_path / "two").write_bytes(save(model))
    outcome = command("merge", "one", "two", "-o", "merged")
    assert (outcome.status, outcome.err) == (0, "merged: 2 snapshots merged, 2 events learned\n")


def test_a_damaged_snapshot_of_a_folder_is_named_and_the_one_before_it_is_merged(command, tmp_path):
    trained(command, "one", LINES)
    (tmp_path / "one" / f"{61:020d}.snapshot").write_bytes(b"damaged")
    outcome = command("merge", "one", "-o", "merged")
    assert f"{61:020d}.snapshot is damaged" in outcome.err
    assert load((tmp_path / "merged").read_bytes()).learned == 60


# Unlearn


@pytest.mark.parametrize("flags", [(), FLAGS, TIMED, (*FLAGS, "--bags", "bernoulli"), ("--max-values", "9")])
@pytest.mark.parametrize("folder", [True, False])
def test_what_is_left_is_as_if_the_events_had_never_come(command, tmp_path, flags, folder):
    rare = {"id": 99, "only": 5, "n": 0.1, "say": "never seen", "label": "rare", "w": 2, "t": 20}
    path = trained(command, "all", [*LINES[:30], rare, *LINES[30:]], *flags)
    trained(command, "never", [*LINES[:10], *LINES[20:]], *flags)
    write(tmp_path / "gone.jsonl", [rare, *LINES[10:20]])
    target = "all" if folder else str(path)
    outcome = command("unlearn", target, "gone.jsonl")
    assert (outcome.status, outcome.err) == (0, f"{target}: 11 events unlearned\n")
    assert (tmp_path / "not-unlearned.jsonl").read_bytes() == b""
    if folder:
        assert [each.name for each in Path("all").iterdir()] == [path.name]
    assert_alike(command, target, "never")
    models = [load(max(Path(name).iterdir()).read_bytes()) for name in ("all", "never")]
    assert models[0].schema() == models[1].schema()
    assert "only" not in models[0].schema()
    assert "rare" not in models[0].classes


def test_what_was_not_learned_goes_to_the_dead_letters_and_the_rest_is_unlearned(command, tmp_path):
    path = trained(command, "all", LINES, "--weight", "w")
    line = {**LINES[0], "w": 1 if LINES[0]["w"] is None else LINES[0]["w"]}
    bad = [
        ({**line, "label": None}, "it has no label"),
        ({**line, "label": [1]}, "its label cannot be a class"),
        ({**line, "label": "other"}, "it was not learned"),
        ({**line, "n": 1e9}, "it was not learned"),
        ({**line, "k": "w"}, "it was not learned"),
        ({**line, "new": 1}, "it was not learned"),
        ({**line, "w": 1e9}, "it was not learned"),
        ({**line, "w": 0}, "it was not learned"),
        ({**line, "w": -1}, "its weight cannot be one"),
        (b"oops", "not JSON"),
        (b"[1]", "not an object"),
    ]
    model = load(path.read_bytes())
    write(tmp_path / "gone.jsonl", [*(each for each, _ in bad), line])
    outcome = command("unlearn", "all", "gone.jsonl", "--dead-letters", "left")
    assert outcome.status == 1
    assert outcome.err.startswith("all: 1 events unlearned\n")
    assert "not unlearned, it was not learned: 6 (in left)\n" in outcome.err
    letters = json_lines(tmp_path / "left")
    assert [letter["reason"] for letter in letters] == [reason for _, reason in bad]
    assert [letter["text"].encode() for letter in letters] == (tmp_path / "gone.jsonl").read_bytes().splitlines()[:-1]
    assert all(letter["detail"] for letter in letters)
    model.unlearn_one({key: line[key] for key in ("n", "k", "say", "deep", "t")}, line["label"], w=line["w"])
    assert save(load(path.read_bytes())) == save(model)


def test_with_nothing_to_take_back_the_snapshot_stays_as_it_is(command, tmp_path):
    trained(command, "all", LINES, "--snapshot-records", "1")
    before = everything(tmp_path / "all")
    write(tmp_path / "gone.jsonl", [{"n": 1, "label": "other"}])
    assert command("unlearn", "all", "gone.jsonl").status == 1
    assert everything(tmp_path / "all") == before


def test_an_event_is_unlearned_once_for_each_time_it_was_learned(command, tmp_path):
    once = {"n": 3.5, "k": "only", "label": "a"}
    trained(command, "all", [*LINES, once])
    write(tmp_path / "gone.jsonl", [once, once])
    outcome = command("unlearn", "all", "gone.jsonl")
    assert (outcome.status, outcome.err.splitlines()[0]) == (1, "all: 1 events unlearned")
    trained(command, "never", LINES)
    assert_alike(command, "all", "never")


def test_all_that_was_learned_can_be_unlearned_and_nothing_is_left(command):
    trained(command, "all", LINES, *FLAGS)
    outcome = command("unlearn", "all", "all.jsonl")
    assert outcome.err == "all: 60 events unlearned\n"
    model = load(max(Path("all").iterdir()).read_bytes())
    assert (model.learned, model.classes, model.schema()) == (0, [], {})
    assert set(map(len, answers(command, "all"))) == {0}
    assert "there is nothing to explain" in command("explain", "all", "{}").err


def test_rows_of_csv_are_unlearned_as_cells(command, tmp_path):
    rows = ["n,k,when,label", *(f"{place / 3},{'xyz'[place % 3]},{place},{place % 2}" for place in range(20))]
    for name, some in (("all", rows), ("never", [*rows[:5], *rows[11:]]), ("gone", [rows[0], *rows[5:11]])):
        (tmp_path / f"{name}.csv").write_text("\n".join(some) + "\n")
    for name in ("all", "never"):
        files = ("--snapshots", name, "--output", f"{name}.p", "--dead-letters", f"{name}.d")
        command("run", f"{name}.csv", "--time", "when", "--half-life", "30", *files)
    outcome = command("unlearn", "all", "gone.csv")
    assert (outcome.status, outcome.err) == (0, "all: 6 events unlearned\n")
    models = [load(max((tmp_path / name).iterdir()).read_bytes()) for name in ("all", "never")]
    for n in range(5):
        shares = [model.predict_proba_one({"n": n, "k": "x"}) for model in models]
        assert shares[0] == pytest.approx(shares[1], abs=1e-9)


def test_events_of_a_model_that_forgets_need_their_times(command, tmp_path):
    path = trained(
        command,
        "counted",
        [{**line, "place": place} for place, line in enumerate(LINES)],
        "--half-life",
        "9",
        "--ignore",
        "place",
    )
    write(tmp_path / "gone.jsonl", [{**line, "place": place} for place, line in enumerate(LINES)][10:20])
    before = path.read_bytes()
    refused = command("unlearn", "counted", "gone.jsonl")
    assert (refused.status, refused.err.count("\n")) == (2, 1)
    assert "counted forgets by the count of events" in refused.err
    assert path.read_bytes() == before
    assert command("unlearn", "counted", "gone.jsonl", "--time", "place", "--ignore", "none").status == 0
    write(
        tmp_path / "rest.jsonl", [{**line, "place": place} for place, line in enumerate(LINES) if not 10 <= place < 20]
    )
    command("run", "rest.jsonl", "--half-life", "9", "--time", "place", "--snapshots", "rest")
    assert_alike(command, "counted", "rest", "--ignore", "place")


def test_an_event_without_its_time_is_left_in(command, tmp_path):
    trained(command, "all", LINES, *TIMED)
    before = everything(tmp_path / "all")
    write(tmp_path / "gone.jsonl", [{key: value for key, value in LINES[3].items() if key != "t"}])
    outcome = command("unlearn", "all", "gone.jsonl")
    assert (outcome.status, everything(tmp_path / "all")) == (1, before)
    assert json_lines(tmp_path / "not-unlearned.jsonl")[0]["reason"] == "its time cannot be one"


def test_a_run_goes_on_from_where_it_stopped_without_what_was_unlearned(command, tmp_path):
    path = trained(command, "all", LINES[:40], *FLAGS, "--snapshot-records", "7")
    before = Path("all.p").read_bytes()
    write(tmp_path / "gone.jsonl", LINES[5:9])
    command("unlearn", "all", "gone.jsonl")
    model = load(path.read_bytes())
    write(tmp_path / "all.jsonl", LINES)
    files = ("--snapshots", "all", "--output", "all.p", "--dead-letters", "all.d")
    outcome = command("run", "all.jsonl", *FLAGS, *files)
    assert "going on from the snapshot at record 40" in outcome.err
    assert Path("all.p").read_bytes().startswith(before)
    added = predictions(Path("all.p"))[40:]
    assert [answer.learned for answer in added] == list(range(36, 56))
    for line in LINES[40:]:
        features = {key: line[key] for key in ("n", "k", "say", "deep")}
        model.learn_one(features, line["label"], w=1.0 if line["w"] is None else line["w"])
    assert save(load(max(Path("all").iterdir()).read_bytes())) == save(model)


def test_a_link_to_a_snapshot_stays_one_and_what_it_leads_to_is_unlearned(command, tmp_path):
    path = trained(command, "all", LINES)
    (tmp_path / "link").symlink_to(path)
    write(tmp_path / "gone.jsonl", LINES[:1])
    command("unlearn", "link", "gone.jsonl")
    assert (tmp_path / "link").is_symlink()
    assert load(path.read_bytes()).learned == 59


def test_of_a_folder_with_a_damaged_snapshot_only_the_one_that_was_unlearned_is_left(command, tmp_path):
    path = trained(command, "all", LINES)
    (tmp_path / "all" / f"{99:020d}.snapshot").write_bytes(b"damaged")
    write(tmp_path / "gone.jsonl", LINES[:1])
    outcome = command("unlearn", "all", "gone.jsonl")
    assert (outcome.status, "is damaged" in outcome.err) == (0, True)
    assert [each.name for each in Path("all").iterdir()] == [path.name]


def test_a_folder_is_held_by_one_run_or_edit(command, tmp_path):
    trained(command, "all", LINES)
    write(tmp_path / "gone.jsonl", [*LINES[:1], {"n": 1}])
    before = everything(tmp_path)
    folder = SnapshotFolder("all", 1)
    folder.lock()
    outcome = command("unlearn", "all", "gone.jsonl")
    folder.close()
    assert (outcome.status, everything(tmp_path)) == (2, before)
    assert outcome.err == "streamnb: another run is going on with the snapshots in all: stop it first\n"
    assert command("unlearn", "all", "gone.jsonl").status == 1


def test_a_run_is_refused_while_events_are_unlearned(tmp_path):
    write(tmp_path / "events.jsonl", LINES)
    streamnb_process(tmp_path, "run", "--model", "naive", "events.jsonl")
    shell = [sys.executable, "-m", "consumers.cli", "unlearn", "snapshots", "--dead-letters", "-"]
    with subprocess.Popen(shell, cwd=tmp_path, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        process.stdin.write(b"oops\n")
        process.stdin.flush()
        assert json.loads(process.stdout.readline())["reason"] == "not JSON"
        refused = streamnb_process(tmp_path, "run", "events.jsonl")
        process.stdin.close()
        assert process.wait() == 1
    assert (refused.status, refused.err) == (
        2,
        "streamnb: another run is going on with the snapshots in snapshots: stop it first\n",
    )


def _unlearned(console: Console) -> None:
    edit.unlearn("all", check({"inputs": ("gone.jsonl",), "dead_letters": "/dev/null"}), console, set())


@pytest.mark.parametrize("step", [*STEPS[2:-1], "any line"])
def test_killed_at_any_point_there_is_the_old_or_the_new_and_doing_it_again_ends_the_same(command, tmp_path, step):
    trained(command, "kept", LINES, *FLAGS, "--snapshot-records", "10")
    write(tmp_path / "gone.jsonl", LINES[10:20])
    console = Console(quiet=True)
    shutil.copytree("kept", "all")
    _unlearned(console)  # compiled here, and not in every child
    [name] = [path.name for path in Path("all").iterdir()]
    new, old = (Path(folder, name).read_bytes() for folder in ("all", "kept"))
    kills, counts = 0, (1, 2, 3) if step != "any line" else range(1, 3_000, 299)
    for count in counts:
        shutil.rmtree("all")
        shutil.copytree("kept", "all")
        kills += fork(partial(lambda count: (kill_at(step, count), _unlearned(console)), count)) == -signal.SIGKILL
        State.from_bytes(max(path for path in Path("all").iterdir() if path.name != "partial").read_bytes())
        left = Path("all", name).read_bytes()
        assert left in (old, new)
        if left == old:
            _unlearned(console)
        assert everything(Path("all")) == {f"all/{name}": new}
    assert kills > 0


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["none", "gone.jsonl"], "snapshot none cannot be read: No such file"),
        (["empty", "gone.jsonl"], "there is no snapshot in the folder empty"),
        (["gone.jsonl", "gone.jsonl"], "snapshot gone.jsonl cannot be used: it does not begin"),
        (["all", "none.jsonl"], "none.jsonl cannot be read: No such file"),
        (["all", "gone.jsonl", "gone.jsonl"], "inputs names gone.jsonl twice"),
        (["all", "gone.jsonl", "--dead-letters", "gone.jsonl"], "gone.jsonl is there already"),
        (["all", "gone.jsonl", "--dead-letters", "all"], "all cannot be written: it is a folder"),
        (["all", "gone.jsonl", "--dead-letters", "none/x"], "there is no folder none"),
        (["all", "gone.jsonl", "--label", "id"], "id is given 'id', and so is label"),
        (["all", "gone.jsonl", "--smoothing", "1"], "No such option"),
    ],
)
def test_what_cannot_be_unlearned_is_one_sentence_and_touches_nothing(command, tmp_path, arguments, said):
    trained(command, "all", LINES)
    (tmp_path / "empty").mkdir()
    write(tmp_path / "gone.jsonl", LINES[:3])
    before = everything(tmp_path)
    outcome = command("unlearn", *arguments)
    assert (outcome.status, outcome.out, outcome.err.count("\n")) == (2, "", 1)
    assert said in outcome.err
    assert everything(tmp_path) == before


def test_help_names_where_that_goes_which_cannot_be_unlearned(command):
    assert "[default: not-unlearned.jsonl]" in " ".join(command("unlearn", "--help").out.split())


# Explain


def test_an_explanation_is_that_of_the_library(command):
    model = load(trained(command, "all", LINES, *FLAGS).read_bytes())
    event = {"n": 0.5, "k": "x", "say": "win you", "deep": {"er": 1}}
    own = {**event, "id": 3, "label": "a", "w": "odd", "t": 5}
    for flags, classes in (
        ((), ()),
        (("--label", "1"), (1,)),
        (("--label", '"1"', "--against", "1"), ("1", 1)),
        (("--label", "a", "--against", "true"), ("a", True)),
        (("--against", "0.5"), (None, 0.5)),
    ):
        why = model.explain_one(event, *classes)
        outcome = command("explain", "all", json.dumps(own), *flags)
        assert (outcome.status, outcome.out, outcome.err) == (0, f"{why}\n", "")
        told = json.loads(command("explain", "all", json.dumps(own), "--json", *flags).out)
        assert (told["label"], told["against"], told["prior"]) == (why.label, why.against, why.prior)
        assert (type(told["label"]), told["score"]) == (type(why.label), why.score)
        assert told["shares"] == [list(share) for share in why.shares]


def test_infinite_shares_are_null_in_json(command):
    trained(command, "all", [{"k": "x", "label": "a"}, {"k": "y", "label": "b"}], "--smoothing", "0")
    told = json.loads(command("explain", "all", '{"k": "x"}', "--json").out, parse_constant=pytest.fail)
    assert (told["label"], told["score"], told["shares"]) == ("a", None, [["k", "x", None]])


def test_an_event_comes_by_standard_input_too(tmp_path):
    write(tmp_path / "events.jsonl", LINES)
    streamnb_process(tmp_path, "run", "events.jsonl")
    event = b'{"n": 1, "k": "x"}\n'
    outcome = streamnb_process(tmp_path, "explain", "snapshots", "-", "--json", stdin=event)
    assert outcome == streamnb_process(tmp_path, "explain", "snapshots", event.decode(), "--json")
    assert json.loads(outcome.out)["shares"]
    environment = {**os.environ, "PYTHONIOENCODING": "utf-8:strict"}
    shell = [sys.executable, "-m", "consumers.cli", "explain", "snapshots", "-"]
    for wrong in (b"\xff", b"", b"{"):
        ran = subprocess.run(shell, cwd=tmp_path, input=wrong, env=environment, capture_output=True, check=False)
        assert (ran.returncode, ran.stdout, ran.stderr.count(b"\n")) == (2, b"", 1)
        assert ran.stderr.startswith(b"streamnb: EVENT is not JSON: ")


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["all", "{"], "EVENT is not JSON: "),
        (["all", ""], "EVENT is not JSON: "),
        (["all", "[1]"], "EVENT is not an object: a JSON list"),
        (["all", "{}", "--label", "q"], "'q' is not one of the classes, which are ["),
        (["all", "{}", "--against", "null"], "'null' is not one of the classes"),
        (["all", "{}", "--label", "\udcff"], "cannot be a class"),
        (["all", "{}", "--label", "[" * 5_000], "is not one of the classes"),
        (["all", '{"n": "\udcff"}'], "EVENT is not JSON: "),
        (["none", "{}"], "snapshot none cannot be read"),
        (["new", "{}"], "snapshot new has learned nothing yet: there is nothing to explain"),
        (["known", "{}"], "snapshot known has learned nothing yet"),
        (["all"], "Missing argument 'EVENT'"),
    ],
)
def test_what_cannot_be_explained_is_one_sentence(command, tmp_path, arguments, said):
    trained(command, "all", LINES)
    (tmp_path / "new").write_bytes(save(NaiveBayes()))
    (tmp_path / "known").write_bytes(save(NaiveBayes(known_classes=["a", "b"])))
    outcome = command("explain", *arguments)
    assert (outcome.status, outcome.out, outcome.err.count("\n")) == (2, "", 1)
    assert said in outcome.err


def test_an_explanation_moves_no_terminal(command):
    odd = {"n\x1b[31m": 1, "k": "y\x1b", "label": "a\x1b[31m"}
    trained(command, "all", [odd, {**odd, "n\x1b[31m": 2, "label": "b"}])
    outcome = command("explain", "all", json.dumps({"n\x1b[31m": 1, "k": "y\x1b"}))
    assert "\x1b" not in outcome.out
    assert "n\\x1b[31m = 1.0" in outcome.out


def test_an_explanation_tells_labels_of_different_types_apart(command):
    trained(command, "all", LINES)
    assert "'1' rather than 1:" in command("explain", "all", "{}", "--label", '"1"', "--against", "1").out


# Inspect


def test_one_feature_of_any_kind_is_shown(command):
    trained(command, "all", LINES, *FLAGS, "--bag", "tags", "--numeric", "n", "--max-values", "2")
    for name, kind in (("n", "numeric"), ("k", "categorical"), ("say", "text"), ("deep.er", "numeric")):
        outcome = command("inspect", "all", "--feature", name)
        assert outcome.status == 0
        for other in {"n", "k", "say", "deep.er"} - {name}:
            assert f"│ {other} " not in outcome.out
        told = json.loads(command("inspect", "all", "--feature", name, "--json").out)["model"]
        assert [(each["feature"], each["kind"]) for each in told["features"]] == [(name, kind)]
        tables = [each["feature"] for each in told["numeric"] + told["categorical"]]
        assert tables == [name]
        assert bool(told["numeric"]) == (kind == "numeric")
        assert "records read" not in outcome.out
    assert "'(rare values)'" in command("inspect", "all", "--feature", "k").out


def test_a_feature_that_was_never_learned_is_refused(command):
    trained(command, "all", LINES)
    for name in ("N", "", "label", "deep", "a\nb\x1b"):
        outcome = command("inspect", "all", "--feature", name)
        assert (outcome.status, outcome.out) == (2, "")
        assert outcome.err == f"streamnb: the feature {name!r} was never learned\n"


def test_features_are_ranked_and_copies_named(command):
    lines = [
        {"good": place % 2, "copy": 10 + 5 * (place % 2), "noise": place * 7 % 5, "label": "ab"[place % 2]}
        for place in range(80)
    ]
    for line in lines:
        line["word"] = "xy"[line["good"]]
        line["twin"] = "pq"[line["good"]]
    trained(command, "all", lines)
    outcome = command("inspect", "all").out
    for said in ("copy, good: alike", "twin, word: alike", "naive Bayes counts their evidence once for each"):
        assert said in outcome
    told = json.loads(command("inspect", "all", "--json").out)["model"]
    assert [each["feature"] for each in told["features"]][-1] == "noise"
    bits = [each["information"] for each in told["features"]]
    assert bits == sorted(bits, reverse=True)
    assert sorted(map(sorted, told["alike"])) == [["copy", "good"], ["twin", "word"]]


# The releases before


V1_EVENTS = (
    b'{"id": 1, "size": 2.1, "color": "red", "ripe": true, "label": "apple"}\n'
    b'{"id": 2, "size": 7.5, "color": "green", "place": {"row": 3}, "label": "melon"}\n'
    b'{"id": 3, "size": 2.4, "color": "green", "zip": 7, "label": 1}\n'
    b'{"id": 4, "size": "big", "color": "green", "ripe": null, "label": "1"}\n'
    b'{"id": 5, "size": 6.9, "color": "green", "zip": "7", "label": true}\n'
    b'{"id": 6, "size": 2.3, "color": "red", "ripe": false}\n'
    b"oops\n"
    b'{"id": 7, "size": 2.2, "color": "yellow", "label": "apple"}\n'
)
V1_FLAGS = ("--categorical", "zip", "--smoothing", "0.5", "--prior-smoothing", "1", "--unbiased", "true")
V1_ANSWER = [0.7093716168908774, 0.0012761008485744384, 0.19705910710407534, 0.08866427247820172, 0.0036289026782711843]
V1_CLASSES = ["apple", "melon", 1, "1", True]


@pytest.fixture
def old(command, tmp_path):
    """Return the command, in a folder where the release before has run over events.jsonl."""
    (tmp_path / "events.jsonl").write_bytes(V1_EVENTS)
    (tmp_path / "snapshots").mkdir()
    data = (ROOT / "tests" / "version-1.snapshot").read_bytes()
    (tmp_path / "snapshots" / f"{8:020d}.snapshot").write_bytes(data)
    lengths = State.from_bytes(data)[2]
    for name, length in lengths.items():
        (tmp_path / name).write_bytes(b"x" * (length - 1) + b"\n")
    return command


def test_a_snapshot_of_version_1_answers_as_it_did(old, tmp_path):
    data = (ROOT / "tests" / "version-1.snapshot").read_bytes()
    assert data[40:44] == b"\1\0\0\0"
    model = load(data)
    assert list(map(repr, model.classes)) == list(map(repr, V1_CLASSES))
    assert model.test_then_train([{"size": 2.0, "color": "red"}], [None])[0].tolist() == V1_ANSWER
    (tmp_path / "one.jsonl").write_bytes(b'{"size": 2.0, "color": "red"}\n')
    outcome = old("predict", "snapshots", "one.jsonl", "--output", "said", "--dead-letters", "dead")
    assert outcome.status == 0
    [answer] = predictions(tmp_path / "said")
    assert [share for _, share in answer.probabilities] == V1_ANSWER
    assert load(save(model)).test_then_train([{"size": 2.0, "color": "red"}], [None])[0].tolist() == V1_ANSWER


def test_a_snapshot_of_version_1_is_inspected_explained_and_unlearned(old, tmp_path):
    told = json.loads(old("inspect", "snapshots", "--json").out)
    assert [each["class"] for each in told["model"]["classes"]] == V1_CLASSES
    assert (told["report"]["records"], told["report"]["learned"]) == (8, 6)
    assert "apple" in old("explain", "snapshots", '{"size": 2.0, "color": "red"}').out
    (tmp_path / "gone.jsonl").write_bytes(V1_EVENTS.splitlines()[1] + b"\n")
    outcome = old("unlearn", "snapshots", "gone.jsonl")
    assert (outcome.status, outcome.err) == (0, "snapshots: 1 events unlearned\n")
    model = load(max((tmp_path / "snapshots").iterdir()).read_bytes())
    assert "melon" not in model.classes
    assert "place.row" not in model.schema()


def test_a_run_goes_on_from_version_1_as_from_its_own(old, tmp_path):
    """Up to rounding: squares are added in another way now."""
    more = b'{"id": 8, "size": 2.0, "color": "red", "label": "apple"}\n{"id": 9, "size": 7.0, "zip": 7, "label": 1}\n'
    (tmp_path / "events.jsonl").write_bytes(V1_EVENTS + more)
    assert old("run", "events.jsonl").status == 2  # under other settings
    outcome = old("run", "events.jsonl", *V1_FLAGS)
    assert outcome.status == 0
    assert "going on from the snapshot at record 8" in outcome.err
    added = [json.loads(line) for line in (tmp_path / "predictions.jsonl").read_bytes().splitlines()[1:]]
    assert [share for _, share in added[0]["probabilities"]] == pytest.approx(V1_ANSWER, rel=1e-12)
    files = ("--snapshots", "anew", "--output", "anew.p", "--dead-letters", "anew.d")
    old("run", "events.jsonl", *V1_FLAGS, *files)
    for one, other in zip(json_lines(tmp_path / "anew.p")[-2:], added, strict=True):
        labels, shares = zip(*one.pop("probabilities"), strict=True)
        others, as_many = zip(*other.pop("probabilities"), strict=True)
        assert (one, labels, shares) == (other, others, pytest.approx(as_many, rel=1e-12))
    models = [load(max((tmp_path / name).iterdir()).read_bytes()) for name in ("snapshots", "anew")]
    (plain, arrays), (plain_anew, arrays_anew) = (model.to_state() for model in models)
    assert plain == plain_anew
    for held in (arrays, arrays_anew):
        moments = held["moments"] = held["moments"].copy()
        moments[:, 1] += moments[:, LOW]  # of which version 1 has none
        moments[:, LOW] = 0.0
    for key, array in arrays.items():
        assert array == pytest.approx(arrays_anew[key], rel=1e-12)


@pytest.mark.parametrize("version", [1, 2])
def test_measures_of_an_earlier_version_go_on_and_new_ones_have_counts_of_their_own(old, tmp_path, version):
    data = (ROOT / "tests" / f"version-{version}.snapshot").read_bytes()
    assert data[40] == version
    for path in (tmp_path / "snapshots").iterdir():
        path.write_bytes(data)
    for name, length in State.from_bytes(data)[2].items():
        (tmp_path / name).write_bytes(b"x" * (length - 1) + b"\n")
    before = json.loads(old("inspect", "snapshots", "--json").out)["report"]
    assert (before["measured"], before["compared"], before["binned"]) == (5, 0, 0)
    assert (before["accuracy"], before["brier_score"], before["kappa_temporal"]) == (0.2, None, None)
    more = b"".join(b'{"id": %d, "size": 2.0, "color": "red", "label": "apple"}\n' % place for place in (8, 9, 10))
    (tmp_path / "events.jsonl").write_bytes(V1_EVENTS + more)
    assert old("run", "events.jsonl", *V1_FLAGS).status == 0
    after = json.loads(old("inspect", "snapshots", "--json").out)["report"]
    assert (after["measured"], after["accuracy"]) == (8, 0.5)
    assert (after["binned"], after["compared"], after["no_change_accuracy"]) == (3, 2, 1.0)
    assert 0 < after["brier_score"] < 0.2


def test_a_snapshot_of_version_1_merges_with_one_of_today(old, tmp_path):
    files = ("--snapshots", "anew", "--output", "anew.p", "--dead-letters", "anew.d")
    old("run", "events.jsonl", *V1_FLAGS, *files)
    assert old("merge", "snapshots", "anew", "-o", "merged").status == 0
    assert load((tmp_path / "merged").read_bytes()).learned == 12
