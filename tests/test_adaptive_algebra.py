"""Laws of the adaptive model: merging, unlearning, explaining, likelihoods, and what its weights are worth."""

import copy
import itertools
import math
import random
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from streamnb import AdaptiveBayes, NaiveBayes, load, save
from streamnb.arrays import AUTO, BINNED, CHANGE, GAUSSIAN, LIKELIHOOD, LOG_NORMAL, SQUARES
from streamnb.kernels.evidence import chosen
from tests.strategies import events as any_events
from tests.strategies import parts, same, streams, weighed_one_by_one
from tests.test_adaptive import LIVES, assert_sane, held, models, plain
from tests.test_algebra import KINDS, Lesson, assert_alike, events, learned, timed_lessons, whole_lessons

FAR_APART = [[10.0, 100.0, 1000.0, math.inf], [math.inf], [40.0, 300.0]]
cuts = st.lists(st.integers(0, 20), max_size=3).map(sorted)
bounded = st.fixed_dictionaries({}, optional={"max_values": st.integers(1, 4), "max_features": st.integers(1, 5)})


def views(model):
    """Return each memory as what two models of naive Bayes are compared by."""
    return [
        SimpleNamespace(statistics=memory, classes=model.classes, bad_values=model.bad_values, schema=model.schema)
        for memory in model.memories.each
    ]


def numbers_of(model):
    """Return what is kept of numbers beside their moments: bins and logarithms by memory, feature, place and class."""
    found = {}
    for m, memory in enumerate(model.memories.each):
        vocabulary, unit = memory.vocabulary, memory.unit
        for slot, label in enumerate([None, *((type(label), label) for label in model.classes)]):
            for key, weight in zip(model.memories.bins.keys.tolist(), memory.binned[:, slot].tolist(), strict=False):
                if weight:
                    found["bin", m, vocabulary.numeric[key >> 16], key & 0xFFFF, label] = weight / unit
            for feature, moments in enumerate(memory.logs.array[: len(vocabulary.numeric), :, slot].tolist()):
                if moments[0]:
                    name = vocabulary.numeric[feature]
                    found["logs", m, name, label] = [moments[0] / unit, moments[1] + moments[4], moments[2] / unit]
    return found


def assert_numbers_alike(one, other, blur):
    ours, theirs = numbers_of(one), numbers_of(other)
    assert ours.keys() == theirs.keys()
    for key, held_of in ours.items():
        assert held_of == pytest.approx(theirs[key], rel=blur, abs=blur * 100)


def steps_of(model):
    """Return weights and effects by name."""
    weighting, vocabulary = model.memories.weighting, model.memories.longest.vocabulary
    found = {("whole", "all"): weighting.whole.tolist()}
    for name, (kind, number) in vocabulary.features.items():
        weights = weighting.number_weights if kind == "numeric" else weighting.counted_weights
        found["weight", name] = weights[number].tolist()
    effects = {
        "number": (vocabulary.numeric, weighting.number_effects),
        "value": (
            [(vocabulary.counted[o], type(v), v) for o, v in zip(vocabulary.owners, vocabulary.values, strict=True)],
            weighting.value_effects,
        ),
        "bin": (
            [
                (vocabulary.numeric[k >> 16], k & 0xFFFF)
                for k in model.memories.bins.keys[: len(model.memories.bins)].tolist()
            ],
            weighting.bin_effects,
        ),
        "bias": (range(len(model.memories.each) + 1), weighting.biases),
    }
    for sort, (names, array) in effects.items():
        for place, name in enumerate(names):
            for code, label in enumerate(model.classes):
                found[sort, name, type(label), label] = array[place, :, code].tolist()
    return found


# Merging


@given(timed_lessons, cuts, models, st.sampled_from(FAR_APART))
def test_each_memory_merges_as_naive_bayes_with_its_half_life_does(lessons, at, given_settings, lives):
    given_settings |= {"kinds": KINDS, "half_lives": lives}
    shards = [learned(AdaptiveBayes(**given_settings), part) for part in parts(lessons, at)]
    merged = AdaptiveBayes.merge(shards)
    for memory, half_life in zip(merged.memories.each, merged.memories.half_lives, strict=True):
        others = [learned(plain(merged, half_life), part) for part in parts(lessons, at)]
        assert held(memory) == held(NaiveBayes.merge(others).statistics)
    whole = learned(AdaptiveBayes(**given_settings), lessons)
    assert_numbers_alike(merged, whole, 1e-9)
    assert_sane(merged)


@given(whole_lessons, cuts, models, bounded)
def test_with_bounds_the_longest_memory_merges_as_naive_bayes_does(lessons, at, given_settings, bound):
    given_settings |= {"half_lives": [20.0, math.inf]} | bound
    try:
        merged = AdaptiveBayes.merge([learned(AdaptiveBayes(**given_settings), part) for part in parts(lessons, at)])
    except ValueError:
        assume(False)  # a feature of two kinds
    others = [learned(plain(merged, math.inf), part) for part in parts(lessons, at)]
    assert held(merged.memories.longest) == held(NaiveBayes.merge(others).statistics)
    assert_sane(merged)
    learned(merged, lessons[:5])
    assert_sane(merged)
    assert same(load(save(merged)), merged)


@pytest.mark.parametrize("most", range(1, 10))
def test_values_of_two_parts_beyond_the_bound_become_rare(most):
    one, other = AdaptiveBayes(max_values=most), AdaptiveBayes(max_values=most)
    for place in range(most):
        one.learn_one({"c": f"one {place}"}, place % 2)
        other.learn_one({"c": f"other {place}"}, place % 2, w=2.0)
    merged = one + other
    assert set(merged.memories.longest.vocabulary.values) == {None, *(f"other {place}" for place in range(most))}
    assert_sane(merged, {"c": "other 0"}, {"c": "one 0"})


@given(timed_lessons, timed_lessons, timed_lessons, models, st.sampled_from(FAR_APART))
def test_the_order_of_merging_does_not_matter_to_tables(first, second, third, given_settings, lives):
    given_settings |= {"kinds": KINDS, "half_lives": lives}
    several = [learned(AdaptiveBayes(**given_settings), part) for part in (first, second, third)]
    before = [save(model) for model in several]
    merged = AdaptiveBayes.merge(several)
    for order in itertools.permutations(several):
        other = AdaptiveBayes.merge(order)
        for ours, theirs in zip(views(merged), views(other), strict=True):
            assert_alike(ours, theirs, exact=False, blur=1e-11)
        assert_numbers_alike(merged, other, 1e-9)
    assert [save(model) for model in several] == before


@given(timed_lessons, timed_lessons, models)
def test_the_steps_of_two_parts_are_averaged_by_events_and_their_squares_added_up(first, second, given_settings):
    given_settings |= {"kinds": KINDS, "half_lives": [math.inf]}
    one, other = (learned(AdaptiveBayes(**given_settings), part) for part in (first, second))
    share = other.learned / max(one.learned + other.learned, 1)
    ours, theirs, both, turned = map(steps_of, (one, other, one + other, other + one))
    assert both.keys() == turned.keys()
    for key, steps in both.items():
        neither = np.zeros_like(steps)
        mine = np.array(ours.get(key, theirs.get(key, neither)))
        its = np.array(theirs.get(key, mine))
        expected = mine + share * (its - mine)
        squares = np.array(ours.get(key, neither)) + np.array(theirs.get(key, neither))
        expected[..., SQUARES] = squares[..., SQUARES]
        assert np.array(steps) == pytest.approx(expected, rel=1e-9, abs=1e-12)
        assert np.array(steps) == pytest.approx(np.array(turned[key]), rel=1e-9, abs=1e-12)


def test_the_weights_of_two_parts_by_hand():
    """Three events to one: three quarters of the first, one of the second; what one part has alone stays."""
    one, other = (AdaptiveBayes(half_lives=[math.inf]) for _ in range(2))
    for event, label in [({"n": 1.0, "c": "x"}, "a"), ({"n": 2.0, "c": "y"}, "b"), ({"n": 1.0, "c": "x"}, "a")]:
        one.learn_one(event, label)
    other.learn_one({"d": "z", "n": 1.0}, "b")
    one.memories.weighting.number_weights[0, 0, :] = [[0.4, 5.0], [-0.4, 1.0]]
    one.memories.weighting.counted_weights[0, 0] = [0.2, 3.0]
    one.memories.weighting.whole[:] = [[0.8, 2.0, 40.0], [0.0, 1.0, 0.0]]
    other.memories.weighting.number_weights[0, 0, :] = [[0.8, 2.0], [0.0, 0.0]]
    other.memories.weighting.counted_weights[0, 0] = [-0.6, 1.0]
    other.memories.weighting.whole[:] = [[0.0, 1.0, 80.0], [0.4, 0.0, 0.0]]
    merged = (one + other).memories
    assert merged.longest.vocabulary.counted == ["c", "d"]
    assert merged.weighting.number_weights[0, 0] == pytest.approx(np.array([[0.5, 7.0], [-0.3, 1.0]]))
    assert merged.weighting.counted_weights[:2, 0] == pytest.approx(np.array([[0.2, 3.0], [-0.6, 1.0]]))
    assert merged.weighting.whole == pytest.approx(np.array([[0.6, 3.0, 50.0], [0.1, 1.0, 0.0]]))


@given(whole_lessons, models, bounded, st.sampled_from(LIVES))
def test_merging_with_a_model_that_learned_nothing_changes_not_a_bit(lessons, given_settings, bound, lives):
    given_settings |= bound | {"half_lives": lives}
    model = learned(AdaptiveBayes(**given_settings), lessons)
    empty = AdaptiveBayes(**given_settings)
    for merged in (model + empty, empty + model, AdaptiveBayes.merge([empty, model, empty])):
        assert same(merged, model)
    assert same(empty, AdaptiveBayes(**given_settings))


def test_bins_are_matched_by_their_edges_whatever_their_order():
    one, other = AdaptiveBayes(likelihoods="binned"), AdaptiveBayes(likelihoods="binned")
    for value in (1.0, 2.0, 3.0, -1.0):
        one.learn_one({"n": value}, "a")
    for value in (3.0, 5.0, 1.0):
        other.learn_one({"m": 7.0, "n": value}, "b")
    merged = one + other
    binned = {key[2:4]: weight for key, weight in numbers_of(merged).items() if key[1] == 3 and key[4] is None}
    by_feature = {name: sorted(binned[key] for key in binned if key[0] == name) for name in "nm"}
    assert by_feature == {"n": [1.0, 1.0, 1.0, 2.0, 2.0], "m": [3.0]}
    assert merged.memories.bins.distinct[:2].tolist() == [5.0, 1.0]


def test_a_model_of_another_kind_or_with_other_settings_is_not_merged():
    model = AdaptiveBayes()
    for other in (
        AdaptiveBayes(half_lives=[3.0]),
        AdaptiveBayes(rate=0.1),
        AdaptiveBayes(clip=1.0),
        AdaptiveBayes(likelihoods="auto"),
        NaiveBayes(),
    ):
        with pytest.raises(ValueError, match="these models cannot be merged: "):
            AdaptiveBayes.merge([model, other])


# Unlearning


@given(whole_lessons, whole_lessons, st.randoms(use_true_random=False), models, st.sampled_from(FAR_APART))
def test_what_was_learned_and_unlearned_is_in_no_table(kept, gone, chance, given_settings, lives):
    given_settings |= {"kinds": KINDS, "half_lives": lives}
    kept = [lesson._replace(time=float(place)) for place, lesson in enumerate(kept)]
    gone = [lesson._replace(time=float(chance.randint(0, len(kept)))) for lesson in gone]
    model = learned(AdaptiveBayes(**given_settings), [Lesson({}, "a", 1, 25.0), *kept])
    before = copy.deepcopy(model)
    learned(model, gone)
    for event, label, weight, time in chance.sample(gone, len(gone)):
        model.unlearn_one(event, label, weight, time)
    for ours, theirs in zip(views(model), views(before), strict=True):
        assert_alike(ours, theirs, exact=False, blur=1e-9)
    assert_numbers_alike(model, before, 1e-7)
    assert (model.classes, model.schema(), model.bad_values) == (before.classes, before.schema(), before.bad_values)
    assert len(model.memories.bins) == len(before.memories.bins)
    assert steps_of(model).keys() == steps_of(before).keys()
    assert_sane(model)


@pytest.mark.parametrize("likelihoods", ["mixed", "gaussian", "log-normal", "binned", "auto", [0.0, 2.0]], ids=repr)
@pytest.mark.parametrize("lives", FAR_APART, ids=repr)
def test_of_all_that_was_unlearned_nothing_is_left(likelihoods, lives):
    chance, model = random.Random(4), AdaptiveBayes(likelihoods=likelihoods, half_lives=lives)
    lessons = [
        ({"n": chance.gauss(0, 5), "c": chance.choice("xyz"), "b": ["s", chance.choice("tu")]}, chance.choice("ab"))
        for _ in range(60)
    ]
    for place, (event, label) in enumerate(lessons):
        model.learn_one(event, label, t=place)
    for place in chance.sample(range(60), 60):
        model.unlearn_one(*lessons[place], t=place)
        assert_sane(model)
    known, arrays = model.to_state()
    assert (known["classes"], known["features"], known["values"]) == ([], [], [])
    assert not any(array.any() for array in arrays.values())
    assert len(model.memories.bins) == 0


_LEARNED = [
    ({"n": 1.0, "c": "x", "b": ["s", "t", "t"]}, "a"),
    ({"n": 3.0, "c": "x"}, "a"),
    ({"n": -5.0}, "a"),
    ({"n": -50.0, "c": "y", "b": ["u"], "m": 5.0}, "b"),
    ({"d": True}, "c"),
]


@pytest.mark.parametrize("likelihoods", ["mixed", "log-normal", "binned", "auto", [0.0, 100.0]], ids=repr)
@pytest.mark.parametrize(
    ("event", "label", "weight"),
    [
        ({"n": 1.0}, "never", 1),
        ({"n": 1.0}, "a", 4),
        ({"n": 1e6}, "a", 1),
        ({"n": -50.0}, "a", 1),
        ({"m": 5.0}, "a", 1),
        ({"c": "y"}, "a", 1),
        ({"d": 1}, "c", 1),
        ({"unheard": 1}, "a", 1),
        ({"b": ["u"]}, "a", 1),
        ({"n": 1.0, "c": "y"}, "a", 1),
        ({}, "c", 1),
    ],
)
def test_unlearning_what_was_never_learned_is_refused_and_changes_not_a_bit(event, label, weight, likelihoods):
    model = AdaptiveBayes(likelihoods=likelihoods)
    for learned_event, name in _LEARNED:
        model.learn_one(learned_event, name, t=0.0)
    before = save(model)
    with pytest.raises(ValueError, match="not learned"):
        model.unlearn_one(event, label, weight, 0.0)
    assert save(model) == before


@pytest.mark.parametrize(
    ("likelihoods", "value"),
    [("mixed", 2.0), ("binned", 2.0), ("auto", -2.0), ([0.0, 10.0], 12.0), ("log-normal", 0.001), ("auto", 3.5)],
)
def test_a_number_in_whose_bin_or_among_whose_logarithms_is_none_is_refused(likelihoods, value):
    """Though a Gaussian would have it: between numbers that were learned, or in a class that is wide."""
    model = AdaptiveBayes(likelihoods=likelihoods)
    for number in (1.0, 3.0, -30.0, -60.0):
        model.learn_one({"n": number}, "a", t=0.0)
    model.learn_one({"n": value}, "b", t=0.0)
    before = save(model)
    with pytest.raises(ValueError, match="not learned"):
        model.unlearn_one({"n": value}, "a", t=0.0)
    assert save(model) == before


def test_an_event_at_a_time_when_none_was_learned_is_refused():
    model = AdaptiveBayes()
    for place in range(50):
        model.learn_one({"n": 1.0, "c": f"v{place}"}, "a")
    before = save(model)
    with pytest.raises(ValueError, match="not learned"):
        model.unlearn_one({"n": 1.0, "c": "v3"}, "a", t=49.0)
    assert save(model) == before
    model.unlearn_one({"n": 1.0, "c": "v3"}, "a", t=3.0)
    assert "v3" not in model.memories.longest.vocabulary.values


@pytest.mark.parametrize("later", [100, 700, 20_000])
def test_an_event_of_long_ago_is_unlearned_though_short_memories_have_lost_it(later):
    chance, model = random.Random(6), AdaptiveBayes(likelihoods="auto")
    old = {"n": 1e6, "c": "old", "only": 1.0}
    model.learn_one(old, "a", t=0.0)
    recent = [({"n": chance.gauss(0, 1), "c": "new"}, chance.choice("ab")) for _ in range(300)]
    times = [later + float(place) for place in range(300)]
    model.learn_many(*zip(*recent, strict=True), t=times)
    model.unlearn_one(old, "a", t=0.0)
    other = AdaptiveBayes(likelihoods="auto")
    other.learn_many(*zip(*recent, strict=True), t=times)
    assert (model.schema(), model.learned) == (other.schema(), 300)
    assert model.memories.longest.vocabulary.values == ["new"]
    for ours, theirs in zip(views(model), views(other), strict=True):
        assert_alike(ours, theirs, exact=False, blur=1e-9, largest=1e6)
    assert_sane(model)


def test_events_are_unlearned_in_any_order_however_long_they_were_apart():
    model = AdaptiveBayes()
    for time in (0.0, 700.0):
        model.learn_one({"n": 2.0, "c": "q"}, "a", t=time)
    for time in (700.0, 0.0):
        model.unlearn_one({"n": 2.0, "c": "q"}, "a", t=time)
        assert_sane(model)
    assert (model.learned, model.schema(), model.classes) == (0, {}, [])


# Explaining


explained = models.map(lambda of: of | {"clip": min(of.get("clip", 5.0), 100.0)})  # beyond it, 1e-9 is rounding


def _assert_explained(model, event):
    row, known = model.test_then_train([event], [None])[0], model.classes
    if not row.any():
        assert model.explain_one(event) is None
        return
    for one, other in itertools.permutations(range(min(len(known), 4)), 2):
        explanation = model.explain_one(event, known[one], known[other])
        assert explanation.score == math.fsum([explanation.prior, *(share.share for share in explanation.shares)])
        if min(row[one], row[other]) > 1e-290:
            odds = math.log(row[one]) - math.log(row[other])
            assert explanation.score == pytest.approx(odds, rel=1e-9, abs=1e-9)
        elif row[one] == 0.0 < row[other]:
            assert explanation.score < -600.0
    explanation = model.explain_one(event)
    if explanation.against is not None:
        assert explanation.label == model.predict_one(event)
        assert explanation.memories == model.memory_shares()
        weights = model.feature_weights()
        assert explanation.weights == {share.feature: weights[share.feature] for share in explanation.shares}
        assert math.fsum(explanation.memories.values()) == pytest.approx(1.0)


def _apart(stream):
    """Return a stream without labels that Python takes for equal: in a list of classes these could not be told."""
    return [(event, None if label is None else repr(label)) for event, label in stream]


@given(streams, any_events, explained.filter(lambda given_settings: "known_classes" not in given_settings))
def test_prior_and_shares_add_up_to_the_log_odds_of_any_two_classes(stream, event, given_settings):
    model = AdaptiveBayes(**given_settings | {"prior": "observed"})
    weighed_one_by_one(model, _apart(stream), None, None)
    _assert_explained(model, event)


@given(whole_lessons, events, explained, st.sampled_from(["multinomial", "complement", "bernoulli"]), bounded)
def test_bags_of_all_kinds_and_effects_have_their_shares(lessons, event, given_settings, bags, bound):
    given_settings |= {"bags": bags, "smoothing": 0.5, "prior": "uniform"} | bound
    model = AdaptiveBayes(**given_settings)
    _assert_explained(model, event)
    learned(model, [lesson._replace(label=str(lesson.label)) for lesson in lessons])
    _assert_explained(model, event)


def test_before_anything_was_learned_nothing_is_explained_and_one_class_has_no_rival():
    model = AdaptiveBayes()
    assert model.explain_one({"n": 1.0}) is None
    model.learn_one({"n": 1.0}, "a")
    assert model.explain_one({"n": 1.0}).against is None


def test_against_a_class_that_cannot_be_the_odds_have_no_end():
    model = AdaptiveBayes(prior={"a": 0.5, "b": 0.5})
    for place in range(9):
        model.learn_one({"n": float(place)}, "abc"[place % 3])
    assert model.predict_proba_one({"n": 1.0})["c"] == 0.0
    assert model.explain_one({"n": 1.0}, "a", "c").score == math.inf
    assert model.explain_one({"n": 1.0}, "c", "a").score == -math.inf
    assert math.isfinite(model.explain_one({"n": 1.0}, "a", "b").score)


# What weights are worth


def _copied(chance, copies, spread=2.0):
    """Return an event that tells its label only so well, each feature several times, and its label."""
    label = chance.random() < 0.5
    size, color = chance.gauss(1.0 if label else 0.0, spread / 2), "ab"[label] if chance.random() < 0.7 else "ba"[label]
    event = {f"size {place}": size for place in range(copies)} | {f"color {place}": color for place in range(copies)}
    return event, label


def test_two_copies_of_a_feature_share_the_weight_of_one():
    chance = random.Random(8)
    model, alone = AdaptiveBayes(), AdaptiveBayes()
    for _ in range(4_000):
        event, label = _copied(chance, 2)
        model.learn_one(event, label)
        alone.learn_one({"size 0": event["size 0"], "color 0": event["color 0"]}, label)
    weights, once = model.feature_weights(), alone.feature_weights()
    for name in ("size", "color"):
        assert weights[f"{name} 0"] == pytest.approx(weights[f"{name} 1"], rel=1e-9)
        assert weights[f"{name} 0"] + weights[f"{name} 1"] == pytest.approx(once[f"{name} 0"], abs=0.25)
        assert weights[f"{name} 0"] + weights[f"{name} 1"] == pytest.approx(1.0, abs=0.35)


def test_what_tells_nothing_is_listened_to_less():
    chance, model = random.Random(9), AdaptiveBayes()
    for _ in range(4_000):
        label = chance.random() < 0.5
        noise = {f"noise {place}": chance.gauss(0, 1) for place in range(5)}
        model.learn_one({"size": chance.gauss(2.0 * label, 1), "sort": chance.choice("uvwxyz"), **noise}, label)
    weights = model.feature_weights()
    assert weights["size"] > 0.7
    assert max(weight for name, weight in weights.items() if name != "size") < 0.6


def test_copies_do_not_make_it_surer_than_it_is_right():
    """Of five copies, naive Bayes takes each for evidence of its own."""
    chance = random.Random(10)
    pairs = [_copied(chance, 5) for _ in range(3_000)]
    xs, ys = zip(*pairs, strict=True)
    losses = []
    for model in (AdaptiveBayes(), NaiveBayes(), AdaptiveBayes(rate=0)):
        rows = model.test_then_train(list(xs), ys)
        places = np.array([model.classes.index(label) for label in ys])
        losses.append(-np.log(np.maximum(rows[np.arange(500, 3_000), places[500:]], 1e-15)).mean())
    assert losses[0] < 0.6
    assert losses[0] < losses[2] < losses[1]


def test_the_memory_that_does_best_of_late_has_the_largest_share():
    chance, model = random.Random(11), AdaptiveBayes()
    for place in range(3_000):
        label = chance.random() < 0.5
        model.learn_one({"c": "ab"[label ^ (place // 100 % 2 == 0)]}, label)
    shares = model.memory_shares()
    assert max(shares, key=shares.get) == 10.0
    assert math.fsum(shares.values()) == pytest.approx(1.0)


def test_the_mixture_is_a_pool_of_the_logarithms_of_memories_by_their_shares():
    """Without steps, each memory answers as a model that has it alone."""
    chance, lives = random.Random(15), [10.0, 100.0, math.inf]
    model, *alone = (AdaptiveBayes(half_lives=of, rate=0) for of in (lives, *([life] for life in lives)))
    for place in range(400):
        label = chance.random() < 0.5
        event = {"c": "ab"[label ^ (place // 50 % 2 == 0)], "n": chance.gauss(1.0 * label, 1)}
        for each in (model, *alone):
            each.learn_one(event, label)
    assert max(model.memory_shares().values()) > 0.9
    for event in ({"c": "a"}, {"n": 0.2, "c": "b"}, {}):
        answers = [each.predict_proba_one(event) for each in (model, *alone)]
        odds, *others = (math.log(answer[True]) - math.log(answer[False]) for answer in answers)
        shares = model.memory_shares().values()
        assert odds == pytest.approx(sum(map(math.prod, zip(shares, others, strict=True))), rel=1e-9, abs=1e-9)


# Likelihoods of numbers

moderate = st.integers(-4_000, 4_000).map(lambda eighths: eighths / 8)
numeric_streams = st.lists(st.tuples(moderate, moderate, st.sampled_from("abc")), min_size=1, max_size=30)


@given(
    numeric_streams,
    moderate,
    st.integers(-300, 300),
    st.sampled_from(["mixed", "binned", "gaussian"]),
)
def test_the_unit_of_a_feature_does_not_matter(stream, asked, exponent, likelihoods):
    """A power of two scales without rounding, so not one bit may change."""
    scale, answers = 2.0**exponent, []
    for unit in (1.0, scale):
        model = AdaptiveBayes(likelihoods=likelihoods)
        rows = model.test_then_train([{"v": v * unit, "w": w} for v, w, _ in stream], [label for *_, label in stream])
        answers.append((rows.tolist(), model.predict_proba_one({"v": asked * unit, "w": 1.0})))
    assert answers[0] == answers[1]


@pytest.mark.parametrize("likelihoods", ["mixed", "binned", "gaussian", "log-normal", "auto"])
@pytest.mark.parametrize("scale", [0.3, 7.0, 1e-9, 1e12])
def test_a_unit_that_is_no_power_of_two_changes_little(likelihoods, scale):
    losses = []
    for unit in (1.0, scale):
        chance, model = random.Random(12), AdaptiveBayes(likelihoods=likelihoods)
        ys = [chance.random() < 0.5 for _ in range(1_000)]
        rows = model.test_then_train([{"v": unit * chance.lognormvariate(1.0 * label, 0.7)} for label in ys], ys)
        own = rows[np.arange(100, 1_000), [model.classes.index(label) for label in ys[100:]]]
        losses.append(-np.log(own).mean())
    assert losses[0] == pytest.approx(losses[1], abs=0.02)
    assert losses[0] < 0.6


def test_declared_edges_are_where_bins_end():
    """By hand: three bins met; smoothed by one, (count + 1) / (all + 3)."""
    model = AdaptiveBayes(likelihoods={"age": [18, 40, 65]}, half_lives=[math.inf], rate=0, clip=1e12)
    for age, label in [(3, "a"), (17.99, "a"), (18, "b"), (39, "b"), (30, "b"), (65, "b"), (90, "a"), (-7.5, "b")]:
        model.learn_one({"age": age}, label)
    assert len(model.memories.bins) == 3
    for age, (of_a, of_b) in {0: (2, 1), 18: (0, 3), 39.9: (0, 3), 40: (0, 0), 64.9: (0, 0), 1e9: (1, 1)}.items():
        likely = 3 * (of_a + 1) / (3 + 3), 5 * (of_b + 1) / (5 + 3)
        assert model.predict_proba_one({"age": age})["a"] == pytest.approx(likely[0] / sum(likely), rel=1e-12)


def _found(draw, seed, size=4_000):
    chance, model = random.Random(seed), AdaptiveBayes(likelihoods={"v": "auto"})
    for _ in range(size):
        label = chance.random() < 0.5
        model.learn_one({"v": draw(chance, label)}, label)
    assert model.memories.expected[0, LIKELIHOOD] == AUTO
    return chosen(model.memories.expected, 0)


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_auto_finds_the_likelihood_that_the_data_have(seed):
    assert _found(lambda chance, label: chance.lognormvariate(1.0 * label, 1.0), seed) == LOG_NORMAL
    assert _found(lambda chance, label: chance.gauss(-1.0 * label, 1.0), seed) == GAUSSIAN
    assert _found(lambda chance, label: chance.choice([-4.0, 4.0]) * (1 + label) + chance.gauss(0, 0.5), seed) == BINNED


def test_auto_answers_as_the_likelihood_that_it_found_does():
    chance = random.Random(13)
    pairs = [(chance.random() < 0.5, chance.gauss(0, 1)) for _ in range(500)]
    auto, own = (AdaptiveBayes(likelihoods=of, rate=0, half_lives=[math.inf]) for of in ("auto", "log-normal"))
    for label, value in pairs:
        auto.learn_one({"v": math.exp(value + label)}, label)
        own.learn_one({"v": math.exp(value + label)}, label)
    assert chosen(auto.memories.expected, 0) == LOG_NORMAL
    assert auto.memories.each[0].logs.array[0, :, 0].tolist() == own.memories.each[0].logs.array[0, :, 0].tolist()
    for value in (0.1, 1.0, 7.0):
        ours, theirs = (model.explain_one({"v": value}, True, False).shares[0].share for model in (auto, own))
        assert ours == pytest.approx(theirs, rel=1e-12)


def test_a_log_normal_is_a_gaussian_of_logarithms_and_leaves_out_what_has_none():
    chance = random.Random(14)
    logs, raw, mended = (
        AdaptiveBayes(likelihoods=likelihoods, rate=0) for likelihoods in ("gaussian", "log-normal", "log-normal")
    )
    for _ in range(200):
        label, value = chance.random() < 0.5, chance.gauss(0, 1)
        logs.learn_one({"v": value + label}, label)
        raw.learn_one({"v": math.exp(value + label)}, label)
        mended.learn_one({"v": math.exp(value + label), "w": -1.0}, label)
        mended.learn_one({"v": chance.choice([0.0, -3.0, -0.0])}, label)
    for value in (-2.0, 0.0, 3.0):
        told = raw.predict_proba_one({"v": math.exp(value)})
        assert told == pytest.approx(logs.predict_proba_one({"v": value}), rel=1e-6)
    for value in (0.0, -0.0, -5.0):
        assert raw.predict_proba_one({"v": value}) == raw.predict_proba_one({})
    assert mended.memories.longest.logs.array[0, 0, 0] == 200.0
    ours, theirs = (model.explain_one({"v": 2.0}, True, False).by_feature()["v"] for model in (mended, raw))
    assert mended.memories.longest.logs.array[0, 1, 0] == pytest.approx(raw.memories.longest.logs.array[0, 1, 0])
    assert math.copysign(1, ours) == math.copysign(1, theirs)


def test_bins_need_no_warm_up():
    """The bin of a number is the same whatever came before it."""
    one, other = AdaptiveBayes(likelihoods="binned"), AdaptiveBayes(likelihoods="binned")
    values = [1e-6, 3.0, 3.1, 1e6, -2.0, 0.0]
    for value in values:
        one.learn_one({"n": value}, "a")
    for value in reversed(values):
        other.learn_one({"n": value}, "a")
    assert sorted(one.memories.bins.keys[:5].tolist()) == sorted(other.memories.bins.keys[:5].tolist())
    assert len(one.memories.bins) == 5  # 3 and 3.1 share one


def test_the_weights_of_a_feature_are_those_of_the_parts_that_it_has():
    for likelihoods, start in [("mixed", 0.5), ("gaussian", 1.0), ("binned", 1.0), ("log-normal", 1.0)]:
        model = AdaptiveBayes(likelihoods=likelihoods, half_lives=[math.inf])
        model.learn_one({"v": 1.0}, "a")
        model.learn_one({"v": 2.0}, "b")
        model.memories.weighting.number_weights[0, 0, :, CHANGE] = [0.25, -0.25]
        parts_of = {"mixed": 0.0, "gaussian": 0.25, "binned": -0.25, "log-normal": 0.25}
        assert model.feature_weights() == {
            "v": pytest.approx((2 * start if start < 1 else 1.0) + parts_of[likelihoods])
        }
