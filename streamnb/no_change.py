"""The answer that needs no model: the label of the labelled event before.

Law: counts of parts join, in the order of the stream, to those of the whole: each knows its first label and its last.
"""

from typing import Self

import numpy as np
from numpy.typing import NDArray

from streamnb.arrays import Integers, compiled

FIRST, FIRST_ANSWERED, FIRST_RIGHT, LAST, COMPARED, UNCHANGED, RIGHT = range(7)
"""The places in the counts.

The code of the first label, whether that event had an answer, and whether this was right (both 0 where the label is
unknown): it is compared once the part before is known. The code of the last label. How many events were compared, how
many of them had the label of the one before, and how many of them the model had right.
"""

NONE, UNKNOWN = -1, -2
"""For the code of a label: there was no label; there were some, before counting began."""


class NoChange:
    """How often repeating the label before is right, and how often the model is, over the same events.

    Compared are labelled events that had an answer and a labelled event before them, which may have had none.

    >>> change = NoChange()
    >>> for label, answered, right in [(0, False, False), (0, True, True), (1, True, False), (1, True, True)]:
    ...     compare(change.counts, label, answered, right)
    >>> change.compared, change.accuracy == 2 / 3, change.kappa
    (3, True, 0.0)
    """

    def __init__(self) -> None:
        self.counts: Integers = np.array([NONE, 0, 0, NONE, 0, 0, 0], dtype=np.int64)

    @property
    def compared(self) -> int:
        """How many events were compared."""
        return int(self.counts[COMPARED])

    @property
    def accuracy(self) -> float:
        """The share of the compared events that had the label of the one before; NaN without any."""
        return int(self.counts[UNCHANGED]) / self.compared if self.compared else float("nan")

    @property
    def kappa(self) -> float:
        """Kappa-Temporal: (p - p_per) / (1 - p_per), p the accuracy of the model and p_per that of no change.

        1 if all is right, 0 if as much as by repeating the label before, negative if less. NaN where no change is
        always right, and without a compared event.

        References
        ----------
        Žliobaitė, I., Bifet, A., Read, J., Pfahringer, B. and Holmes, G. (2015). Evaluation methods and decision theory
        for classification of streaming data with temporal dependence. Machine Learning 98.
        """
        _, unchanged, right = self.counts[COMPARED:].tolist()
        return (right - unchanged) / (self.compared - unchanged) if self.compared > unchanged else float("nan")

    def join(self, after: "NoChange", places: Integers) -> None:
        """Add the counts of the part of the stream that comes next.

        Parameters
        ----------
        places
            [class of the part]: its code here.
        """
        counts, others = self.counts, after.counts.copy()
        for end in (FIRST, LAST):
            if others[end] >= 0:
                others[end] = places[others[end]]
        if others[FIRST] == NONE:
            return
        if counts[FIRST] == NONE:
            self.counts = others
            return
        if counts[LAST] >= 0:
            counts[COMPARED] += others[FIRST_ANSWERED]
            counts[UNCHANGED] += others[FIRST_ANSWERED] * (others[FIRST] == counts[LAST])
            counts[RIGHT] += others[FIRST_RIGHT]
        counts[LAST] = others[LAST]
        counts[COMPARED:] += others[COMPARED:]

    @classmethod
    def after_unknown(cls) -> Self:
        """Return the counts of a stream whose labels so far were not looked at."""
        change = cls()
        change.counts[FIRST] = UNKNOWN
        return change

    @classmethod
    def from_counts(cls, counts: NDArray[np.generic], classes: int) -> Self:
        """Return what has these counts. Raises ValueError for what cannot be counts with so many classes."""
        change = cls()
        if counts.shape != change.counts.shape or counts.dtype != np.int64:
            raise ValueError(f"counts of no change of the shape {counts.shape}")
        change.counts = counts.astype(np.int64)
        first, last = change.counts[[FIRST, LAST]].tolist()
        if not (UNKNOWN <= first < classes and NONE <= last < classes):
            raise ValueError(f"the first label {first} and the last {last} of {classes} classes")
        return change


@compiled
def compare(counts: Integers, label: int, answered: bool, right: bool) -> None:
    """Count a labelled event, that had an answer or not, right or not, against the label before it."""
    last = counts[LAST]
    if last >= 0:
        counts[COMPARED] += answered
        counts[UNCHANGED] += answered & (label == last)
        counts[RIGHT] += right
    elif counts[FIRST] == NONE:
        counts[FIRST] = label
        counts[FIRST_ANSWERED] = answered
        counts[FIRST_RIGHT] = right
    counts[LAST] = label
