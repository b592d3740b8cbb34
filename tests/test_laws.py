"""Laws that hold for any stream: what must not be seen in the answers, and what the answers must be."""

import copy
import itertools
import math
import pickle
import random
from collections import Counter

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from streamnb import AdaptiveBayes, NaiveBayes, load, save
from tests.strategies import (
    HOSTILE_NUMBERS,
    cuts,
    events,
    in_batches,
    labels,
    learned,
    one_by_one,
    parts,
    plain_run,
    same,
    streams,
)

settings_of_models = st.fixed_dictionaries(
    {},
    optional={
        "smoothing": st.sampled_from([0, 0.5, 2]),
        "variance_prior": st.sampled_from([0, 1e-3, 1]),
        "unbiased": st.booleans(),
        "prior_smoothing": st.sampled_from([0.5, 3]),
        "kinds": st.sampled_from([{"a": "numeric", "1": "categorical"}, {1: "categorical", "n": "categorical"}]),
    },
)
moderate = st.integers(-4_000, 4_000).map(lambda eighths: eighths / 8)


@given(streams, cuts, settings_of_models)
def test_a_batch_gives_what_its_events_give_one_by_one_wherever_it_is_cut(stream, at, settings):
    one, many = NaiveBayes(**settings), NaiveBayes(**settings)
    assert one_by_one(one, stream) == in_batches(many, parts(stream, at))
    assert same(one, many)
    assert one.classes == many.classes
    assert list(map(type, one.classes)) == list(map(type, many.classes))


@given(streams, cuts)
def test_learn_many_is_learn_one_many_times(stream, at):
    one, many = learned(NaiveBayes(), stream), NaiveBayes()
    for part in parts(stream, at):
        many.learn_many([event for event, _ in part], [label for _, label in part])
    assert same(one, many)


@given(streams, cuts, settings_of_models)
def test_the_fast_paths_of_the_encoder_give_what_reading_key_by_key_gives(stream, at, settings):
    slow, fast, many = (NaiveBayes(**settings) for _ in range(3))
    expected = []
    for event, label in stream:
        slow._encoder._layouts.clear()  # nothing remembered of any set of keys: each is read as if it were the first
        expected.append(slow.predict_proba_one(event))
        slow._encoder._layouts.clear()
        if label is not None:
            slow.learn_one(event, label)
    assert expected == one_by_one(fast, stream)
    assert expected == in_batches(many, parts(stream, at))
    assert save(slow) == save(fast) == save(many)


@pytest.mark.parametrize("odd_at", [0, 1, 15, 16, 17, 31, 39])
@pytest.mark.parametrize(
    "odd",
    [
        {"n": float("inf"), "c": "x"},
        {"n": 1.0},
        {"n": 1.0, "c": "x", "new": 2.0},
        {"n": 1.0, "c": ["x"]},
        {"n": None, "c": "never seen"},
        {"c": "x", "n": 1.0},
        {"n": 1.0, "c": {"deep": 1}},
        {"n": "1.0", "c": True},
        {"n": 10**400, "c": 3},
        {"n": 2**63, "c": None},
        {},
    ],
)
def test_one_odd_event_in_a_plain_block_changes_only_itself(odd, odd_at):
    stream = [({"n": float(i % 7), "c": "xyz"[i % 3]}, "ab"[i % 2]) for i in range(40)]
    stream[odd_at] = (odd, "b")
    one, many, bad = NaiveBayes(), NaiveBayes(), Counter()
    in_batches(many, [stream[:1]])
    many.test_then_train([event for event, _ in stream[1:]], [label for _, label in stream[1:]], bad_values=bad)
    one_by_one(one, stream)
    assert same(one, many)
    if odd_at:
        assert bad == many.bad_values


def test_events_that_are_not_learned_give_no_name_kind_or_value_a_number_in_a_block():
    model = learned(NaiveBayes(), [({"n": 1.0, "c": "x"}, "a"), ({"n": 2.0, "c": "y"}, "b")])
    before = save(model)
    run = [{"n": float(i), "c": f"value {i}", "new": i} for i in range(50)]
    probabilities = model.test_then_train(run, [None] * 50)
    assert save(model) == before
    assert [dict(zip("ab", row, strict=True)) for row in probabilities.tolist()] == list(
        map(model.predict_proba_one, run)
    )


def test_what_a_block_passed_over_as_unknown_is_read_once_it_is_known():
    model = learned(NaiveBayes(), [({"n": 1.0}, "a"), ({"n": 2.0}, "b")])
    run = [{"n": 1.5, "new": float(i)} for i in range(40)]
    model.test_then_train(run, [None] * 40)
    learned(model, [({"new": 1.0}, "a"), ({"new": 9.0}, "b"), ({"new": 11.0}, "b")])
    answers = model.test_then_train(run, [None] * 40).tolist()
    assert answers[0] != answers[-1]
    assert [dict(zip("ab", row, strict=True)) for row in answers] == list(map(model.predict_proba_one, run))


def test_tables_grow_in_every_direction_without_changing_a_value():
    stream = [
        ({f"n{i}": i / 3, f"n{i // 2}": -1.0, f"c{i // 5}": f"v{i}", "c": f"v{i}"}, i % 7 or i) for i in range(300)
    ]
    one, many = learned(NaiveBayes(), stream), NaiveBayes()
    in_batches(many, [stream])
    assert same(one, many)
    assert one.statistics.moments.array[:300, 0, 0].sum() == sum(
        len([key for key in event if key[0] == "n"]) for event, _ in stream
    )
    assert one.statistics.counts.array[:, 0].sum() == 600


@given(streams, streams)
def test_a_saved_model_answers_and_learns_on_as_the_original(stream, more):
    model = learned(NaiveBayes(), stream)
    for twin in (load(save(model)), pickle.loads(pickle.dumps(model)), copy.deepcopy(model)):  # noqa: S301 - our own
        original = copy.deepcopy(model)
        assert same(twin, original)
        assert one_by_one(twin, more) == one_by_one(original, more)
        assert same(twin, original)
        assert (twin.schema(), twin.bad_values, twin.class_weights, twin.learned) == (
            original.schema(),
            original.bad_values,
            original.class_weights,
            original.learned,
        )


def _shuffled(event, chance):
    keys = list(event)
    chance.shuffle(keys)
    return {key: _shuffled(event[key], chance) if isinstance(event[key], dict) else event[key] for key in keys}


@given(streams, st.integers(0, 2**32))
def test_the_order_of_the_keys_of_an_event_does_not_matter(stream, seed):
    chance = random.Random(seed)
    shuffled = [(_shuffled(event, chance), label) for event, label in stream]
    model, other, many = NaiveBayes(), NaiveBayes(), NaiveBayes()
    assert one_by_one(model, stream) == one_by_one(other, shuffled) == in_batches(many, [shuffled])
    assert save(model) == save(other) == save(many)


_MIXED = {"n": "numeric", "m": "numeric", "c": "categorical", "d": "categorical"}
mixed_events = st.fixed_dictionaries(
    {},
    optional={
        "n": moderate,
        "m": st.one_of(moderate, st.none()),
        "c": st.sampled_from("xyz"),
        "d": st.one_of(st.booleans(), st.integers(0, 3)),
    },
)
mixed_streams = st.lists(st.tuples(mixed_events, st.sampled_from("abc")), min_size=1, max_size=30)


@given(mixed_streams, st.randoms(use_true_random=False), mixed_events, settings_of_models)
def test_the_order_of_events_does_not_matter_where_the_kinds_are_given(stream, chance, event, settings):
    shuffled = chance.sample(stream, len(stream))
    given_kinds = settings | {"kinds": _MIXED}
    model, other = (learned(NaiveBayes(**given_kinds), events) for events in (stream, shuffled))
    answer = model.predict_proba_one(event)
    assert answer == pytest.approx(other.predict_proba_one(event), rel=0, abs=1e-9)
    assert set(model.schema().items()) == set(other.schema().items())


@given(streams, events, settings_of_models)
def test_probabilities_are_shares_of_one(stream, event, settings):
    model = learned(NaiveBayes(**settings), stream)
    answers = [model.predict_proba_one(event), *(model.predict_proba_one(seen) for seen, _ in stream[-5:])]
    for answer in answers:
        assert set(answer) == set(model.classes)
        assert all(0.0 <= probability <= 1.0 for probability in answer.values())
        assert not answer or math.isclose(sum(answer.values()), 1.0, rel_tol=0, abs_tol=1e-9)
        assert bool(answer) == (model.learned > 0)


@given(streams, st.lists(events, min_size=1, max_size=3), st.integers(0, 2**32))
def test_predicting_changes_nothing(stream, questions, seed):
    model = learned(NaiveBayes(), stream)
    saved, pickled, schema = save(model), pickle.dumps(model), model.schema()
    run = [event for event, _ in plain_run(seed)]
    for event in questions + run[:3]:
        before = copy.deepcopy(event)
        model.predict_proba_one(event)
        model.predict_one(event)
        model.joint_log_likelihood(event)
        assert repr(event) == repr(before)
    model.test_then_train(run, [None] * len(run))
    model.predict_proba_many(pd.DataFrame(run))
    model.predict_many(pl.DataFrame({"n": [1.0, None], "unheard of": ["x", "y"]}))
    assert (save(model), pickle.dumps(model), model.schema()) == (saved, pickled, schema)


@given(streams, events)
def test_the_answer_is_the_most_probable_class_the_first_seen_of_equals(stream, event):
    model = learned(NaiveBayes(), stream)
    row = model.test_then_train([event], [None])[0]
    assert model.predict_one(event) == (model.classes[int(np.argmax(row))] if model.classes else None)
    assert type(model.predict_one(event)) in (str, int, bool, float, type(None))


numeric_streams = st.lists(st.tuples(moderate, moderate, st.sampled_from("abc")), min_size=1, max_size=30)


def _scaled(stream, scale):
    return [({"v": v * scale, "w": w}, label) for v, w, label in stream]


@given(numeric_streams, moderate, moderate, st.integers(-40, 40), settings_of_models)
def test_the_unit_of_a_feature_does_not_matter(stream, v, w, exponent, settings):
    """A power of two scales without rounding, so not one bit may change."""
    model = learned(NaiveBayes(**settings), _scaled(stream, 1.0))
    other = learned(NaiveBayes(**settings), _scaled(stream, 2.0**exponent))
    assert model.predict_proba_one({"v": v, "w": w}) == other.predict_proba_one({"v": v * 2.0**exponent, "w": w})


@given(numeric_streams, moderate, moderate, st.sampled_from([1e-12, 1e-6, 0.3, 7.0, 1e6, 1e12]))
def test_the_unit_of_a_feature_does_not_matter_where_scaling_rounds(stream, v, w, scale):
    answer = learned(NaiveBayes(), _scaled(stream, 1.0)).predict_proba_one({"v": v, "w": w})
    scaled = learned(NaiveBayes(), _scaled(stream, scale)).predict_proba_one({"v": v * scale, "w": w})
    assert answer == pytest.approx(scaled, rel=0, abs=1e-6)


def test_a_feature_of_huge_scale_does_not_drown_a_small_one():
    model = NaiveBayes()
    for big, small, label in [(1e9, 1e-4, "p"), (2e9, 2e-4, "p"), (1.1e9, 9e-4, "n"), (2.1e9, 8e-4, "n")]:
        model.learn_one({"big": big, "small": small}, label)
    both, alone = model.predict_proba_one({"big": 1.5e9, "small": 1.5e-4}), model.predict_proba_one({"small": 1.5e-4})
    assert both["p"] > 0.9
    assert both["p"] == pytest.approx(alone["p"], abs=0.05)


@given(mixed_streams, mixed_events, settings_of_models)
def test_the_ratio_of_two_probabilities_is_that_of_the_joint_likelihoods(stream, event, settings):
    model = learned(NaiveBayes(**settings | {"kinds": _MIXED}), stream)
    joint, answer = model.joint_log_likelihood(event), model.predict_proba_one(event)
    assert list(joint) == list(answer) == model.classes
    assume(any(score > -math.inf for score in joint.values()))
    possible = [label for label in answer if answer[label] > 1e-290]
    for first, second in itertools.combinations(possible, 2):
        ratio = math.log(answer[first]) - math.log(answer[second])
        assert ratio == pytest.approx(joint[first] - joint[second], rel=1e-9, abs=1e-9)
    top = max(joint.values())
    assert all(
        (joint[label] - top > -667) == (label in possible) for label in answer if abs(joint[label] - top + 667) > 2
    )


def test_likelihoods_far_below_any_float_are_not_tempered():
    model = NaiveBayes()
    for i in range(400):
        model.learn_one({f"f{j}": "ba"[i % 2] for j in range(60)}, i % 2)
    event = {f"f{j}": "a" for j in range(60)}
    joint, answer = model.joint_log_likelihood(event), model.predict_proba_one(event)
    assert joint[1] - joint[0] == pytest.approx(60 * math.log(201), rel=1e-12)
    assert math.log(answer[1]) - math.log(answer[0]) == pytest.approx(joint[1] - joint[0], rel=1e-12)


def test_many_tiny_and_many_huge_likelihood_ratios_neither_underflow_nor_overflow():
    """Each within what a ratio can be: forty of them multiplied would leave the range of a double."""
    model = NaiveBayes(smoothing=1e-12, variance_prior=0)
    for i in range(50):
        event = {f"c{j}": "x" for j in range(40)} | {f"n{j}": i % 2 * 1e-4 for j in range(40)}
        model.learn_one(event, "narrow")
        model.learn_one({f"n{j}": i % 2 * 1e4 for j in range(40)} | {"c0": "y"}, "wide")
    unseen = model.joint_log_likelihood({f"c{j}": "unseen" for j in range(1, 40)})
    assert unseen["narrow"] == pytest.approx(math.log(0.5) + 39 * math.log(1e-12 / 50), rel=1e-9)
    one = model.joint_log_likelihood({"n0": 0.0})
    all_of_them = model.joint_log_likelihood({f"n{j}": 0.0 for j in range(40)})
    for label in ("narrow", "wide"):
        assert all_of_them[label] == pytest.approx(math.log(0.5) + 40 * (one[label] - math.log(0.5)), rel=1e-9)


@pytest.mark.parametrize("features", [*range(1, 26), 300])
def test_an_event_of_any_number_of_features_scores_the_sum_of_its_terms(features):
    """Likelihoods are multiplied in groups; each group, and what is left over, counts once."""
    stream = [
        ({f"n{j}": (i * (j + 3)) % 11 / 4, f"c{j}": "xyz"[(i + j) % 3]}, "ab"[i % 2]) for i in range(20) for j in [0]
    ]
    stream = [
        (
            {f"n{j}": (i * (j + 3)) % 11 / 4 for j in range(features)}
            | {f"c{j}": "xyz"[(i * i + j) % 3] for j in range(features)},
            "aab"[i % 3],
        )
        for i in range(20)
    ]
    model = learned(NaiveBayes(), stream)
    event = stream[7][0]
    joint, prior = model.joint_log_likelihood(event), model.joint_log_likelihood({})
    terms = [model.joint_log_likelihood({name: value}) for name, value in event.items()]
    for label in "ab":
        whole = prior[label] + sum(term[label] - prior[label] for term in terms)
        assert joint[label] == pytest.approx(whole, rel=1e-10, abs=1e-9)


hostile = st.one_of(st.sampled_from(HOSTILE_NUMBERS), st.floats(-1e6, 1e6), st.integers(-(10**30), 10**30))
hostile_streams = st.lists(st.tuples(hostile, hostile, st.sampled_from("abc")), min_size=1, max_size=12)


def _finite(model, event):
    answer = model.predict_proba_one(event)
    return (
        all(map(math.isfinite, model.joint_log_likelihood(event).values()))
        and all(0.0 <= probability <= 1.0 for probability in answer.values())
        and math.isclose(sum(answer.values()), 1.0, abs_tol=1e-9)
        and np.isfinite(model.statistics.moments.array).all()
        and (model.statistics.moments.array[:, 2] >= 0.0).all()
    )


@given(hostile_streams, hostile, hostile, settings_of_models)
def test_no_number_makes_an_answer_that_is_not_finite(stream, v, w, settings):
    model = NaiveBayes(**settings)
    for first, second, label in stream:
        model.learn_one({"v": first, "w": second}, label)
        assert _finite(model, {"v": v, "w": w})
        assert _finite(model, {"v": first, "w": second})


@pytest.mark.parametrize("prior", [0, 5.0])
@pytest.mark.parametrize("exponent", [-323, -300, -200, *range(-165, -145), -100, 0, 100, 139])
def test_numbers_of_any_size_give_finite_answers(exponent, prior):
    """Among them those whose squares are too small for a double, or lose most of their bits."""
    unit = float(f"1e{exponent}")
    model = NaiveBayes(variance_prior=prior)
    for value, label in [(1, "p"), (1, "p"), (2, "p"), (4, "n"), (4, "n")]:
        model.learn_one({"v": value * unit}, label)
    for value in (0, 1, 2, 4, 5):
        assert _finite(model, {"v": value * unit})


@pytest.mark.parametrize("exponent", [-140, -100, -13, 0, 13, 100, 138])
def test_the_size_of_the_numbers_does_not_change_the_answer(exponent):
    answers = []
    for unit in (1.0, float(f"1e{exponent}")):
        model = NaiveBayes()
        for value, label in [(1, "p"), (2, "p"), (4, "n"), (6, "n")]:
            model.learn_one({"v": value * unit}, label)
        answers.append(model.predict_proba_one({"v": 2.5 * unit}))
    assert answers[0] == pytest.approx(answers[1], rel=0, abs=1e-9)


def test_rounding_noise_around_a_constant_is_no_evidence():
    model = NaiveBayes()
    for i in range(1_000):
        model.learn_one({"constant": 0.1 + 0.2, "noisy": 0.3 + (i % 3) * 5e-17, "s": float(i % 2)}, i % 2)
    asked = model.predict_proba_one({"constant": 0.3, "noisy": 0.3, "s": 1.0})
    assert asked == pytest.approx(model.predict_proba_one({"s": 1.0}), rel=0, abs=1e-6)


def test_an_absurdly_far_number_still_has_an_answer():
    model = NaiveBayes()
    for i in range(200):
        model.learn_one({f"s{j}": float((i * 7 + j) % 10) for j in range(20)}, (i * 7) % 10 > 4)
    for far in (1e4, -1e9, 1e139):
        answer = model.predict_proba_one({f"s{j}": far for j in range(20)})
        assert sum(answer.values()) == pytest.approx(1.0, abs=1e-9)
        assert model.predict_one({f"s{j}": far for j in range(20)}) in (True, False)


def test_densities_above_one_are_as_good_as_any():
    model = NaiveBayes()
    for value, label in [(0.0, "p"), (2e-6, "p"), (5e-6, "n"), (7e-6, "n")]:
        model.learn_one(dict.fromkeys(range(300), value), label)
    assert model.predict_proba_one(dict.fromkeys(range(300), 1e-6))["p"] > 0.999


category_streams = st.lists(
    st.tuples(
        st.dictionaries(st.sampled_from("cde"), st.sampled_from("xyz")),
        st.sampled_from("ab"),
    ),
    min_size=1,
    max_size=15,
)


@given(category_streams, st.dictionaries(st.sampled_from("cde"), st.sampled_from("xyzw")))
def test_unsmoothed_an_impossible_class_has_probability_0_and_where_all_are_the_prior_answers(stream, event):
    model = learned(NaiveBayes(smoothing=0), stream)
    shares = {}
    for label in model.classes:
        of_class = [seen for seen, name in stream if name == label]
        share = len(of_class) / len(stream)
        for name, value in event.items():
            having = [seen for seen in of_class if name in seen]
            if having and any(name in seen for seen, _ in stream):
                share *= sum(seen[name] == value for seen in having) / len(having)
        shares[label] = share
    total = sum(shares.values())
    priors = {label: model.p_class(label) for label in model.classes}
    expected = {label: share / total for label, share in shares.items()} if total else priors
    answer = model.predict_proba_one(event)
    assert answer == pytest.approx(expected, rel=1e-9, abs=0)


def test_unsmoothed_what_was_seen_scores_by_counts_alone():
    model = NaiveBayes(smoothing=0)
    model.learn_one({"k": "a"}, "p")
    model.learn_one({"k": "b"}, "n")
    assert model.predict_proba_one({"k": "a"}) == {"p": 1.0, "n": 0.0}
    assert model.predict_proba_one({"k": "c"}) == {"p": 0.5, "n": 0.5}
    assert model.joint_log_likelihood({"k": "a"}) == {"p": math.log(0.5), "n": -math.inf}


@given(st.sampled_from([3.5, 0.0, 1e9, "x", "unheard of", True]), settings_of_models)
def test_a_class_that_never_had_a_feature_is_finite_and_possible(value, settings):
    model = NaiveBayes(**settings)
    for kept in (1.0, 2.0, 4.0):
        model.learn_one({"n": kept, "c": "x"}, "has")
    model.learn_one({"other": 1.0}, "has not")
    event = {"n": value} if isinstance(value, float) else {"c": value}
    assert math.isfinite(model.joint_log_likelihood(event)["has not"])
    assert model.predict_proba_one(event)["has not"] > 0.0 or isinstance(value, float)


def test_a_feature_without_any_value_yet_says_nothing_and_starts_with_its_first():
    model = NaiveBayes()
    for i in range(30):
        model.learn_one({"dead": float("nan"), "v": float(i % 2)}, i % 2)
    assert model.predict_proba_one({"dead": 5.0, "v": 1.0}) == model.predict_proba_one({"v": 1.0})
    assert "dead" not in model.schema()
    model.learn_one({"dead": 3.0}, 0)
    assert model.schema()["dead"] == "numeric"


@given(
    streams, st.sampled_from([None, float("nan"), np.float32("nan"), pd.NA, pd.NaT]), st.sampled_from(["n", "c", "a"])
)
def test_a_missing_value_is_as_no_key_in_learning_and_in_predicting(stream, nothing, name):
    with_nothing = [(event | {name: nothing}, label) for event, label in stream]
    without = [({key: event[key] for key in event if key != name}, label) for event, label in stream]
    model, other = NaiveBayes(), NaiveBayes()
    assume(not any(isinstance(event.get("a"), dict) or isinstance(event.get("n"), dict) for event, _ in stream))
    assert one_by_one(model, with_nothing) == one_by_one(other, without)
    assert same(model, other)


frame_rows = st.lists(
    st.tuples(
        st.one_of(moderate, st.none()),
        st.integers(-5, 5),
        st.one_of(st.sampled_from("xyz"), st.none()),
        st.one_of(st.booleans(), st.none()),
        st.sampled_from(["a", "b", None]),
    ),
    min_size=1,
    max_size=30,
)


def _rebuilt(many, one):
    """Two answers [event, class] from models that must have the same classes."""
    assert many.shape == one.shape
    return many.tobytes() == one.tobytes()


@given(frame_rows, st.booleans())
def test_dicts_and_frames_of_pandas_and_polars_give_the_same(rows, declared):
    names = ["n", "i", "c", "f"]
    columns = {name: [row[place] for row in rows] for place, name in enumerate(names)}
    rows_as_events = [dict(zip(names, row, strict=False)) for row in rows]
    labelled = [row[4] for row in rows]
    kinds = {"n": "numeric", "i": "categorical", "c": "categorical", "f": "categorical"} if declared else None
    polars = pl.DataFrame(columns, schema={"n": pl.Float64, "i": pl.Int64, "c": pl.String, "f": pl.Boolean})
    models = [NaiveBayes(kinds=kinds) for _ in range(4)]
    answers = [
        model.test_then_train(given_events, labelled)
        for model, given_events in zip(
            models,
            [rows_as_events, pd.DataFrame(columns), pd.DataFrame(columns).convert_dtypes(), polars],
            strict=True,
        )
    ]
    assert all(_rebuilt(answer, answers[0]) for answer in answers)
    assert all(same(model, models[0]) for model in models)


@given(
    st.lists(st.tuples(hostile, st.one_of(moderate, st.just(math.nan)), st.sampled_from("ab")), min_size=1, max_size=30)
)
def test_an_array_is_events_whose_features_are_named_by_place(rows):
    array = np.array([row[:2] for row in rows], dtype=np.float64)
    labelled = [row[2] for row in rows]
    by_dicts, by_array = NaiveBayes(), NaiveBayes()
    dicts = [{0: float(first), 1: second} for first, second, _ in rows]
    assert _rebuilt(by_dicts.test_then_train(dicts, labelled), by_array.test_then_train(array, np.array(labelled)))
    assert same(by_dicts, by_array)
    framed = NaiveBayes()
    framed.learn_many(pd.DataFrame(array), pd.Series(labelled))
    assert same(framed, by_array)


def _stored(model, label):
    slot = model.classes.index(label) + 1
    used = (
        len(model.statistics.vocabulary.numeric),
        len(model.statistics.vocabulary.counted),
        len(model.statistics.vocabulary.values),
    )
    return (
        model.statistics.weights[0, slot],
        model.statistics.moments.array[: used[0], :, slot].tobytes(),
        model.statistics.counts.totals[: used[1], slot].tobytes(),
        model.statistics.counts.array[: used[2], slot].tobytes(),
    )


@given(streams, st.lists(st.tuples(mixed_events, st.just("learning")), max_size=30))
def test_learning_a_class_leaves_what_is_stored_of_others_untouched(stream, more):
    kinds = dict.fromkeys(_MIXED, "categorical") | {"n": "numeric", "m": "numeric"}
    model = NaiveBayes(kinds=kinds)
    model.learn_one({"n": 1.0, "m": -1.0, "c": "x", "d": True}, "resting")
    for value in ("y", "z", False, 0, 1, 2, 3):  # every value has its column, so that none comes later
        model.learn_one({"c": value, "d": value}, "first")
    learned(model, stream)
    kept = _stored(model, "resting")
    for event, label in more:
        model.learn_one(event, label)
        assert _stored(model, "resting") == kept
    model.learn_many([event for event, _ in more], [label for _, label in more])
    assert _stored(model, "resting") == kept


def test_learning_a_class_does_not_drift_the_likelihood_of_another():
    model = NaiveBayes()
    for value in (1.0, 2.0, 3.0):
        model.learn_one({"v": value}, "a")
    model.learn_one({"v": 9.0}, "b")
    for _ in range(1_000):
        model.learn_one({"v": 9.1}, "b")
    likelihood = model.joint_log_likelihood({"v": 2.0})["a"] - math.log(model.p_class("a"))
    for _ in range(1_000):
        model.learn_one({"v": 9.1}, "b")
    again = model.joint_log_likelihood({"v": 2.0})["a"] - math.log(model.p_class("a"))
    assert abs(again - likelihood) < 0.05


@given(streams, st.sampled_from(["fewer", "more", "both"]))
def test_what_cannot_be_learned_changes_nothing(stream, wrong):
    model = learned(NaiveBayes(), stream)
    before = save(model)
    batch = [event for event, _ in stream]
    names = ["new class"] * (len(batch) + {"fewer": -1, "more": 1, "both": 0}[wrong])
    if wrong == "both":
        names[-1] = ["no", "class"]
    with pytest.raises(ValueError, match=r"labels|cannot be a class"):
        model.test_then_train(batch, names)
    assert save(model) == before


def test_labels_drawn_for_the_laws_include_unlabelled_and_equal_looking_ones():
    """The laws above are worth as much as what they are tried on."""
    drawn = [label for seed in range(50) for _, label in plain_run(seed)]
    assert {(type(label), label) for label in drawn} >= {
        (int, 1),
        (str, "1"),
        (bool, True),
        (float, 1.0),
        (type(None), None),
    }


@pytest.mark.parametrize("name", ["smoothing", "variance_prior", "prior_smoothing"])
@pytest.mark.parametrize("value", [-1, -1e-9, 1e13, math.inf, math.nan])
def test_a_setting_beyond_its_bounds_is_refused_by_name(name, value):
    with pytest.raises(ValueError, match=f"{name} is {value!r}"):
        NaiveBayes(**{name: value})


@pytest.mark.parametrize("name", ["smoothing", "variance_prior", "prior_smoothing"])
@pytest.mark.parametrize("value", [0, 1e-12, 1e12])
def test_at_the_bounds_of_a_setting_answers_are_finite(name, value):
    model = NaiveBayes(**{name: value})
    for place in range(200):
        event = {f"n{feature}": place * 10.0**feature for feature in range(-40, 40)}
        model.learn_one({**event, "k": place % 50}, place % 3)
    shares = model.predict_proba_one({**event, "k": 1}).values()
    assert sum(shares) == pytest.approx(1)


@pytest.mark.parametrize("model", [NaiveBayes, AdaptiveBayes])
@given(st.lists(st.tuples(events, st.one_of(st.none(), labels), st.sampled_from([0.0, 1.0, 2.5])), max_size=12))
def test_one_call_predicts_and_learns_what_two_do(model, lessons):
    """With and without forgetting, and with columns that change hands."""
    for more in ({}, {"max_values": 1}, {"half_life": 1.5} if model is NaiveBayes else {"half_lives": [1.5]}):
        one, two = model(**more), model(**more)
        for event, label, weight in lessons:
            expected = two.predict_proba_one(event)
            if label is not None:
                two.learn_one(event, label, weight)
            assert one.test_then_train_one(event, label, weight) == expected
        assert save(one) == save(two)
