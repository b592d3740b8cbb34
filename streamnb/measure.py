"""How well the predictions did: accuracy, kappas, recall by class, log loss, Brier score, calibration.

Law: measuring goes event by event, so the cuts between batches do not show; measures of parts, merged in the order of
the stream, are those of the whole.
"""

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from streamnb.arrays import SMALLEST_PROBABILITY, Floats, Integers, compiled
from streamnb.calibration import Calibration, settle
from streamnb.labels import Label, Labels
from streamnb.no_change import NoChange, compare
from streamnb.tables import grown


class Measures:
    """Running measures of predictions that were made before their labels were learned.

    An event without a label is not measured; one that had no answer, since nothing had been learned yet, is counted
    apart. The log loss takes probabilities to lie within 1e-15 of 0 and 1, and that of a class not yet seen to be 0.

    Examples
    --------
    >>> import numpy as np
    >>> measures = Measures()
    >>> measures.update(np.array([[0.9, 0.1], [0.4, 0.6], [0.2, 0.8]]), ["a", "b"], ["a", "a", None])
    [0, 1, 1]
    >>> measures.measured, measures.accuracy, round(measures.log_loss, 3)
    (2, 0.5, 0.511)
    >>> measures.compared, measures.no_change_accuracy, round(measures.brier_score, 3)
    (1, 1.0, 0.37)
    """

    def __init__(self) -> None:
        self._labels = Labels()
        self._confusion: Integers = np.zeros((0, 0), dtype=np.int64)
        self._sums: Floats = np.zeros(2)
        self._calibration = Calibration()
        self._no_change = NoChange()

    def update(
        self,
        probabilities: Floats,
        classes: Iterable[Label],
        labels: Iterable[object],
        losses: Floats | None = None,
    ) -> list[int]:
        """Measure a batch of predictions; return the place among the classes of each prediction, -1 for no answer.

        Parameters
        ----------
        probabilities
            [event, class]; a row of zeros is no answer.
        classes
            The label of each class.
        labels
            The true label of each event; None where it is not known.
        losses
            [event], set to the log loss of each, NaN where it was not measured.

        Raises ValueError for a label that cannot be a class, or numbers that do not match; nothing is measured then.
        """
        classes, labels = list(classes), list(labels)
        if probabilities.shape != (len(labels), len(classes)):
            raise ValueError(
                f"probabilities of the shape {probabilities.shape} came with {len(labels)} labels and "
                f"{len(classes)} classes"
            )
        codes = self._labels.encode(labels)
        columns = np.array([self._labels.add(label) for label in classes], dtype=np.int64)
        size = len(self._labels)
        self._confusion = grown(self._confusion, (size, size))
        chosen = np.empty(len(probabilities), dtype=np.int64)
        each = np.empty(len(probabilities)) if losses is None else losses
        tables = self._confusion, self._sums, self._calibration.table, self._no_change.counts
        tally(probabilities, columns, codes, *tables, chosen, each)
        return chosen.tolist()

    @property
    def classes(self) -> list[Label]:
        """The labels met, true or predicted, in the order of first sight."""
        return list(self._labels)

    @property
    def confusion(self) -> Integers:
        """How often each [true, predicted] pair of classes came."""
        size = len(self._labels)
        return self._confusion[:size, :size]

    @property
    def measured(self) -> int:
        """How many labelled events had an answer."""
        return int(self.confusion.sum())

    @property
    def unanswered(self) -> int:
        """How many labelled events came before anything had been learned."""
        return int(self._sums[1])

    @property
    def accuracy(self) -> float:
        """The share of right answers; NaN before the first."""
        return int(self.confusion.trace()) / self.measured if self.measured else float("nan")

    @property
    def log_loss(self) -> float:
        """The mean of -log of the probability given to the true class; NaN before the first answer."""
        return float(self._sums[0]) / self.measured if self.measured else float("nan")

    @property
    def kappa(self) -> float:
        """Agreement beyond chance: (accuracy - chance) / (1 - chance), with chance from the margins of the confusion.

        NaN before the first answer, and where chance alone is always right.

        References
        ----------
        Cohen, J. (1960). A coefficient of agreement for nominal scales.
        Educational and Psychological Measurement 20(1).
        """
        confusion = self.confusion.astype(np.float64)
        total = confusion.sum()
        chance = float(confusion.sum(axis=0) @ confusion.sum(axis=1)) / total**2 if total else 1.0
        return (self.accuracy - chance) / (1.0 - chance) if chance < 1.0 else float("nan")

    @property
    def compared(self) -> int:
        """How many measured events had a labelled event before them; not those measured before this was counted."""
        return self._no_change.compared

    @property
    def no_change_accuracy(self) -> float:
        """The share of the compared events that have the label of the one before; NaN without any."""
        return self._no_change.accuracy

    @property
    def kappa_temporal(self) -> float:
        """Kappa-Temporal, the accuracy beyond that of no change, over the compared events; see `NoChange.kappa`."""
        return self._no_change.kappa

    @property
    def binned(self) -> int:
        """How many measured events are in the bins and the Brier score; not those measured before they were counted."""
        return self._calibration.events

    @property
    def brier_score(self) -> float:
        """The mean squared difference to the truth, summed over classes: 0 to 2; see `Calibration.brier_score`."""
        return self._calibration.brier_score

    @property
    def expected_calibration_error(self) -> float:
        """The mean gap between probability and share right; see `Calibration.expected_error`."""
        return self._calibration.expected_error

    def reliability(self) -> list[tuple[float, float, int, float, float]]:
        """Return ten bins by the probability of the answer: above, to, events, their mean probability, share right.

        NaN stands for the means of a bin without events.
        """
        return self._calibration.rows()

    def recall(self) -> list[tuple[Label, int, float]]:
        """Return for each class its label, how many of its events were measured, and the share that was right."""
        confusion = self.confusion
        supports = confusion.sum(axis=1).tolist()
        right = confusion.diagonal().tolist()
        return [
            (label, support, hits / support if support else float("nan"))
            for label, support, hits in zip(self._labels, supports, right, strict=True)
        ]

    def merge(self, other: "Measures") -> None:
        """Add the measures of the part of the stream that comes next; classes are matched by label.

        The order matters to `no_change_accuracy` and `kappa_temporal` alone: the first labelled event of the other part
        has that of the last of this one for its label before.
        """
        places = np.array([self._labels.add(label) for label in other.classes], dtype=np.int64)
        size = len(self._labels)
        self._confusion = grown(self._confusion, (size, size))
        self._confusion[np.ix_(places, places)] += other.confusion
        self._sums += other._sums  # noqa: SLF001 - another of its own kind
        self._calibration.merge(other._calibration)  # noqa: SLF001
        self._no_change.join(other._no_change, places)  # noqa: SLF001

    def to_state(self) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
        """Return all that the measures are: plain values and arrays."""
        return {"classes": self.classes}, {
            "confusion": self.confusion,
            "sums": self._sums,
            "reliability": self._calibration.table,
            "no_change": self._no_change.counts,
        }

    @classmethod
    def from_state(cls, plain: Mapping[str, Sequence[Label]], arrays: Mapping[str, NDArray[Any]]) -> Self:
        """Return the measures whose `to_state` this is.

        A state without calibration and no change, as version 2 of the snapshot has it, counts them from here on.
        """
        measures = cls()
        measures._labels = Labels(plain["classes"])
        size = len(measures._labels)
        if arrays["confusion"].shape != (size, size) or arrays["confusion"].dtype != np.int64:
            raise ValueError(f"a confusion of the shape {arrays['confusion'].shape}")
        if arrays["sums"].shape != (2,) or arrays["sums"].dtype != np.float64:
            raise ValueError(f"sums of the shape {arrays['sums'].shape}")
        measures._confusion = arrays["confusion"].copy()
        measures._sums = arrays["sums"].copy()
        if "reliability" in arrays:
            measures._calibration = Calibration.from_table(arrays["reliability"])
        if "no_change" in arrays:
            measures._no_change = NoChange.from_counts(arrays["no_change"], size)
        elif measures.measured + measures.unanswered:
            measures._no_change = NoChange.after_unknown()
        return measures


@compiled
def tally(
    probabilities: Floats,
    columns: Integers,
    labels: Integers,
    confusion: Integers,
    sums: Floats,
    reliability: Floats,
    no_change: Integers,
    chosen: Integers,
    losses: Floats,
) -> None:
    """Measure predictions in turn: add to confusion[label, predicted] and the other tables, set chosen and losses.

    columns[class] is the place in the confusion of each column of the probabilities; chosen[event] is the column of the
    largest probability, the first of equals, or -1 for a row of zeros: no answer. Sums are the log loss, and the
    labelled events that had no answer; losses[event] is NaN for an event that is not measured.
    """
    for event in range(len(probabilities)):
        row = probabilities[event]
        best = -1
        most = 0.0
        for k in range(len(row)):
            if row[k] > most:
                best = k
                most = row[k]
        chosen[event] = best
        losses[event] = math.nan
        label = labels[event]
        if label < 0:
            continue
        right = best >= 0 and columns[best] == label
        compare(no_change, label, best >= 0, right)
        if best < 0:
            sums[1] += 1.0
            continue
        confusion[label, columns[best]] += 1
        given = 0.0
        squares = 0.0
        for k in range(len(row)):
            if columns[k] == label:
                given = row[k]
            else:
                squares += row[k] * row[k]
        settle(reliability, most, right, squares + (1.0 - given) * (1.0 - given))
        losses[event] = -math.log(min(max(given, SMALLEST_PROBABILITY), 1.0 - SMALLEST_PROBABILITY))
        sums[0] += losses[event]
