"""The keys and settings that came with weights, times, text, priors, bounds and reasons: what a run makes of them."""

import json
import signal
import time
from collections.abc import Sequence
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Any

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.console import Console

from consumers import files, programs
from consumers.fields import Fields, as_time, as_weight
from consumers.interrupts import Interrupts
from consumers.loop import Loop, Sinks, SnapshotPolicy
from consumers.settings import check
from consumers.shard import Shard
from consumers.state import State
from streamnb import NaiveBayes, load, save
from tests.command import json_lines, naive, predictions, streamnb
from tests.crash import STEPS, fork, kill_at
from tests.test_loop import Cut, Kept

WEIGHTS = [None, 2, 0, 0.5, 1e9, 1e-9, 3]
LINES = [
    {
        "id": place,
        "n": place * 7 % 11,
        "k": "xyz"[place % 3],
        "say": ["free entry now", "see you", "win a prize now", ""][place % 4],
        "tags": ["a", "b", "a"][: place % 4],
        "w": WEIGHTS[place % 7],
        "t": 1_000 + place * 13 % 29,
        "label": ["ham", "spam", 1, "1", True][place * place % 5],
    }
    for place in range(40)
]
KEYS = ("--weight", "w", "--time", "t", "--half-life", "10", "--text", "say", "--bag", "tags")
ALL = (*KEYS, "--bags", "complement", "--max-values", "3", "--classes", "new", "--prior", "uniform")


@pytest.fixture
def command(tmp_path, capfd, monkeypatch):
    """Return the command, in a folder of its own."""
    monkeypatch.chdir(tmp_path)
    write(tmp_path / "events.jsonl", LINES)
    return lambda *arguments: streamnb(capfd, monkeypatch, *naive(arguments))


def write(path: Path, lines: Sequence[dict]) -> None:
    path.write_bytes(b"".join(orjson.dumps(line) + b"\n" for line in lines))


def newest(folder: Path) -> NaiveBayes:
    return load(max(folder.iterdir()).read_bytes())


def dead(folder: Path) -> list[tuple[int, str]]:
    """Return the place among the events, and the reason, of each dead letter."""
    return [(json.loads(each["text"])["id"], each["reason"]) for each in json_lines(folder / "dead-letters.jsonl")]


def features(line: dict) -> dict[str, Any]:
    return {key: value for key, value in line.items() if key not in {"id", "label", "w", "t"}}


def leaves(folder: Path) -> dict[str, bytes]:
    """Return what a run left: predictions, dead letters, and the last snapshot."""
    files = [folder / "predictions.jsonl", folder / "dead-letters.jsonl", max((folder / "snapshots").iterdir())]
    return {file.name: file.read_bytes() for file in files}


# Weights


def test_weights_give_what_the_library_gives_with_them(command, tmp_path):
    assert command("run", "events.jsonl", "--weight", "w", "--ignore", "t", "--text", "say").status == 0
    model = NaiveBayes(kinds={"say": "text"})
    for answer, line in zip(predictions(tmp_path / "predictions.jsonl"), LINES, strict=True):
        assert answer.learned == model.learned
        assert answer.label == model.predict_one(features(line))
        model.learn_one(features(line), line["label"], w=1.0 if line["w"] is None else line["w"])
    assert save(newest(tmp_path / "snapshots")) == save(model)
    assert (tmp_path / "dead-letters.jsonl").read_bytes() == b""


def test_an_event_of_weight_0_is_predicted_and_measured_and_not_learned(command, tmp_path):
    lines = [{"n": 1, "label": "a", "w": 1}, {"n": 2, "label": "b", "w": 0}, {"n": 3, "label": "a", "w": 0, "m": 1}]
    write(tmp_path / "events.jsonl", lines)
    report = json.loads(command("evaluate", "events.jsonl", "--weight", "w", "--json").out)
    assert (report["predicted"], report["measured"], report["learned"], report["accuracy"]) == (2, 2, 1, 0.5)
    command("run", "events.jsonl", "--weight", "w")
    assert [answer.learned for answer in predictions(tmp_path / "predictions.jsonl")] == [0, 1, 1]
    assert newest(tmp_path / "snapshots").schema() == {"n": "numeric"}


BAD_WEIGHTS = [-1, 1e10, 1e-10, "x", True, [1], {"a": 1}, 1e400, "1_0", ""]


def test_a_bad_weight_is_a_dead_letter_with_its_reason_and_the_stream_goes_on(command, tmp_path):
    lines = [{"id": place, "n": place, "w": weight, "label": "a"} for place, weight in enumerate(BAD_WEIGHTS)]
    text = "".join(json.dumps(line) + "\n" for line in [*lines, {"id": 99, "n": 1, "label": "a", "w": "2.5"}])
    (tmp_path / "events.jsonl").write_text(text)
    outcome = command("run", "events.jsonl", "--weight", "w")
    assert outcome.status == 0
    assert f"dead letters, its weight cannot be one: {len(lines)}" in outcome.err
    assert dead(tmp_path) == [(place, "its weight cannot be one") for place in range(len(lines))]
    for letter, weight in zip(json_lines(tmp_path / "dead-letters.jsonl"), BAD_WEIGHTS, strict=True):
        assert ("inf" if weight == 1e400 else repr(weight)) in letter["detail"]
        assert "event 0" not in letter["detail"]  # it is not the first of anything that a reader knows
    assert newest(tmp_path / "snapshots").class_weights == [2.5]


def test_missing_weights_are_1_in_json_and_in_csv(command, tmp_path):
    (tmp_path / "events.jsonl").write_text('{"label":"a"}\n{"label":"a","w":null}\n{"label":"a","w":NaN}\n')
    (tmp_path / "events.csv").write_text("w,n,label\n,1,a\n2,1,a\n0.5,1,a\n0,1,b\n-1,1,a\nmuch,1,a\n")
    command("run", "events.jsonl", "events.csv", "--weight", "w")
    model = newest(tmp_path / "snapshots")
    assert (model.classes, model.class_weights, model.learned) == (["a"], [6.5], 6)
    assert model.schema() == {"n": "numeric"}
    assert [each["offset"] for each in json_lines(tmp_path / "dead-letters.jsonl")] == [35, 42]


def test_keys_with_dots_lead_to_weight_and_time(command, tmp_path):
    lines = [{"meta": {"w": 1 + place, "t": place, "left": "x"}, "label": "a"} for place in range(3)]
    write(tmp_path / "events.jsonl", lines)
    assert command("run", "events.jsonl", "--weight", "meta.w", "--time", "meta.t", "--half-life", "1").status == 0
    model = newest(tmp_path / "snapshots")
    assert model.class_weights == [1 / 4 + 2 / 2 + 3]
    assert model.schema() == {"meta.left": "categorical"}


@pytest.mark.parametrize("explain", ["0", "2"])
def test_a_bad_label_beside_weights_has_nothing_learned_twice(command, tmp_path, explain):
    lines = [{"id": place, "n": place, "label": "ab"[place % 2], "w": 1} for place in range(4)]
    lines.insert(2, {"id": 9, "n": 1, "label": [1], "w": 0})
    write(tmp_path / "events.jsonl", lines)
    command("run", "events.jsonl", "--weight", "w", "--explain", explain)
    assert newest(tmp_path / "snapshots").learned == 4
    assert dead(tmp_path) == [(9, "its label cannot be a class")]


@pytest.mark.parametrize("name", ["run", "predict"])
def test_a_bad_label_has_no_bad_value_counted_twice(command, tmp_path, name):
    lines = [{"n": 1, "label": "a"}, {"n": "odd", "label": "a"}, {"n": 2, "label": [1]}]
    write(tmp_path / "events.jsonl", lines)
    command("run", "events.jsonl", "--output", "first", "--dead-letters", "first.dead")
    outcome = command(name, *(["snapshots"] if name == "predict" else ["--snapshots", "other"]), "events.jsonl")
    assert "bad values of n, left out: 1\n" in outcome.err


@pytest.mark.parametrize("value", [None, float("nan")])
def test_what_is_missing_weighs_1_and_has_no_time(value):
    assert as_weight(value) == 1.0
    assert str(as_time(value)) == "nan"


# Times


@pytest.mark.parametrize(
    ("value", "at"),
    [
        (12, 12.0),
        (-0.5, -0.5),
        ("12.5", 12.5),
        ("1970-01-01", 0.0),
        ("1970-01-01T00:01:00", 60.0),
        ("1970-01-01 00:01:00Z", 60.0),
        ("1970-01-01T01:00:00+01:00", 0.0),
        ("1969-12-31T19:00:00.5-05:00", 0.5),
        ("0001-01-01T00:00:00+23:59", (datetime(1, 1, 1, tzinfo=UTC).timestamp() - 86_340)),
        ("9999-12-31T23:59:59-23:59", (datetime(9999, 12, 31, 23, 59, 59, tzinfo=UTC).timestamp() + 86_340)),
    ],
)
def test_a_time_is_a_number_or_iso_8601_in_utc_unless_it_says_otherwise(value, at):
    assert as_time(value) == at


def test_a_time_without_a_zone_is_in_utc_wherever_it_is_read(monkeypatch):
    with monkeypatch.context() as elsewhere:
        elsewhere.setenv("TZ", "Asia/Tokyo")
        time.tzset()
        read = as_time("1970-01-01T00:01:00"), as_time("1970-01-01T00:01:00Z")
    time.tzset()
    assert read == (60.0, 60.0)


BAD_TIMES = ["soon", "", True, [1], {"a": 1}, "inf", 1e400, "2026-13-01", "2026-01-01T25:00:00", 1e308, -1e308]


@pytest.mark.parametrize("name", ["run", "predict"])
def test_a_bad_time_is_a_dead_letter_and_the_stream_goes_on(command, tmp_path, name):
    lines = [{"id": place, "n": place, "t": at, "label": "a"} for place, at in enumerate(BAD_TIMES)]
    text = "".join(json.dumps(line) + "\n" for line in [*lines, {"id": 99, "n": 1, "label": "a", "t": 5}])
    (tmp_path / "events.jsonl").write_text(text)
    command("run", "events.jsonl", "--time", "t", "--half-life", "0.5")
    if name == "predict":
        (tmp_path / "dead-letters.jsonl").unlink()
        outcome = command("predict", "snapshots", "events.jsonl", "--output", "answers.jsonl")
        assert outcome.status == 0
        assert [answer.id for answer in predictions(tmp_path / "answers.jsonl")] == [99]
    assert dead(tmp_path) == [(place, "its time cannot be one") for place in range(len(lines))]
    assert newest(tmp_path / "snapshots").learned == 1


def test_events_out_of_order_weigh_what_they_weigh_in_order(command, tmp_path):
    write(tmp_path / "sorted.jsonl", sorted(LINES, key=lambda line: line["t"]))
    flags = ("--time", "t", "--half-life", "3", "--ignore", "w", "--text", "say")
    for name in ("events", "sorted"):
        files = ("--snapshots", f"{name}.s", "--output", f"{name}.p", "--dead-letters", f"{name}.d")
        assert command("run", f"{name}.jsonl", *flags, *files).status == 0
    models = [newest(tmp_path / f"{name}.s") for name in ("events", "sorted")]
    for line in LINES:
        one, other = (model.test_then_train([features(line)], [None])[0].tolist() for model in models)
        shares = [
            dict(zip(map(repr, model.classes), row, strict=True))
            for model, row in zip(models, (one, other), strict=True)
        ]
        assert shares[0] == pytest.approx(shares[1], rel=1e-9)


def test_an_event_without_a_time_is_taken_for_the_newest(command, tmp_path):
    lines = [{"label": "a", "t": 0}, {"label": "b", "t": 10}, {"label": "c"}, {"label": "d", "t": None}]
    write(tmp_path / "events.jsonl", lines)
    command("run", "events.jsonl", "--time", "t", "--half-life", "10")
    assert newest(tmp_path / "snapshots").class_weights == [0.5, 1.0, 1.0, 1.0]


def test_a_half_life_without_times_counts_the_events_that_are_learned(command, tmp_path):
    write(tmp_path / "events.jsonl", [{"label": "a"}, {"n": 1}, {"label": "b"}, {"label": "a", "w": 0}, {"label": "b"}])
    command("run", "events.jsonl", "--half-life", "1", "--weight", "w")
    assert newest(tmp_path / "snapshots").class_weights == [0.25, 1.5]


def test_times_in_csv_are_text_or_numbers_and_fade_alike(command, tmp_path):
    (tmp_path / "text.csv").write_text("t,label\n1970-01-01T00:00:10Z,a\n1970-01-01T00:00:20+00:00,b\n,b\nno,b\n")
    (tmp_path / "numbers.csv").write_text("t,label\n10,a\n20,b\n,b\nno,b\n")
    for name in ("text", "numbers"):
        files = ("--snapshots", f"{name}.s", "--output", f"{name}.p", "--dead-letters", f"{name}.d")
        command("run", f"{name}.csv", "--time", "t", "--half-life", "10", *files)
        assert newest(tmp_path / f"{name}.s").class_weights == [0.5, 2.0]


def test_times_farther_apart_than_any_half_life_break_nothing(command, tmp_path):
    times = [1e6, 0, -1e15, 1e300, "0001-01-01", 1e299, None, 1e300]
    lines = [{f"n{place}": 1, "k": "x", "label": "ab"[place % 2], "t": at} for place, at in enumerate(times)]
    write(tmp_path / "events.jsonl", lines)
    assert command("run", "events.jsonl", "--time", "t", "--half-life", "2").status == 0
    told = json.loads(command("inspect", "snapshots", "--json").out, parse_constant=pytest.fail)
    assert [each["weight"] for each in told["model"]["classes"]] == [1.0, 2.0]
    for answer in predictions(tmp_path / "predictions.jsonl")[1:]:
        assert sum(share for _, share in answer.probabilities) == pytest.approx(1)


@pytest.mark.parametrize("half_life", ["inf", "nan", "-1", "1e-13"])
def test_a_half_life_that_cannot_be_is_refused(command, tmp_path, half_life):
    outcome = command("run", "events.jsonl", "--half-life", half_life)
    assert (outcome.status, outcome.err.count("\n")) == (2, 1)
    assert f"half_life is {float(half_life)}" in outcome.err
    assert not (tmp_path / "snapshots").exists()


# Text, bags, priors, classes and bounds


@pytest.mark.parametrize(
    ("flags", "settings"),
    [
        (["--text", "say"], {"kinds": {"say": "text"}}),
        (["--bag", "tags"], {"kinds": {"tags": "bag"}}),
        (["--text", "say", "--tokenizer", "[a-z]"], {"kinds": {"say": "text"}, "tokenizer": "[a-z]"}),
        (["--text", "say", "--bags", "complement"], {"kinds": {"say": "text"}, "bags": "complement"}),
        (["--text", "say", "--bags", "bernoulli"], {"kinds": {"say": "text"}, "bags": "bernoulli"}),
        (["--prior", "uniform"], {"prior": "uniform"}),
        (["--prior-smoothing", "2"], {"prior_smoothing": 2.0}),
        (
            ["--priors", "ham=0.9", "--priors", "true=0.1", "--priors", "a=b=0"],
            {"prior": [("ham", 0.9), (True, 0.1), ("a=b", 0.0)]},
        ),
        (
            ["--priors", "1=0.2", "--priors", '"1"=0.7', "--priors", "1.0=0.1"],
            {"prior": [(1, 0.2), ("1", 0.7), (1.0, 0.1)]},
        ),
        (["--classes", "x", "--classes", "1", "--classes", '"1"'], {"known_classes": ["x", 1, "1"]}),
        (["--max-values", "2"], {"max_values": 2}),
        (["--max-features", "2"], {"max_features": 2}),
        (["--half-life", "7"], {"half_life": 7.0}),
    ],
)
def test_a_setting_is_that_of_the_library_by_flag_and_by_file(command, tmp_path, flags, settings):
    model = NaiveBayes(**{"kinds": {}, **settings})
    for line in LINES:
        model.learn_one({**features(line), "w": line["w"], "t": line["t"]}, line["label"])
    assert command("run", "events.jsonl", *flags).status == 0
    assert save(newest(tmp_path / "snapshots")) == save(model)
    several: dict[str, Any] = {}
    for flag, value in zip(flags[::2], flags[1::2], strict=True):
        several.setdefault(flag[2:].replace("-", "_"), []).append(value)
    lists = {"text", "bag", "priors", "classes"}
    plain = {"half_life": float, "prior_smoothing": float, "max_values": int, "max_features": int}
    toml = {name: values if name in lists else plain.get(name, str)(values[0]) for name, values in several.items()}
    (tmp_path / "config.toml").write_text("".join(f"{name} = {json.dumps(value)}\n" for name, value in toml.items()))
    again = command("run", "--config", "config.toml", "events.jsonl")
    assert "going on from the snapshot at record 40" in again.err
    other = command("run", "events.jsonl")
    assert (other.status, other.err.count("\n")) == (2, 1)
    assert other.err.startswith(f"streamnb: {min(toml, key=list(toml).index)} is ") or "were made with" in other.err
    assert any(f"streamnb: {name} is " in other.err for name in toml)


@pytest.mark.parametrize(
    ("flags", "said"),
    [
        (["--priors", "a"], "priors has 'a': each is LABEL=PROBABILITY"),
        (["--priors", "a=much"], "priors has 'a=much': each is LABEL=PROBABILITY"),
        (["--priors", "a=0.5"], "the priors sum to 0.5: they must sum to 1"),
        (["--priors", "a=-0.5", "--priors", "b=1.5"], "the prior of 'a' is -0.5: it must be a probability"),
        (["--priors", "a=0.5", "--priors", "a=0.5"], "'a'"),
        (["--priors", "a=nan"], "the prior of 'a' is nan: it must be a probability"),
        (["--priors", "a=1", "--prior", "uniform"], "prior is 'uniform', and priors are given: give only one of them"),
        (["--priors", "\udcff=1"], "priors is '\\udcff=1': it must be UTF-8"),
        (["--classes", "\udcff"], "classes is '\\udcff': it must be UTF-8"),
        (["--weight", "\udcff"], "weight is '\\udcff': it must be UTF-8"),
        (["--tokenizer", "\udcff"], "tokenizer is '\\udcff': it must be UTF-8"),
        (["--tokenizer", "("], "tokenizer is '(': it must be a regular expression"),
        (["--tokenizer", "(a)(b)"], "tokenizer is '(a)(b)': it may have one group"),
        (["--weight", "label"], "weight is given 'label', and so is label: a key can be only one of them"),
        (["--time", "w", "--weight", "w"], "time is given 'w', and so is weight"),
        (["--text", "w", "--weight", "w"], "text is given 'w', and so is weight"),
        (["--text", "say", "--bag", "say"], "text is given 'say', and so is bag"),
        (["--max-values", "-1"], "max_values is -1: it must be a whole number"),
        (["--max-features", str(2**41)], f"max_features is {2**41}: it must be a whole number"),
        (["--explain", "-1"], "explain is -1: it must be a whole number"),
        (["--bags", "complement", "--smoothing", "0"], "smoothing is 0: with complement bags it must be above"),
        (["--bags", "bag"], "'--bags': 'bag' is not one of"),
    ],
)
def test_a_setting_that_cannot_be_is_one_sentence_and_touches_nothing(command, tmp_path, flags, said):
    outcome = command("run", "events.jsonl", *flags)
    assert (outcome.status, outcome.out, outcome.err.count("\n")) == (2, "", 1)
    assert said in outcome.err
    assert [path.name for path in tmp_path.iterdir()] == ["events.jsonl"]


def test_a_label_of_any_depth_is_a_label(command, tmp_path):
    deep = "[" * 5_000
    assert command("run", "events.jsonl", "--classes", deep).status == 0
    assert newest(tmp_path / "snapshots").classes[0] == deep


def test_predict_scores_as_it_is_told(command, tmp_path):
    command("run", "events.jsonl", *KEYS, "--output", "first", "--dead-letters", "first.dead")
    model = newest(tmp_path / "snapshots")
    for name, flags, changes in (
        ("uniform", ["--prior", "uniform"], {"prior": "uniform"}),
        ("given", ["--priors", "ham=0.25", "--priors", "1=0.75"], {"prior": [("ham", 0.25), (1, 0.75)]}),
        ("rough", ["--smoothing", "9"], {"smoothing": 9.0}),
    ):
        told = command("predict", "snapshots", "events.jsonl", "--output", name, "--dead-letters", f"{name}.d", *flags)
        assert told.status == 0
        scored = load(save(model))
        scored.configure(**changes)
        for answer, line in zip(predictions(tmp_path / name), LINES, strict=True):
            row = scored.test_then_train([features(line)], [None])[0].tolist()
            assert list(answer.probabilities) == list(zip(scored.classes, row, strict=True))


def test_classes_are_there_before_their_events(command, tmp_path):
    write(tmp_path / "events.jsonl", [{"n": 1, "label": "b"}, {"n": 1}])
    command("run", "events.jsonl", "--classes", "a", "--classes", "true", "--prior-smoothing", "1")
    first, second = predictions(tmp_path / "predictions.jsonl")
    assert [label for label, _ in second.probabilities] == ["a", True, "b"]
    assert dict(second.probabilities)["a"] > 0
    assert [label for label, _ in first.probabilities] in ([], ["a", True])


def test_values_and_features_beyond_the_bound_are_told(command, tmp_path):
    lines = [{"k": f"v{place}", f"f{place}": place, "label": "a"} for place in range(9)]
    write(tmp_path / "events.jsonl", lines)
    outcome = command("run", "events.jsonl", "--max-values", "2", "--max-features", "3")
    assert "bad values of (features beyond the bound), left out: 7" in outcome.err
    told = json.loads(command("inspect", "snapshots", "--json").out)["model"]
    assert told["categorical"][0]["distinct"] == 3
    assert "(rare values)" in [each["value"] for each in told["categorical"][0]["values"]]


# Reasons


@pytest.mark.parametrize("flags", [(), ALL])
def test_reasons_are_the_largest_shares_before_the_event_was_learned(command, tmp_path, flags):
    assert command("run", "events.jsonl", "--explain", "2", *flags).status == 0
    lines = json_lines(tmp_path / "predictions.jsonl")
    assert len(lines) == len(LINES)
    settings = {
        "kinds": {"say": "text", "tags": "bag"}, "bags": "complement", "max_values": 3, "known_classes": ["new"],
        "prior": "uniform", "half_life": 10.0,
    } if flags else {}  # fmt: skip
    model = NaiveBayes(**settings)
    for told, line in zip(lines, LINES, strict=True):
        event = features(line) if flags else {**features(line), "w": line["w"], "t": line["t"]}
        why = model.explain_one(event)
        expected = [] if why is None else [[share.feature, share.value, share.share] for share in why.shares[:2]]
        assert told["reasons"] == expected
        assert told["label"] == model.predict_one(event)
        given = {"w": 1.0 if line["w"] is None else line["w"], "t": line["t"]} if flags else {}
        model.learn_one(event, line["label"], **given)


@pytest.mark.parametrize("name", ["run", "predict"])
def test_reasons_change_nothing_but_their_key(command, tmp_path, name):
    lines = [*LINES[:20], {"id": 77, "n": 1, "label": [1]}, {"id": 78, "n": 1, "w": -1}, *LINES[20:]]
    write(tmp_path / "events.jsonl", lines)
    command("run", "events.jsonl", *KEYS, "--output", "first", "--dead-letters", "first.dead", "--snapshots", "model")
    left = {}
    for count in ("0", "3"):
        flags = ["model"] if name == "predict" else [*KEYS, "--snapshots", f"s{count}"]
        files = ("--output", f"o{count}", "--dead-letters", f"d{count}")
        assert command(name, *flags, "events.jsonl", "--explain", count, *files).status == 0
        answers = json_lines(tmp_path / f"o{count}")
        assert all(len(answer.pop("reasons", [])) <= int(count) for answer in answers)
        model = save(newest(tmp_path / f"s{count}")) if name == "run" else b""
        left[count] = list(map(orjson.dumps, answers)), (tmp_path / f"d{count}").read_bytes(), model
    assert left["0"] == left["3"]
    assert b'"reasons"' not in (tmp_path / "o0").read_bytes()
    assert (tmp_path / "o3").read_bytes().count(b'"reasons"') == len(LINES)
    assert len(left["0"][1].splitlines()) == 2


def test_reasons_of_rows_of_csv_have_their_cells(command, tmp_path):
    (tmp_path / "events.csv").write_text("n,k,label\n1,x,a\n9,y,b\n1,x,\n8,y,\n,,\n")
    command("run", "events.csv", "--explain", "5")
    *_, third, fourth, fifth = json_lines(tmp_path / "predictions.jsonl")
    assert [(feature, value) for feature, value, _ in third["reasons"]] in (
        [["n", 1.0], ["k", "x"]],
        [("n", 1.0), ("k", "x")],
    )
    assert {(feature, value) for feature, value, _ in fourth["reasons"]} == {("n", 8.0), ("k", "y")}
    assert fifth["reasons"] == []
    model = NaiveBayes()
    model.learn_one({"n": 1, "k": "x"}, "a")
    model.learn_one({"n": 9, "k": "y"}, "b")
    assert third["reasons"] == [list(share) for share in model.explain_one({"n": 1, "k": "x"}).shares]


def test_infinite_reasons_are_null(command, tmp_path):
    write(tmp_path / "events.jsonl", [{"k": "x", "label": "a"}, {"k": "y", "label": "b"}, {"k": "x"}])
    assert command("run", "events.jsonl", "--explain", "1", "--smoothing", "0").status == 0
    assert json_lines(tmp_path / "predictions.jsonl")[-1]["reasons"] == [["k", "x", None]]


# The cuts between batches, and snapshots


def looped(
    stream: Sequence[dict], sizes: Sequence[int], explain: int, **settings: Any
) -> tuple[bytes, bytes, list[tuple[int, bytes]], State]:
    """Return the predictions, the dead letters, the snapshots and the state of a run over events cut into batches."""
    state, kept, buried = State(NaiveBayes(**settings)), Kept(), Kept()
    buried.path = "buried"
    return resumed(state, kept, buried, Cut(list(stream), list(sizes)), explain)


def resumed(state: State, kept: Kept, buried: Kept, source: Cut, explain: int) -> tuple[bytes, bytes, Any, State]:
    fields = Fields("label", "id", "w", "t", half_life=state.model.settings.half_life or float("inf"))
    with Interrupts() as interrupts:
        Loop(
            Shard(state, fields, learn=True, emit=True, explain=explain),
            Sinks(kept, buried),
            store=kept,
            settings={},
            policy=SnapshotPolicy(5, 1e9),
            clock=lambda: 0.0,
            tell=lambda _: None,
            watch=lambda: None,
            interrupts=interrupts,
        ).run(source)
    return kept.lines, buried.lines, kept.snapshots, state


events = st.lists(
    st.fixed_dictionaries(
        {},
        optional={
            "n": st.one_of(st.floats(-1e6, 1e6), st.none(), st.just("odd")),
            "k": st.one_of(st.sampled_from("vwxyz"), st.booleans()),
            "say": st.sampled_from(["a b", "a a c", "", "d e f g"]),
            "tags": st.lists(st.sampled_from("pqrs"), max_size=3),
            "odd1": st.just([1]),
            "odd2": st.just([2]),
            "odd3": st.just([3]),
            "w": st.sampled_from([0, 0.5, 2, 1e9, None, -1, "x"]),
            "t": st.sampled_from([0, 1, 5, 1e6, -1e6, None, "soon", "1970-01-01T00:00:03Z"]),
            "label": st.sampled_from(["a", "b", 1, "1", True, None, [1], 2**70]),
        },
    ),
    max_size=40,
)
models = st.fixed_dictionaries(
    {"kinds": st.just({"say": "text"})},
    optional={
        "half_life": st.sampled_from([0.5, 3.0]),
        "max_values": st.integers(1, 3),
        "max_features": st.integers(1, 3),
        "bags": st.sampled_from(["complement", "bernoulli"]),
        "prior": st.sampled_from(["uniform", [("a", 0.4), (1, 0.6)]]),
        "known_classes": st.just(["b", "z"]),
        "smoothing": st.just(0.0),
    },
).filter(lambda settings: "smoothing" not in settings or settings.get("bags") != "complement")


@given(events, models, st.sampled_from([0, 0, 2]), st.lists(st.integers(1, 20), max_size=6))
def test_where_batches_are_cut_shows_in_no_byte(stream, settings, explain, sizes):
    whole, parts = looped(stream, [], explain, **settings), looped(stream, sizes, explain, **settings)
    assert whole[:2] == parts[:2]
    assert whole[2][-1] == parts[2][-1]


@given(events, models, st.sampled_from([0, 2]), st.data())
def test_from_any_snapshot_a_run_reaches_its_end_byte_for_byte(stream, settings, explain, data):
    lines, dead_lines, snapshots, _ = looped(stream, [3] * len(stream), explain, **settings)
    _, snapshot = data.draw(st.sampled_from(snapshots))
    state, _, lengths = State.from_bytes(snapshot)
    kept, buried = Kept(), Kept()
    buried.path = "buried"
    kept.lines, buried.lines = lines[: lengths["kept"]], dead_lines[: lengths["buried"]]
    again = resumed(state, kept, buried, Cut(stream, []), explain)
    assert again[:2] == (lines, dead_lines)
    assert again[2][-1] == snapshots[-1]


@given(events, models)
def test_reasons_never_change_predictions_or_state(stream, settings):
    plain, explained = looped(stream, [7], 0, **settings), looped(stream, [7], 3, **settings)
    told = [orjson.loads(line) for line in explained[0].splitlines()]
    for line in told:
        del line["reasons"]
    assert told == [orjson.loads(line) for line in plain[0].splitlines()]
    assert explained[1] == plain[1]
    assert save(explained[3].model) == save(plain[3].model)
    assert explained[3].tally == plain[3].tally


def test_bad_values_beyond_the_bound_are_counted_alike_wherever_batches_are_cut():
    lines = [{"n": place, f"odd{place}": [1], "label": "a"} for place in range(6)]
    whole, parts = (looped(lines, sizes, 0, max_features=1)[3].tally.bad_values for sizes in ([], [2, 2, 2]))
    assert whole == parts == {"odd0": 1, "odd1": 1, "(features beyond the bound)": 4}


def test_known_classes_are_measured_in_their_order_wherever_batches_are_cut():
    lines = [{"n": 1}, {"n": 2, "label": "new"}]
    whole, parts = (looped(lines, sizes, 0, known_classes=["b", "a"])[3].measures.classes for sizes in ([], [1, 1]))
    assert whole == parts == ["b", "a", "new"]


def test_a_first_event_without_a_time_is_at_0_for_those_after_it_too():
    lines = [{"label": "a"}, {"label": "b", "t": -1.0}, {"label": "c"}]
    whole, parts = (looped(lines, sizes, 0, half_life=1.0)[3].model for sizes in ([], [1, 1, 1]))
    assert parts.class_weights == [1.0, 0.5, 1.0]
    assert save(whole) == save(parts)


def test_a_run_goes_on_in_parts_as_in_one(command, tmp_path):
    write(tmp_path / "events.jsonl", LINES[:13])
    flags = ("events.jsonl", *ALL, "--explain", "2")
    for stop in (13, 14, 27, 40):
        write(tmp_path / "events.jsonl", LINES[:stop])
        assert command("run", *flags).status == 0
    parts = leaves(tmp_path)
    for path in (tmp_path / "predictions.jsonl", tmp_path / "dead-letters.jsonl", *(tmp_path / "snapshots").iterdir()):
        path.unlink()
    command("run", *flags)
    assert leaves(tmp_path) == parts


@pytest.mark.parametrize("model", [{"model": "naive", "half_life": 3}, {"half_lives": [3, 0], "likelihoods": ["auto"]}])
@pytest.mark.parametrize("step", STEPS)
def test_a_run_that_is_killed_and_started_again_leaves_the_same_bytes(command, tmp_path, monkeypatch, step, model):
    del command
    monkeypatch.setattr(files, "_CHUNK", 700)
    given = {**model, "weight": "w", "time": "t", "text": ["say"], "bag": ["tags"], "bags": "complement"}
    given |= {"max_values": 2, "max_features": 4, "classes": ["new"], "explain": 2, "snapshot_records": 5}
    config = check({**given, "inputs": ["events.jsonl"]})

    def go_on(count: int = 0) -> None:
        if count:
            kill_at(step, count)
        programs.run(config, Console(quiet=True), emit=True, keep=True)

    go_on()
    expected = leaves(tmp_path)
    kills = 0
    for counts in [(1,), (2, 3), (4, 1)] if step != "any line" else [(900,), (3_000, 500), (7_000, 4_000)]:
        for path in (*(tmp_path / "snapshots").iterdir(), *tmp_path.glob("*s.jsonl")):
            if path.name != "events.jsonl":
                path.unlink()
        kills += sum(fork(partial(go_on, count)) == -signal.SIGKILL for count in counts)
        (tmp_path / "snapshots").mkdir(exist_ok=True)
        assert fork(go_on) == 0
        (tmp_path / "snapshots" / "partial").unlink(missing_ok=True)
        assert leaves(tmp_path) == expected
    assert kills > 0


def test_every_new_setting_has_its_line_in_config_and_reads_back(command, tmp_path):
    (tmp_path / "config.toml").write_text(
        'model = "naive"\nhalf_life = 1e300\npriors = ["\\"1\\"=1"]\ntokenizer = "[\\\\w\\"]+"\n'
    )
    shown = command("config", "--config", "config.toml").out
    (tmp_path / "again.toml").write_text(shown)
    assert command("config", "--config", "again.toml").out == shown
    assert command("evaluate", "--config", "again.toml", "events.jsonl").status == 0
