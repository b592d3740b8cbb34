"""What each value of an event is, what can name a feature, and what can name a class."""

import datetime as dt
import enum
import math
from collections import Counter, OrderedDict, defaultdict
from decimal import Decimal
from fractions import Fraction
from types import MappingProxyType

import numpy as np
import pandas as pd
import polars as pl
import pytest

from streamnb import NaiveBayes, load, save
from tests.strategies import same

NAN = float("nan")


class _Colour(enum.StrEnum):
    RED = "red"


class _Level(enum.IntEnum):
    HIGH = 3


NUMBERS = [
    0, -1, 2**53 + 1, 2**63, 10**139, 1.5, -0.0, 5e-324, 9.9e139,
    Decimal("2.5"), Fraction(1, 3), _Level.HIGH,
    np.uint8(250), np.int8(-3), np.uint64(2**64 - 1), np.float16(0.5), np.float32(0.1), np.float64(3), np.longdouble(2),
]  # fmt: skip
CATEGORIES = ["x", "", " ", "7", "nan", "é", "\x00", "👍", True, False, np.True_, np.str_("x"), _Colour.RED]
MISSING = [None, NAN, np.float32("nan"), np.float64("nan"), Decimal("nan"), pd.NA, pd.NaT, np.datetime64("NaT", "s")]
BAD = [
    math.inf, -math.inf, 1e140, -1e140, 10**400, -(10**400), 10**140, np.float64("inf"), Decimal("Infinity"),
    Decimal("1e500"), Fraction(10**400), 1j, np.complex128(1), b"x", bytearray(b"x"), np.bytes_(b"x"), [1], ["x", 1],
    (1,), {1, 2}, object(), dt.datetime(2024, 1, 1, tzinfo=dt.UTC), dt.date(2024, 1, 1), dt.timedelta(1),
    pd.Timestamp("2024-01-01"), np.datetime64("2024-01-01", "s"), np.datetime64("2024-01-01", "ns"),
    np.timedelta64(1, "ns"), np.array(1.0), np.array([1.0]), "\ud800", "x\udcffy", float, Ellipsis,
]  # fmt: skip


def _model(kind=None, **settings):
    return NaiveBayes(kinds={"v": kind} if kind else None, **settings)


def _is(value, kind=None):
    """Return what a value is taken for, as the schema and the count of bad values tell."""
    model = _model(kind)
    model.learn_one({"v": value}, "a")
    assert set(model.bad_values) <= {"v"}
    return model.schema().get("v", "bad" if model.bad_values["v"] else "missing")


def _id(value):
    return f"{type(value).__name__} {value!r:.20}".encode("ascii", "backslashreplace").decode()


@pytest.mark.parametrize("value", NUMBERS, ids=_id)
def test_a_number_is_numeric(value):
    assert (_is(value), _is(value, "numeric")) == ("numeric", "numeric")


@pytest.mark.parametrize("value", CATEGORIES, ids=_id)
def test_text_and_truth_are_categorical_and_bad_for_a_numeric_feature(value):
    assert (_is(value), _is(value, "categorical")) == ("categorical", "categorical")
    model = _model()
    model.learn_one({"v": 1.0}, "a")
    model.learn_one({"v": value}, "a")
    assert (model.schema(), model.bad_values) == ({"v": "numeric"}, {"v": 1})


@pytest.mark.parametrize("value", MISSING, ids=_id)
@pytest.mark.parametrize("kind", [None, "numeric", "categorical"])
def test_nothing_and_nan_are_missing(value, kind):
    assert _is(value, kind) == "missing"


@pytest.mark.parametrize("value", BAD, ids=_id)
@pytest.mark.parametrize("kind", [None, "numeric", "categorical"])
def test_anything_else_is_bad_and_the_event_is_still_used(value, kind):
    assert _is(value, kind) == "bad"
    model, other = NaiveBayes(), NaiveBayes()
    for event in ({"v": 1.0, "w": 2.0}, {"v": value, "w": 3.0}):
        model.learn_one(event, "a")
    for event in ({"v": 1.0, "w": 2.0}, {"w": 3.0}):
        other.learn_one(event, "a")
    assert (model.learned, model.bad_values) == (2, {"v": 1})
    assert model.statistics.moments.array.tobytes() == other.statistics.moments.array.tobytes()
    assert model.predict_proba_one({"v": value, "w": 3.0}) == other.predict_proba_one({"w": 3.0})


@pytest.mark.parametrize(
    "text", ["3.5", " 3.5 ", "-1e3", "0x1p3", "1_000", "½", "high", "", "inf", "-Infinity", "1e140"]
)
def test_text_fits_a_numeric_feature_only_where_it_is_declared_and_only_if_it_is_a_number(text):
    fits = text in {"3.5", " 3.5 ", "-1e3"}
    assert _is(text, "numeric") == ("numeric" if fits else "bad")
    model = _model()
    model.learn_one({"v": 1.0}, "a")
    model.learn_one({"v": text}, "a")
    assert model.bad_values == {"v": 1}


@pytest.mark.parametrize("text", ["nan", "NaN", "-nan"])
def test_text_for_nan_is_missing_where_the_feature_is_declared_numeric(text):
    assert _is(text, "numeric") == "missing"


def test_a_number_as_text_is_that_number():
    model, other = _model("numeric"), _model("numeric")
    for value in (1, 2.5, -3e-7):
        model.learn_one({"v": repr(value)}, "a")
        other.learn_one({"v": value}, "a")
    assert same(model, other)


def test_cells_of_text_stand_for_numbers_where_they_can():
    model = NaiveBayes()
    bad = Counter()
    rows = [{"n": "1.5", "c": "x", "k": "1"}, {"n": "high", "c": "2", "k": "y"}, {"n": None, "c": "", "k": "2"}]
    model.test_then_train(rows, ["a", "a", None], cells=True, bad_values=bad)
    assert model.schema() == {"c": "categorical", "k": "numeric", "n": "numeric"}
    assert bad == {"n": 1, "k": 1}


@pytest.mark.parametrize("long", [1, 40])
def test_cells_are_read_alike_whether_many_or_one(long):
    rows = [{"n": f"{i}.5", "c": "xyz"[i % 3], "s": ["1e400", "nan", "7", " 8 ", None][i % 5]} for i in range(40)]
    labels = ["ab"[i % 2] for i in range(40)]
    whole, cut = NaiveBayes(), NaiveBayes()
    whole.test_then_train(rows, labels, cells=True)
    for start in range(0, 40, long):
        cut.test_then_train(rows[start : start + long], labels[start : start + long], cells=True)
    typed = [{"n": i + 0.5, "c": "xyz"[i % 3], "s": [math.inf, NAN, 7, 8, None][i % 5]} for i in range(40)]
    plain = NaiveBayes(kinds={"s": "numeric"})
    declared = NaiveBayes(kinds={"s": "numeric"})
    plain.test_then_train(typed, labels)
    declared.test_then_train(rows, labels, cells=True)
    assert same(whole, cut)
    assert same(plain, declared)


def test_numbers_of_any_width_are_learned_as_floats():
    """Not in their own arithmetic, where 250 + 200 is 194."""
    narrow, wide = NaiveBayes(), NaiveBayes()
    for value, label in [(10, "p"), (250, "n"), (20, "p"), (200, "n")]:
        narrow.learn_one({"v": np.uint8(value)}, label)
        wide.learn_one({"v": float(value)}, label)
    assert same(narrow, wide)
    assert narrow.predict_proba_one({"v": np.uint8(15)}) == wide.predict_proba_one({"v": 15.0})
    assert {type(p) for p in narrow.predict_proba_one({"v": np.float32(15)}).values()} == {float}


@pytest.mark.parametrize("value", [2**63, 10**30, 2**53 + 1, 2**64 + 2**11 + 1])
def test_a_large_integer_is_the_float_nearest_to_it_however_it_is_read(value):
    one, many, first = NaiveBayes(), NaiveBayes(), NaiveBayes()
    events = [{"v": value}, {"v": -value}, {"v": 1}] * 10
    for event in events:
        one.learn_one(event, "a")
        first.learn_one({"v": float(event["v"])}, "a")
    many.learn_many(events, ["a"] * 30)
    assert save(one) == save(many) == save(first)


def test_numbers_of_a_categorical_feature_are_told_apart_by_value_and_from_text_and_truth():
    model = _model("categorical", smoothing=0)
    for value, label in [
        (1, "one"),
        ("1", "text"),
        (True, "true"),
        (0.5, "half"),
        (2**53 + 1, "large"),
        (2**53, "less"),
    ]:
        model.learn_one({"v": value}, label)
    for value, label in [
        (1.0, "one"),
        (np.int8(1), "one"),
        (Decimal(1), "one"),
        ("1", "text"),
        (np.True_, "true"),
        (0.5, "half"),
        (2**53 + 1, "large"),
        (2.0**53, "less"),
    ]:
        assert model.predict_proba_one({"v": value})[label] == 1.0
        assert load(save(model)).predict_proba_one({"v": value})[label] == 1.0


@pytest.mark.parametrize("value", [2**63, -(2**63) - 1, 1e140])
def test_a_number_too_large_for_a_category_is_bad(value):
    assert _is(value, "categorical") == "bad"


@pytest.mark.parametrize("frame", [pd.DataFrame, pl.DataFrame, lambda columns: np.array([columns["v"]]).T])
def test_large_ids_in_a_frame_stay_apart(frame):
    """A column of 64-bit integers does not pass through floats on its way to a categorical feature."""
    ids = [2**53, 2**53 + 1, 2**62, 2**62 + 1]
    name = 0 if frame({"v": ids}).__class__ is np.ndarray else "v"
    framed, dicts = NaiveBayes(kinds={name: "categorical"}), NaiveBayes(kinds={name: "categorical"})
    framed.learn_many(frame({"v": ids}), ["a", "b", "c", "d"])
    dicts.learn_many([{name: value} for value in ids], ["a", "b", "c", "d"])
    assert same(framed, dicts)


def test_the_kind_of_a_feature_is_that_of_its_first_value():
    model = NaiveBayes()
    model.learn_one({"v": None}, "a")
    model.learn_one({"v": math.inf}, "a")
    assert model.schema() == {}
    model.learn_one({"v": "x"}, "a")
    model.learn_one({"v": 3}, "a")
    assert model.schema() == {"v": "categorical"}
    assert model.bad_values == {"v": 1}


def test_a_signalling_nan_does_not_stop_the_stream():
    model = NaiveBayes()
    model.learn_one({"v": Decimal("sNaN"), "w": 1.0}, "a")
    assert (model.learned, model.schema()) == (1, {"w": "numeric"})
    assert model.test_then_train([{"v": Decimal("sNaN"), "w": 1.0}], ["b"]).tolist() == [[1.0, 0.0]]


@pytest.mark.parametrize("many", [False, True])
def test_text_that_is_no_unicode_is_bad_however_it_is_read(many):
    """A lone surrogate, as JSON may escape one; many events at once are read column by column."""
    events = [{"v": "x", "n": 1.0}] * 20 + [{"v": "\ud800", "n": 1.0}] + [{"v": "y", "n": 1.0}] * 20
    model = NaiveBayes()
    model.learn_one(events[0], "a")
    if many:
        model.learn_many(events, ["a"] * len(events))
    else:
        for event in events:
            model.learn_one(event, "a")
    assert model.bad_values == {"v": 1}
    assert same(load(save(model)), model)


# Names


def test_nested_names_are_joined_by_dots():
    model = NaiveBayes()
    model.learn_one({"a": {"b": 1.0, "c": {"d": "x", "é": True, 7: 2}}, "e": {}}, "a")
    assert model.schema() == {"a.b": "numeric", "a.c.7": "numeric", "a.c.d": "categorical", "a.c.é": "categorical"}
    assert model.predict_proba_one({"a.b": 1.0, "a": {"c.d": "x"}}) == {"a": 1.0}
    other = NaiveBayes()
    other.learn_one({"a.b": 1.0, "a.c.7": 2, "a.c.d": "x", "a.c.é": True}, "a")
    assert same(model, other)


@pytest.mark.parametrize(
    "event",
    [
        {"a.b": 1.0, "a": {"b": 2.0}},
        {"a": {"b": 2.0}, "a.b": 1.0},
        {"a": {"b": math.inf}, "a.b": 1.0},
        {"a": {"b": {"c": 1}}, "a.b": 1.0, "a.b.c": None} | {"a": {"b": "x"}},
    ],
)
def test_of_two_values_of_one_name_the_shallower_counts_and_the_other_is_bad(event):
    model = NaiveBayes()
    model.learn_one(event, "a")
    assert model.bad_values == {"a.b": 1}
    assert model.feature_stats(*model.schema(), model.classes[0]).mean == 1.0


@pytest.mark.parametrize(
    "items",
    [
        [(1.5, 5), ("1.5", 6)],
        [(None, 5), ("None", 6)],
        [("\ud800", 5), ("\\ud800", 6)],
        [("a", {1: 5, "1": 6})],
        [("a", {1: {"b": 5}, "1": {"b": 6}})],
        [(1.5, {"b": 5}), ("1.5", {"b": 6})],
        [("a", {"b.c": 5}), ("a.b", {"c": 6})],
    ],
    ids=_id,
)
def test_which_of_two_values_of_one_name_counts_does_not_depend_on_the_order_of_the_keys(items):
    def turned(value):
        return (
            dict(reversed([(key, turned(inner)) for key, inner in value.items()])) if isinstance(value, dict) else value
        )

    model, other = NaiveBayes(), NaiveBayes()
    model.learn_one(dict(items), "a")
    other.learn_one(turned(dict(items)), "a")
    assert list(model.bad_values.values()) == [1]
    assert same(model, other)


def test_an_integer_and_its_text_are_two_names():
    model = NaiveBayes()
    model.learn_one({1: 5.0, "1": "x"}, "a")
    assert model.schema() == {1: "numeric", "1": "categorical"}
    assert load(save(model)).schema() == {1: "numeric", "1": "categorical"}


@pytest.mark.parametrize("key", [True, 1.0, np.int64(1), Decimal(1)], ids=_id)
def test_a_name_that_python_takes_for_an_integer_is_read_alike_before_and_after_that_integer_is_known(key):
    """True, 1.0 and 1 are one key of a dict, so that what was remembered for 1 must not serve for them."""
    remembered, fresh, many = NaiveBayes(), NaiveBayes(), NaiveBayes()
    events = [{1: 5.0}] + [{key: 9.0}] * 20
    remembered.learn_one(events[0], "a")
    fresh.learn_one(events[0], "a")
    for event in events[1:]:
        remembered.learn_one(event, "a")
        fresh._encoder._layouts.clear()
        fresh.learn_one(event, "a")
    many.learn_many(events, ["a"] * 21)
    assert save(remembered) == save(fresh) == save(many)


@pytest.mark.parametrize("key", [2**63, 2**64, -(2**63) - 1, 10**400], ids=["2^63", "2^64", "-2^63-1", "10^400"])
def test_an_integer_of_any_size_can_be_a_name_and_be_saved(key):
    model = NaiveBayes()
    model.learn_one({key: 1.0, "bad": math.inf}, "a")
    model.learn_one({key: math.inf}, "a")
    assert model.learned == 2
    assert same(load(save(model)), model)
    assert len(model.schema()) == 1


@pytest.mark.parametrize(
    "key", ["", " ", "é", "👍", "a.b", ".", "..", "\x00", "x" * 10_000, "\ud800", None, (1, 2), b"x", 1.5]
)
def test_any_key_is_a_name(key):
    model = NaiveBayes()
    for value in (1.0, 2.0, "bad"):
        model.learn_one({key: value}, "a")
        assert model.predict_proba_one({key: value}) == {"a": 1.0}
    model.learn_many([{key: 3.0}] * 20, ["b"] * 20)
    assert list(model.schema().values()) == ["numeric"]
    assert model.statistics.moments.array[0, 0, 0] == 22
    assert list(model.bad_values.values()) == [1]
    assert same(load(save(model)), model)


def test_a_lone_surrogate_in_a_name_is_written_out():
    model = NaiveBayes()
    model.learn_one({"x\ud800": 1.0, "a": {"\udfff": 2.0}}, "a")
    assert set(model.schema()) == {"x\\ud800", "a.\\udfff"}


def test_new_names_are_numbered_by_event_and_then_by_name():
    model = NaiveBayes()
    model.learn_one({"b": 1.0, "a": 1.0, 10: 1.0, 9: 1.0}, "x")
    model.learn_one({"0": 1.0, "b": 1.0}, "x")
    assert list(model.schema()) == [9, 10, "a", "b", "0"]


def test_an_event_may_have_ten_thousand_features():
    model = NaiveBayes()
    event = {f"n{i}": i / 7 for i in range(5_000)} | {f"c{i}": "xyz"[i % 3] for i in range(5_000)}
    model.learn_one(event, "a")
    model.learn_one({name: "z" if name[0] == "c" else value + 1 for name, value in event.items()}, "b")
    answer = model.predict_proba_one(event)
    assert answer["a"] > 0.999
    assert sum(answer.values()) == pytest.approx(1.0, abs=1e-9)
    assert len(model.schema()) == 10_000
    assert load(save(model)).predict_proba_one(event) == answer


# Events


@pytest.mark.parametrize(
    "kind", [dict, OrderedDict, Counter, MappingProxyType, lambda event: defaultdict(float, event)]
)
def test_any_mapping_is_an_event(kind):
    """Also one that makes up values for the keys it lacks: words counted, as text pipelines give them."""
    events = [{"x": 2, "y": 1} if i % 3 else {"x": 1, ("z" if i % 2 else "w"): 4} for i in range(60)]
    plain, one, many = NaiveBayes(), NaiveBayes(), NaiveBayes()
    labels = ["ab"[i % 2] for i in range(60)]
    given_events = [kind(event) for event in events]
    for event, given_event, label in zip(events, given_events, labels, strict=True):
        plain.learn_one(event, label)
        one.learn_one(given_event, label)
    for part in (slice(0, 10), slice(10, 60)):
        many.learn_many(given_events[part], labels[part])
    assert save(plain) == save(one) == save(many)
    assert list(map(dict, given_events)) == events


@pytest.mark.parametrize("event", [None, 5, "", "ab", [], ["a"], (), set(), {"a"}, b"", pd.Series({"a": 1.0})], ids=_id)
@pytest.mark.parametrize("known", [{}, {"a": 1.0}, {"a": 1.0, "b": 2.0}])
def test_what_is_no_dict_is_no_event_and_changes_nothing(event, known):
    model = NaiveBayes()
    model.learn_one(known, "a")
    before = save(model)
    for call in (
        lambda: model.learn_one(event, "new"),
        lambda: model.predict_one(event),
        lambda: model.predict_proba_one(event),
        lambda: model.learn_many([event], ["new"]),
        lambda: model.test_then_train([{}, event], ["new", None]),
    ):
        with pytest.raises(TypeError):
            call()
    assert save(model) == before


# Labels


@pytest.mark.parametrize(
    ("given", "label"),
    [
        ("a", "a"),
        ("", ""),
        ("é👍\x00", "é👍\x00"),
        (1, 1),
        (True, True),
        (1.0, 1.0),
        (-0.0, 0.0),
        (1e300, 1e300),
        (2**63 - 1, 2**63 - 1),
        (-(2**63), -(2**63)),
        (np.int8(3), 3),
        (np.uint64(7), 7),
        (np.bool_(True), True),
        (np.float32(0.5), 0.5),
        (np.str_("a"), "a"),
        (_Colour.RED, "red"),
        (_Level.HIGH, 3),
    ],
    ids=_id,
)
def test_a_class_is_the_plain_python_value_and_keeps_its_type(given, label):
    models = [NaiveBayes() for _ in range(4)]
    models[0].learn_one({}, given)
    models[1].learn_many([{}], [given])
    models[2].learn_many([{}, {}], [given, None])
    models[3].learn_many(pd.DataFrame({"v": [None]}), pd.Series([given], dtype=object))
    for model in [*models, *map(load, map(save, models))]:
        assert repr(model.classes) == repr([label])
        assert model.predict_proba_one({}) == {label: 1.0}
        assert type(model.predict_one({})) is type(label)
        assert model.p_class(given) == model.p_class(label) == 1.0


NO_LABELS = [
    [1], [], {}, {"a": 1}, {1}, (1, 2), b"a", 1j, math.inf, -math.inf, 2**63, -(2**63) - 1, 10**400, "\ud800", object(),
    Decimal(1), Fraction(1, 2), dt.date(2024, 1, 1), np.complex64(1), np.array([1, 2]), np.uint64(2**63),
]  # fmt: skip


@pytest.mark.parametrize("label", NO_LABELS, ids=_id)
def test_what_cannot_be_a_class_is_refused_by_name_and_changes_nothing(label):
    model = NaiveBayes()
    model.learn_one({"v": 1.0}, "a")
    before = save(model)
    shown = f"{label!r:.80}"
    with pytest.raises(ValueError, match="cannot be a class") as refused:
        model.learn_one({"new": 1.0}, label)
    assert shown in str(refused.value)
    for place, labels in ((1, ["b", label, None]), (0, [label, label, label]), (0, [label, 1, True])):
        with pytest.raises(ValueError, match=f"event {place}: ") as refused:
            model.test_then_train([{"new": 1.0}] * 3, labels)
        assert f"{shown} cannot be a class" in str(refused.value)
    assert save(model) == before
    assert model.predict_proba_one({"new": 1.0}) == {"a": 1.0}


@pytest.mark.parametrize("label", [*NO_LABELS, "never learned", NAN, None], ids=_id)
def test_the_prior_of_what_is_no_class_is_0(label):
    model = NaiveBayes()
    model.learn_one({}, "a")
    assert model.p_class(label) == 0.0


@pytest.mark.parametrize("nothing", [None, NAN])
def test_one_event_cannot_be_learned_without_a_label(nothing):
    model = NaiveBayes()
    with pytest.raises(ValueError, match="cannot be a class"):
        model.learn_one({"v": 1.0}, nothing)
    assert save(model) == save(NaiveBayes())


@pytest.mark.parametrize(
    "labels", [["a", None, "b"], ["a", NAN, "b"], ["a", np.float32("nan"), "b"], ["a", pd.NA, "b"]]
)
def test_an_event_of_a_batch_without_a_label_is_not_learned(labels):
    model, other = NaiveBayes(), NaiveBayes()
    events = [{"v": 1.0}, {"v": 2.0, "new": 1.0}, {"v": 3.0}]
    model.learn_many(events, labels)
    other.learn_many([events[0], events[2]], ["a", "b"])
    assert same(model, other)


@pytest.mark.parametrize(
    "labels",
    [
        pd.Series([1, None, 0], dtype="Int64"),
        pd.Series([1.0, None, 0.0]),
        pd.Series(["x", None, "y"], dtype="string"),
        pd.Series(["x", None, "y"], dtype="category"),
        pd.Series([True, None, False], dtype="boolean"),
        pl.Series([1, None, 0]),
        pl.Series(["x", None, "y"]),
        np.array([1.0, NAN, 0.0]),
        np.array(["x", None, "y"], dtype=object),
    ],
    ids=lambda labels: f"{type(labels).__module__} {labels.dtype}",
)
def test_a_missing_label_in_a_column_of_any_type_is_no_label(labels):
    model = NaiveBayes()
    model.learn_many(pd.DataFrame({"v": [1.0, 2.0, 3.0]}), labels)
    assert (model.learned, len(model.classes)) == (2, 2)


def test_labels_that_python_takes_for_equal_are_classes_apart_and_share_a_sum_in_a_dict():
    model = NaiveBayes()
    for label in (1, "1", True, 1.0, 1):
        model.learn_one({}, label)
    assert list(map(type, model.classes)) == [int, str, bool, float]
    assert model.class_weights == [2.0, 1.0, 1.0, 1.0]
    assert model.predict_proba_one({}) == pytest.approx({1: 0.8, "1": 0.2}, rel=1e-12)
    assert model.p_class(True) == pytest.approx(0.2, rel=1e-12)
    assert model.test_then_train([{}], [None])[0] == pytest.approx([0.4, 0.2, 0.2, 0.2], rel=1e-12)
    restored = load(save(model))
    assert list(map(type, restored.classes)) == [int, str, bool, float]
    assert same(model, restored)


@pytest.mark.parametrize("dtype", [np.int8, np.int64, np.uint16, np.bool_, np.float32, object, "U2"])
def test_an_array_of_labels_is_the_list_of_its_values(dtype):
    array = np.array([1, 0, 1, 1, 0, 1]).astype(dtype)
    by_array, by_list = NaiveBayes(), NaiveBayes()
    for part in (slice(0, 2), slice(2, 6)):
        events = [{"v": float(i)} for i in range(len(array[part]))]
        by_array.learn_many(events, array[part])
        by_list.learn_many(events, array[part].tolist())
    assert list(map(repr, by_array.classes)) == list(map(repr, by_list.classes))
    assert same(by_array, by_list)


@pytest.mark.parametrize(
    "array", [np.array([[1], [2]]), np.array([[True], [False]]), np.array([["a"], ["b"]])], ids=_id
)
def test_an_array_of_labels_with_more_than_one_axis_is_refused_and_changes_nothing(array):
    model = NaiveBayes()
    with pytest.raises(ValueError, match="labels have one axis"):
        model.learn_many([{"v": 1.0}, {"v": 2.0}], array)
    assert save(model) == save(NaiveBayes())


# Settings


@pytest.mark.parametrize("name", ["smoothing", "variance_prior", "prior_smoothing"])
@pytest.mark.parametrize("value", [-1, -1e-300, math.inf, NAN])
def test_a_setting_that_is_no_weight_is_refused_by_name(name, value):
    with pytest.raises(ValueError, match=rf"{name} is {value!r}"):
        NaiveBayes(**{name: value})


def test_a_smoothing_too_small_to_multiply_by_is_refused():
    with pytest.raises(ValueError, match="smoothing is 1e-13"):
        NaiveBayes(smoothing=1e-13)
    model = NaiveBayes(smoothing=1e-12)
    for i in range(100):
        model.learn_one({f"c{j}": "x" for j in range(30)}, "ab"[i % 2])
    assert model.predict_proba_one({f"c{j}": "unseen" for j in range(30)}) == {"a": 0.5, "b": 0.5}


@pytest.mark.parametrize("kind", ["bags", "", None, "NUMERIC"])
def test_a_kind_that_does_not_exist_is_refused_with_its_feature(kind):
    with pytest.raises(ValueError, match=r"the kind of 'v' is"):
        NaiveBayes(kinds={"v": kind})


@pytest.mark.parametrize(
    "settings",
    [
        {"smoothing": np.float64(0.5)},
        {"smoothing": np.int64(1)},
        {"variance_prior": np.float32(2)},
        {"prior_smoothing": np.float64(1)},
        {"unbiased": np.True_},
        {"smoothing": True, "unbiased": 1},
    ],
)
def test_settings_may_come_from_numpy_as_those_of_a_search_do(settings):
    model = NaiveBayes(**settings)
    plain = NaiveBayes(**{name: type(getattr(NaiveBayes(), name))(value) for name, value in settings.items()})
    for each in (model, plain):
        each.learn_one({"v": 1.0}, "a")
        each.learn_one({"v": 2.0}, "b")
    assert load(save(model)).predict_proba_one({"v": 1.2}) == plain.predict_proba_one({"v": 1.2})


def test_two_models_share_nothing():
    first, second = NaiveBayes(), NaiveBayes()
    first.learn_one({"v": 1.0, "c": "x"}, "a")
    assert save(second) == save(NaiveBayes())
    assert (second.classes, second.schema(), second.predict_one({"v": 1.0})) == ([], {}, None)


def test_events_of_a_batch_may_come_as_a_tuple_or_one_after_another():
    events, labels = [{"n": 1.0}, {"n": 5.0}, {"n": 2.0}], ["a", "b", "a"]
    whole = NaiveBayes().test_then_train(events, labels)
    for given in (tuple(events), iter(events), (event for event in events)):
        assert NaiveBayes().test_then_train(given, iter(labels)).tolist() == whole.tolist()
