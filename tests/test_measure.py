"""Measures against their definitions, and against scikit-learn's."""

import math
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from sklearn.metrics import accuracy_score, cohen_kappa_score, confusion_matrix, log_loss, recall_score

from streamnb import Measures, NaiveBayes
from streamnb.snapshot import pack, unpack
from tests.strategies import cuts, parts, streams

ROOT = Path(__file__).resolve().parents[1]
CLASSES = ["a", "b", "c"]
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


@given(predictions, st.lists(st.tuples(rows, st.sampled_from(["c", "a", "late", None])), max_size=30))
def test_measures_of_parts_add_up_to_those_of_the_whole(first, second):
    whole, left, right = _measured(first), _measured(first), _measured(second, ["c", "b", "a"])
    _update(whole, second, ["c", "b", "a"])
    before = _bytes(right)
    left.merge(right)
    assert left.classes == whole.classes
    assert (left.confusion == whole.confusion).all()
    assert (left.measured, left.unanswered) == (whole.measured, whole.unanswered)
    for one, other in ((left.log_loss, whole.log_loss), (left.accuracy, whole.accuracy), (left.kappa, whole.kappa)):
        assert one == pytest.approx(other, rel=1e-12, nan_ok=True)
    assert _bytes(right) == before


@given(predictions)
def test_nothing_is_the_identity_of_merging(pairs):
    measures, other = _measured(pairs), Measures()
    before = _bytes(measures)
    measures.merge(Measures())
    assert _bytes(measures) == before
    other.merge(measures)
    assert (other.classes, other.measured, other.unanswered) == (
        measures.classes,
        measures.measured,
        measures.unanswered,
    )


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
    assert all(map(math.isnan, (measures.accuracy, measures.log_loss, measures.kappa)))


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
