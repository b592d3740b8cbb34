"""The same numbers as others reach: river, scikit-learn, the standard library, and exact fractions."""

import math
import statistics
import sys
from fractions import Fraction

import numpy as np
import pandas as pd
import pytest
from hypothesis import assume, example, given
from hypothesis import strategies as st
from river import naive_bayes
from sklearn.naive_bayes import CategoricalNB, GaussianNB

from streamnb import NaiveBayes
from streamnb.arrays import LOW, TAKEN

shapes = st.tuples(
    st.integers(0, 2**32), st.integers(6, 60), st.sampled_from([1, 2, 7, 8, 9, 17]), st.integers(2, 4)
)  # seed, events, features (around the groups of eight that are multiplied before a logarithm), classes


def _gaussian(shape, scale):
    """Return numbers [event, feature] and labels, every class with events enough for a variance."""
    seed, events, features, classes = shape
    chance = np.random.default_rng(seed)
    labels = np.concatenate([np.repeat(np.arange(classes), 6), chance.integers(0, classes, events)])
    centers, spreads = chance.uniform(-1, 1, (classes, features)), chance.uniform(0.3, 2, (classes, features))
    labels = chance.permutation(labels)
    rows = centers[labels] + spreads[labels] * chance.standard_normal((len(labels), features))
    return rows * scale, labels


def _probabilities(model, rows):
    return model.test_then_train(rows, [None] * len(rows))[:, np.argsort(model.classes)]


@given(shapes)
def test_probabilities_are_those_of_rivers_gaussian(shape):
    """At a scale where the 1e-9 that river adds to each density is less than 1e-9 of it."""
    rows, labels = _gaussian(shape, 1e-12)
    model, river = NaiveBayes(variance_prior=0), naive_bayes.GaussianNB()
    for row, label in zip(rows.tolist(), labels.tolist(), strict=True):
        event = dict(enumerate(row))
        model.learn_one(event, label)
        river.learn_one(event, label)
    compared = 0
    for row in rows.tolist():
        event = dict(enumerate(row))
        densities = [river.gaussians[label][name](value) for label in model.classes for name, value in event.items()]
        if min(densities) > 100.0:
            compared += 1
            assert model.predict_proba_one(event) == pytest.approx(river.predict_proba_one(event), rel=0, abs=1e-9)
            ours, theirs = model.joint_log_likelihood(event), river.joint_log_likelihood(event)
            assert ours == pytest.approx(theirs, rel=1e-9, abs=1e-9)
    assume(compared)


@given(shapes, st.sampled_from([1e-6, 1.0, 1e9]))
def test_probabilities_are_those_of_scikit_learns_gaussian(shape, scale):
    rows, labels = _gaussian(shape, scale)
    model = NaiveBayes(variance_prior=0)
    model.learn_many(rows, labels)
    reference = GaussianNB(var_smoothing=0).fit(rows, labels)
    expected = reference.predict_proba(rows)
    assert _probabilities(model, rows) == pytest.approx(expected, rel=0, abs=1e-9)
    for row, joint in zip(rows[:5], reference.predict_joint_log_proba(rows[:5]), strict=True):
        ours = model.joint_log_likelihood(dict(enumerate(row.tolist())))
        assert [ours[label] for label in sorted(ours)] == pytest.approx(joint.tolist(), rel=1e-9, abs=1e-9)


@given(shapes, st.integers(1, 6))
def test_probabilities_are_those_of_scikit_learns_categorical(shape, cardinality):
    seed, events, features, classes = shape
    chance = np.random.default_rng(seed)
    codes = chance.integers(0, cardinality, (events + classes, features))
    codes = np.stack([np.unique(column, return_inverse=True)[1] for column in codes.T], axis=1)
    labels = chance.permutation(np.concatenate([np.arange(classes), chance.integers(0, classes, events)]))
    model = NaiveBayes(smoothing=1)
    texts = pd.DataFrame(codes).map("v{}".format).rename(columns="f{}".format)
    model.learn_many(texts, labels)
    reference = CategoricalNB(alpha=1).fit(codes, labels)
    assert _probabilities(model, texts) == pytest.approx(reference.predict_proba(codes), rel=0, abs=1e-9)


@given(st.lists(st.floats(-1e6, 1e6), min_size=2, max_size=30))
def test_unbiased_is_statistics_variance_and_biased_is_pvariance(values):
    exact = statistics.variance(values)
    mean = statistics.fmean(values)
    assume(exact > 1e-20 + 1e-12 * mean**2)
    for unbiased, variance in ((True, exact), (False, statistics.pvariance(values))):
        model = NaiveBayes(variance_prior=0, unbiased=unbiased)
        for value in values:
            model.learn_one({"v": value}, "only")
        density = math.exp(model.joint_log_likelihood({"v": mean})["only"])
        assert 1 / (2 * math.pi * density**2) == pytest.approx(variance, rel=1e-8)


def _moments(values):
    model = NaiveBayes()
    for value in values:
        model.learn_one({"v": value}, "only")
    ours, overall = model.statistics.moments.array[0, :TAKEN, [1, 0]].tolist()
    ours[1] += model.statistics.moments.array[0, LOW, 1]
    overall[1] += model.statistics.moments.array[0, LOW, 0]
    assert ours == overall
    return ours


@given(st.lists(st.one_of(st.floats(-1e6, 1e6), st.floats(1e8, 1e8 + 1), st.integers(-9, 9)), min_size=1, max_size=40))
@example([1e8 + d for d in (0, -0.001, 0.002, -0.003, 0.004, -0.005, 0.006, -0.007)])
@example([40_900.0, 40_900.0 + 2**-20] * 20)
def test_moments_are_those_of_exact_fractions(values):
    """Within the bound of Chan, Golub and LeVeque (1983): n u sqrt(sum of squares x spread), and underflow."""
    weight, mean, spread = _moments(values)
    exact = [Fraction(value) for value in values]
    center = sum(exact) / len(exact)
    squares, deviations = sum(x * x for x in exact), sum((x - center) ** 2 for x in exact)
    unit = len(exact) * 2.0**-53
    assert weight == len(values)
    smallest = len(exact) * sys.float_info.min  # what squares and products below it lose
    assert abs(Fraction(mean) - center) <= 4 * unit * max(abs(x) for x in exact) + smallest
    bound = 4 * unit * (math.sqrt(squares * deviations) + unit * float(squares))
    assert abs(Fraction(spread) - deviations) <= bound + smallest


def test_huge_integers_keep_their_mean_and_their_spread():
    weight, mean, spread = _moments([2**62, 2**62, 2**62 + 4096])
    assert weight == 3
    assert abs(Fraction(mean) - (2**62 + Fraction(4096, 3))) < 2048
    assert spread == pytest.approx(float(Fraction(2, 3) * 4096**2), rel=0.5)
