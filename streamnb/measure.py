"""How well the predictions did: accuracy, log loss, Cohen's kappa, recall by class, from one table of counts.

Law: measuring goes event by event, so the cuts between batches do not show; measures of parts add up.
"""

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from streamnb.arrays import Floats, Integers, compiled
from streamnb.labels import Label, Labels
from streamnb.tables import grown

SMALLEST_PROBABILITY = 1e-15
"""Log loss takes a probability to lie between this and one minus this."""


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
    """

    def __init__(self) -> None:
        self._labels = Labels()
        self._confusion: Integers = np.zeros((0, 0), dtype=np.int64)
        self._sums: Floats = np.zeros(2)

    def update(self, probabilities: Floats, classes: Iterable[Label], labels: Iterable[object]) -> list[int]:
        """Measure a batch of predictions; return the place among the classes of each prediction, -1 for no answer.

        Parameters
        ----------
        probabilities
            [event, class]; a row of zeros is no answer.
        classes
            The label of each class.
        labels
            The true label of each event; None where it is not known.

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
        tally(probabilities, columns, codes, self._confusion, self._sums, chosen)
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
        """Add the measures of another part of the stream; classes are matched by label."""
        places = np.array([self._labels.add(label) for label in other.classes], dtype=np.int64)
        size = len(self._labels)
        self._confusion = grown(self._confusion, (size, size))
        self._confusion[np.ix_(places, places)] += other.confusion
        self._sums += other._sums  # noqa: SLF001 - another of its own kind

    def to_state(self) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
        """Return all that the measures are: plain values and arrays."""
        return {"classes": self.classes}, {"confusion": self.confusion, "sums": self._sums}

    @classmethod
    def from_state(cls, plain: Mapping[str, Sequence[Label]], arrays: Mapping[str, NDArray[Any]]) -> Self:
        """Return the measures whose `to_state` this is."""
        measures = cls()
        measures._labels = Labels(plain["classes"])
        size = len(measures._labels)
        if arrays["confusion"].shape != (size, size) or arrays["confusion"].dtype != np.int64:
            raise ValueError(f"a confusion of the shape {arrays['confusion'].shape}")
        if arrays["sums"].shape != (2,) or arrays["sums"].dtype != np.float64:
            raise ValueError(f"sums of the shape {arrays['sums'].shape}")
        measures._confusion = arrays["confusion"].copy()
        measures._sums = arrays["sums"].copy()
        return measures


@compiled
def tally(
    probabilities: Floats, columns: Integers, labels: Integers, confusion: Integers, sums: Floats, chosen: Integers
) -> None:
    """Measure predictions in turn: add to confusion[label, predicted] and to sums, set chosen[event].

    columns[class] is the place in the confusion of each column of the probabilities; chosen is the column of the
    largest probability, the first of equals, or -1 for a row of zeros: no answer. Sums are the log loss, and the
    labelled events that had no answer.
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
        label = labels[event]
        if label < 0:
            continue
        if best < 0:
            sums[1] += 1.0
            continue
        confusion[label, columns[best]] += 1
        given = 0.0
        for k in range(len(row)):
            if columns[k] == label:
                given = row[k]
        sums[0] -= math.log(min(max(given, SMALLEST_PROBABILITY), 1.0 - SMALLEST_PROBABILITY))
