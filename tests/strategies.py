"""Streams of any kind for the laws, and what two models can be compared by."""

import itertools
import math
import random
from decimal import Decimal
from fractions import Fraction

import numpy as np
from hypothesis import strategies as st

from streamnb import save
from streamnb.labels import by_label

LABELS = [1, "1", True, 1.0, 0, False, 0.5, "a", "b"]
NAMES = ["a", "b", "c", "n", "m", "a.b", "n.c", "", "é", "1", 1, 0, -7]
HOSTILE_NUMBERS = [0.0, -0.0, 5e-324, 1e-300, 1e-150, 0.1 + 0.2, 0.3, 1e16, 2**53 + 1, -(2**63), 1e100, 1e139, -9.9e139]

numbers = st.one_of(
    st.integers(-4, 4),
    st.floats(-1e3, 1e3),
    st.sampled_from(HOSTILE_NUMBERS),
    st.sampled_from([float("nan"), float("inf"), float("-inf"), 1e140, 10**400]),
)
categories = st.one_of(st.sampled_from(["x", "y", "z", "", "7", "nan", "ünï"]), st.booleans())
oddities = st.sampled_from(
    [[], ["x"], b"x", (1,), 1j, Decimal("2.5"), Fraction(1, 3), np.uint8(250), np.True_, "\ud800"]
)
values = st.one_of(numbers, categories, st.none(), oddities)
events = st.dictionaries(
    st.sampled_from(NAMES),
    st.one_of(values, st.dictionaries(st.sampled_from(["b", "c", "n"]), st.one_of(values, st.just({"b": 1.0})))),
    max_size=6,
)
labels = st.sampled_from([*LABELS, None])


def plain_run(seed, length=None):
    """Return events of one set of keys, long enough to be encoded as a block: numbers, categories, few surprises."""
    chance = random.Random(seed)
    keys = chance.sample(["a", "b", "c", "n", "m", "é", 1], chance.randint(1, 6))
    rare = chance.choice([0.0, 0.05])
    unlabelled = chance.random() < 0.2  # only predicted, all of them
    run = []
    for _ in range(length or chance.randint(17, 40)):
        event = {}
        for key in keys:
            event[key] = chance.gauss(3, 2) if key in ("n", "m", 1) else chance.choice("uvwxyz")
            if chance.random() < rare:
                event[key] = chance.choice([None, True, 3, "7", float("nan"), float("inf"), 1e300, [], "new"])
        label = chance.choice([*LABELS[:4], None] if chance.random() < 0.3 else ["a", "b"])
        run.append((event, None if unlabelled else label))
    return run


odd_runs = st.lists(st.tuples(events, labels), min_size=1, max_size=4)
streams = st.lists(st.one_of(odd_runs, st.integers(0, 2**32).map(plain_run)), min_size=1, max_size=4).map(
    lambda runs: [pair for run in runs for pair in run]
)
cuts = st.lists(st.integers(0, 120), max_size=4).map(sorted)


def parts(stream, at):
    """Return a stream cut into parts at these places."""
    places = [0, *at, len(stream)]
    return [stream[start:stop] for start, stop in itertools.pairwise(places)]


def one_by_one(model, stream):
    """Predict and then learn events one at a time, by the methods for one; return the predictions."""
    predictions = []
    for event, label in stream:
        predictions.append(model.predict_proba_one(event))
        if label is not None:
            model.learn_one(event, label)
    return predictions


def in_batches(model, batches):
    """Predict and then learn batches; return the predictions, as predicting one by one would have them."""
    predictions = []
    for batch in batches:
        known = len(model.classes)
        probabilities = model.test_then_train([event for event, _ in batch], [label for _, label in batch])
        for row, (_, label) in zip(probabilities, batch, strict=True):
            assert not row[known:].any()
            predictions.append(by_label(model.classes[:known], row.tolist()[:known]))
            if label is not None and known < len(model.classes) and type(label) is type(model.classes[known]):
                known += label == model.classes[known]
    return predictions


def learned(model, stream):
    """Return the model after learning what of a stream has a label."""
    one_by_one(model, stream)
    return model


def same(model, other):
    """Tell whether two models are one, bit for bit."""
    return save(model) == save(other)


def weighed(pairs, seed, weighted, timed):
    """Return weights and times for events, or None for either: times out of order, missing and far apart among them."""
    chance = random.Random(seed)
    weights = [chance.choice([0, 1, 1, 1, 2, 0.3, 1e-9, 1e9]) for _ in pairs] if weighted else None
    clock = 0.0
    at = []
    for _ in pairs:
        clock += chance.choice([0, 0.5, 1, 1, 3, 100])
        at.append(chance.choice([clock, clock, clock, clock - 3.25, math.nan, clock - 1e4]))
    return weights, at if timed else None


def weighed_one_by_one(model, pairs, weights, at):
    """Predict and then learn events one at a time; return the classes and the prediction before each."""
    rows = []
    for place, (event, label) in enumerate(pairs):
        rows.append((list(model.classes), model.predict_proba_one(event)))
        if label is not None:
            model.learn_one(event, label, 1.0 if weights is None else weights[place], None if at is None else at[place])
    return rows


def some(sequence, part):
    """Return a part of a sequence, None of None."""
    return None if sequence is None else sequence[part]


def assert_batches_do_not_show(one, many, silent, pairs, lessons, at):
    """Hold three new models to one result: of events one by one, of batches cut at some places, of these only learned.

    `lessons` are weights and times, as `weighed` returns them.
    """
    weights, clock = lessons
    rows = weighed_one_by_one(one, pairs, weights, clock)
    place = 0
    for part in parts(range(len(pairs)), at):
        part = slice(part[0], part[-1] + 1) if len(part) else slice(0, 0)  # noqa: PLW2901
        asked, names = [event for event, _ in pairs[part]], [label for _, label in pairs[part]]
        silent.learn_many(asked, names, some(weights, part), some(clock, part))
        for row in many.test_then_train(asked, names, some(weights, part), some(clock, part)).tolist():
            known, expected = rows[place]
            assert by_label(known, row[: len(known)]) == (expected or dict.fromkeys(known, 0.0))
            assert not any(row[len(known) :])
            place += 1
    assert save(one) == save(many)
    assert save(one) == save(silent)
