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


def _measured(name, **settings):
    events, labels = map(list, zip(*streams.read(name), strict=True))
    model, measures = NaiveBayes(kinds=streams.kinds(name), **settings), Measures()
    for start in range(0, len(events), 1_000):
        part = slice(start, start + 1_000)
        probabilities = model.test_then_train(events[part], labels[part])
        measures.update(probabilities, model.classes, labels[part])
    assert (measures.unanswered, measures.measured) == (1, len(events) - 1)
    return measures


@pytest.mark.parametrize("name", _PLAIN)
def test_accuracy_is_that_of_the_plain_formulas(name):
    assert 100 * _measured(name).accuracy >= _PLAIN[name] - _ALLOWANCE


def test_messages_declared_as_text_are_told_from_spam():
    assert 100 * _measured("sms_text").accuracy >= 97.2


def test_forgetting_pays_where_the_classes_change():
    """Prices of electricity drift; half of an event's weight is gone after a thousand events."""
    assert _measured("elec", half_life=1_000).accuracy > _measured("elec").accuracy + 0.03


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
