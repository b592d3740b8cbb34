"""Accuracy on real streams at the defaults: test-then-train, one pass, nothing tuned."""

import pytest

from streamnb import AdaptiveBayes, Measures, NaiveBayes
from tests import open_streams, streams

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


# What a sketch of the adaptive model reached, one setting for all: accuracy in percent, log loss.
_SKETCH = {
    "elec": (90.0, 0.244),
    "weather": (75.5, 0.489),
    "adult": (84.8, 0.332),
    "covtype10k": (66.5, 0.783),
    "airlines5": (63.2, 0.640),
    "mushroom": (99.1, 0.038),
    "titanic": (78.6, 0.607),
    "LED": (76.3, 0.719),
    "SEA": (87.8, 0.426),
    "Agrawal": (77.0, 0.442),
}


def _measured(name, of=NaiveBayes, **settings):
    if name in open_streams.STREAMS:
        events, labels = map(list, zip(*open_streams.STREAMS[name](), strict=True))
        model, measures = of(**settings), Measures()
    else:
        events, labels = map(list, zip(*streams.read(name), strict=True))
        model, measures = of(kinds=streams.kinds(name), **settings), Measures()
    for start in range(0, len(events), 1_000):
        part = slice(start, start + 1_000)
        probabilities = model.test_then_train(events[part], labels[part])
        measures.update(probabilities, model.classes, labels[part])
    assert (measures.unanswered, measures.measured) == (1, len(events) - 1)
    return measures


@pytest.mark.parametrize("name", _PLAIN)
def test_accuracy_is_that_of_the_plain_formulas(name):
    assert 100 * _measured(name).accuracy >= _PLAIN[name] - _ALLOWANCE


@pytest.mark.parametrize("name", _SKETCH)
def test_adaptive_bayes_is_better_than_its_sketch(name):
    measures = _measured(name, AdaptiveBayes)
    accuracy, log_loss = _SKETCH[name]
    assert 100 * measures.accuracy >= accuracy - 0.3
    assert measures.log_loss <= log_loss + 0.01


@pytest.mark.parametrize("name", [*_PLAIN, "sms_text"])
def test_adaptive_bayes_is_never_much_behind_the_plain_model(name):
    assert _measured(name, AdaptiveBayes).accuracy >= _measured(name).accuracy - 0.003


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
