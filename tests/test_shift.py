"""Shifts of features between two memories: known values, laws, and names that are the right ones."""

import itertools
import math
import random

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.spatial.distance import jensenshannon

from streamnb import NaiveBayes
from streamnb.shift import CLASSES, shifts
from tests.strategies import learned, streams

FEATURES = ("normal", "skewed", "color", "seldom", "same", "words", "flag")


def between(one, other):
    """Return by feature how far the memory of one model is from that of another."""
    return dict(shifts(one.statistics, other.statistics, one.settings))


def drawn(seed, size, changed=""):
    """Return a model of some events, one feature of which is drawn from another distribution."""
    chance, model = random.Random(seed), NaiveBayes()
    for _ in range(size):
        label = "ab"[chance.random() < (0.7 if changed == CLASSES else 0.3)]
        event = {
            "normal": chance.gauss((label == "a") + (changed == "normal"), 1),
            "skewed": chance.expovariate(1.0) * (4 if changed == "skewed" else 1),
            "color": chance.choice("rrrg" if changed == "color" else "rgb"),
            "same": 6.0 if changed == "same" else 5.0,
            "flag": chance.random() < (0.2 if changed == "flag" else 0.01),
            "words": [
                str(int(min(chance.paretovariate(1.0), 1e4)))
                + ("!" if changed == "words" and chance.random() < 0.3 else "")
                for _ in range(8)
            ],
        }
        if chance.random() < (0.6 if changed == "seldom" else 0.2):
            event["seldom"] = chance.gauss(0, 1)
        model.learn_one(event, label)
    return model


LONG = drawn(0, 10_000)


@pytest.mark.parametrize("size", [300, 3_000])
@pytest.mark.parametrize("changed", [*FEATURES, CLASSES])
def test_the_feature_that_changed_is_named_first(size, changed):
    name, bits = shifts(drawn(1, size, changed).statistics, LONG.statistics, LONG.settings)[0]
    assert name == changed
    assert bits > 0.01


@pytest.mark.parametrize("size", [1, 3, 30, 300, 3_000])
def test_chance_names_next_to_nothing(size):
    """Ten draws of each size: eight features each, of which no more than one in fifty gets more than 0.02 bits."""
    bits = [bits for seed in range(10) for bits in between(drawn(seed + 10, size), LONG).values()]
    assert sum(each > 0.02 for each in bits) <= len(bits) / 50
    assert size > 3 or not any(bits)


@given(streams)
def test_equal_statistics_have_not_shifted_and_shifts_are_the_same_both_ways(stream):
    half = len(stream) // 2
    one, other = (learned(NaiveBayes(), part) for part in (stream[:half], stream[half:]))
    assert set(between(one, one).values()) <= {0.0}
    kinds = one.schema()
    if any(kinds.get(name, kind) != kind for name, kind in other.schema().items()):
        with pytest.raises(ValueError, match=r"the feature .* is .* and"):
            between(one, other)
        return
    forth = between(one, other)
    assert forth == pytest.approx(between(other, one), abs=1e-9)
    assert all(0.0 <= bits <= 1.0 for bits in forth.values())


@given(st.floats(-1e3, 1e3), st.sampled_from([-1e9, 1e-9, 1.0, 1e9]), st.integers(0, 2**32))
def test_a_shift_is_free_of_unit_and_origin(origin, unit, seed):
    chance = random.Random(seed)
    drawn = [[chance.gauss(mean, 1 + mean) for _ in range(200)] for mean in (0, 1)]
    models = [NaiveBayes() for _ in range(4)]
    for values, model, other in zip(drawn, models[:2], models[2:], strict=True):
        for value in values:
            model.learn_one({"n": value}, "a")
            other.learn_one({"n": (value + origin) * unit}, "a")
    assert between(*models[:2])["n"] == pytest.approx(between(*models[2:])["n"], rel=1e-6)
    assert between(*models[:2])["n"] > 0.0


def counted(*counts):
    """Return a model that has met each of some values so many times."""
    model = NaiveBayes()
    for value, count in enumerate(counts):
        if count:
            model.learn_one({"k": f"v{value}"}, "a", w=float(count))
    return model


def chance_of(freedom, *weights):
    return (freedom + 3 * math.sqrt(2 * freedom)) * sum(1 / weight for weight in weights) / (8 * math.log(2))


def test_that_of_categories_is_scipys_less_chance():
    one, other = (700, 200, 100), (1_000, 1_000, 0)
    exact = jensenshannon(one, other, base=2) ** 2 - chance_of(2, 1_000, 2_000)
    assert between(counted(*one), counted(*other))["k"] == pytest.approx(exact, rel=1e-12)


def test_that_of_numbers_is_the_integral_less_chance():
    """Of two Gaussians of one variance, whose means are two standard deviations apart."""
    models = [NaiveBayes(variance_prior=0), NaiveBayes(variance_prior=0)]
    for model, mean in zip(models, (-1.0, 1.0), strict=True):
        for value in (mean - 1, mean + 1):
            model.learn_one({"n": value}, "a", w=500.0)
    assert between(*models)["n"] == pytest.approx(0.48591 - chance_of(2, 1_000, 1_000), abs=1e-4)


def test_a_variance_counts_from_twice_the_other_on():
    """So much a sample of few events with heavy tails may be off; four times as large counts as twice."""
    models = [NaiveBayes(variance_prior=0) for _ in range(3)]
    for model, spread in zip(models, (1.0, math.sqrt(1.9), 2.0), strict=True):
        for value in (-spread, spread):
            model.learn_one({"n": value}, "a", w=5e5)
    grid = np.linspace(-20, 20, 200_001)
    densities = [np.exp(-0.5 * grid**2 / variance) / math.sqrt(variance) for variance in (1.0, 2.0)]
    exact = jensenshannon(*densities, base=2) ** 2 - chance_of(2, 1e6, 1e6)
    assert between(models[0], models[1])["n"] == 0.0
    assert between(models[0], models[2])["n"] == pytest.approx(exact, rel=1e-4)


def test_a_feature_does_not_shift_by_a_shift_of_the_classes():
    models = NaiveBayes(), NaiveBayes()
    for model, often in zip(models, (0.9, 0.1), strict=True):
        for place in range(2_000):
            label = "ab"[place < often * 2_000]
            model.learn_one({"k": label + "xy"[place % 2], "n": (label == "a") * 9 + place % 5}, label)
    bits = between(*models)
    assert bits[CLASSES] > 0.4
    assert (bits["k"], bits["n"]) == (0.0, pytest.approx(0.0, abs=1e-3))


def test_a_feature_that_comes_or_goes_has_shifted_as_far_as_can_be():
    one, other = NaiveBayes(), NaiveBayes()
    for place in range(1_000):
        one.learn_one({"n": place % 7, "k": "x"}, "a")
        other.learn_one({"m": place % 7, "l": "x"}, "a")
    assert all(bits > 0.95 for name, bits in between(one, other).items() if name != CLASSES)
    assert set(between(one, other)) == {CLASSES, *"nmkl"}


def test_nothing_is_told_of_a_memory_that_has_learned_nothing():
    assert between(NaiveBayes(), LONG) == between(LONG, NaiveBayes()) == {}
    assert LONG.shifted_features() == []


def test_forgotten_events_weigh_what_they_weigh_now():
    """Two memories of one stream, which forget at different paces: what changed at its end shows in the shorter."""
    short, long = NaiveBayes(half_life=200.0), NaiveBayes(half_life=20_000.0)
    chance = random.Random(1)
    for place, label in zip(range(6_000), itertools.cycle("ab"), strict=False):
        event = {"n": chance.gauss(0, 1) + (place > 5_500), "m": chance.gauss(0, 1), "k": chance.choice("xy")}
        for model in (short, long):
            model.learn_one(event, label)
    (name, bits), *others = shifts(short.statistics, long.statistics, long.settings)
    assert name == "n"
    assert bits > 0.03
    assert all(other < 0.01 for _, other in others)
