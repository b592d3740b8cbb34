"""Calibration: whether the probabilities of the answers are as large as the share of them that is right.

Law: all is sums over events in bins, so tables of parts add up to that of the whole.
"""

import math
from typing import Self

import numpy as np
from numpy.typing import NDArray

from streamnb.arrays import Floats, compiled

BINS = 10
"""How many bins of equal width there are."""

EVENTS, PROBABILITY, RIGHT, SQUARES = range(4)
"""The rows of a table: how many events, and the sums of their probabilities, right answers and squared differences."""


class Calibration:
    """A reliability table of the answers' probabilities, and the scores that go with it.

    An answer is the class of the largest probability. Bin b holds those above b / 10, up to (b + 1) / 10.

    >>> calibration = Calibration()
    >>> settle(calibration.table, 0.75, True, 0.125)
    >>> settle(calibration.table, 0.75, False, 1.125)
    >>> calibration.rows()[7]
    (0.7, 0.8, 2, 0.75, 0.5)
    >>> calibration.expected_error, calibration.brier_score
    (0.25, 0.625)
    """

    def __init__(self) -> None:
        self.table: Floats = np.zeros((4, BINS))

    @property
    def events(self) -> int:
        """How many events the table has."""
        return int(self.table[EVENTS].sum())

    @property
    def brier_score(self) -> float:
        """The mean over events of the sum over classes of (probability - truth)², truth being 1 or 0; NaN without any.

        From 0 to 2, as Brier has it; with two classes it is twice the squared error of the probability of one of them.

        References
        ----------
        Brier, G. W. (1950). Verification of forecasts expressed in terms of probability. Monthly Weather Review 78(1).
        """
        return float(self.table[SQUARES].sum()) / self.events if self.events else float("nan")

    @property
    def expected_error(self) -> float:
        """The mean over events of the gap, in their bin, of mean probability and share right; NaN without any.

        References
        ----------
        Naeini, M. P., Cooper, G. F. and Hauskrecht, M. (2015). Obtaining well calibrated probabilities using Bayesian
        binning. AAAI 29.
        Guo, C., Pleiss, G., Sun, Y. and Weinberger, K. Q. (2017). On calibration of modern neural networks. ICML 34.
        """
        gaps = np.abs(self.table[RIGHT] - self.table[PROBABILITY])
        return float(gaps.sum()) / self.events if self.events else float("nan")

    def rows(self) -> list[tuple[float, float, int, float, float]]:
        """Return for each bin its bounds, its events, their mean probability and the share right; NaN without any."""
        edges = [bin_ / BINS for bin_ in range(BINS + 1)]
        return [
            (low, high, int(events), total / events, right / events) if events else (low, high, 0, math.nan, math.nan)
            for low, high, (events, total, right) in zip(
                edges, edges[1:], self.table[:SQUARES].T.tolist(), strict=False
            )
        ]

    def merge(self, other: "Calibration") -> None:
        """Add the table of another part of the stream."""
        self.table += other.table

    @classmethod
    def from_table(cls, table: NDArray[np.generic]) -> Self:
        """Return the calibration that has this table. Raises ValueError for what cannot be one."""
        calibration = cls()
        if table.shape != calibration.table.shape or table.dtype != np.float64:
            raise ValueError(f"a reliability table of the shape {table.shape}")
        calibration.table = table.astype(np.float64)
        return calibration


@compiled
def settle(table: Floats, probability: float, right: bool, squares: float) -> None:
    """Add an answered event to its bin.

    Parameters
    ----------
    probability
        What the answer was given, above 0.
    right
        Whether the answer is the label.
    squares
        The sum over the classes of the squared difference between its probability and 1 for the label's, 0 for others.
    """
    place = math.ceil(min(probability, 1.0) * BINS) - 1
    table[EVENTS, place] += 1.0
    table[PROBABILITY, place] += probability
    table[RIGHT, place] += right
    table[SQUARES, place] += squares
