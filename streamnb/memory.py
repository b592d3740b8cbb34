"""Memory: statistics with a half-life of their own, which share their vocabulary with others.

Law: as of statistics; the bins of numbers are counted as values are.
"""

import copy
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from streamnb.arrays import (
    MOMENTS,
    Floats,
    Integers,
)
from streamnb.bins import Bins
from streamnb.kernels.fade import fade_weights
from streamnb.settings import Settings
from streamnb.statistics import Statistics
from streamnb.tables import Moments, grown
from streamnb.vocabulary import Places


class Memory(Statistics):
    """Statistics that also have what a number's other likelihoods take.

    `logs` are the moments of the logarithms of numeric features, `binned` [row, slot] the weights of their bins.
    """

    def __init__(self, settings: Settings, bins: Bins, *, logs: bool, names: Statistics | None) -> None:
        super().__init__(settings, names)
        self.bins = bins
        self.logs = Moments()
        self.binned: Floats = np.zeros((0, 1))
        self._has_logs = logs

    def reserve(self) -> None:
        """Make room for every feature, value, bin and class that has a number."""
        super().reserve()
        features = len(self.vocabulary.numeric)
        self.logs.reserve(features if self._has_logs else 0, self.slots)
        self.bins.reserve(features)
        self.binned = grown(self.binned, (len(self.bins.keys), self.slots))

    def copy(self, names: Statistics | None = None) -> Self:
        """Return the same again; the bins are those of `names`, or else its own."""
        twin = super().copy(names)
        twin.bins = names.bins if isinstance(names, Memory) else self.bins.copy()
        twin.logs, twin.binned = copy.deepcopy(self.logs), self.binned.copy()
        return twin

    def _fade(self, factor: float) -> None:
        super()._fade(factor)
        self.logs.fade(factor)
        fade_weights(self.binned, factor)

    def _join_tables(self, other: Self, places: Places, there: Integers, here: Integers) -> None:
        super()._join_tables(other, places, there, here)
        if self._has_logs:
            numeric = np.flatnonzero(places.numeric >= 0)
            logs = other.logs.array[np.ix_(numeric, np.arange(MOMENTS), there)]
            self.logs.add(logs, places.numeric[numeric], here)
        self.reserve()
        rows = np.flatnonzero(places.bins >= 0)
        self.binned[np.ix_(places.bins[rows], here)] += other.binned[np.ix_(rows, there)]

    def to_state(self) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
        """Return all that there is: plain values, and arrays cut to what is used."""
        plain, arrays = super().to_state()
        features = len(self.vocabulary.numeric) if self._has_logs else 0
        arrays["logs"] = self.logs.array[:features, :, : self.slots]
        arrays["binned"] = self.binned[: len(self.bins), : self.slots]
        return plain, arrays
