"""Measures against their definitions, and against scikit-learn's."""

import functools
import itertools
import math
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from hypothesis import assume, example, given
from hypothesis import strategies as st
from sklearn.calibration import calibration_curve
from sklearn.metrics import (
    accuracy_score,
    brier_score_loss,
    cohen_kappa_score,
    confusion_matrix,
    log_loss,
    recall_score,
)

from streamnb import Measures, NaiveBayes
from streamnb.snapshot import DamagedSnapshotError, pack, unpack
from tests.strategies import cuts, parts, streams

ROOT = Path(__file__).resolve().parents[1]
CLASSES = ["a", "b", "c"]
NAMES = [
    "accuracy",
    "log_loss",
    "kappa",
    "no_change_accuracy",
    "kappa_temporal",
    "brier_score",
    "expected_calibration_error",
]
rows = st.one_of(
    st.tuples(*[st.integers(0, 8)] * 3).filter(any).map(lambda row: [part / sum(row) for part in row]),
    st.just([0.0, 0.0, 0.0]),
)
predictions = st.lists(st.tuples(rows, st.sampled_from(["a", "b", "c", "never predicted", None])), max_size=30)


def _measured(pairs, classes=CLASSES):
    measures = Measures()
    _update(measures, pairs, classes)
    return measures


def _update(measures, pairs, classes=CLASSES):
    probabilities = np.array([row for row, _ in pairs], dtype=np.float64).reshape(len(pairs), len(classes))
    return measures.update(probabilities, classes, [label for _, label in pairs])


def _bytes(measures):
    return pack({}, {"measures": measures})


@given(predictions)
def test_measures_are_scikit_learns(pairs):
    answered = [(row, label) for row, label in pairs if any(row) and label is not None]
    assume(answered)
    measures = _measured(pairs)
    true = [label for _, label in answered]
    predicted = [CLASSES[int(np.argmax(row))] for row, _ in answered]
    assert measures.measured == len(answered)
    assert measures.accuracy == pytest.approx(accuracy_score(true, predicted), rel=1e-12)
    names = measures.classes
    assert (measures.confusion == confusion_matrix(true, predicted, labels=names)).all()
    recalls = recall_score(true, predicted, labels=names, average=None, zero_division=np.nan)
    assert [name for name, _, _ in measures.recall()] == names
    assert [support for _, support, _ in measures.recall()] == [true.count(name) for name in names]
    assert [share for _, _, share in measures.recall()] == pytest.approx(recalls.tolist(), rel=1e-12, nan_ok=True)
    if len({*true, *predicted}) > 1:
        assert measures.kappa == pytest.approx(cohen_kappa_score(true, predicted), rel=1e-9, abs=1e-12)
    else:
        assert math.isnan(measures.kappa)


@given(st.lists(st.tuples(rows.filter(any), st.sampled_from(CLASSES)), min_size=1, max_size=30))
def test_log_loss_is_scikit_learns(pairs):
    """Its clipping is at the spacing of floats near 1, ours at 1e-15: alike wherever no probability is 0 or 1."""
    pairs = [([0.98 * share + 0.02 / 3 for share in row], label) for row, label in pairs]
    expected = log_loss([label for _, label in pairs], [row for row, _ in pairs], labels=CLASSES)
    assert _measured(pairs).log_loss == pytest.approx(expected, rel=1e-9)


def test_log_loss_takes_probabilities_to_lie_within_1e_15_of_0_and_1():
    assert _measured([([1.0, 0.0, 0.0], "a")]).log_loss == pytest.approx(-math.log(1 - 1e-15), rel=1e-12)
    assert _measured([([1.0, 0.0, 0.0], "b")]).log_loss == pytest.approx(-math.log(1e-15), rel=1e-12)
    assert _measured([([1.0, 0.0, 0.0], "unheard of")]).log_loss == pytest.approx(-math.log(1e-15), rel=1e-12)


@given(st.lists(st.tuples(rows.filter(any), st.sampled_from(CLASSES)), min_size=1, max_size=30))
def test_brier_score_is_the_sum_over_classes_of_scikit_learns(pairs):
    expected = sum(
        brier_score_loss([label == name for _, label in pairs], [row[place] for row, _ in pairs], pos_label=True)
        for place, name in enumerate(CLASSES)
    )
    assert _measured(pairs).brier_score == pytest.approx(expected, rel=1e-12, abs=1e-12)


def test_brier_score_of_two_classes_is_twice_scikit_learns_and_goes_from_0_to_2():
    measures = _measured([([0.75, 0.25], "b"), ([0.5, 0.5], "a")], ["a", "b"])
    assert measures.brier_score == 2 * brier_score_loss([1, 0], [0.25, 0.5]) == 0.8125
    assert _measured([([1.0, 0.0, 0.0], "a")]).brier_score == 0.0
    assert _measured([([1.0, 0.0, 0.0], "b")]).brier_score == 2.0
    assert _measured([([1.0, 0.0, 0.0], "unheard of")]).brier_score == 2.0


@given(predictions)
def test_reliability_is_scikit_learns_calibration_curve_of_the_answers(pairs):
    answered = [(row, label) for row, label in pairs if any(row) and label is not None]
    assume(answered)
    right = [label == CLASSES[int(np.argmax(row))] for row, label in answered]
    most = [max(row) for row, _ in answered]
    shares, means = calibration_curve(right, most, n_bins=10, pos_label=True)
    measures = _measured(pairs)
    assert measures.binned == measures.measured
    table = measures.reliability()
    assert [(low, high) for low, high, *_ in table] == [(place / 10, (place + 1) / 10) for place in range(10)]
    assert [events for _, _, events, _, _ in table] == [
        sum(low < each <= high for each in most) for low, high, *_ in table
    ]
    assert all(math.isnan(mean) and math.isnan(share) for _, _, events, mean, share in table if not events)
    filled = [row for row in table if row[2]]
    assert [mean for *_, mean, _ in filled] == pytest.approx(means.tolist(), rel=1e-12)
    assert [share for *_, share in filled] == pytest.approx(shares.tolist(), rel=1e-12)
    gaps = [events * abs(mean - share) for _, _, events, mean, share in filled]
    assert measures.expected_calibration_error == pytest.approx(sum(gaps) / len(most), rel=1e-9, abs=1e-12)


def test_calibration_error_worked_by_hand():
    """Three answers at 0.8, two of them right, and one at 0.6, right: (3 |0.8 - 2/3| + |0.6 - 1|) / 4 = 0.2."""
    sure, unsure = [0.8, 0.2, 0.0], [0.4, 0.6, 0.0]
    measures = _measured([(sure, "a"), (sure, "b"), (unsure, "b"), (sure, "a"), (unsure, None)])
    assert measures.expected_calibration_error == pytest.approx(0.2, rel=1e-12)
    assert measures.reliability()[5][:3] == (0.5, 0.6, 1)
    assert measures.reliability()[7] == (0.7, 0.8, 3, pytest.approx(0.8), 2 / 3)


@pytest.mark.parametrize("probability", [5e-324, 1.0, 1.5, 1e300, math.inf])
def test_any_probability_of_an_answer_has_a_bin(probability):
    """Kernels check no bounds."""
    measures = _measured([([probability, 0.0, 0.0], "a")])
    assert [events for _, _, events, _, _ in measures.reliability()] == [
        int(place == (9 if probability >= 1 else 0)) for place in range(10)
    ]


@given(predictions)
def test_no_change_is_the_label_before_and_kappa_temporal_is_against_it_over_the_same_events(pairs):
    labelled = [(row, label) for row, label in pairs if label is not None]
    compared = [
        (label == before, label == CLASSES[int(np.argmax(row))])
        for (_, before), (row, label) in itertools.pairwise(labelled)
        if any(row)
    ]
    measures = _measured(pairs)
    assert measures.compared == len(compared)
    if not compared:
        assert math.isnan(measures.no_change_accuracy)
        assert math.isnan(measures.kappa_temporal)
        return
    unchanged, right = (sum(column) / len(compared) for column in zip(*compared, strict=True))
    assert measures.no_change_accuracy == pytest.approx(unchanged, rel=1e-12)
    expected = (right - unchanged) / (1 - unchanged) if unchanged < 1 else math.nan
    assert measures.kappa_temporal == pytest.approx(expected, rel=1e-9, abs=1e-12, nan_ok=True)


def test_kappa_temporal_worked_by_hand():
    """After the first, labels b b a a: no change is right in 2 of 4, these answers in 3: (3/4 - 1/2) / (1 - 1/2)."""
    a, b = [1.0, 0.0, 0.0], [0.0, 1.0, 0.0]
    measures = _measured([(b, "a"), (b, "b"), (a, "b"), (a, None), (a, "a"), (a, "a")])
    assert (measures.compared, measures.no_change_accuracy, measures.kappa_temporal) == (4, 0.5, 0.5)
    assert math.isnan(_measured([(a, "a"), (b, "a")]).kappa_temporal)  # no change is always right


@given(predictions, st.lists(st.tuples(rows, st.sampled_from(["c", "a", "late", None])), max_size=30))
def test_measures_of_parts_add_up_to_those_of_the_whole(first, second):
    whole, left, right = _measured(first), _measured(first), _measured(second, ["c", "b", "a"])
    _update(whole, second, ["c", "b", "a"])
    before = _bytes(right)
    left.merge(right)
    assert left.classes == whole.classes
    assert (left.confusion == whole.confusion).all()
    assert (left.measured, left.unanswered) == (whole.measured, whole.unanswered)
    for name in NAMES:
        assert getattr(left, name) == pytest.approx(getattr(whole, name), rel=1e-12, abs=1e-15, nan_ok=True)
    _assert_same_reliability(left, whole)
    assert _bytes(right) == before


@given(predictions, st.lists(st.integers(0, 12), max_size=4).map(sorted), st.booleans())
@example([([1.0, 0.0, 0.0], "a"), ([1.0, 0.0, 0.0], "b"), ([1.0, 0.0, 0.0], "b")], [1, 2], True)
def test_many_parts_join_in_their_order_however_they_are_grouped(pairs, at, from_the_left):
    """Parts without an event, without a label and without an answer too."""
    whole = _measured(pairs)
    each = [_measured(part) for part in parts(pairs, at)]
    joined = functools.reduce(_joined, each) if from_the_left else functools.reduce(_before, reversed(each))
    assert (joined.compared, joined.binned) == (whole.compared, whole.binned)
    for name in NAMES:
        assert getattr(joined, name) == pytest.approx(getattr(whole, name), rel=1e-12, abs=1e-15, nan_ok=True)
    _assert_same_reliability(joined, whole)
    more = [([0.2, 0.8, 0.0], "b")]  # and go on as the whole
    assert _update(joined, more) == _update(whole, more)
    assert (joined.compared, joined.no_change_accuracy) == pytest.approx(
        (whole.compared, whole.no_change_accuracy), nan_ok=True
    )


def _joined(first, second):
    first.merge(second)
    return first


def _before(second, first):
    return _joined(first, second)


def _assert_same_reliability(one, other):
    for row, expected in zip(one.reliability(), other.reliability(), strict=True):
        assert row == pytest.approx(expected, rel=1e-12, nan_ok=True)


@given(predictions)
def test_nothing_is_the_identity_of_merging(pairs):
    measures, other = _measured(pairs), Measures()
    before = _bytes(measures)
    measures.merge(Measures())
    assert _bytes(measures) == before
    other.merge(measures)
    assert _bytes(other) == before


@given(predictions, cuts)
def test_the_cuts_between_batches_do_not_show(pairs, at):
    whole, cut = Measures(), Measures()
    chosen = _update(whole, pairs)
    assert [place for part in parts(pairs, at) for place in _update(cut, part)] == chosen
    assert (cut.log_loss == whole.log_loss) or math.isnan(cut.log_loss)
    assert _bytes(_in_order(cut)) == _bytes(_in_order(whole))


def _in_order(measures):
    """Return the measures with the classes in one order: that of first sight depends on how the batches are cut."""
    ordered = Measures()
    ordered.update(np.zeros((0, 4)), [*CLASSES, "never predicted"], [])
    ordered.merge(measures)
    return ordered


@given(streams, cuts)
def test_measuring_a_model_in_batches_is_measuring_it_event_by_event(stream, at):
    model, measures = NaiveBayes(), Measures()
    other, by_event = NaiveBayes(), Measures()
    for part in parts(stream, at):
        given_labels = [label for _, label in part]
        probabilities = model.test_then_train([event for event, _ in part], given_labels)
        measures.update(probabilities, model.classes, given_labels)
    for event, label in stream:
        by_event.update(other.test_then_train([event], [label]), other.classes, [label])
    assert _bytes(measures) == _bytes(by_event)


def test_an_event_before_any_label_is_counted_as_unanswered_and_not_measured():
    model, measures = NaiveBayes(), Measures()
    probabilities = model.test_then_train([{"v": 1.0}, {"v": 1.0}, {"v": 1.0}], [None, "a", "a"])
    assert measures.update(probabilities, model.classes, [None, "a", "a"]) == [-1, -1, 0]
    assert (measures.unanswered, measures.measured, measures.accuracy) == (1, 1, 1.0)


def test_before_the_first_answer_there_is_nothing_to_tell():
    measures = Measures()
    assert (measures.classes, measures.measured, measures.unanswered, measures.recall()) == ([], 0, 0, [])
    assert (measures.compared, measures.binned) == (0, 0)
    assert all(math.isnan(getattr(measures, name)) for name in NAMES)


def test_a_label_never_predicted_has_its_row_and_its_recall_of_0():
    measures = _measured([([1.0, 0.0, 0.0], "d"), ([1.0, 0.0, 0.0], "a"), ([0.0, 1.0, 0.0], "d")])
    assert measures.classes == ["d", "a", "b", "c"]
    assert measures.recall()[:2] == [("d", 2, 0.0), ("a", 1, 1.0)]
    assert measures.confusion.tolist() == [[0, 1, 1, 0], [0, 1, 0, 0], [0, 0, 0, 0], [0, 0, 0, 0]]


def test_labels_that_python_takes_for_equal_are_measured_apart():
    measures = Measures()
    measures.update(np.array([[0.1, 0.2, 0.3, 0.4]] * 4), [1, "1", True, 1.0], [1, "1", True, 1.0])
    assert [(type(name), support, share) for name, support, share in measures.recall()] == [
        (int, 1, 0.0),
        (str, 1, 0.0),
        (bool, 1, 0.0),
        (float, 1, 1.0),
    ]


def test_the_first_of_equals_is_the_answer():
    assert _update(Measures(), [([0.4, 0.4, 0.2], "a"), ([0.2, 0.4, 0.4], None)]) == [0, 1]


@given(predictions, predictions)
def test_measures_go_on_from_their_state(first, second):
    measures = _measured(first)
    restored = unpack(_bytes(measures))[1]["measures"]
    assert _bytes(restored) == _bytes(measures)
    assert _update(restored, second) == _update(measures, second)
    assert _bytes(restored) == _bytes(measures)


def _of_version_2(measures):
    """Return measures as one finds them in a snapshot that had no calibration and no change yet."""
    plain, arrays = measures.to_state()
    return Measures.from_state(plain, {key: arrays[key] for key in ("confusion", "sums")})


@given(predictions, predictions, predictions)
def test_measures_of_an_earlier_version_count_what_they_had_not_from_there_on(first, second, third):
    """What is new is that of the later events alone; what was there goes on."""
    old, whole, later = _of_version_2(_measured(first)), _measured([*first, *second]), _measured(second)
    assert (old.compared, old.binned) == (0, 0)
    _update(old, second)
    for name in ("accuracy", "log_loss", "kappa"):
        assert getattr(old, name) == pytest.approx(getattr(whole, name), rel=1e-12, nan_ok=True)
    assert (old.compared, old.binned) == (later.compared, later.binned)
    for name in NAMES[3:]:
        assert getattr(old, name) == pytest.approx(getattr(later, name), rel=1e-12, nan_ok=True)
    before, after = _measured(third), _of_version_2(_measured(first))
    before.merge(old)
    after.merge(_measured(third))
    assert after.compared == _measured(third).compared
    if any(label is not None for _, label in first):  # which of them came last is not known
        assert before.compared == _measured(third).compared + later.compared
    else:
        assert before.compared == _measured([*third, *second]).compared


@pytest.mark.parametrize(
    ("key", "wrong"),
    [
        ("reliability", np.zeros((4, 9))),
        ("reliability", np.zeros((4, 10), dtype=np.int64)),
        ("no_change", np.zeros(6, dtype=np.int64)),
        ("no_change", np.zeros(7)),
        ("no_change", np.array([3, 0, 0, 0, 0, 0, 0])),
        ("no_change", np.array([0, 0, 0, 3, 0, 0, 0])),
        ("no_change", np.array([-3, 0, 0, 0, 0, 0, 0])),
        ("no_change", np.array([0, 0, 0, -2, 0, 0, 0])),
    ],
)
def test_a_strangers_measures_of_wrong_shape_or_labels_are_refused(key, wrong):
    plain, arrays = _measured([([1.0, 0.0, 0.0], "a")]).to_state()

    class Stranger:
        def to_state(self):
            return plain, {**arrays, key: wrong}

    with pytest.raises(DamagedSnapshotError):
        unpack(pack({}, {"measures": Stranger()}))


_MISMATCHED = """
import numpy as np
from streamnb import Measures
measures = Measures()
measures.update(np.array([[1.0, 0.0]]), ["a", "b"], ["a"])
rows = np.tile([1.0, 0.0], (100_000, 1))
for classes, size in [("ab", 0), ("ab", 1), ("ab", 100_001), ("", 100_000), ("a", 100_000), ("abc", 100_000)]:
    labels = ["a"] * size
    try:
        measures.update(rows, list(classes), labels)
    except ValueError:
        continue
    raise SystemExit(f"{len(classes)} classes and {size} labels were taken")
assert (measures.measured, measures.classes) == (1, ["a", "b"])
"""


def test_labels_or_classes_that_do_not_match_the_predictions_are_refused_and_nothing_is_measured():
    """In a process of its own: kernels check no bounds, so what gets through may bring it down."""
    done = subprocess.run([sys.executable, "-c", _MISMATCHED], check=False, cwd=ROOT, capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "")


def test_a_label_that_cannot_be_a_class_is_refused_and_nothing_is_measured():
    measures = _measured([([1.0, 0.0, 0.0], "a")])
    before = _bytes(measures)
    with pytest.raises(ValueError, match="cannot be a class"):
        measures.update(np.array([[0.5, 0.5]]), ["new", "newer"], [["x"]])
    assert _bytes(measures) == before
