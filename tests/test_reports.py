"""Faults that users of other systems met, each numbered as in a list of them: what holds here instead.

Beside a case stands a law for its whole kind, or the name of the test that holds that law already.
"""

import copy
import datetime as dt
import functools
import json
import math
import operator
import pickle
import random
import statistics
import subprocess
import sys
import warnings
from collections import Counter
from fractions import Fraction
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from river import compose, datasets, ensemble, evaluate, metrics, preprocessing

from streamnb import NaiveBayes, load, naive_bayes, save
from streamnb.arrays import TAKEN
from tests.strategies import events, learned, same, streams

BAGS = ["multinomial", "complement", "bernoulli"]
KINDS = {"n": "numeric", "m": "numeric", "c": "categorical", "b": "bag"}

moderate = st.integers(-4_000, 4_000).map(lambda eighths: eighths / 8)
texts = st.sampled_from("xyz")
bags_of_texts = st.lists(texts, min_size=1, max_size=4)
mixed = st.fixed_dictionaries({}, optional={"n": moderate, "m": moderate, "c": texts, "b": bags_of_texts})
labels = st.sampled_from("abc")
mixed_streams = st.lists(st.tuples(mixed, labels), min_size=1, max_size=20)
weights = st.sampled_from([0.0, 0.25, 0.5, 1.0, 3.0, 1e3])


def _model(pairs, **settings):
    """Return a model that learned numbers of one feature, v."""
    return learned(NaiveBayes(**settings), [({"v": value}, label) for value, label in pairs])


def _is_shares(answer):
    plain = all(type(share) is float and 0.0 <= share <= 1.0 for share in answer.values())
    return plain and math.isclose(sum(answer.values()), 1.0, rel_tol=0, abs_tol=1e-9)


# A. Categories, vocabulary and smoothing
@given(mixed_streams, st.sampled_from(BAGS), st.sampled_from([1e-12, 0.5, 1, 1e12]))
@example([({"k": "a"}, "p"), ({"k": "a"}, "p"), ({"k": "b"}, "n")], "multinomial", 1)
def test_1_what_was_never_seen_is_possible_in_every_class(stream, bags, smoothing):
    model = learned(NaiveBayes(bags=bags, smoothing=smoothing, kinds=KINDS), stream)
    for event in ({"k": "ZZZ"}, {"c": "never seen", "b": ["x", "never seen", "nor this"]}):
        answer = model.predict_proba_one(event)
        assert _is_shares(answer)
        assert set(answer) == {label for _, label in stream}
        assert min(answer.values()) > 0
        assert all(map(math.isfinite, model.joint_log_likelihood(event).values()))


def test_3_among_words_never_met_a_known_one_decides():
    known = [({"w1": "cheap", "w2": "pills"}, "spam"), ({"w1": "lunch", "w2": "today"}, "ham")]
    model = learned(NaiveBayes(), known * 5)
    assert model.predict_proba_one({"w1": "cheap", "w2": "qzxv", "w3": "blorp"})["spam"] > 0.5
    for bags in BAGS:
        model = learned(NaiveBayes(bags=bags), [({"words": list(x.values())}, label) for x, label in known * 5])
        assert model.predict_proba_one({"words": ["cheap", *map(str, range(500))]})["spam"] > 0.5


@given(streams, events, st.integers(1, 40))
def test_3_features_never_met_change_no_bit_of_an_answer(stream, event, padding):
    model = learned(NaiveBayes(), stream)
    gibberish = {f"qzxv {i}": ["blorp", i, f"blorp {i}"][i % 3] for i in range(padding)}
    assert model.predict_proba_one(event | gibberish) == model.predict_proba_one(event)


def test_5_unsmoothed_counts_decide_and_where_nothing_is_possible_the_prior_does():
    model = learned(NaiveBayes(smoothing=0), [({"k": "a"}, "p"), ({"k": "b"}, "n")])
    assert model.predict_proba_one({"k": "a"}) == {"p": 1.0, "n": 0.0}
    assert model.predict_proba_one({"k": "c"}) == {"p": 0.5, "n": 0.5}


# By counting: test_unsmoothed_an_impossible_class_has_probability_0_and_where_all_are_the_prior_answers.
# Complement bags want smoothing: a token that no other class has would be endless evidence.
@given(mixed_streams, mixed, st.sampled_from(["multinomial", "bernoulli"]))
def test_5_unsmoothed_nothing_is_nan(stream, event, bags):
    model = learned(NaiveBayes(smoothing=0, bags=bags, kinds=KINDS), stream)
    for asked in (event, event | {"c": "never seen"}, event | {"b": ["x", "never seen"]}, *(x for x, _ in stream)):
        assert _is_shares(model.predict_proba_one(asked))
        assert not any(map(math.isnan, model.joint_log_likelihood(asked).values()))


categories = st.one_of(st.integers(-99, 10**6), st.sampled_from(["", "0", "-3", "x"]), st.booleans())


# Categories are texts, numbers and truth values; anything else is a bad value.
@given(st.lists(st.tuples(categories, labels), min_size=1, max_size=25))
@example([(-3, "a"), (0, "b"), (15, "a"), (50, "b"), (-999, "a")])
def test_7_any_category_counts_from_its_first_event_on(stream):
    model = learned(NaiveBayes(kinds={"c": "categorical"}), [({"c": value}, label) for value, label in stream])
    counts = Counter((type(value), value, label) for value, label in stream)
    events_of = Counter(label for _, label in stream)
    distinct = len({key[:2] for key in counts})
    for kind, value, label in counts:
        share = (counts[kind, value, label] + 1) / (events_of[label] + distinct)
        joint = model.joint_log_likelihood({"c": value})[label]
        assert joint == pytest.approx(math.log(share * events_of[label] / len(stream)), rel=1e-9, abs=1e-9)


# In any stream: test_a_batch_gives_what_its_events_give_one_by_one_wherever_it_is_cut.
def test_8_a_value_needs_no_declaration_before_its_first_event():
    model = learned(NaiveBayes(), [({"proto": "tcp"}, 0)])
    model.learn_one({"proto": "quic"}, 1)
    assert model.predict_one({"proto": "quic"}) == 1


# B. Numeric likelihoods
# Any numbers: test_no_number_makes_an_answer_that_is_not_finite. Batches: test_learn_many_is_learn_one_many_times.
def test_11_answers_are_finite_from_the_first_event_and_those_of_the_batch_at_the_end():
    rows, model, batch = (
        [{"a": 0.99, "b": 0.27, "c": 0.20}, {"a": -0.5, "b": 0.1, "c": 0.9}],
        NaiveBayes(),
        NaiveBayes(),
    )
    model.learn_one(rows[0], 1)
    assert model.predict_proba_one({"a": -0.7, "b": -1.7, "c": -1.4}) == {1: 1.0}
    model.learn_one(rows[1], 0)
    answer = model.predict_proba_one({"a": 0.9, "b": 0.2, "c": 0.2})
    assert answer[1] > answer[0]
    batch.learn_many(pd.DataFrame(rows), [1, 0])
    assert same(model, batch)


@given(events, events, st.booleans(), st.sampled_from([0, 5.0]))
@example({"a": 3.0, "k": "z"}, {"a": -100.0}, False, 5.0)
def test_13_after_one_event_of_any_kind_its_class_is_certain(event, asked, unbiased, prior):
    model = learned(NaiveBayes(unbiased=unbiased, variance_prior=prior), [(event, "only")])
    assert model.predict_proba_one(asked) == model.predict_proba_one(event) == {"only": 1.0}


def test_15_a_feature_of_huge_scale_does_not_drown_a_small_one():
    rows = [(1e9, 1e-4, "p"), (2e9, 2e-4, "p"), (1.1e9, 9e-4, "n"), (2.1e9, 8e-4, "n")]
    model = learned(NaiveBayes(), [({"big": big, "small": small}, label) for big, small, label in rows])
    assert model.predict_proba_one({"big": 1.5e9, "small": 1.5e-4})["p"] > 0.99


@given(st.lists(st.tuples(moderate, moderate, labels), min_size=2, max_size=20), moderate, moderate)
def test_15_what_a_feature_says_depends_on_that_feature_alone(rows, small, big):
    both = learned(NaiveBayes(), [({"small": v * 1e-4, "big": w * 1e9}, label) for v, w, label in rows])
    alone = learned(NaiveBayes(), [({"small": v * 1e-4}, label) for v, _, label in rows])
    asked, rest = {"small": small * 1e-4}, {"big": big * 1e9}
    together, without = both.joint_log_likelihood(asked | rest), both.joint_log_likelihood(rest)
    own, prior = alone.joint_log_likelihood(asked), alone.joint_log_likelihood({})
    for label in alone.classes:
        assert together[label] - without[label] == pytest.approx(own[label] - prior[label], rel=1e-9, abs=1e-8)


# Any stream: test_a_batch_gives_what_its_events_give_one_by_one_wherever_it_is_cut. Not within 1e-12: the same bits.
@pytest.mark.parametrize("size", [1, 2, 3, 4])
def test_16_any_chunking_gives_the_same_posterior(size):
    rows, model = [(0.0, 0), (1.0, 0), (10.0, 1), (12.0, 1)], NaiveBayes()
    for start in range(0, 4, size):
        chunk = pd.DataFrame(rows[start : start + size], columns=["v", "y"])
        model.learn_many(chunk[["v"]], chunk["y"])
    assert model.predict_proba_one({"v": 3.0}) == _model(rows).predict_proba_one({"v": 3.0})


# Any stream: test_learning_a_class_leaves_what_is_stored_of_others_untouched.
def test_17_a_class_without_new_events_keeps_its_parameters():
    model, likelihoods = _model([(1.0, "a"), (2.0, "a"), (3.0, "a"), (9.0, "b")]), []
    before = model.feature_stats("v", "a")
    for _ in range(2):
        learned(model, [({"v": 9.1}, "b")] * 1_000)
        likelihoods.append(model.joint_log_likelihood({"v": 2.0})["a"] - math.log(model.p_class("a")))
    assert model.feature_stats("v", "a") == before
    assert (before.n, before.mean, before.var) == (3.0, 2.0, 1.0)
    assert abs(likelihoods[1] - likelihoods[0]) < 0.05


# Any stream: test_the_unit_of_a_feature_does_not_matter, bit for bit, and test_..._where_scaling_rounds.
@pytest.mark.parametrize("scale", [1e-12, 1e-6, 1e6, 1e12])
def test_18_the_unit_of_a_feature_does_not_matter(scale):
    rows = [(1.0, "p"), (2.0, "p"), (4.0, "n"), (6.0, "n")]
    scaled = _model([(value * scale, label) for value, label in rows]).predict_proba_one({"v": 2.5 * scale})
    assert scaled["p"] == pytest.approx(_model(rows).predict_proba_one({"v": 2.5})["p"], rel=0, abs=1e-6)


# Ratios of any size: test_many_tiny_and_many_huge_likelihood_ratios_neither_underflow_nor_overflow.
def test_20_densities_above_1_are_normal():
    rows = [(0.0, "p"), (2e-6, "p"), (5e-6, "n"), (7e-6, "n")]
    model = learned(NaiveBayes(), [(dict.fromkeys(range(300), value), label) for value, label in rows])
    answer = model.predict_proba_one(dict.fromkeys(range(300), 1e-6))
    assert answer["p"] > 0.999
    assert _is_shares(answer)


# Any stream: test_the_ratio_of_two_probabilities_is_that_of_the_joint_likelihoods.
def test_22_scores_are_not_tempered():
    model = learned(NaiveBayes(), [({f"f{j}": "ba"[i % 2] for j in range(60)}, i % 2) for i in range(400)])
    event = {f"f{j}": "a" for j in range(60)}
    joint, answer = model.joint_log_likelihood(event), model.predict_proba_one(event)
    assert math.isclose(math.log(answer[1]) - math.log(answer[0]), joint[1] - joint[0], rel_tol=1e-9)
    assert joint[1] - joint[0] > 100


# Any stream: test_probabilities_are_shares_of_one.
def test_23_an_event_that_is_unlikely_in_every_class_has_an_answer():
    rows = [({f"s{j}": float((i * 7 + j) % 10) for j in range(20)}, (i * 7) % 10 > 4) for i in range(200)]
    model, far = learned(NaiveBayes(), rows), {f"s{j}": 1e4 for j in range(20)}
    assert _is_shares(model.predict_proba_one(far))
    assert model.predict_one(far) is not None
    assert NaiveBayes().predict_proba_one(far) == {}


# Numbers up to the largest: test_no_number_makes_an_answer_that_is_not_finite.
def test_24_an_outlier_divides_nothing_by_zero():
    model = _model([(float(i % 2) * 1e-3, i % 2) for i in range(100)])
    assert _is_shares(model.predict_proba_one({"v": 1e8}))


# Other types: test_numbers_of_any_width_are_learned_as_floats, test_arrays_of_any_type_are_learned_as_their_values.
def test_25_numpy_scalars_are_widened_before_any_arithmetic():
    rows = [(10, "p"), (250, "n"), (20, "p"), (200, "n")]
    narrow, plain = (
        _model([(np.uint8(v), label) for v, label in rows]),
        _model([(float(v), label) for v, label in rows]),
    )
    assert same(narrow, plain)
    assert narrow.predict_proba_one({"v": np.uint8(15)}) == plain.predict_proba_one({"v": 15.0})
    assert _is_shares(narrow.predict_proba_one({"v": np.float32(15)}))


def test_26_a_variance_that_is_but_rounding_makes_real_answers():
    model = NaiveBayes()
    for i in range(5_000):
        model.learn_one({"a": 0.217119 + (i % 3) * 1e-16, "b": 40900.0}, i % 2)
        assert _is_shares(model.predict_proba_one({"a": 0.217119, "b": 40900.0}))


near = st.one_of(moderate, st.sampled_from([1e8, 1e8 + 1e-7, 0.3, 0.1 + 0.2, 1e-7, 40_900.0, 1e139]))
steps = st.sampled_from(["learn", "learn", "unlearn", "merge", "pause"])


@given(st.lists(st.tuples(steps, near, labels, weights), max_size=30), st.sampled_from([None, 0.5, 10.0]))
def test_26_no_variance_is_negative_after_learning_unlearning_merging_and_forgetting(path, half_life):
    model, time = NaiveBayes(half_life=half_life), 0.0
    for step, value, label, weight in path:
        time += 100.0 if step == "pause" else 1.0
        if step == "learn":
            model.learn_one({"v": value}, label, w=weight, t=time)
        elif step == "merge":
            model += _model([(value, label), (value + 1e-7, label)], half_life=half_life)
        elif step == "unlearn":
            before = save(model)
            try:
                model.unlearn_one({"v": value}, label, w=weight)
            except ValueError:
                assert save(model) == before
        moments, answer = model.statistics.moments.array, model.predict_proba_one({"v": value})
        assert np.isfinite(moments).all()
        assert (moments[:, (0, 2)] >= 0.0).all()
        assert not answer or _is_shares(answer)


def test_27_rounding_noise_around_a_constant_is_no_evidence():
    model = learned(NaiveBayes(), [({"c": 0.1 + 0.2, "s": float(i % 2)}, i % 2) for i in range(10_000)])
    asked, without = model.predict_proba_one({"c": 0.3, "s": 1.0}), model.predict_proba_one({"s": 1.0})
    assert asked[1] == pytest.approx(without[1], rel=0, abs=1e-6)


@given(st.floats(-1e130, 1e130), st.lists(st.tuples(st.integers(-2, 2), labels), min_size=1), moderate)
def test_27_a_constant_give_or_take_its_last_bits_says_nothing(constant, stream, far):
    rows = [(constant * (1 + ulps * 2.0**-52), label) for ulps, label in stream]
    half = len(rows) // 2
    for model in (_model(rows), _model(rows[:half]) + _model(rows[half:])):
        for asked in (constant, rows[0][0], constant * (1 + 2.0**-50), far):
            assert model.predict_proba_one({"v": asked}) == model.predict_proba_one({})


sizes = st.sampled_from([0.0, 0.0, 1.0, 1e-7, 0.1 + 0.2, 3.5, 1e6])
windows = st.one_of(st.lists(moderate, min_size=1, max_size=25), st.lists(sizes, min_size=1, max_size=25))


# C. Running statistics, merging, decay
@given(windows, st.integers(0, 24))
@example([1.0, 1e-7] + [0.0] * 8, 5)
@example([7.0, 0.0, 0.0, 0.0, 0.0], 3)
@example([1e-7, 0.0, 0.0, 0.0], 2)
def test_28_a_window_has_the_moments_of_what_is_in_it(values, start):
    """Within the rounding of what was ever in it."""
    start %= len(values)
    model = _model([(value, "a") for value in values])
    for value in values[:start]:
        model.unlearn_one({"v": value}, "a")
    left, rest, largest = model.feature_stats("v", "a"), values[start:], max(map(abs, values))
    assert left.n == len(rest)
    assert left.var_population >= 0.0
    assert abs(left.mean - statistics.fmean(rest)) <= 1e-13 * len(values) * largest
    assert abs(left.var_population - statistics.pvariance(rest)) <= 1e-13 * len(values) * largest**2


few = st.lists(st.tuples(st.integers(0, 3).map(float), st.sampled_from("ab")), min_size=1, max_size=8)


@given(few, few, st.randoms(), st.sampled_from([2.0, 0.5]))
@example([(0.0, "a"), (0.0, "b"), (0.0, "b")], [(2.0, "a")], random.Random(0), 2.0)
@example([(1.0, "b"), (1.0, "b"), (1.0, "a")], [(3.0, "b")], random.Random(0), 2.0)
def test_28_what_is_left_of_what_was_unlearned_is_no_evidence(stream, more, chance, asked):
    rest, model = _model(stream), _model(chance.sample(stream + more, len(stream) + len(more)))
    for value, label in more:
        model.unlearn_one({"v": value}, label)
    answer = rest.predict_proba_one({"v": asked})
    assert model.predict_proba_one({"v": asked}) == pytest.approx(answer, rel=0, abs=1e-6)


@given(streams, st.integers(0, 3), st.sampled_from([None, 5.0]))
@example([({"v": 1.0}, "p"), ({"v": 3.0}, "p"), ({"v": 9.0}, "n")], 1, None)
def test_30_empty_models_change_no_bit_of_a_merge(stream, before, half_life):
    full, *empty = [NaiveBayes(half_life=half_life) for _ in range(5)]
    learned(full, stream)
    merged = NaiveBayes.merge([*empty[:before], full, *empty[before:]])
    assert same(merged, full + empty[0])
    assert same(empty[0] + empty[1], empty[2])
    for event, _ in [*stream[-5:], ({"v": 2.0}, None)]:
        assert merged.predict_proba_one(event) == full.predict_proba_one(event)


weighted = st.lists(st.tuples(moderate, weights), min_size=1, max_size=30)


@given(st.lists(weighted, min_size=1, max_size=5))
@example([[(0.0, 1.0)], [(4.0, 1.0)] * 3])
def test_32_parts_of_any_sizes_and_weights_merge_to_the_moments_of_the_whole(parts):
    """Those of exact fractions, up to rounding."""
    models = [NaiveBayes() for _ in parts]
    for model, part in zip(models, parts, strict=True):
        for value, weight in part:
            model.learn_one({"v": value}, "y", w=weight)
    merged = NaiveBayes.merge(models)
    whole = [(Fraction(value), Fraction(weight)) for part in parts for value, weight in part]
    total = sum(weight for _, weight in whole)
    if not total:
        assert (merged.classes, merged.schema()) == ([], {})
        return
    center = sum(value * weight for value, weight in whole) / total
    variance = sum(weight * (value - center) ** 2 for value, weight in whole) / total
    size = float(max(abs(value) for value, _ in whole))
    stats = merged.feature_stats("v", "y")
    assert stats.n == total
    assert abs(stats.mean - center) <= 1e-13 * size
    assert abs(stats.var_population - variance) <= 1e-13 * size**2


# Moments of weighted numbers: the law above, of one part.
def test_33_a_weight_of_0_changes_nothing():
    model = NaiveBayes()
    model.learn_one({"v": 1.0, "k": "q"}, "a", w=0.0)
    assert model.predict_proba_one({"v": 1.0}) == {}
    assert (model.classes, model.schema()) == ([], {})
    model.learn_one({"v": 1.0}, "a", w=0.5)
    model.learn_one({"v": 1.0}, "a", w=1.0)
    assert model.feature_stats("v", "a").mean == 1.0


@given(streams, streams, st.sampled_from([None, 5.0]))
def test_33_events_of_weight_0_leave_no_trace(stream, ghosts, half_life):
    pairs = [pair for both in zip(stream, ghosts, strict=False) for pair in both]
    one, many, without = (NaiveBayes(half_life=half_life) for _ in range(3))
    for time, (event, label) in enumerate(pairs):
        if label is not None:
            one.learn_one(event, label, w=1.0 - time % 2, t=time)
            if time % 2 == 0:
                without.learn_one(event, label, t=time)
    places, counted = list(range(len(pairs))), [1.0, 0.0] * (len(pairs) // 2)
    many.learn_many([event for event, _ in pairs], [label for _, label in pairs], w=counted, t=places)
    assert save(one) == save(without) == save(many)


# A decay of 0.9 is a half-life of log 0.5 / log 0.9 events.
@given(st.integers(-(10**9), 10**9), st.floats(1.0, 1e4))
@example(10**8, math.log(0.5) / math.log(0.9))
def test_35_a_faded_variance_is_that_of_centred_data(offset, half_life):
    variances = []
    for center in (0.0, offset):
        model = NaiveBayes(half_life=half_life)
        model.learn_many([{"v": center + i % 2} for i in range(400)], ["a"] * 400)
        variances.append(model.feature_stats("v", "a").var_population)
    assert variances[1] == pytest.approx(variances[0], rel=0, abs=1e-3)


# Any values, by the bound of Chan, Golub and LeVeque: test_moments_are_those_of_exact_fractions.
def test_37_a_spread_far_below_the_mean_keeps_its_digits():
    values = [1e8 + d for d in (0, -0.001, 0.002, -0.003, 0.004, -0.005, 0.006, -0.007)]
    model = _model([(value, "a") for value in values])
    assert abs(model.feature_stats("v", "a").var_population / statistics.pvariance(values) - 1) < 1e-4


# An integer that no float holds is a bad value, as infinities are: left out and counted; the rest is used.
def test_38_huge_integers_and_long_streams_agree_with_exact_arithmetic():
    model = _model([(2**62, "a"), (2**62, "a"), (2**62 + 4096, "a")])
    before = model.feature_stats("v", "a")
    assert abs(Fraction(before.mean) - (2**62 + Fraction(4096, 3))) < 2048
    assert before.var >= 0
    model.learn_one({"v": 10**400}, "a")
    assert model.feature_stats("v", "a") == before
    assert (model.bad_values, model.learned) == ({"v": 1}, 4)
    values, model = [10**9 + i * 7919 % 1009 for i in range(100_000)], NaiveBayes()
    model.learn_many(pd.DataFrame({"v": values}), ["a"] * len(values))
    assert model.feature_stats("v", "a").mean == pytest.approx(sum(values) / len(values), rel=1e-13)
    assert model.feature_stats("v", "a").var_population == pytest.approx(float(np.var(np.array(values) - 10**9)))


# D. Missing, bad and partial input
# Any stream and any kind of nothing: test_a_missing_value_is_as_no_key_in_learning_and_in_predicting.
def test_40_a_missing_value_is_skipped_and_the_rest_of_its_event_used():
    rows = [(1.0, "p"), (2.0, "p"), (math.nan, "p"), (8.0, "n"), (9.0, "n")]
    model = learned(NaiveBayes(), [({"v": value, "k": "q"}, label) for value, label in rows])
    assert model.predict_proba_one({"v": 1.5})["p"] > 0.99
    assert (model.feature_stats("v", "p").n, model.feature_stats("k", "p").n) == (2, 3)
    assert model.predict_proba_one({"v": math.nan, "k": "q"}) == model.predict_proba_one({"k": "q"})


# Frames of any kind: test_a_frame_is_answered_by_its_own_kind_row_for_row.
def test_42_a_frame_with_missing_cells_has_one_distribution_per_row():
    model = learned(NaiveBayes(), [({"v1": "ny"[i % 2], "v2": "y"}, i % 2) for i in range(40)])
    frame = pd.DataFrame({"v1": ["y", None, "n"], "v2": [None, None, "y"]}, index=[7, 8, 9])
    answers = model.predict_proba_many(frame)
    assert list(answers.index) == [7, 8, 9]
    assert list(answers.columns) == [0, 1]
    assert abs(answers.sum(axis=1) - 1).max() < 1e-9
    rows = [{"v1": "y"}, {}, {"v1": "n", "v2": "y"}]
    assert answers.to_dict("records") == list(map(model.predict_proba_one, rows))


# As if without it: test_a_feature_without_any_value_yet_says_nothing_and_starts_with_its_first.
def test_43_a_feature_that_never_had_a_value_starts_with_its_first():
    model = learned(NaiveBayes(), [({"dead": math.nan, "v": float(i % 2)}, i % 2) for i in range(300)])
    assert model.predict_one({"dead": math.nan, "v": 1.0}) == 1
    assert model.predict_one({"dead": 5.0, "v": 1.0}) == 1
    learned(model, [({"dead": 3.0, "v": 0.0}, 0), ({"dead": 90.0, "v": 1.0}, 1)])
    assert [model.predict_one({"dead": value}) for value in (4.0, 89.0)] == [0, 1]


# The case would have the second event refused; here it is used, without the bad value, which is counted.
def test_45_text_is_a_category_and_a_value_that_does_not_fit_is_left_out_of_its_event():
    model = learned(NaiveBayes(), [({"city": "Utrecht", "postal": "1234AB", "weekday": 2}, "yes")])
    assert model.predict_one({"city": "Utrecht"}) == "yes"
    model.learn_one({"weekday": 5, "city": ["not", "hashable"]}, "no")
    assert model.bad_values == {"city": 1}
    assert (model.feature_stats("weekday", "no").n, model.feature_stats("city", "no").n) == (1, 0)


def _tokens(text):
    if text == "boom":
        raise LookupError(text)
    return text.split()


_REFUSED = [
    *((ValueError, {"y": label}) for label in (["no", "class"], None, math.nan)),
    *((ValueError, {"w": weight}) for weight in (-1.0, math.nan, math.inf, 1e300)),
    (ValueError, {"t": math.inf}),
    (TypeError, {"x": ["no", "event"]}),
    (LookupError, {"x": {"new": 1.0, "text": "boom", "other": "new"}}),
]


@pytest.mark.parametrize(("error", "wrong"), _REFUSED)
def test_45_of_an_event_that_is_refused_nothing_is_kept(error, wrong):
    model = NaiveBayes(kinds={"text": "text"}, tokenizer=_tokens, half_life=5.0)
    model.learn_one({"weekday": 2, "city": "Utrecht", "text": "a b"}, "yes")
    before = pickle.dumps(model)
    with pytest.raises(error):
        model.learn_one(**({"x": {"weekday": 5, "city": "Assen", "new": 1.0, "text": "c"}, "y": "no"} | wrong))
    assert pickle.dumps(model) == before


# Other reasons: test_what_cannot_be_learned_changes_nothing.
@pytest.mark.parametrize(("error", "event"), [(TypeError, ["no", "event"]), (LookupError, {"text": "boom"})])
@pytest.mark.parametrize("before", [1, 100])
def test_45_of_a_batch_that_is_refused_nothing_is_kept(error, event, before):
    model = NaiveBayes(kinds={"text": "text"}, tokenizer=_tokens)
    model.learn_one({"text": "a b"}, "yes")
    saved = save(model)
    with pytest.raises(error):
        model.learn_many([{"text": "c", "new": 1.0}] * before + [event], ["no"] * (before + 1))
    assert save(model) == saved


# E. Priors, weights and classes
wrong_priors = [({0: 0.5, 1: 0.4}, "0.9"), ({0: 1.2, 1: -0.2}, "1.2"), ({0: math.nan, 1: 1.0}, "nan")]


@pytest.mark.parametrize(("prior", "named"), wrong_priors)
def test_46_what_is_no_prior_is_refused_by_its_value(prior, named):
    with pytest.raises(ValueError, match=named):
        NaiveBayes(prior=prior)


@given(
    st.lists(st.floats(1e-3, 1e3), min_size=1, max_size=200), st.sampled_from([1e-6, -1e-6, 0.1, math.inf, math.nan])
)
@example([0.08, 0.14, 0.03, 0.16, 0.11, 0.16, 0.07, 0.14, 0.11, 0.0], 0.1)
def test_46_shares_of_one_are_priors_and_what_is_off_by_more_than_rounding_is_not(amounts, off):
    shares = [amount / sum(amounts) for amount in amounts]
    model = NaiveBayes(prior=dict(enumerate(shares)))
    assert [model.p_class(label) for label in range(len(shares))] == shares
    shares[-1] += off
    with pytest.raises(ValueError, match="prior"):
        NaiveBayes(prior=dict(enumerate(shares)))


@given(mixed_streams, st.lists(st.integers(0, 9), min_size=3, max_size=3).filter(any))
@example([({"v": 0.0}, "a"), ({"v": 0.0}, "b")], [9, 1, 0])
def test_47_priors_that_are_given_are_used_exactly_whatever_is_learned(stream, amounts):
    shares = {label: amount / sum(amounts) for label, amount in zip("abc", amounts, strict=True)}
    model = learned(NaiveBayes(prior=shares), stream)
    assert {label: model.p_class(label) for label in "abc"} == shares
    assert model.predict_proba_one({}) == pytest.approx(shares, rel=0, abs=1e-12)


# Any stream: test_probabilities_are_shares_of_one.
def test_48_probabilities_of_mixed_events_add_up_to_1():
    model = NaiveBayes()
    for i in range(500):
        event = {"n": float(i % 13), "c": "abc"[i % 3], "b": bool(i % 2)}
        model.learn_one(event, "xyz"[i % 3])
        assert math.isclose(sum(model.predict_proba_one(event).values()), 1.0)


@given(st.lists(st.tuples(labels, weights), min_size=1))
@example([("a", 1.0), ("a", 1.0), ("a", 1.0), ("b", 1.0)])
def test_49_the_prior_is_the_weight_of_a_class_in_that_of_all(stream):
    model, total = NaiveBayes(), math.fsum(weight for _, weight in stream)
    for label, weight in stream:
        model.learn_one({}, label, w=weight)
    shares = {name: math.fsum(w for label, w in stream if label == name) / (total or 1.0) for name in "abc"}
    assert {label: model.p_class(label) for label in "abc"} == pytest.approx(shares, rel=1e-15)
    assert model.predict_proba_one({}) == pytest.approx({name: shares[name] for name in model.classes}, abs=1e-12)


def test_51_a_known_class_without_events_warns_of_nothing_and_heals_with_its_first():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model = _model([(1.0, "a"), (2.0, "b")], known_classes=["a", "b", "c"])
        answer = model.predict_proba_one({"v": 1.0})
        assert _is_shares(answer)
        assert answer["c"] == 0.0
        assert model.joint_log_likelihood({"v": 1.0})["c"] == -math.inf
        model.learn_one({"v": 9.0}, "c")
        assert model.predict_one({"v": 9.0}) == "c"


@given(mixed_streams, mixed, st.sampled_from(["observed", "uniform"]), st.sampled_from([0, 0.5]))
def test_51_known_classes_are_listed_are_possible_where_their_prior_is_and_heal(stream, event, prior, smoothing):
    model = NaiveBayes(known_classes=["late", "a"], kinds=KINDS, prior=prior, prior_smoothing=smoothing)
    answer = learned(model, stream).predict_proba_one(event)
    assert set(answer) == {"late", "a", *(label for _, label in stream)}
    assert _is_shares(answer)
    assert (model.p_class("late") > 0) == (prior == "uniform" or smoothing > 0)
    assert not any(map(math.isnan, model.joint_log_likelihood(event).values()))
    model.learn_one(event, "late")
    assert math.isfinite(model.joint_log_likelihood(event)["late"])


# Any stream, cut anywhere: test_a_batch_gives_what_its_events_give_one_by_one_wherever_it_is_cut.
def test_53_a_class_is_the_same_in_every_batch():
    model = NaiveBayes()
    model.learn_many(pd.DataFrame({"k": ["a", "b"]}), pd.Series([0, 1]))
    model.learn_many(pd.DataFrame({"k": ["c"]}), pd.Series([2]))
    assert [model.predict_one({"k": value}) for value in "abc"] == [0, 1, 2]
    assert model.predict_many(pd.DataFrame({"k": ["c", "a"]})).tolist() == [2, 0]


# Labels of any type: test_a_class_is_the_plain_python_value_and_keeps_its_type.
def test_55_labels_keep_value_and_type_on_each_path():
    model, other = NaiveBayes(), NaiveBayes()
    model.learn_many(pd.DataFrame({"k": ["a", "b"]}), pd.Series([1, 0]))
    model.learn_one({"k": "a"}, 1)
    other.learn_one({"k": "a"}, np.bool_(True))
    assert [(type(label), label) for label in model.predict_proba_one({"k": "a"})] == [(int, 1), (int, 0)]
    assert [(type(label), label) for label in other.predict_proba_one({"k": "a"})] == [(bool, True)]


# Any stream, classes being open: test_51_known_classes_are_listed_are_possible_where_their_prior_is...
def test_56_a_class_that_was_not_declared_is_learned():
    model = _model([(1.0, 0)], known_classes=[0, 1])
    model.learn_one({"v": 2.0}, 2)
    assert model.predict_one({"v": 2.0}) == 2
    assert model.classes == [0, 1, 2]


# F. Unlearning, updating and snapshots
def test_58_with_its_last_event_a_class_a_feature_and_a_value_go():
    model = learned(NaiveBayes(), [({"k": "a", "v": 1.0}, "p")])
    before, memory = save(model), model._raw_memory_usage
    for _ in range(3):
        model.learn_one({"k": "b", "v": 5.0, "new": "x"}, "n")
        model.unlearn_one({"k": "b", "v": 5.0, "new": "x"}, "n")
        assert model.predict_proba_one({"k": "a", "v": 1.0}) == {"p": 1.0}
        assert save(model) == before
        assert model._raw_memory_usage <= memory


@given(mixed_streams, st.lists(st.tuples(mixed, labels), max_size=20), st.randoms(), st.sampled_from(BAGS))
def test_58_learning_and_unlearning_in_any_order_is_the_identity(stream, more, chance, bags):
    """Bit for bit in names, counts and weights; up to rounding in the moments of numbers."""
    model = learned(NaiveBayes(bags=bags, kinds=KINDS), [({"n": 0.0, "m": 0.0, "c": "x", "b": ["x"]}, "a"), *stream])
    plain, arrays = load(save(model)).to_state()
    learned(model, more)
    for event, label in chance.sample(more, len(more)):
        model.unlearn_one(event, label)
    plain_again, arrays_again = model.to_state()
    assert plain_again == plain
    moments, moments_again = (each.pop("moments")[:, :TAKEN] for each in (arrays, arrays_again))
    assert np.allclose(moments_again, moments, rtol=0, atol=1e-7)
    assert {key: array.tolist() for key, array in arrays_again.items()} == {k: a.tolist() for k, a in arrays.items()}


odd_events = st.dictionaries(st.sampled_from("nvw"), st.sampled_from([[], ["x"], None, math.inf, "y"]), min_size=1)


@given(st.lists(st.tuples(odd_events, labels), min_size=1, max_size=5), st.randoms())
def test_58_events_with_bad_values_and_empty_bags_are_unlearned_in_any_order(stream, chance):
    model = learned(NaiveBayes(), [({"n": 1.0}, "a")])
    before = save(model)
    learned(model, stream)
    for event, label in chance.sample(stream, len(stream)):
        model.unlearn_one(event, label)
    assert save(model) == before


# Any stream, and learning on: test_a_saved_model_answers_and_learns_on_as_the_original.
def test_60_a_restored_model_answers_at_once():
    model = learned(NaiveBayes(), [({"w": "gold"}, "sell"), ({"w": "silver"}, "buy")])
    restored = load(save(model))
    assert restored.predict_proba_one({"w": "gold"}) == model.predict_proba_one({"w": "gold"})


# Names and values of any type: test_types_of_labels_names_and_values_survive.
def test_61_names_and_kinds_are_in_the_snapshot():
    model = learned(NaiveBayes(), [({"code": "7", "n": 7.0}, i % 2) for i in range(4)])
    restored = load(save(model))
    assert restored.schema() == model.schema() == {"code": "categorical", "n": "numeric"}
    for twin in (restored, model):
        learned(twin, [({"code": "8", "n": 8.0}, 1), ({"code": 8.0, "n": "8"}, 1)])
    assert same(restored, model)
    assert restored.bad_values == {"n": 1}


_FRESH = """
import json, pathlib, sys, streamnb
model = streamnb.load(pathlib.Path(sys.argv[1]).read_bytes())
print(json.dumps([model.predict_proba_one(event) for event in json.loads(sys.argv[2])]))
"""


# Bit for bit, and learning on: test_a_fresh_process_answers_and_learns_on_the_same.
def test_62_a_fresh_process_needs_nothing_but_the_snapshot(tmp_path):
    model = learned(NaiveBayes(), [({"k": "cbad"[i % 4], "v": i / 7}, "xyz"[i % 3]) for i in range(20)])
    (tmp_path / "m.snap").write_bytes(save(model))
    asked = [{"k": "b"}, {"k": "d", "v": 0.1}, {"k": "never seen"}]
    command = [sys.executable, "-c", _FRESH, tmp_path / "m.snap", json.dumps(asked)]
    done = subprocess.run(command, capture_output=True, check=True, cwd=Path(__file__).parent.parent)
    assert json.loads(done.stdout) == list(map(model.predict_proba_one, asked))


def _cyclic(events):
    return [({"v": float(i % 9), "k": "abc"[i % 3]}, i % 2) for i in range(events)]


def test_63_a_snapshot_does_not_grow_with_the_events():
    few, many = NaiveBayes(), NaiveBayes()
    for model, size in ((few, 1_000), (many, 100_000)):
        for event, label in _cyclic(size):
            model.learn_one(event, label)
    assert len(save(many)) == len(save(few))
    assert abs(len(pickle.dumps(many)) - len(pickle.dumps(few))) < 256


def _work(model, event, label):
    """Return what is done to learn an event: the calls that Python makes, and the shapes that the kernel is given."""
    calls, shapes, profiler = [], [], sys.getprofile()

    def note(frame, what, _):
        if what == "call":
            calls.append(frame.f_code.co_name)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(naive_bayes, "learn", lambda *arrays: shapes.extend(array.shape for array in arrays))
        sys.setprofile(note)
        model.learn_one(event, label)
        sys.setprofile(profiler)
    return calls, shapes


# Not timed, but counted.
def test_64_an_event_costs_the_same_however_many_came_before():
    model, work = NaiveBayes(), []
    for size in (100, 5_000, 100_000):
        learned_many = _cyclic(size)
        model.learn_many([event for event, _ in learned_many], [label for _, label in learned_many])
        work.append([_work(model, *pair) for pair in _cyclic(3)])
    assert work[0] == work[1] == work[2]
    assert all(calls and shapes for calls, shapes in work[0])


# At any time: test_a_model_in_a_pipeline_is_cloned_pickled_and_copied_at_any_time.
def test_65_a_model_in_a_pipeline_is_pickled_and_copied():
    pipeline = compose.SelectType(float) | preprocessing.StandardScaler() | NaiveBayes()
    pipeline.learn_one({"a": 1.0, "k": "x"}, True)
    twin = pickle.loads(pickle.dumps(pipeline))  # noqa: S301 - our own
    assert twin.predict_proba_one({"a": 1.0}) == pipeline.predict_proba_one({"a": 1.0}) == {True: 1.0}
    copy.deepcopy(pipeline).learn_one({"a": 2.0}, False)
    assert pipeline["NaiveBayes"].classes == [True]


# G. In river pipelines and evaluation
# Before any label the answer is empty. Other ensembles: test_an_ensemble_answers_as_soon_as_...
def test_66_an_ensemble_answers_once_its_members_have_seen_an_event():
    model = ensemble.BaggingClassifier(NaiveBayes(), n_models=3, seed=1)
    assert model.predict_one({"v": 1.0}) is None
    for place, (event, label) in enumerate(datasets.Phishing().take(50)):
        assert place < 5 or model.predict_one(event) in (True, False)
        model.learn_one(event, label)


# Delays of other kinds: test_a_time_among_the_features_is_no_error.
def test_68_labels_may_come_after_a_delay_that_is_a_field_of_the_event():
    start, minute = dt.datetime(2024, 1, 1, tzinfo=dt.UTC), dt.timedelta(minutes=1)
    stream = [({"v": float(i % 2), "t": start + i * minute, "lag": i % 7 * minute}, i % 2 == 1) for i in range(300)]
    metric = evaluate.progressive_val_score(stream, NaiveBayes(), metrics.Accuracy(), moment="t", delay="lag")
    assert metric.get() > 0.9


def test_69_models_of_several_workers_merge_to_that_of_one():
    workers, one = [NaiveBayes() for _ in range(4)], NaiveBayes()
    for i in range(4_000):
        for model in (workers[i % 4], one):
            model.learn_one({"v": float(i % 17), "k": "abcd"[i % 4]}, i % 3)
    merged, asked = functools.reduce(operator.add, workers), {"v": 5.0, "k": "a"}
    assert merged.predict_proba_one(asked) == pytest.approx(one.predict_proba_one(asked), rel=0, abs=1e-9)


@given(st.lists(st.tuples(mixed, labels, st.integers(0, 3), weights), min_size=1, max_size=30), mixed)
def test_69_events_may_be_dealt_to_workers_in_any_way(stream, asked):
    workers, one = [NaiveBayes(kinds=KINDS) for _ in range(4)], NaiveBayes(kinds=KINDS)
    for event, label, worker, weight in stream:
        for model in (workers[worker], one):
            model.learn_one(event, label, w=weight)
    merged = functools.reduce(operator.add, workers)
    assert merged.predict_proba_one(asked) == pytest.approx(one.predict_proba_one(asked), rel=0, abs=1e-9)
    assert (set(merged.classes), merged.learned) == (set(one.classes), one.learned)
    assert set(merged.schema().items()) == set(one.schema().items())


# Any stream: test_probabilities_are_shares_of_one.
def test_70_every_answer_lists_all_classes_learned_so_far():
    model = _model([(0.0, "a"), (9.0, "b"), (99.0, "c")])
    assert all(set(model.predict_proba_one({"v": value})) == {"a", "b", "c"} for value in (0.0, 9.0, 99.0, -1e9))
    assert model.predict_proba_many(pd.DataFrame({"v": [0.0, 99.0]})).shape == (2, 3)
