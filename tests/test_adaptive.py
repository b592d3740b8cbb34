"""Laws of the adaptive model: its memories are those of naive Bayes, batches do not show, nothing breaks its tables."""

import copy
import math
import pickle
import random

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from streamnb import AdaptiveBayes, NaiveBayes, load, save
from streamnb.snapshot import SnapshotError, pack
from streamnb.statistics import Statistics
from tests.strategies import (
    HOSTILE_NUMBERS,
    assert_batches_do_not_show,
    plain_run,
    same,
    some,
    weighed,
    weighed_one_by_one,
)
from tests.test_algebra import KINDS, batches, events, scorings

LIVES = [[10.0, 100.0, 1000.0, math.inf], [math.inf], [3.0], [0.5, 7.25], [40.0, 0.1, math.inf]]
LIKELIHOODS = [
    "mixed",
    "gaussian",
    "log-normal",
    "binned",
    "auto",
    [-1.0, 0.5, 3.0],
    {"n": "auto", "m": "log-normal", 1: [2.5], "far": "gaussian"},
]
models = st.builds(
    lambda scoring, more: scoring | more,
    scorings,
    st.fixed_dictionaries(
        {},
        optional={
            "half_lives": st.sampled_from(LIVES),
            "rate": st.sampled_from([0, 0.05, 1]),
            "clip": st.sampled_from([1e-3, 1.0, 1e12]),
            "likelihoods": st.sampled_from(LIKELIHOODS),
            "kinds": st.sampled_from([KINDS, KINDS | {"c": "text", "undeclared": "text"}]),
            "known_classes": st.just(["b", "never"]),
        },
    ),
)
bounds = st.fixed_dictionaries({}, optional={"max_values": st.integers(1, 4), "max_features": st.integers(1, 5)})
seeds = st.integers(0, 2**32)
places = st.lists(st.integers(0, 100), max_size=3).map(sorted)


def plain(model, half_life):
    """Return naive Bayes with the settings of an adaptive model, and a half-life."""
    own = {name: value for name, value in model._get_params().items() if name in NaiveBayes()._get_params()}
    return NaiveBayes(**own, half_life=half_life if math.isfinite(half_life) else None)


def held(statistics):
    """Return what naive Bayes would save of a memory, as bytes."""
    known, arrays = Statistics.to_state(statistics)
    return repr(known), {name: (array.shape, array.tobytes()) for name, array in arrays.items()}


def assert_sane(model, *asked):
    """Nothing learned is infinite or no number, no weight is negative, and probabilities sum to one."""
    _, arrays = model.to_state()
    for name, array in arrays.items():
        assert np.isfinite(array).all(), name
    squares = [arrays[name][..., 1] for name in ("number_weights", "counted_weights")]
    squares += [arrays[name][:, 1] for name in ("number_effects", "value_effects", "bin_effects", "biases", "whole")]
    moments = [arrays[name][:, :, moment] for name in ("moments", "logs") for moment in (0, 2)]
    for array in (
        *(arrays[name] for name in ("weights", "counts", "totals", "distinct", "binned")),
        *moments,
        *squares,
    ):
        assert (array >= 0.0).all()
    rows = model.test_then_train([{}, *asked], [None] * (1 + len(asked)))
    assert ((rows >= 0.0) & (rows <= 1.0)).all()
    total = 1.0 if sum(model.class_weights) > 0.0 else 0.0
    assert rows.sum(axis=1) == pytest.approx(np.full(len(rows), total), rel=0, abs=1e-9)
    for shares in (model.memory_shares(), model.feature_weights()):
        assert all(0.0 <= share < math.inf for share in shares.values())


# The memories


@given(batches, seeds, st.booleans(), st.booleans(), models)
def test_each_memory_is_naive_bayes_with_its_half_life_to_the_last_bit(pairs, seed, weighted, timed, given_settings):
    model = AdaptiveBayes(**given_settings)
    weights, at = weighed(pairs, seed, weighted, timed)
    several = {half_life: plain(model, half_life) for half_life in model.memories.half_lives}
    for each in (model, *several.values()):
        weighed_one_by_one(each, pairs, weights, at)
    for memory, other in zip(model.memories.each, several.values(), strict=True):
        assert held(memory) == held(other.statistics)
    assert (model.schema(), model.bad_values) == (other.schema(), other.bad_values)


@pytest.mark.parametrize("timed", [False, True])
def test_the_memories_stay_those_of_naive_bayes_as_landmarks_move(timed):
    """Hundreds of half-lives go by, one by one and in a batch."""
    chance = random.Random(5)
    pairs = plain_run(0, 300) + plain_run(9, 300)
    at = [place + chance.gauss(0, 3) for place in range(len(pairs))] if timed else None
    one, many = (AdaptiveBayes(half_lives=[0.3, 1.0, 3.7, math.inf], likelihoods="auto") for _ in range(2))
    weighed_one_by_one(one, pairs, None, at)
    many.learn_many([event for event, _ in pairs], [label for _, label in pairs], t=at)
    assert same(one, many)
    for memory, half_life in zip(one.memories.each, one.memories.half_lives, strict=True):
        other = plain(one, half_life)
        weighed_one_by_one(other, pairs, None, at)
        assert memory.clock is None or memory.clock.landmark > 100
        assert held(memory) == held(other.statistics)


@given(batches, seeds, st.booleans(), st.booleans(), models, bounds)
def test_with_bounds_the_longest_memory_says_what_stays_and_all_keep_their_sums(
    pairs, seed, weighted, timed, given_settings, bound
):
    model = AdaptiveBayes(**given_settings | bound)
    weights, at = weighed(pairs, seed, weighted, timed)
    weighed_one_by_one(model, pairs, weights, at)
    for half_life, memory in zip(model.memories.half_lives, model.memories.each, strict=True):
        other = plain(model, half_life)
        weighed_one_by_one(other, pairs, weights, at)
        ours, theirs = Statistics.to_state(memory)[1], other.statistics.to_state()[1]
        for name in ("weights", "moments", "totals"):
            assert ours[name].tobytes() == theirs[name].tobytes()
        assert memory is not model.memories.longest or held(memory) == held(other.statistics)
        kept = ours["counts"][:, 0] > 0.0
        assert ours["distinct"].tolist() == np.bincount(ours["owner"][kept], minlength=len(ours["distinct"])).tolist()
    if not weighted:
        assert_sane(model)


@pytest.mark.parametrize("lives", LIVES, ids=repr)
def test_values_that_come_later_are_admitted_with_and_without_times(lives):
    pairs = [
        ({"c": "uvwxyz"[place % 6 if place < 60 else 5], "b": ["s", "tuv"[place % 3]]}, place % 2)
        for place in range(90)
    ]
    for weights, at in ((None, None), ([0.5, 2.0, 1.0] * 30, None), (None, [place * 1.5 for place in range(90)])):
        model = AdaptiveBayes(half_lives=lives, max_values=2)
        weighed_one_by_one(model, pairs, weights, at)
        other = plain(model, max(lives))
        weighed_one_by_one(other, pairs, weights, at)
        assert held(model.memories.longest) == held(other.statistics)
        assert {"z", None} < set(model.memories.longest.vocabulary.values)
        assert_sane(model)


@given(
    batches,
    scorings.filter(lambda scoring: scoring.get("smoothing") != 0 and scoring.get("variance_prior") != 0),
    st.lists(events, max_size=3),
)
def test_without_steps_clip_or_fading_the_answers_are_those_of_naive_bayes(pairs, scoring, asked):
    settings_of = {"kinds": KINDS, **scoring}
    model = AdaptiveBayes(half_lives=[math.inf], rate=0, clip=1e12, likelihoods="gaussian", **settings_of)
    other = NaiveBayes(**settings_of)
    pairs = [({name: value for name, value in event.items() if name != "far"}, label) for event, label in pairs]
    for event, label in [*pairs, *((event, None) for event in asked)]:
        ours, theirs = (each.test_then_train([event], [label])[0] for each in (model, other))
        assert ours == pytest.approx(theirs, rel=0, abs=1e-9)


# Batches


@given(batches, seeds, st.booleans(), st.booleans(), places, models, bounds)
def test_a_batch_gives_what_its_events_give_one_by_one(pairs, seed, weighted, timed, at, given_settings, bound):
    one, many, silent = (AdaptiveBayes(**given_settings | bound) for _ in range(3))
    assert_batches_do_not_show(one, many, silent, pairs, weighed(pairs, seed, weighted, timed), at)


@pytest.mark.parametrize("likelihoods", ["mixed", "gaussian", "log-normal", "binned", "auto", [0.0, 1e3]], ids=repr)
def test_a_batch_makes_room_for_bins_wherever_in_it_they_come(likelihoods):
    """From 0 bins to hundreds, with features, classes and values that come midway."""
    chance = random.Random(3)
    pairs = []
    for place in range(400):
        names = ["n", "m", 7, f"late {place // 100}"][: 1 + place // 100]
        event = {name: chance.lognormvariate(0, 5) * chance.choice([1, -1]) for name in names}
        event["c"] = f"v{chance.randint(0, place // 20)}"
        pairs.append((event, None if place % 17 == 0 else place % (2 + place // 150)))
    for at in ([], [1], [37, 38, 250]):
        one, many, silent = (AdaptiveBayes(likelihoods=likelihoods) for _ in range(3))
        assert_batches_do_not_show(one, many, silent, pairs, (None, None), at)
    if likelihoods in ("mixed", "binned", "auto"):
        assert len(one.memories.bins) > 300


# Snapshots


@given(batches, seeds, st.booleans(), st.booleans(), models, bounds, st.sampled_from(["save", "pickle", "copy"]))
def test_a_model_saved_after_any_event_goes_on_the_same(pairs, seed, weighted, timed, given_settings, bound, how):
    again = {
        "save": lambda model: load(save(model)),
        "pickle": lambda model: pickle.loads(pickle.dumps(model)),  # noqa: S301 - our own
        "copy": copy.deepcopy,
    }[how]
    weights, at = weighed(pairs, seed, weighted, timed)
    model, twin = (AdaptiveBayes(**given_settings | bound) for _ in range(2))
    for place in range(0, len(pairs), 3):
        part = slice(place, place + 3)
        expected = weighed_one_by_one(model, pairs[part], some(weights, part), some(at, part))
        twin = again(twin)
        assert weighed_one_by_one(twin, pairs[part], some(weights, part), some(at, part)) == expected
    assert same(twin, model)
    assert same(model.clone(), AdaptiveBayes(**given_settings | bound))


def test_a_copy_and_its_original_learn_apart():
    model = _taught()
    before = save(model)
    for twin in (copy.deepcopy(model), pickle.loads(pickle.dumps(model)), model + AdaptiveBayes(likelihoods="auto")):  # noqa: S301
        twin.learn_one({"n": 3.0, "c": "new"}, "b")
        twin.learn_many([{"n": 5.0, "new": 1e9}] * 30, ["c"] * 30)
        assert save(model) == before
        assert twin.learned == model.learned + 31


@given(batches, models, st.lists(events, min_size=1, max_size=2))
def test_predicting_and_explaining_change_nothing(pairs, given_settings, asked):
    model = AdaptiveBayes(**given_settings)
    weighed_one_by_one(model, pairs, None, None)
    before = save(model)
    for event in asked:
        model.predict_proba_one(event)
        model.predict_one(event)
        model.explain_one(event)
    model.test_then_train(asked, [None] * len(asked))
    model.feature_weights(), model.memory_shares(), model.shifted_features()
    assert save(model) == before


def _taught(**settings_of):
    model = AdaptiveBayes(likelihoods="auto", **settings_of)
    for place in range(40):
        event = {"n": place % 5 - 1.0, "m": place / 7, "c": "xyz"[place % 3], "b": ["s", "tu"[place % 2]]}
        model.learn_one(event, "ab"[place % 2])
    return model


class _Altered:
    """A model that says of its state what a stranger would."""

    def __init__(self, known, arrays):
        self.to_state = lambda: (known, arrays)


STATE = _taught().to_state()


def _loaded(known, arrays):
    return load(pack({}, {"model": _Altered(known, arrays)}))


def test_an_unaltered_state_is_loaded():
    assert same(_loaded(*STATE), _taught())


@pytest.mark.parametrize("name", STATE[1])
def test_arrays_of_other_shapes_or_without_sense_are_refused(name):
    known, arrays = STATE
    array = arrays[name]
    wrong = [array[:-1], array[1:], np.concatenate((array, array[:1])), array[..., None], np.zeros(0), np.zeros((7, 3))]
    if array.dtype == np.float64:
        wrong += [np.where(np.arange(array.size).reshape(array.shape) == 0, odd, array) for odd in (np.nan, np.inf)]
    wrong = [other for other in wrong if other.shape != array.shape or other.tobytes() != array.tobytes()]
    assert len(wrong) > 4
    for other in wrong:
        with pytest.raises(SnapshotError):
            _loaded(known, arrays | {name: other})
    with pytest.raises(SnapshotError):
        _loaded(known, {key: held for key, held in arrays.items() if key != name})


@pytest.mark.parametrize("name", ["weights", "counts", "totals", "distinct", "binned"])
def test_negative_weights_are_refused(name):
    with pytest.raises(SnapshotError):
        _loaded(STATE[0], STATE[1] | {name: -STATE[1][name]})


@pytest.mark.parametrize("key", [-1, -(2**62), 2**62, 2 << 16, 1 << 40, "twice"])
def test_bins_of_no_feature_or_twice_are_refused(key):
    bins = STATE[1]["bins"].copy()
    bins[0] = bins[1] if key == "twice" else key
    fewer = {"binned": STATE[1]["binned"][:, 1:], "bin_effects": STATE[1]["bin_effects"][1:]}  # as if one were none
    for others in ({}, fewer):
        with pytest.raises(SnapshotError):
            _loaded(STATE[0], STATE[1] | others | {"bins": bins})


@pytest.mark.parametrize("owner", [-1, -2, 2, 2**62])
def test_values_of_no_feature_are_refused(owner):
    owners = STATE[1]["owner"].copy()
    owners[0] = owner
    with pytest.raises(SnapshotError):
        _loaded(STATE[0], STATE[1] | {"owner": owners})


@pytest.mark.parametrize(
    ("name", "scrap"),
    [
        ("half_lives", []),
        ("half_lives", [1.0]),
        ("half_lives", [None] * 4),
        ("clock", None),
        ("clock", [None]),
        ("clock", [[0.5, 1.0]] * 4),
        ("clock", [["a", "b"]] * 4),
        ("classes", ["a", "a"]),
        ("classes", []),
        ("likelihoods", "odd"),
        ("likelihoods", [["n", "odd"]]),
        ("likelihoods", [2.0, 1.0]),
        ("rate", -1),
        ("clip", None),
        ("model", "odd"),
    ],
)
def test_settings_and_clocks_that_cannot_be_are_refused(name, scrap):
    with pytest.raises(SnapshotError):
        _loaded(STATE[0] | {name: scrap}, STATE[1])


@settings(max_examples=300)
@given(
    st.sampled_from(sorted(STATE[1])),
    st.integers(0, 2**20),
    st.sampled_from([-1e308, -1.0, 0.0, 5e-324, 1e-300, 1e154, 1e308, 65_536.0, float(1 << 17)]),
)
def test_a_state_altered_anywhere_is_refused_or_makes_a_model_that_can_be_used(name, place, scrap):
    array = STATE[1][name].copy()
    array.flat[place % array.size] = scrap if array.dtype == np.float64 else int(max(min(scrap, 2**62), -(2**62)))
    try:
        model = _loaded(STATE[0], STATE[1] | {name: array})
    except SnapshotError:
        return
    event = {"n": 1.0, "m": 2.0, "c": "x", "b": ["s", "u"], "new": 3.0}
    for _ in range(2):
        model.predict_proba_one(event)
        model.learn_one(event, "a")
    model.learn_many([event] * 20, ["c"] * 20)
    save(model)


# Hostile streams


def _constant(chance):
    return {"n": 5.0, "z": 0.0, "c": "x", "v": chance.gauss(0, 1)}, chance.choice("ab")


def _outliers(chance):
    label = chance.choice("ab")
    value = chance.choice([chance.gauss("ab".index(label), 1)] * 9 + [1e12, -1e12, 1e139, -9.9e139])
    return {"n": value, "m": chance.choice(HOSTILE_NUMBERS)}, label


def _denormals(chance):
    return {"n": chance.choice([5e-324, -5e-324, 1e-310, 2e-308]), "z": chance.choice([0.0, -0.0])}, chance.choice("ab")


def _one_class(chance):
    return {"n": chance.gauss(0, 1), "c": chance.choice("xy")}, "only"


def _vanishing(chance):
    """Draw an event; the first class never comes again."""
    label = "gone" if _vanishing.met < 50 else chance.choice("ab")
    _vanishing.met += 1
    return {"n": chance.gauss(0, 1), "c": f"{label} {chance.randint(0, 3)}"}, label


def _empty(chance):
    return chance.choice([{}, {"n": None}, {"n": math.nan, "c": None}, {"b": []}, {"odd": math.inf}]), chance.choice(
        "ab"
    )


def _wide(chance):
    return {f"n{place}": chance.gauss(0, 1) for place in range(2_000)}, chance.choice("ab")


def _many_classes(chance):
    return {"n": chance.gauss(0, 1), "c": chance.choice("xyz")}, chance.randint(0, 1_000)


STREAMS = {
    _constant: 300,
    _outliers: 1_000,
    _denormals: 300,
    _one_class: 300,
    _vanishing: 3_000,
    _empty: 200,
    _wide: 30,
    _many_classes: 1_500,
}


@pytest.mark.parametrize(
    "settings_of",
    [
        {},
        {"likelihoods": "auto", "smoothing": 0, "variance_prior": 0, "rate": 1},
        {"likelihoods": "binned", "half_lives": [0.7, 3.0], "clip": 1e12, "rate": 1, "smoothing": 0},
        {"likelihoods": "log-normal", "half_lives": [2.0], "clip": 1e12, "unbiased": True, "bags": "bernoulli"},
    ],
    ids=["plain", "unsmoothed", "short", "skewed"],
)
@pytest.mark.parametrize("stream", STREAMS)
def test_a_hostile_stream_leaves_no_number_that_is_none(stream, settings_of):
    _vanishing.met = 0
    chance, model = random.Random(1), AdaptiveBayes(**settings_of)
    pairs = [stream(chance) for _ in range(STREAMS[stream])]
    for start in range(0, len(pairs), 100):
        part = pairs[start : start + 100]
        rows = model.test_then_train([event for event, _ in part], [label for _, label in part])
        assert ((rows >= 0.0) & (rows <= 1.0)).all()
        assert set(np.round(rows.sum(axis=1), 9).tolist()) <= {0.0, 1.0}
    asked = [event for event, _ in pairs[-3:]]
    assert_sane(model, *asked, {"n": 1e139, "c": "never", "n7": -1e-300})
    for event in asked:
        explanation = model.explain_one(event)
        assert math.isfinite(explanation.score)
    assert_sane(model + model, *asked)
    assert same(load(save(model)), model)


@pytest.mark.parametrize(
    "settings_of", [{}, {"half_lives": [0.5, 10.0], "rate": 1, "clip": 1e12, "likelihoods": "auto"}]
)
def test_weights_and_times_as_far_apart_as_can_be_leave_no_number_that_is_none(settings_of):
    chance, model = random.Random(2), AdaptiveBayes(**settings_of)
    reach = 0.4e300 * min(model.half_lives) if len(settings_of) else 1e300
    for place in range(600):
        event = {"n": chance.gauss(0, 1), "c": chance.choice("xyz"), "b": {"s": 1e9}}
        time = chance.choice([0.0, 0.0, 1.0, place * 1.0, -reach, reach if place > 300 else 5.0])
        model.learn_one(event, chance.choice("ab"), chance.choice([1e-9, 1.0, 1e9]), time)
        if place % 50 == 0:
            assert_sane(model, event)
    assert_sane(model, event)
    assert same(load(save(model)), model)


def test_a_class_that_comes_first_after_thousands_of_events_is_learned_as_fast_as_others():
    chance, model = random.Random(3), AdaptiveBayes()
    centers = {"a": 0.0, "b": 3.0, "late": -4.0}
    pairs = [chance.choice("ab") for _ in range(10_000)]
    model.learn_many([{"n": chance.gauss(centers[label], 1)} for label in pairs], pairs)
    for _ in range(60):
        label = chance.choice(["a", "b", "late"])
        model.learn_one({"n": chance.gauss(centers[label], 1)}, label)
    assert model.predict_one({"n": -4.5}) == "late"
    assert model.predict_one({"n": 3.0}) == "b"
    assert_sane(model, {"n": -4.0})


# Settings


@pytest.mark.parametrize(
    ("wrong", "told"),
    [
        ({"half_lives": []}, "half_lives is \\[\\]: it must be one or more numbers from"),
        ({"half_lives": [0]}, "half_lives is \\[0\\]: it must"),
        ({"half_lives": [math.nan]}, "it must be one or more numbers"),
        ({"half_lives": ["a"]}, "it must be one or more numbers"),
        ({"half_lives": 100}, "half_lives is 100: it must be one or more numbers"),
        ({"half_lives": "10"}, "it must be one or more numbers"),
        ({"half_lives": [3, 10, 3.0]}, "one is in it twice"),
        ({"rate": -0.1}, "rate is -0.1: it must be a number from 0 to 1"),
        ({"rate": 1.01}, "from 0 to 1"),
        ({"rate": math.nan}, "from 0 to 1"),
        ({"clip": 0}, "clip is 0: it must be a number above 0"),
        ({"clip": 2e12}, "at the most"),
        ({"clip": math.nan}, "above 0"),
        ({"smoothing": -1}, "smoothing is -1"),
        ({"likelihoods": "normal"}, "must be one of mixed, gaussian, log-normal, binned, auto, or a list of edges"),
        ({"likelihoods": {"n": "normal"}}, "the likelihood of 'n' is 'normal': it must be one of mixed"),
        ({"likelihoods": 3}, "or a list of edges"),
        ({"likelihoods": []}, "the edges of bins are \\[\\]: they must be finite numbers that rise"),
        ({"likelihoods": {"n": [2, 1]}}, "the edges of bins of 'n' are \\[2, 1\\]"),
        ({"likelihoods": [1, math.inf]}, "finite numbers that rise"),
        ({"likelihoods": [1, 1]}, "finite numbers that rise"),
        ({"likelihoods": ["a"]}, "finite numbers that rise"),
    ],
)
def test_a_setting_that_cannot_be_is_told_with_what_it_may_be(wrong, told):
    with pytest.raises(ValueError, match=told):
        AdaptiveBayes(**wrong)


def test_half_lives_may_come_in_any_order():
    one, other = (_taught(half_lives=lives) for lives in ((math.inf, 10, 100), (10.0, 100.0, math.inf)))
    assert same(one, other)
    assert list(one.memory_shares()) == [10.0, 100.0, math.inf]
    assert same(one + other, other + one)
    array = _taught(half_lives=np.array([100.0, 10.0, math.inf]))
    assert same(array, one)


def test_one_memory_alone_has_all_of_the_mixture():
    model = _taught(half_lives=[100])
    assert model.memory_shares() == {100.0: 1.0}
    assert_sane(model, {"n": 1.0, "c": "x"})


def test_what_only_scoring_sees_can_be_changed_later():
    model, other = _taught(), _taught(smoothing=2, unbiased=True, prior={"a": 0.9, "b": 0.1})
    model.configure(smoothing=2, unbiased=True, prior={"a": 0.9, "b": 0.1})
    for memory, its in zip(model.memories.each, other.memories.each, strict=True):
        assert held(memory) == held(its)
    twin = load(save(model))
    assert model.p_class("a") == twin.p_class("a") == 0.9
    assert twin.predict_proba_one({"n": 1.0}) == model.predict_proba_one({"n": 1.0})
    for name, value in {
        "half_lives": [3.0],
        "rate": 0.5,
        "clip": 1.0,
        "likelihoods": "gaussian",
        "kinds": None,
    }.items():
        before = save(model)
        with pytest.raises(ValueError, match=f"{name} cannot be changed later"):
            model.configure(**{name: value})
        assert save(model) == before
