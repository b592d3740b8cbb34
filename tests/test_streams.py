"""Accuracy on real streams at the defaults: test-then-train, one pass, nothing tuned."""

import pytest

from streamnb import Measures, NaiveBayes
from tests import streams

pytestmark = streams.needs_streams

# What the textbook formulas reach in plain Python, in percent; a prior on variances may cost a little on one stream.
_PLAIN = {
    "elec": 73.37,
    "weather": 69.22,
    "adult": 83.46,
    "titanic": 77.89,
    "covtype10k": 65.87,
    "airlines5": 60.84,
    "mushroom": 98.34,
    "sea_stream": 88.02,
}
_ALLOWANCE = 0.15


@pytest.mark.parametrize("name", _PLAIN)
def test_accuracy_is_that_of_the_plain_formulas(name):
    events, labels = map(list, zip(*streams.read(name), strict=True))
    model, measures = NaiveBayes(kinds=streams.kinds(name)), Measures()
    for start in range(0, len(events), 1_000):
        part = slice(start, start + 1_000)
        probabilities = model.test_then_train(events[part], labels[part])
        measures.update(probabilities, model.classes, labels[part])
    assert (measures.unanswered, measures.measured) == (1, len(events) - 1)
    assert 100 * measures.accuracy >= _PLAIN[name] - _ALLOWANCE


@pytest.mark.parametrize("name", _PLAIN)
def test_a_stream_is_read_whole_and_as_described(name):
    described = streams.description(name)
    events, labels = map(list, zip(*streams.read(name), strict=True))
    assert len(events) == described["n"]
    assert {label: labels.count(label) for label in set(labels)} == described["classes"]
    assert sum(value is None for event in events for value in event.values()) == described["missing"]
    for column, distinct in described["cardinality"].items():
        assert len({event[column] for event in events} - {None}) == distinct
    types = {"n": float, "c": str}
    for column, kind in zip(described["cols"], described["types"], strict=True):
        assert {type(event[column]) for event in events} - {type(None)} == {types[kind]}
