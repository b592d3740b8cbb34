"""The programs that compare: each runs on a slice of a stream, and measures what it says."""

import pytest

from streamnb import AdaptiveBayes, NaiveBayes
from tests import bench, compare, open_streams

SLICE = 120


@pytest.mark.parametrize("name", open_streams.STREAMS)
def test_a_stream_that_anyone_can_have_is_the_same_each_time(name):
    first = compare.load(name, None, SLICE)
    assert first == compare.load(name, None, SLICE)
    assert len(first.events) == len(first.labels) == SLICE
    assert set(first.labels) == set(range(first.classes))
    values = {type(value) for event in first.events for value in event.values()}
    assert values <= {int, float, str}
    assert (str in values) == (name in {"Agrawal", "LED"})


@pytest.mark.parametrize("name", [*compare.MODELS, *compare.FOREST])
@pytest.mark.parametrize("stream", ["Agrawal", "ImageSegments"])
def test_every_model_is_measured_on_the_same_events(name, stream):
    loaded = compare.load(stream, None, SLICE)
    measures = compare.measured({**compare.MODELS, **compare.FOREST}[name](loaded.classes), loaded)
    assert (measures.measured, measures.unanswered) == (SLICE - 1, 1)
    assert measures.accuracy > 1.0 / loaded.classes


def test_a_model_of_ours_is_measured_as_one_event_at_a_time():
    stream = compare.load("Agrawal", None, SLICE)
    for make in (NaiveBayes, AdaptiveBayes):
        model, right = make(), 0
        for event, label in zip(stream.events, stream.labels, strict=True):
            right += model.predict_one(event) == label
            model.learn_one(event, label)
        assert compare.measured(make(), stream).accuracy == right / (SLICE - 1)


def test_the_variants_differ_from_the_whole_by_what_they_say():
    variants = compare.variants()
    whole, none = variants["all parts"], variants["none of them"]
    assert AdaptiveBayes(**whole).settings == AdaptiveBayes().settings
    assert all(whole[name] != none[name] for name in whole)
    for variant, settings in variants.items():
        changed = sum(settings[name] != whole[name] for name in whole)
        assert changed == (1 if variant.startswith("without") else 3 if variant.endswith("alone") else changed)


def test_the_tables_are_markdown(capsys):
    loads = [lambda: compare.load("Phishing", None, SLICE)]
    compare.compare(loads, compare.MODELS)
    head, rule, line = capsys.readouterr().out.splitlines()
    assert head.count("|") == rule.count("|") == line.count("|") == len(compare.MODELS) + 5
    assert line.startswith("| Phishing | 120 | ")
    compare.ablate(loads)
    rows = capsys.readouterr().out.splitlines()
    assert len(rows) == 2 + len(compare.variants())
    assert {row.count("|") for row in rows} == {4}


def test_speed_is_told_of_every_model_and_way(capsys, monkeypatch):
    monkeypatch.setattr(bench, "SLICE", SLICE)
    monkeypatch.setattr(bench, "FEW", SLICE)
    stream = compare.load("Bananas", None, SLICE)
    bench.adaptive((stream.events, stream.labels), rounds=1)
    lines = capsys.readouterr().out.splitlines()
    assert [line.strip().split("  ")[0] for line in lines[2:]] == [
        "river logistic regression",
        "river ARF, 10 trees",
        *(
            f"{model}, {way}"
            for model in ("NaiveBayes", "AdaptiveBayes")
            for way in ("one event at a time", "in one call", "dicts in batches", "arrays")
        ),
    ]
