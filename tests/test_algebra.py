"""Laws of the algebra: weights, merging, unlearning, forgetting, bounds, bags and priors."""

import copy
import itertools
import math
import pickle
from collections import Counter, defaultdict
from fractions import Fraction
from typing import Any, NamedTuple

import numpy as np
import pytest
from hypothesis import assume, example, given
from hypothesis import strategies as st
from river import naive_bayes
from sklearn.naive_bayes import BernoulliNB, ComplementNB, MultinomialNB

from streamnb import NaiveBayes, load, save
from streamnb.arrays import LOW, TAKEN
from streamnb.encoder import BEYOND
from streamnb.values import category_key
from tests.strategies import (
    assert_batches_do_not_show,
    parts,
    plain_run,
    same,
    some,
    weighed,
    weighed_one_by_one,
)

LARGEST = 500.0
KINDS = dict.fromkeys("nm", "numeric") | dict.fromkeys("cd", "categorical") | dict.fromkeys("be", "bag")
WORDS = ["s", "t", "u", "v", "w", ""]
BAGS = ["multinomial", "complement", "bernoulli"]


class Lesson(NamedTuple):
    event: dict[str, Any]
    label: Any
    weight: float = 1.0
    time: float | None = None


numbers = st.integers(-4_000, 4_000).map(lambda eighths: eighths / 8)
bags = st.one_of(
    st.lists(st.sampled_from(WORDS), min_size=1, max_size=5),
    st.dictionaries(st.sampled_from(WORDS), st.integers(1, 3), min_size=1, max_size=4),
)
values = {
    "n": st.one_of(numbers, st.sampled_from([None, math.nan, math.inf, "no number"])),
    "m": numbers,
    "c": st.one_of(st.sampled_from("uvwxyz"), st.none()),
    "d": st.one_of(st.booleans(), st.integers(0, 3), st.just("1")),
    "b": bags,
    "e": st.lists(st.sampled_from(WORDS), min_size=1, max_size=3),
    "undeclared": st.sampled_from(["p", "q"]),
}
events = st.fixed_dictionaries({}, optional=values)
labels = st.sampled_from([1, "1", True, "a", "b", "a", "b"])
whole_weights = st.sampled_from([1, 1, 1, 2, 3, 7])
any_weights = st.sampled_from([1, 1, 1, 2, 0.1, 1 / 3, 2.5, 1e-3, 1e3])
times = st.one_of(st.floats(-1e3, 1e3), st.integers(-20, 20).map(float))


def lessons_of(weights=whole_weights, at=None, of=events):
    return st.lists(st.builds(Lesson, of, labels, weights, st.none() if at is None else at), max_size=25)


whole_lessons = lessons_of()
timed_lessons = lessons_of(any_weights, times)
scorings = st.fixed_dictionaries(
    {},
    optional={
        "smoothing": st.sampled_from([0, 0.5, 2]),
        "variance_prior": st.sampled_from([0, 1]),
        "unbiased": st.booleans(),
        "prior": st.sampled_from(["uniform", [("b", 0.25), ("new", 0.75)], {1: 0.5, "1": 0.5}]),
        "prior_smoothing": st.sampled_from([0.5, 3]),
        "bags": st.sampled_from(BAGS),
    },
).filter(lambda settings: settings.get("smoothing") != 0 or settings.get("bags") != "complement")
settings_of_models = st.builds(
    lambda scoring, more: scoring | more,
    scorings,
    st.fixed_dictionaries({}, optional={"kinds": st.just(KINDS), "known_classes": st.just(["b", "never"])}),
)
bounds = st.fixed_dictionaries(
    {},
    optional={
        "max_values": st.integers(1, 4),
        "max_features": st.integers(1, 5),
        "half_life": st.sampled_from([1, 8.5]),
    },
)


def learned(model, lessons):
    for event, label, weight, time in lessons:
        model.learn_one(event, label, weight, time)
    return model


def in_a_batch(model, lessons):
    if lessons:
        given_events, given_labels, weights, at = zip(*lessons, strict=True)
        model.learn_many(list(given_events), given_labels, weights, None if None in at else at)
    return model


def content(model):
    """Return what a model has learned, by name, in units of now: exact sums, then means and squares."""
    statistics, vocabulary, unit = model.statistics, model.statistics.vocabulary, model.statistics.unit
    counts, totals = statistics.counts.array, statistics.counts.totals
    sums: dict[Any, Any] = {"bad": model.bad_values, "schema": model.schema()}
    moments: dict[Any, float] = {}
    for slot, label in enumerate([None, *((type(label), label) for label in model.classes)]):
        sums["class", label] = statistics.weights[0, slot] / unit
        sums["events", label] = statistics.weights[1, slot]
        for name, (kind, number) in vocabulary.features.items():
            if kind != "numeric":
                sums["total", name, label] = totals[number, slot] / unit
            elif statistics.moments.array[number, 0, slot]:
                weight, mean, squares = statistics.moments.array[number, :TAKEN, slot]
                mean += statistics.moments.array[number, LOW, slot]
                sums["weight", name, label] = weight / unit
                moments["mean", name, label], moments["squares", name, label] = mean, squares / unit
        for code, (owner, value) in enumerate(zip(vocabulary.owners, vocabulary.values, strict=True)):
            if counts[code, slot]:
                sums["count", vocabulary.counted[owner], category_key(value), label] = counts[code, slot] / unit
    for number, name in enumerate(vocabulary.counted):
        sums["distinct", name] = statistics.counts.distinct[number]
    return sums, moments


def assert_alike(one, other, *, exact=True, blur=1e-12, largest=LARGEST):
    """Hold two models to the same classes, features, values and weights, and to moments up to rounding."""
    (ours, our_moments), (theirs, their_moments) = content(one), content(other)
    if exact:
        assert ours == theirs
    assert ours.keys() == theirs.keys()
    weight = max(1.0, ours["class", None])
    for key, sum_ in ours.items():
        assert sum_ == (theirs[key] if key in ("bad", "schema") else pytest.approx(theirs[key], rel=1e-12, abs=blur))
    assert our_moments.keys() == their_moments.keys()
    for key, moment in our_moments.items():
        scale = largest if key[0] == "mean" else largest**2 * weight
        assert moment == pytest.approx(their_moments[key], rel=0, abs=blur * scale)


def assert_sound(model):
    """No weight is negative, infinite or no number, and parts sum to their wholes."""
    statistics, vocabulary, slots = model.statistics, model.statistics.vocabulary, model.statistics.slots
    weights, moments, counts = statistics.weights[:2, :slots], statistics.moments.array, statistics.counts
    used = len(vocabulary.values)
    for array in (weights, moments, counts.array, counts.totals, counts.distinct):
        assert np.isfinite(array).all()
    for array in (weights, moments[:, (0, 2)], counts.array, counts.totals):
        assert (array >= 0.0).all()
    slack = 1e-9 * max(weights[0, 0], 1e-300)
    for whole, part in [
        (weights[:, 0], weights[:, 1:].sum(axis=1)),
        (moments[:, 0, 0], moments[:, 0, 1:slots].sum(axis=1)),
        (counts.totals[:, 0], counts.totals[:, 1:slots].sum(axis=1)),
    ]:
        assert whole == pytest.approx(part, rel=1e-9, abs=slack)
    if len(moments):
        assert (moments[:, 0, :slots] <= weights[0] * (1 + 1e-9) + slack).all()
    assert (counts.distinct == np.bincount(counts.owner[counts.array[:, 0] > 0], minlength=len(counts.distinct))).all()
    for number, name in enumerate(vocabulary.counted):
        columns = np.flatnonzero(np.array(vocabulary.owners) == number)
        own, totals = counts.array[columns, 1:slots], counts.totals[number, 1:slots]
        if model.bags != "bernoulli" or vocabulary.kind(name) == "categorical":
            assert own.sum(axis=0) == pytest.approx(totals, rel=1e-9, abs=slack * 100)
        elif model.max_values is None:
            assert (own <= totals * (1 + 1e-9) + slack).all()
        whole = counts.array[columns, 0]
        assert (whole >= own.sum(axis=1) * (1 - 1e-9) - slack * 100).all()
        if model.max_values is None:
            assert whole == pytest.approx(own.sum(axis=1), rel=1e-9, abs=slack * 100)
        else:
            assert len(vocabulary.columns(number)) <= model.max_values
            assert len(columns) <= model.max_values + 1
    assert used == len(vocabulary.owners) == sum(map(len, vocabulary.codes))
    assert model.max_features is None or len(model.schema()) <= model.max_features


def assert_shares(model, asked):
    for event in asked:
        row = model.test_then_train([event], [None])[0]
        assert ((row >= 0.0) & (row <= 1.0)).all()
        assert row.sum() == pytest.approx(1.0 if sum(model.class_weights) > 0 else 0.0, rel=0, abs=1e-9)


def answers(model, asked):
    return [
        dict(zip(map(repr, model.classes), row, strict=True))
        for row in model.test_then_train(asked, [None] * len(asked))
    ]


def assert_answers_alike(one, other, asked, blur=1e-9):
    for ours, theirs in zip(answers(one, asked), answers(other, asked), strict=True):
        for name in {*ours, *theirs}:
            assert ours.get(name, 0.0) == pytest.approx(theirs.get(name, 0.0), rel=0, abs=blur)


@given(
    whole_lessons,
    st.lists(st.integers(0, 25), max_size=3).map(sorted),
    settings_of_models,
    st.lists(events, max_size=2),
)
def test_parts_merged_are_the_whole(lessons, at, settings, asked):
    settings |= {"kinds": KINDS}
    whole = learned(NaiveBayes(**settings), lessons)
    merged = NaiveBayes.merge([learned(NaiveBayes(**settings), part) for part in parts(lessons, at)])
    assert_alike(merged, whole)
    assert merged.classes == whole.classes
    assert_sound(merged)
    if settings.get("smoothing") != 0:
        assert_answers_alike(merged, whole, asked)
    rest = lessons[:5]
    assert_alike(learned(merged, rest), learned(whole, rest))


@given(whole_lessons, whole_lessons, whole_lessons, settings_of_models)
def test_the_order_of_merging_does_not_matter(first, second, third, settings):
    settings |= {"kinds": KINDS}
    one, two, three = (learned(NaiveBayes(**settings), part) for part in (first, second, third))
    before = [save(model) for model in (one, two, three)]
    assert_alike(one + two, two + one)
    assert_alike((one + two) + three, one + (two + three))
    assert_alike(NaiveBayes.merge([three, one, two]), NaiveBayes.merge([one, two, three]))
    assert [save(model) for model in (one, two, three)] == before


@given(whole_lessons, whole_lessons, settings_of_models, bounds, st.booleans())
def test_merging_with_a_model_that_learned_nothing_changes_not_a_bit(kept, gone, settings, bound, unlearn):
    settings |= bound
    model = learned(NaiveBayes(**settings), kept)
    if unlearn and not bound:
        for event, label, weight, _ in gone:
            model.learn_one(event, label, weight)
            model.unlearn_one(event, label, weight)
    empty = NaiveBayes(**settings)
    assert same(model + empty, model)
    assert same(empty + model, model)
    assert same(NaiveBayes.merge([empty, model, empty]), model)
    assert same(NaiveBayes.merge([model]), model)
    assert save(empty) == save(NaiveBayes(**settings))


@given(timed_lessons, bounds)
def test_a_model_merged_with_itself_has_twice_of_everything(lessons, bound):
    model = learned(NaiveBayes(kinds=KINDS, **bound), lessons)
    before = save(model)
    double = model + model
    assert save(model) == before
    statistics, twice = model.statistics, double.statistics
    assert (twice.weights[:2, : twice.slots] == 2 * statistics.weights[:2, : statistics.slots]).all()
    assert (
        twice.counts.array[: len(twice.vocabulary.values)]
        == 2 * statistics.counts.array[: len(statistics.vocabulary.values)]
    ).all()
    assert_sound(double)


@given(whole_lessons, settings_of_models)
def test_a_model_merged_with_itself_and_unlearned_once_is_itself(lessons, settings):
    model = learned(NaiveBayes(**settings | {"kinds": KINDS}), lessons)
    double = model + model
    for event, label, weight, _ in lessons:
        double.unlearn_one(event, label, weight)
    assert_alike(double, model)


def test_a_model_that_was_saved_and_loaded_merges_with_the_one_it_was():
    for settings in (
        {"prior": {"a": 0.5, "b": 0.5}},
        {"prior": (("a", 0.5), ("b", 0.5))},
        {"half_life": math.inf},
        {"known_classes": ("a", "b")},
        {"kinds": {"n": "numeric"}},
        {"smoothing": 1, "unbiased": 0},
    ):
        model = learned(NaiveBayes(**settings), [Lesson({"n": 1.0}, "a")])
        assert_alike(model + load(save(model)), model + model)
        assert_alike(load(save(model)) + model, model + model)


def test_models_of_different_settings_are_not_merged():
    for settings in (
        {"smoothing": 2},
        {"known_classes": [1]},
        {"half_life": 3},
        {"max_values": 3},
        {"bags": "bernoulli"},
    ):
        with pytest.raises(ValueError, match="cannot be merged: "):
            NaiveBayes(**settings) + NaiveBayes()
    with pytest.raises(ValueError, match="cannot be merged: known_classes"):
        NaiveBayes(known_classes=[1]) + NaiveBayes(known_classes=[True])
    with pytest.raises(ValueError, match="cannot be merged: prior"):
        NaiveBayes(prior={1: 1.0}) + NaiveBayes(prior={True: 1.0})


def test_a_feature_of_two_kinds_is_not_merged_and_nothing_is_changed():
    one, other = NaiveBayes(), NaiveBayes()
    one.learn_one({"x": ["a", "b"], "y": 1.0}, "p")
    other.learn_one({"z": 1, "x": 3.0}, "q")
    before = save(one), save(other)
    with pytest.raises(ValueError, match="'x' is bag in one and numeric in another"):
        one + other
    assert (save(one), save(other)) == before


def _letters(text):
    return list(text.lower())


def test_models_with_a_tokenizer_of_the_users_merge_pickle_and_load():
    models = [NaiveBayes(kinds={"text": "text"}, tokenizer=_letters) for _ in range(2)]
    models[0].learn_one({"text": "Abba"}, 1)
    models[1].learn_one({"text": "bc"}, "1")
    merged = models[0] + models[1]
    assert merged.statistics.counts.array[:3, 0].tolist() == [2, 3, 1]
    for twin in (load(save(merged), tokenizer=_letters), copy.deepcopy(merged), pickle.loads(pickle.dumps(merged))):  # noqa: S301
        assert same(twin + models[0], merged + models[0])
    merged.unlearn_one({"text": "bC"}, "1")
    assert_alike(merged, models[0])


@given(whole_lessons, whole_lessons, st.randoms(use_true_random=False), settings_of_models)
def test_what_was_learned_and_unlearned_was_never_there(kept, gone, chance, settings):
    model = learned(NaiveBayes(**settings), kept)
    before = copy.deepcopy(model)
    learned(model, gone)
    if not _kinds_agree(model, before):  # kinds are fixed by the first value: those that came after would be bad values
        assume(False)
    for event, label, weight, _ in chance.sample(gone, len(gone)):
        model.unlearn_one(event, label, weight)
    assert_sound(model)
    assert_alike(model, before)
    assert (model.classes, model.learned, model.schema(), model.bad_values) == (
        before.classes,
        before.learned,
        before.schema(),
        before.bad_values,
    )
    if not any(kind == "numeric" for kind in before.schema().values()):
        assert same(model, before)


def _kinds_agree(model, before):
    """Tell whether each value was read alike all along: a dict is flattened until a bag of its name has come."""
    names = [str(name) for name in model.schema()]
    bags = tuple(f"{name}." for name, kind in model.schema().items() if kind in ("bag", "text"))
    if any(name.startswith(bags) for name in names):
        return False
    return all(before.schema().get(name, kind) == kind for name, kind in model.schema().items()) and all(
        KINDS.get(name, kind) == kind for name, kind in model.schema().items()
    )


@given(whole_lessons, st.randoms(use_true_random=False), settings_of_models)
def test_any_part_can_be_unlearned_and_what_is_left_is_the_rest(lessons, chance, settings):
    settings |= {"kinds": KINDS}
    model = learned(NaiveBayes(**settings), lessons)
    gone = chance.sample(range(len(lessons)), chance.randint(0, len(lessons)))
    for place in gone:
        event, label, weight, _ = lessons[place]
        model.unlearn_one(event, label, weight)
        assert_sound(model)
    rest = learned(NaiveBayes(**settings), [lesson for place, lesson in enumerate(lessons) if place not in gone])
    assert_alike(model, rest)
    if not rest.learned:
        assert same(model, NaiveBayes(**settings))


def test_an_empty_bag_learned_and_unlearned_was_never_there():
    for kind in BAGS:
        model = NaiveBayes(kinds={"b": "bag"}, bags=kind)
        model.learn_one({"c": "x"}, "a")
        before = save(model)
        model.learn_one({"b": []}, "a")
        model.unlearn_one({"b": []}, "a")
        assert save(model) == before
        model.learn_one({"b": []}, "a")
        before = save(model)
        model.learn_one({"d": "y"}, "a")
        model.unlearn_one({"d": "y"}, "a")
        assert save(model) == before


@pytest.mark.parametrize("odd", [{"odd": math.inf}, {"odd": 1j}, {"n": "text"}, {"odd": {"n": 1e200}, "odd.n": 1e200}])
def test_bad_values_are_taken_back(odd):
    model = NaiveBayes()
    model.learn_one({"n": 1.0, "bad": math.inf}, "a")
    before = save(model)
    model.learn_one(odd | {"c": "x"}, "b")
    assert save(model) != before
    model.unlearn_one(odd | {"c": "x"}, "b")
    assert (save(model), model.bad_values) == (before, Counter({"bad": 1}))


def test_values_beyond_the_bound_on_features_are_taken_back():
    model = NaiveBayes(max_features=1)
    model.learn_one({"n": 1.0, "o": 2}, "a")
    before = save(model)
    model.learn_one({"n": 1.0, "p": 3, "q": math.inf, "r": math.inf}, "a")
    model.unlearn_one({"n": 1.0, "p": 3, "q": math.inf, "r": math.inf}, "a")
    assert save(model) == before
    assert model.bad_values == Counter({BEYOND: 1})


_TAUGHT = [
    ({"n": 1.0, "c": "x", "b": ["s", "t", "t"]}, "a"),
    ({"n": 2.0, "c": "x"}, "a"),
    ({"n": -50.0, "c": "y", "b": ["u"], "m": 5.0}, "b"),
    ({"d": True}, "c"),
]


@pytest.mark.parametrize("bag", BAGS)
@pytest.mark.parametrize(
    ("event", "label", "weight"),
    [
        ({"n": 1.0}, "never", 1),
        ({"n": 1.0}, 1, 1),
        ({"n": 1.0}, "a", 3),
        ({"n": 1e6}, "a", 1),
        ({"n": -50.0}, "a", 1),
        ({"n": 2.5}, "a", 2),
        ({"n": -50.0 + 1e-3}, "b", 1),
        ({"m": 5.0}, "a", 1),
        ({"c": "y"}, "a", 1),
        ({"c": "z"}, "a", 1),
        ({"c": "x"}, "a", 2.5),
        ({"d": 1}, "c", 1),
        ({"d": "True"}, "c", 1),
        ({"unheard": 1}, "a", 1),
        ({"b": ["u"]}, "a", 1),
        ({"b": ["never"]}, "b", 1),
        ({"b": ["s"]}, "c", 1),
        ({"n": 1.0, "c": "y"}, "a", 1),
        ({}, "c", 1),  # a class without events, that has values
        ({}, "a", 2),
        ({"n": 1.0}, "a", 2),
        ({"c": "x", "n": math.inf}, "b", 1),
    ],
)
def test_unlearning_what_was_never_learned_is_refused_and_changes_not_a_bit(event, label, weight, bag):
    model = NaiveBayes(bags=bag)
    for taught, name in _TAUGHT:
        model.learn_one(taught, name)
    before = save(model)
    with pytest.raises(ValueError, match="not learned"):
        model.unlearn_one(event, label, weight)
    assert save(model) == before


def test_tokens_that_did_not_come_so_often_are_not_unlearned():
    model = NaiveBayes()
    model.learn_one({"b": ["s", "t", "t"]}, "a")
    before = save(model)
    with pytest.raises(ValueError, match="not learned"):
        model.unlearn_one({"b": ["s", "s", "t"]}, "a")
    assert save(model) == before


def test_a_bag_without_its_tokens_is_not_unlearned():
    """As many bags of a class as had a token are left, or more (Bernoulli)."""
    model = NaiveBayes(bags="bernoulli")
    model.learn_one({"b": ["s"]}, "a")
    model.learn_one({}, "a")
    before = save(model)
    with pytest.raises(ValueError, match="not learned"):
        model.unlearn_one({"b": []}, "a")
    assert save(model) == before


@given(whole_lessons, st.builds(Lesson, events, labels, whole_weights), settings_of_models)
def test_what_is_unlearned_without_an_error_can_be_learned_again(lessons, foreign, settings):
    model = learned(NaiveBayes(**settings | {"kinds": KINDS}), lessons)
    before = copy.deepcopy(model)
    try:
        model.unlearn_one(foreign.event, foreign.label, foreign.weight)
    except ValueError:
        assert same(model, before)
        return
    assert_sound(model)
    model.learn_one(foreign.event, foreign.label, foreign.weight)
    ours, theirs = ({k: v for k, v in content(m)[0].items() if k[0] != "events"} for m in (model, before))
    assert ours == theirs


def test_a_part_of_a_weight_can_be_unlearned():
    model, other = NaiveBayes(), NaiveBayes()
    model.learn_one({"n": 1.0, "c": "x"}, "a", 3)
    model.unlearn_one({"n": 1.0, "c": "x"}, "a", 1)
    other.learn_one({"n": 1.0, "c": "x"}, "a", 2)
    assert same(model, other)


@pytest.mark.parametrize(
    ("light", "heavy", "label"),
    [(1.0, 1e9, "a"), (1e-9, 1e2, "a"), (1.0, 1e9, "b"), (1e-4, 1e9, "b"), (1e-9, 1e9, "b")],
)
def test_a_heavy_event_unlearned_leaves_a_light_one(light, heavy, label):
    """In one class as long as the light one is no rounding of the heavy one; in two classes always."""
    model = NaiveBayes()
    model.learn_one({"c": "x", "n": 1.0}, "a", light)
    model.learn_one({"c": "x", "n": 1.0}, label, heavy)
    model.unlearn_one({"c": "x", "n": 1.0}, label, heavy)
    blur = heavy * 2**-52 / light if label == "a" else 1e-15
    assert model.learned == 1
    assert model.class_weights == pytest.approx([light], rel=blur)
    assert_sound(model)
    assert content(model)[0]["count", "c", "x", None] == pytest.approx(light, rel=blur)
    assert model.predict_proba_one({"c": "x"}) == {"a": 1.0}
    model.unlearn_one({"c": "x", "n": 1.0}, "a", max(model.class_weights[0], 1e-9))
    assert same(model, NaiveBayes())


@pytest.mark.parametrize(
    ("days", "label"), [(1, "a"), (39, "a"), (1, "b"), (39, "b"), (41, "b"), (50, "b"), (300, "b")]
)
def test_a_new_event_unlearned_leaves_an_old_one(days, label):
    model = NaiveBayes(half_life=1.0)
    model.learn_one({"c": "x", "n": 1.0}, "a", t=0.0)
    model.learn_one({"c": "x", "d": "y", "n": 1.0}, label, t=float(days))
    model.unlearn_one({"c": "x", "d": "y", "n": 1.0}, label, t=float(days))
    assert model.schema() == {"c": "categorical", "n": "numeric"}
    assert (model.learned, model.class_weights) == (1, pytest.approx([0.5**days]))
    assert_sound(model)
    assert model.predict_proba_one({"c": "x", "n": 1.0}) == {"a": 1.0}


def _decayed(lessons, half_life):
    """Return by the definition the class weights, counts, and moments of "m", as of the newest time."""
    newest = max((lesson.time for lesson in lessons if lesson.weight), default=0.0)
    classes, counts, held = defaultdict(float), defaultdict(float), defaultdict(list)
    for event, label, weight, time in lessons:
        now = weight * 2.0 ** ((time - newest) / half_life)
        classes[type(label), label] += now
        if event.get("c") is not None:
            counts["c", event["c"], (type(label), label)] += now
        if "m" in event:
            held[type(label), label].append((now, event["m"]))
    moments = {}
    for label, pairs in held.items():
        weight = math.fsum(now for now, _ in pairs)
        mean = math.fsum(now * value for now, value in pairs) / weight
        moments[label] = weight, mean, math.fsum(now * (value - mean) ** 2 for now, value in pairs)
    return classes, counts, moments


@given(timed_lessons, st.sampled_from([5.0, 33.3, 1e3, 1e300]))
def test_an_event_weighs_half_for_each_half_life_before_the_newest(lessons, half_life):
    model = learned(NaiveBayes(half_life=half_life, kinds=KINDS), lessons)
    classes, counts, moments = _decayed(lessons, half_life)
    sums, ours = content(model)
    for label, weight in classes.items():
        assert sums["class", label] == pytest.approx(weight, rel=1e-12)
    for (name, value, label), weight in counts.items():
        assert sums["count", name, value, label] == pytest.approx(weight, rel=1e-12)
    for label, (weight, mean, squares) in moments.items():
        assert sums["weight", "m", label] == pytest.approx(weight, rel=1e-12)
        assert ours["mean", "m", label] == pytest.approx(mean, rel=0, abs=1e-12 * LARGEST)
        assert ours["squares", "m", label] == pytest.approx(squares, rel=0, abs=1e-12 * LARGEST**2 * weight)


@given(
    timed_lessons, st.randoms(use_true_random=False), st.sampled_from([5.0, 33.3, 1e300]), st.lists(events, max_size=2)
)
def test_with_times_the_order_of_learning_does_not_matter(lessons, chance, half_life, asked):
    settings = {"half_life": half_life, "kinds": KINDS}
    model = learned(NaiveBayes(**settings), lessons)
    other = learned(NaiveBayes(**settings), chance.sample(lessons, len(lessons)))
    assert_alike(model, other, exact=False)
    assert_answers_alike(model, other, asked)
    assert model.statistics.clock.newest == other.statistics.clock.newest


@pytest.mark.parametrize("prior", ["observed", "uniform"])
@pytest.mark.parametrize("age", [10.0, 455.0, 510.0, 2_000.0])
def test_whether_an_old_event_is_met_late_or_fades_does_not_matter(age, prior):
    lessons = [Lesson({"c": "x"}, "a", 1.0, 0.0), Lesson({"c": "y", "n": 1.0}, "b", 1.0, age)]
    model, other = (learned(NaiveBayes(half_life=1.0, prior=prior), order) for order in (lessons, lessons[::-1]))
    assert_answers_alike(model, other, [{}, {"c": "x"}, {"c": "z", "n": 1.0}])


@given(
    timed_lessons,
    st.lists(st.integers(0, 25), max_size=3).map(sorted),
    st.sampled_from([5.0, 33.3]),
    st.randoms(use_true_random=False),
)
def test_with_times_parts_merged_are_the_whole(lessons, at, half_life, chance):
    settings = {"half_life": half_life, "kinds": KINDS}
    shards = [learned(NaiveBayes(**settings), part) for part in parts(lessons, at)]
    whole = learned(NaiveBayes(**settings), lessons)
    for merged in (NaiveBayes.merge(shards), NaiveBayes.merge(chance.sample(shards, len(shards)))):
        assert_alike(merged, whole, exact=False)
        assert merged.statistics.clock.newest == whole.statistics.clock.newest
        assert_sound(merged)


@given(timed_lessons, timed_lessons, st.randoms(use_true_random=False))
def test_with_times_what_was_learned_and_unlearned_was_never_there(kept, gone, chance):
    """Up to what the rounding of a sum takes from its least part."""
    assume(kept)
    kept = [lesson._replace(weight=1.0) for lesson in kept]
    gone = [lesson._replace(weight=1.0) for lesson in gone]
    model = NaiveBayes(half_life=500.0, kinds=KINDS)
    learned(model, [Lesson({}, "a", 1.0, 1_000.0), *kept])
    before = copy.deepcopy(model)
    learned(model, gone)
    for event, label, weight, time in chance.sample(gone, len(gone)):
        model.unlearn_one(event, label, weight, time)
    assert_alike(model, before, exact=False, blur=1e-11)


@pytest.mark.parametrize("half_life", [1e-12, 1e-9, 0.1, 1.0, 1e9, 1e300])
def test_ten_million_half_lives_overflow_nothing(half_life):
    model = NaiveBayes(half_life=half_life)
    for place, age in enumerate([0.0, 0.5, 40.0, 41.0, 1e3, 1e5, 1e7, 1e7 - 3, 1e7 + 0.25, -1e7, 1e7]):
        event = {"n": 9.9e139 * (-1) ** place, "m": 5e-324, "c": "xyz"[place % 3], "b": {"s": 1e9}}
        model.learn_one(event, "ab"[place % 2], 1e9, age * half_life)
        assert_sound(model)
        assert_shares(model, [event])
    assert sum(model.class_weights) == pytest.approx(1e9 * (2**-0.25 * 2 + 2**-3.25 + 1), rel=1e-9)
    assert_sound(model + model)
    assert same(load(save(model)), model)


@pytest.mark.parametrize("time", [1e300, -1e300, 2.0**80])
def test_a_first_event_may_be_as_far_from_zero_as_times_go(time):
    model = NaiveBayes(half_life=10.0)
    for label in "ab":
        model.learn_one({"n": 1.0, "c": "x"}, label, t=time)
        assert_sound(model)
    assert model.class_weights == [1.0, 1.0]


@pytest.mark.parametrize("half_life", [1e-12, 1e-3, 1.0])
def test_events_without_times_are_a_unit_of_time_apart_at_any_half_life(half_life):
    model = NaiveBayes(half_life=half_life)
    for _ in range(3):
        model.learn_one({}, "a")
    assert model.class_weights[0] == pytest.approx(sum(2.0 ** -min(age / half_life, 2_000) for age in range(3)))


@given(timed_lessons, settings_of_models)
def test_a_half_life_without_end_is_none(lessons, settings):
    never, none = NaiveBayes(half_life=math.inf, **settings), NaiveBayes(**settings)
    assert same(learned(never, lessons), learned(none, lessons))
    assert same(in_a_batch(never, lessons), in_a_batch(none, lessons))
    assert answers(never, [lesson.event for lesson in lessons]) == answers(none, [lesson.event for lesson in lessons])


batch_times = st.one_of(times, st.just(math.nan), st.sampled_from([1e6, -1e6, 1e9]))
batch_weights = st.one_of(any_weights, st.sampled_from([0, 1e-9, 1e9]))
free_values = values | {
    "undeclared": st.one_of(st.sampled_from(["p", "q"]), bags, numbers, st.just([])),
    "far": st.sampled_from([1e139, -9.9e139, 5e-324]),
    "nested": st.fixed_dictionaries({"c": st.sampled_from("xy")}),
}
free_events = st.fixed_dictionaries({}, optional=free_values)
odd_batches = st.lists(st.tuples(free_events, st.one_of(labels, st.none())), max_size=8)
batches = st.lists(st.one_of(odd_batches, st.integers(0, 2**32).map(plain_run)), min_size=1, max_size=3).map(
    lambda runs: [pair for run in runs for pair in run]
)
all_settings = st.builds(lambda settings, bound: settings | bound, settings_of_models, bounds)


@given(
    batches,
    st.integers(0, 2**32),
    st.booleans(),
    st.booleans(),
    st.lists(st.integers(0, 100), max_size=3).map(sorted),
    all_settings,
)
def test_a_batch_with_weights_and_times_gives_what_its_events_giveweighed_one_by_one(
    pairs, seed, weighted, timed, at, settings
):
    one, many, silent = (NaiveBayes(**settings) for _ in range(3))
    assert_batches_do_not_show(one, many, silent, pairs, weighed(pairs, seed, weighted, timed), at)
    if not weighted:  # weights of 1e-9 and 1e9 leave rounding beyond any slack
        assert_sound(one)


@given(
    batches,
    st.integers(0, 2**32),
    st.booleans(),
    st.booleans(),
    all_settings,
    st.sampled_from(["save", "pickle", "copy"]),
)
def test_a_model_saved_after_any_event_goes_on_the_same(pairs, seed, weighted, timed, settings, how):
    again = {
        "save": lambda model: load(save(model)),
        "pickle": lambda model: pickle.loads(pickle.dumps(model)),  # noqa: S301 - our own
        "copy": copy.deepcopy,
    }[how]
    weights, clock = weighed(pairs, seed, weighted, timed)
    model, twin = NaiveBayes(**settings), NaiveBayes(**settings)
    for place in range(len(pairs)):
        part = slice(place, place + 1)
        expected = weighed_one_by_one(model, pairs[part], some(weights, part), some(clock, part))
        twin = again(twin)
        assert weighed_one_by_one(twin, pairs[part], some(weights, part), some(clock, part)) == expected
    assert same(twin, model)


@given(lessons_of(st.sampled_from([1, 2, 3, 5])), settings_of_models, st.lists(events, max_size=2))
def test_a_whole_weight_is_as_many_events(lessons, settings, asked):
    settings |= {"kinds": KINDS}
    once, often = NaiveBayes(**settings), NaiveBayes(**settings)
    learned(once, lessons)
    for event, label, weight, _ in lessons:
        for _ in range(weight):
            often.learn_one(event, label)
    (sums, moments), (sums_often, moments_often) = (
        ({key: held for key, held in part.items() if key[0] != "events" and key != "bad"} for part in content(model))
        for model in (once, often)
    )
    assert sums == sums_often
    assert moments == pytest.approx(moments_often, rel=0, abs=1e-12 * LARGEST**2 * 125)
    assert_answers_alike(once, often, asked)


@given(
    timed_lessons,
    st.builds(Lesson, free_events, st.sampled_from(["a", "new class"]), st.just(0), batch_times),
    all_settings,
)
def test_a_weight_of_nothing_changes_not_a_bit(lessons, nothing, settings):
    model = learned(NaiveBayes(**settings), lessons)
    before = save(model)
    for weight in (0, 0.0, -0.0, False, np.float32(0)):
        model.learn_one(nothing.event, nothing.label, weight, nothing.time)
        model.learn_many([nothing.event] * 20, [nothing.label] * 20, [weight] * 20, [nothing.time] * 20)
    assert save(model) == before


_NO_WEIGHTS = [-1, -1e-300, 1e-10, 1.1e9, math.inf, -math.inf, math.nan, None, "much", [1, 2], {}, 1j, object()]
_NO_TIMES = [math.inf, -math.inf, 1e301, -1e301, "soon", [1, 2], {}, 1j, object()]


@pytest.mark.parametrize("half_life", [None, 1.0])
@pytest.mark.parametrize("weight", _NO_WEIGHTS, ids=repr)
def test_a_weight_that_cannot_be_is_refused_and_changes_not_a_bit(weight, half_life):
    model = NaiveBayes(half_life=half_life)
    model.learn_one({"c": "x"}, "a")
    before = save(model)
    with pytest.raises(ValueError, match="weight"):
        model.learn_one({"new": 1}, "new", weight)
    with pytest.raises(ValueError, match="weight"):
        model.unlearn_one({"c": "x"}, "a", weight)
    with pytest.raises(ValueError, match="weight"):
        model.learn_many([{"new": 1}] * 2, ["a", "new"], [1, weight])
    with pytest.raises(ValueError, match="weight"):
        model.test_then_train([{"new": 1}] * 2, ["a", "new"], [1])
    assert save(model) == before


@pytest.mark.parametrize("time", _NO_TIMES, ids=repr)
def test_a_time_that_cannot_be_is_refused_and_changes_not_a_bit(time):
    model = NaiveBayes(half_life=1.0)
    model.learn_one({"c": "x"}, "a", t=3.0)
    before = save(model)
    with pytest.raises(ValueError, match=r"time|number|sequence|float"):
        model.learn_one({"new": 1}, "new", t=time)
    with pytest.raises(ValueError, match=r"time|number|sequence|float"):
        model.unlearn_one({"c": "x"}, "a", t=time)
    with pytest.raises(ValueError, match=r"time|number|sequence|float"):
        model.learn_many([{"new": 1}] * 2, ["a", "new"], t=[3.0, time])
    assert save(model) == before


@given(batches, all_settings)
def test_a_bound_that_is_not_reached_changes_nothing(pairs, settings):
    settings.pop("max_values", None)
    settings.pop("max_features", None)
    free, bounded = NaiveBayes(**settings), NaiveBayes(**settings, max_values=100, max_features=100)
    asked, names = [event for event, _ in pairs], [label for _, label in pairs]
    assert free.test_then_train(asked, names).tobytes() == bounded.test_then_train(asked, names).tobytes()
    for one, other in ((free, bounded), (free + free, bounded + bounded)):
        (plain, arrays), (bounded_plain, bounded_arrays) = one.to_state(), other.to_state()
        assert plain == bounded_plain | {"max_values": None, "max_features": None}
        assert {key: array.tobytes() for key, array in arrays.items()} == {
            key: array.tobytes() for key, array in bounded_arrays.items()
        }


bounded_shards = st.lists(
    st.lists(
        st.tuples(
            st.one_of(st.integers(0, 3), st.integers(0, 25)),
            st.dictionaries(st.one_of(st.integers(0, 3), st.integers(0, 25)).map(str), st.integers(1, 4), max_size=5),
            st.sampled_from("pq"),
            whole_weights,
        ),
        max_size=30,
    ),
    min_size=1,
    max_size=4,
)


def _assert_heavy_hitters(model, name, true, bound):
    """Metwally and others (2005), and Agarwal and others (2012): what a summary of so many counters promises."""
    vocabulary, counts = model.statistics.vocabulary, model.statistics.counts.array
    weight = sum(sum(by_class.values()) for by_class in true.values())
    if name not in vocabulary.features:
        assert not weight
        return
    number = vocabulary.features[name][1]
    columns = vocabulary.columns(number)
    assert len(columns) <= bound
    assert counts[columns, 0].sum() <= weight
    kept = {vocabulary.values[code]: code for code in columns.tolist()}
    least = counts[columns, 0].min() if None in vocabulary.codes[number] else 0.0
    for value, by_class in true.items():
        total = sum(by_class.values())
        if value in kept:
            upper = counts[kept[value], 0]
            assert upper - weight / bound <= total <= upper
            assert counts[kept[value], 1 : model.statistics.slots].sum() <= total
            for slot, label in enumerate(model.classes):
                assert counts[kept[value], slot + 1] <= by_class[label]
        else:
            assert total <= least <= weight / bound
    for slot, label in enumerate(model.classes):
        columns = np.flatnonzero(np.array(vocabulary.owners) == number)
        assert counts[columns, slot + 1].sum() == sum(by_class[label] for by_class in true.values())


@given(bounded_shards, st.integers(1, 6), st.sampled_from(BAGS), st.booleans(), st.booleans())
@example([[(0, {}, "p", 5)], [(1, {}, "p", 1), (2, {}, "p", 1), (3, {}, "p", 1)]], 2, "multinomial", True, False)
@example([[(1, {}, "p", 1), (2, {}, "p", 1), (3, {}, "p", 1)], [(0, {}, "p", 5)]], 2, "multinomial", True, False)
@example([[], [(1, {}, "p", 1), (2, {}, "p", 1), (3, {}, "p", 1)]], 2, "multinomial", True, False)
def test_what_is_common_keeps_its_column_and_no_more_columns_than_the_bound(shards, bound, bag, in_turn, in_batches):
    settings = {"max_values": bound, "kinds": {"c": "categorical", "b": "bag"}, "bags": bag}
    true = {name: defaultdict(Counter) for name in "cb"}
    models = []
    for shard in shards:
        model = NaiveBayes(**settings)
        lessons = []
        for value, tokens, label, weight in shard:
            lessons.append(Lesson({"c": value, "b": tokens}, label, weight))
            true["c"][value][label] += weight
            for token, often in tokens.items():
                true["b"][token][label] += weight * (1 if bag == "bernoulli" else often)
        models.append((in_a_batch if in_batches else learned)(model, lessons))
    if in_turn:
        merged = models[0]
        for model in models[1:]:
            merged = merged + model
    else:
        merged = NaiveBayes.merge(models)
    assert_sound(merged)
    _assert_heavy_hitters(merged, "c", true["c"], bound)
    if bag != "bernoulli":
        _assert_heavy_hitters(merged, "b", true["b"], bound)


@given(st.lists(st.lists(st.sampled_from("stuvwxyz"), max_size=5), max_size=20), st.integers(1, 3))
def test_where_tokens_count_once_what_a_column_may_have_missed_counts_once_too(lists, bound):
    model = NaiveBayes(max_values=bound, bags="bernoulli", kinds={"b": "bag"})
    true = defaultdict(Counter)
    for tokens in lists:
        model.learn_one({"b": dict.fromkeys(tokens, 3)}, "a")
        for token in set(tokens):
            true[token]["a"] += 1
    vocabulary, counts = model.statistics.vocabulary, model.statistics.counts.array
    columns = vocabulary.columns(0) if vocabulary.counted else np.zeros(0, dtype=np.int64)
    weight = sum(map(Counter.total, true.values()))
    assert counts[columns, 0].sum() <= weight
    for code in columns.tolist():
        assert (
            true[vocabulary.values[code]].total()
            <= counts[code, 0]
            <= true[vocabulary.values[code]].total() + weight / bound
        )


@given(bounded_shards, st.integers(1, 4))
def test_what_columns_may_hold_does_not_depend_on_the_order_of_merging(shards, bound):
    """Which of equally rare values keeps its column may."""
    assume(len(shards) > 1)
    models = [
        learned(NaiveBayes(max_values=bound), [Lesson({"c": str(value)}, label, w) for value, _, label, w in shard])
        for shard in shards
    ]
    for one, other in itertools.pairwise(models):
        held = []
        for merged in (one + other, other + one):
            vocabulary = merged.statistics.vocabulary
            held.append(
                sorted(merged.statistics.counts.array[vocabulary.columns(0), 0].tolist()) if vocabulary.counted else []
            )
            assert_sound(merged)
        assert held[0] == held[1]


@given(
    lessons_of(of=st.fixed_dictionaries({}, optional={key: values[key] for key in "cdbe"})),
    st.integers(1, 4),
    st.sampled_from(BAGS),
    st.randoms(use_true_random=False),
)
def test_with_a_bound_unlearning_keeps_totals_and_nothing_is_negative(lessons, bound, bag, chance):
    model = learned(NaiveBayes(max_values=bound, kinds=KINDS, bags=bag), lessons)
    order = chance.sample(lessons, len(lessons))
    for place, lesson in enumerate(order):
        model.unlearn_one(lesson.event, lesson.label, lesson.weight)
        left = order[place + 1 :]
        assert_sound(model)
        free = content(learned(NaiveBayes(kinds=KINDS, bags=bag), left))[0]
        ours = content(model)[0]
        for key, total in free.items():
            if key[0] in ("class", "total"):
                assert ours.get(key, 0.0) == total
        chosen = [lesson.event for lesson in left[:2]]
        assert_shares(model, chosen)
    assert not model.classes
    assert not model.schema()


def test_with_a_bound_tokens_are_not_unlearned_that_the_rare_ones_do_not_have_between_them():
    model = NaiveBayes(max_values=2, kinds={"b": "bag"})
    for token, weight in (("s", 5), ("t", 5), ("u", 1), ("s", 3)):
        model.learn_one({"b": [token]}, "a", weight)
    before = save(model)
    with pytest.raises(ValueError, match="not learned"):
        model.unlearn_one({"b": {"never": 3, "u": 9, "s": 9}}, "a")
    assert save(model) == before
    assert_sound(model)


@given(bounded_shards, st.integers(1, 3), st.dictionaries(st.integers(0, 25).map(str), st.integers(1, 9), max_size=5))
def test_with_a_bound_unlearning_is_refused_or_keeps_what_is_left_whole(shards, bound, tokens):
    model = NaiveBayes(max_values=bound, kinds={"b": "bag"})
    for _, bag, label, weight in shards[0]:
        model.learn_one({"b": bag}, label, weight)
    before = save(model)
    try:
        model.unlearn_one({"b": tokens}, "p")
    except ValueError:
        assert save(model) == before
    assert_sound(model)


@given(
    lessons_of(any_weights, of=st.fixed_dictionaries({}, optional={key: values[key] for key in ("c", "b", "m")})),
    st.integers(1, 3),
)
def test_with_a_bound_and_forgetting_nothing_is_lost_or_counted_twice(lessons, bound):
    settings = {"max_values": bound, "kinds": KINDS, "half_life": 2.0}
    model, other = (learned(NaiveBayes(**settings), part) for part in (lessons, lessons[::2]))
    for held in (model, other, model + other, other + model, (model + other) + (other + model)):
        assert_sound(held)


@given(lessons_of(any_weights), st.integers(1, 4), settings_of_models)
def test_features_beyond_the_bound_are_left_out_and_counted(lessons, most, settings):
    settings |= {"kinds": KINDS}
    bounded = learned(NaiveBayes(max_features=most, **settings), lessons)
    kept = bounded.schema()
    assert len(kept) <= most
    cut = [lesson._replace(event={k: v for k, v in lesson.event.items() if k in kept}) for lesson in lessons]
    free = learned(NaiveBayes(**settings), cut)
    (plain, arrays), (free_plain, free_arrays) = bounded.to_state(), free.to_state()
    gone = {"max_features": None, "bad_values": None}
    assert plain | gone == free_plain | gone
    assert {key: array.tobytes() for key, array in arrays.items()} == {k: a.tobytes() for k, a in free_arrays.items()}
    left_out = [
        (name, value)
        for event, *_ in lessons
        for name, value in event.items()
        if name not in kept and value is not None and not (isinstance(value, float) and math.isnan(value))
    ]
    assert sum(bounded.bad_values.values()) - sum(free.bad_values.values()) == len(left_out)


@given(whole_lessons, scorings, st.lists(events, min_size=1, max_size=3))
def test_a_class_known_before_changes_nothing_but_the_order_and_the_priors_that_count_it(lessons, settings, asked):
    assume(settings.get("prior", "observed") == "observed" and not settings.get("prior_smoothing"))
    known = NaiveBayes(known_classes=["b", "never", 1], kinds=KINDS, **settings)
    free = learned(NaiveBayes(kinds=KINDS, **settings), lessons)
    assert known.classes == ["b", "never", 1]
    learned(known, lessons)
    for ours, theirs in zip(answers(known, asked), answers(free, asked), strict=True):
        assert ours.pop("'never'") == 0.0
        assert {name: share for name, share in ours.items() if share} == pytest.approx(
            {name: share for name, share in theirs.items() if share}, rel=1e-12
        )


@given(whole_lessons, st.sampled_from([0, 0.5, 3]), st.sampled_from([None, ["b", "never"]]))
def test_priors_are_those_of_exact_fractions(lessons, smoothing, known):
    model = learned(NaiveBayes(prior_smoothing=smoothing, known_classes=known), lessons)
    uniform = learned(NaiveBayes(prior="uniform", known_classes=known), lessons)
    shares = (("a", 0.125), (1, 0.625), ("late", 0.25))
    told = learned(NaiveBayes(prior=shares), lessons)
    weights = {(str, label): Fraction(0) for label in known or []}
    for _, label, weight, _ in lessons:
        weights[type(label), label] = weights.get((type(label), label), Fraction(0)) + weight
    total = sum(weights.values()) + Fraction(smoothing) * len(weights)
    assume(lessons)
    for (_, label), weight in weights.items():
        assert model.p_class(label) == pytest.approx(float((weight + Fraction(smoothing)) / total), rel=1e-15)
        assert uniform.p_class(label) == pytest.approx(1 / len(weights), rel=1e-15)
    assert [told.p_class(label) for label, _ in shares] == [share for _, share in shares]
    assert told.p_class("b") == told.p_class(True) == 0.0
    for scored in (model, uniform, told):
        row = scored.test_then_train([{}], [None])[0]
        expected = [scored.p_class(label) for label in scored.classes]
        assert row == pytest.approx(np.array(expected) / sum(expected), rel=1e-12)


@given(whole_lessons, scorings, scorings, st.lists(events, min_size=1, max_size=3), bounds, st.booleans())
def test_a_model_configured_later_is_as_if_built_so(lessons, first, then, asked, bound, again):
    assume(first.get("bags") != "bernoulli" and then.get("bags") != "bernoulli")
    then = {"bags": "multinomial", "prior": "observed"} | then
    assume((first | then).get("smoothing") != 0 or then["bags"] != "complement")
    model, built = (
        learned(NaiveBayes(kinds=KINDS, **settings, **bound), lessons) for settings in (first, first | then)
    )
    model.configure(**then)
    if again and lessons:
        for held in (model, built):
            learned(held, lessons[:3])
            if "max_values" not in bound and "half_life" not in bound and "max_features" not in bound:
                held.unlearn_one(lessons[0].event, lessons[0].label, lessons[0].weight)
    assert model.settings == built.settings
    assert sorted(map(repr, model.classes)) == sorted(map(repr, built.classes))
    for one, other in zip(answers(model, asked), answers(built, asked), strict=True):
        assert one == pytest.approx(other, rel=1e-9, abs=1e-300)
    for event in asked:
        ours, theirs = model.joint_log_likelihood(event), built.joint_log_likelihood(event)
        assert ours == pytest.approx(theirs, rel=1e-9, nan_ok=True)
        assert model.predict_proba_one(event) == pytest.approx(built.predict_proba_one(event), rel=1e-9, abs=1e-300)
    if model.classes == built.classes:
        assert same(model, built)
    assert same(load(save(model)), model)
    assert_answers_alike(model + model, built + built, asked)


@pytest.mark.parametrize(
    "changes",
    [
        {"smoothing": -1},
        {"prior": {"a": 0.5}},
        {"bags": "bernoulli"},
        {"half_life": 3},
        {"nothing": 1},
        {"prior": "no"},
    ],
)
def test_a_change_that_cannot_be_changes_nothing(changes):
    model = learned(NaiveBayes(), [Lesson({"n": 1.0}, "a")])
    before = save(model)
    with pytest.raises(ValueError):  # noqa: PT011 - each has its own words
        model.configure(**{"unbiased": True} | changes)
    assert save(model) == before


taught_bags = st.lists(
    st.tuples(st.dictionaries(st.sampled_from("stuvwxyz"), st.integers(1, 4), max_size=6), st.sampled_from("pqr")),
    min_size=1,
    max_size=25,
)
asked_bags = st.lists(
    st.dictionaries(st.sampled_from("stuvwxyz!?"), st.integers(1, 4), max_size=6), min_size=1, max_size=4
)
smoothings = st.sampled_from([1, 0.1, 3])


def _of_bags(pairs, **settings):
    model = NaiveBayes(kinds={"bag": "bag"}, **settings)
    model.learn_many([{"bag": bag} for bag, _ in pairs], [label for _, label in pairs])
    return model


def _table(bags_, words):
    return np.array([[bag.get(word, 0) for word in words] for bag in bags_], dtype=float).reshape(
        len(bags_), len(words)
    )


def _assert_as_scikit_learn(model, reference, pairs, asked):
    words = sorted({word for bag, _ in pairs for word in bag})
    assume(words)
    reference.fit(_table([bag for bag, _ in pairs], words), [label for _, label in pairs])
    known = [{word: often for word, often in bag.items() if word in words} for bag in asked]
    expected = reference.predict_proba(_table(known, words))
    for bag, row in zip(known, expected, strict=True):
        answer = model.predict_proba_one({"bag": bag})
        assert [answer[label] for label in reference.classes_] == pytest.approx(row.tolist(), rel=0, abs=1e-9)


@given(taught_bags, asked_bags, smoothings)
def test_multinomial_is_that_of_river_and_of_scikit_learn(pairs, asked, smoothing):
    model, river = _of_bags(pairs, smoothing=smoothing), naive_bayes.MultinomialNB(alpha=smoothing)
    for bag, label in pairs:
        river.learn_one(bag, label)
    assume(river.n_terms)
    for bag in asked:
        assert model.joint_log_likelihood({"bag": bag}) == pytest.approx(river.joint_log_likelihood(bag), rel=1e-9)
        assert model.predict_proba_one({"bag": bag}) == pytest.approx(river.predict_proba_one(bag), rel=0, abs=1e-9)
    _assert_as_scikit_learn(model, MultinomialNB(alpha=smoothing), pairs, asked)


@given(taught_bags, asked_bags, smoothings)
def test_complement_is_that_of_river_and_of_scikit_learn(pairs, asked, smoothing):
    model = _of_bags(pairs, smoothing=smoothing, bags="complement", prior="uniform")
    river = naive_bayes.ComplementNB(alpha=smoothing)
    for bag, label in pairs:
        river.learn_one(bag, label)
    assume(river.feature_counts)
    for bag in asked:
        ours = model.joint_log_likelihood({"bag": bag})
        theirs = {label: score - math.log(len(ours)) for label, score in river.joint_log_likelihood(bag).items()}
        assert ours == pytest.approx(theirs, rel=1e-9)
        assert model.predict_proba_one({"bag": bag}) == pytest.approx(river.predict_proba_one(bag), rel=0, abs=1e-9)
    _assert_as_scikit_learn(model, ComplementNB(alpha=smoothing), pairs, asked)


@given(taught_bags, asked_bags, smoothings)
def test_bernoulli_is_that_of_river_and_of_scikit_learn(pairs, asked, smoothing):
    """Within what the 1e-9 that river adds to each share makes of its logarithm."""
    model, river = _of_bags(pairs, smoothing=smoothing, bags="bernoulli"), naive_bayes.BernoulliNB(alpha=smoothing)
    for bag, label in pairs:
        river.learn_one(bag, label)
    blur = 1e-9 * (1 + 8 * (len(pairs) + 2 * smoothing) / smoothing)
    for bag in asked:
        ours, theirs = model.joint_log_likelihood({"bag": bag}), river.joint_log_likelihood(bag)
        assert ours == pytest.approx(theirs, rel=0, abs=blur)
        assert model.predict_proba_one({"bag": bag}) == pytest.approx(river.predict_proba_one(bag), rel=0, abs=2 * blur)
    _assert_as_scikit_learn(model, BernoulliNB(alpha=smoothing), pairs, asked)


@given(
    lessons_of(any_weights, of=st.fixed_dictionaries({"c": st.sampled_from("uvwxyz")})),
    scorings,
    st.sampled_from("uvw!"),
)
def test_a_category_is_a_bag_of_one_token(lessons, settings, asked):
    assume(settings.get("bags", "multinomial") == "multinomial")
    category, bag = NaiveBayes(**settings), NaiveBayes(**settings)
    learned(category, lessons)
    learned(bag, [lesson._replace(event={"c": [lesson.event["c"]]}) for lesson in lessons])
    (_, arrays), (_, bag_arrays) = category.to_state(), bag.to_state()
    assert all((array == bag_arrays[key]).all() for key, array in arrays.items())
    ours, theirs = category.predict_proba_one({"c": asked}), bag.predict_proba_one({"c": [asked]})
    assert ours == pytest.approx(theirs, rel=1e-12)


def test_complement_bags_are_not_to_be_had_without_smoothing():
    """A token that no other class has would be endless evidence, and could meet an impossible value."""
    for build in (
        lambda: NaiveBayes(smoothing=0, bags="complement"),
        lambda: NaiveBayes(bags="complement").configure(smoothing=0),
    ):
        with pytest.raises(ValueError, match="complement"):
            build()


@pytest.mark.parametrize("bag", ["multinomial", "bernoulli"])
def test_unsmoothed_bags_say_what_is_impossible_and_nothing_that_is_no_number(bag):
    model = NaiveBayes(smoothing=0, bags=bag)
    for words, value, label in (["s"], "x", "p"), (["t"], "y", "q"), (["t"], "y", "r"):
        model.learn_one({"b": words, "c": value}, label)
    for words, value in (
        ([], "x"),
        (["s"], "y"),
        (["t"], "x"),
        (["s", "t"], "y"),
        (["never"], "x"),
        (["s", "never"], "y"),
    ):
        event = {"b": words, "c": value}
        scores = model.joint_log_likelihood(event).values()
        assert all(score < math.inf for score in scores)  # a NaN is not
        assert_shares(model, [event])


@given(taught_bags, st.sampled_from(BAGS))
def test_a_list_a_set_a_string_and_a_dict_of_counts_are_one_bag(pairs, bag):
    one, other = (NaiveBayes(kinds={"bag": "bag"}, bags=bag) for _ in range(2))
    for tokens, label in pairs:
        spread = [token for token, often in tokens.items() for _ in range(often)]
        one.learn_one({"bag": tokens}, label)
        other.learn_one({"bag": spread[::-1]}, label)
    assert same(one, other)
    assert (
        one.predict_proba_one({"bag": "s"})
        == one.predict_proba_one({"bag": {"s"}})
        == one.predict_proba_one({"bag": {"s": 1, "t": 0}})
    )


def test_a_feature_first_seen_as_a_bag_stays_one_and_numbers_are_bad_values():
    model = NaiveBayes()
    model.learn_one({"x": ["a", ""]}, 1)
    model.learn_one({"x": 3.0}, "1")
    model.learn_one({"x": "a"}, True)
    model.learn_one({"x": []}, 1.0)
    assert (model.schema(), model.bad_values) == ({"x": "bag"}, Counter({"x": 1}))
    assert model.statistics.counts.totals[0, :5].tolist() == [3, 2, 0, 1, 0]
    for event, label in (({"x": []}, 1.0), ({"x": "a"}, True), ({"x": 3.0}, "1"), ({"x": ["", "a"]}, 1)):
        model.unlearn_one(event, label)
    assert same(model, NaiveBayes())


steps = st.lists(
    st.one_of(
        st.tuples(st.just("learn"), st.builds(Lesson, events, labels, whole_weights)),
        st.tuples(st.just("batch"), whole_lessons),
        st.tuples(st.sampled_from(["merge", "merged into"]), whole_lessons),
        st.tuples(st.just("unlearn"), st.integers(0, 2**32)),
        st.tuples(st.just("unlearn all"), st.none()),
        st.tuples(st.just("double"), st.none()),
        st.tuples(st.sampled_from(["save", "pickle", "copy", "add nothing"]), st.none()),
        st.tuples(
            st.just("configure"), scorings.map(lambda changes: {k: v for k, v in changes.items() if k != "bags"})
        ),
    ),
    max_size=12,
)


def _step(model, step, held, left, fresh):  # noqa: C901 - a step for each method
    """Take a step with a model, and with the lessons that are left; return the model."""
    if step == "learn":
        left.append(held)
        model.learn_one(held.event, held.label, held.weight)
    elif step == "batch":
        left += held
        in_a_batch(model, held)
    elif step in ("merge", "merged into"):
        other = learned(fresh(), held)
        left[:] = left + held if step == "merge" else held + left
        model = model + other if step == "merge" else other + model
    elif step == "unlearn" and left:
        event, label, weight, _ = left.pop(held % len(left))
        model.unlearn_one(event, label, weight)
    elif step == "unlearn all":
        while left:
            event, label, weight, _ = left.pop()
            model.unlearn_one(event, label, weight)
    elif step == "double" and len(left) < 50:
        left += left
        model = model + model
    elif step == "save":
        model = load(save(model))
    elif step == "pickle":
        model = pickle.loads(pickle.dumps(model))  # noqa: S301 - our own
    elif step == "copy":
        model = copy.deepcopy(model)
    elif step == "add nothing":
        model = fresh() + model + fresh()
    elif step == "configure":
        model.configure(**held)
    return model


@given(steps, settings_of_models, st.lists(events, min_size=1, max_size=2))
def test_whatever_was_done_what_is_left_is_what_learning_it_would_have_given(taken, settings, asked):
    settings |= {"kinds": KINDS}
    model, left, changed = NaiveBayes(**settings), [], {}

    def fresh():
        return NaiveBayes(**settings | changed)

    for step, held in taken:
        changed |= held if step == "configure" else {}
        model = _step(model, step, held, left, fresh)
        assert_sound(model)
    expected = learned(fresh(), left)
    ours, theirs = ({k: v for k, v in content(m)[0].items() if v != 0} for m in (model, expected))
    assert ours == theirs
    assert_shares(model, asked)
    assert_answers_alike(model, expected, asked, 1e-6)


@given(steps, settings_of_models, bounds, st.lists(events, min_size=1, max_size=2))
def test_whatever_was_done_with_bounds_and_forgetting_tables_are_sound(taken, settings, bound, asked):
    settings |= {"kinds": KINDS} | bound
    model, left, changed = NaiveBayes(**settings), [], {}

    def fresh():
        return NaiveBayes(**settings | changed)

    for step, held in taken:
        if step.startswith("unlearn") and len(bound) and "half_life" in bound:  # without times, what was learned when?
            continue
        if step.startswith("unlearn") and "max_features" in bound:  # merging leaves out what is beyond the bound
            continue
        changed |= held if step == "configure" else {}
        model = _step(model, step, held, left, fresh)
        assert_sound(model)
        assert same(load(save(model)), model)
    assert_shares(model, asked)
