"""What features tell: statistics, mutual information and copies, against scikit-learn and known values."""

import math
import random

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.metrics import mutual_info_score

from streamnb import NaiveBayes

pairs = st.lists(st.tuples(st.sampled_from("xyz"), st.sampled_from("ab")), min_size=1, max_size=60)


@given(pairs)
def test_information_of_categories_is_scikit_learns_where_nothing_is_smoothed(rows):
    model = NaiveBayes(smoothing=0)
    for value, label in rows:
        model.learn_one({"k": value}, label)
    values, labels = zip(*rows, strict=True)
    expected = mutual_info_score(values, labels) / math.log(2)
    assert dict(model.feature_ranking())["k"] == pytest.approx(expected, abs=1e-12)


def test_information_of_numbers_is_that_of_the_gaussians():
    """Two classes two standard deviations apart: 0.4859 bits, as the capacity of that binary channel is tabled."""
    model = NaiveBayes(variance_prior=0)
    for i in range(-1, 2, 2):  # mean +-1 and variance 1, exactly
        for value in (-1.0, 1.0):
            model.learn_one({"v": i + value}, i)
    grid = np.linspace(-12, 12, 200_001)
    densities = [np.exp(-0.5 * (grid - mean) ** 2) / math.sqrt(2 * math.pi) for mean in (-1, 1)]
    mixture = sum(densities) / 2
    exact = sum(np.sum(each * np.log2(each / mixture)) for each in densities) / 2 * (grid[1] - grid[0])
    assert model.feature_ranking() == [("v", pytest.approx(exact, rel=1e-6))]
    assert exact == pytest.approx(0.4859, abs=1e-4)


@given(st.floats(-1e3, 1e3), st.sampled_from([1e-9, 1.0, 1e9]), st.integers(0, 2**32))
def test_information_is_free_of_unit_and_origin_and_at_most_that_of_the_label(shift, scale, seed):
    chance = random.Random(seed)
    rows = [(chance.gauss(i % 3, 1), "abc"[i % 3]) for i in range(60)]
    model, other = NaiveBayes(), NaiveBayes()
    for value, label in rows:
        model.learn_one({"v": value}, label)
        other.learn_one({"v": (value + shift) * scale}, label)
    bits = dict(model.feature_ranking())["v"]
    assert bits == pytest.approx(dict(other.feature_ranking())["v"], rel=1e-6)
    assert 0 <= bits <= math.log2(3) + 1e-9


def test_a_feature_without_information_comes_last_and_a_rare_one_counts_as_often_as_it_comes():
    model = NaiveBayes()
    for i in range(400):
        label = "ab"[i % 2]
        event = {"noise": (i * 7) % 11, "same": 5.0, "clear": label}
        model.learn_one(event | ({"seldom": label} if i % 40 < 2 else {}), label)
    ranking = model.feature_ranking()
    assert [name for name, _ in ranking][:2] == ["clear", "seldom"]
    bits = dict(ranking)
    assert bits["clear"] == pytest.approx(1.0, abs=0.05)
    assert bits["seldom"] < 0.06
    assert bits["same"] == 0.0


def test_copies_are_pointed_out_whatever_their_unit_and_others_are_not():
    model, chance = NaiveBayes(), random.Random(3)
    for i in range(500):
        celsius = chance.gauss(i % 2, 1)
        color = chance.choice("rg") if i % 2 else chance.choice("rrg")
        model.learn_one(
            {
                "celsius": celsius,
                "fahrenheit": round(celsius * 1.8 + 32, 2),
                "minus": -celsius,
                "other": chance.gauss(i % 2, 1),
                "noise": chance.gauss(0, 1),
                "noise2": chance.gauss(0, 1),
                "color": color,
                "farbe": {"r": "rot", "g": "gruen"}[color],
                "shade": chance.choice("rrg") if i % 2 else chance.choice("rg"),
            },
            "ab"[i % 2],
        )
    assert sorted(map(sorted, model.similar_features())) == [["celsius", "fahrenheit", "minus"], ["color", "farbe"]]


def test_statistics_of_a_number_are_those_of_its_values():
    model = NaiveBayes()
    for value, weight in ((0.0, 1), (4.0, 3)):
        model.learn_one({"v": value}, "y", w=weight)
    stats = model.feature_stats("v", "y")
    assert (stats.n, stats.mean, stats.var_population, stats.var) == (4, 3.0, 3.0, 4.0)


def test_statistics_of_values_are_their_weights_as_of_now():
    model = NaiveBayes(half_life=1.0)
    model.learn_one({"k": "a"}, "y", t=0.0)
    model.learn_one({"k": "b"}, "y", t=2.0)
    stats = model.feature_stats("k", "y")
    assert (stats.n, stats.counts) == (1.25, {"a": 0.25, "b": 1.0})


@pytest.mark.parametrize(
    ("backend", "kind"), [(None, pd.DataFrame), ("pandas", pd.DataFrame), ("polars", pl.DataFrame)]
)
def test_all_statistics_are_a_frame_with_a_row_for_each_feature_and_class(backend, kind):
    model = NaiveBayes()
    model.learn_one({"v": 1.0, "k": "x", "t": ["u", "w"]}, "a")
    model.learn_one({"v": 3.0, "k": "y"}, "b")
    frame = model.feature_stats(backend=backend)
    assert isinstance(frame, kind)
    assert len(frame) == 6
    assert list(frame.columns) == ["feature", "kind", "class", "n", "mean", "var", "values", "information"]


@pytest.mark.parametrize(("feature", "label"), [("w", "a"), ("v", "b")])
def test_what_was_never_learned_has_no_statistics(feature, label):
    model = NaiveBayes()
    model.learn_one({"v": 1.0}, "a")
    with pytest.raises(ValueError, match="was never learned"):
        model.feature_stats(feature, label)


def test_a_frame_that_is_not_installed_is_asked_for_by_name():
    model = NaiveBayes()
    model.learn_one({"v": 1.0}, "a")
    with pytest.raises(ImportError, match="modin"):
        model.feature_stats(backend="modin")


def test_asking_for_features_changes_nothing_and_needs_nothing():
    model = NaiveBayes()
    assert (model.feature_ranking(), model.similar_features(), len(model.feature_stats())) == ([], [], 0)
    model.learn_one({}, "a")
    assert (model.feature_ranking(), model.similar_features()) == ([], [])


def test_a_class_that_had_only_empty_bags_tells_nothing_and_spoils_nothing():
    model = NaiveBayes(smoothing=0.0, bags="bernoulli", kinds={"b": "bag"})
    model.learn_one({"b": ["x"]}, "s")
    model.learn_one({"b": []}, "h")
    assert model.feature_ranking() == [("b", 0.0)]
