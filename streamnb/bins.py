"""Bins: the intervals that numbers have fallen into, each with its row.

Law: where the edges of a bin are depends on nothing that came before, so bins need no warm-up, are free of the scale of
a feature, and match between parts of a stream.
"""

import copy
from typing import Self

import numpy as np
from numpy.typing import NDArray

from streamnb.arrays import Floats, Integers
from streamnb.kernels.bins import add_bin
from streamnb.tables import grown


class Bins:
    """The bins met, with rows in the order of first sight; eight of them lead from a number to its double.

    `keys` [row] is which bin has the row, as feature x 65,536 + place; `distinct` [feature] how many bins of a feature
    were met; `index` a table to find the row of a key by, whose last place tells how many rows there are.

    As in Masson, C., Rim, J. E. and Lee, H. K. (2019). DDSketch: a fast and fully-mergeable quantile sketch with
    relative-error guarantees. PVLDB 12(12).
    """

    def __init__(self) -> None:
        self.keys: Integers = np.zeros(0, dtype=np.int64)
        self.index: Integers = np.zeros(3, dtype=np.int64)
        self.distinct: Floats = np.zeros(0)

    def __len__(self) -> int:
        return int(self.index[-1])

    def copy(self) -> Self:
        """Return the same again, to be added to apart."""
        return copy.deepcopy(self)

    def reserve(self, features: int, more: int = 0) -> None:
        """Make room for so many features, and for so many rows more than there are."""
        self.distinct = grown(self.distinct, (features,))
        keys = grown(self.keys, (len(self) + more,))
        if keys is not self.keys:
            rows = len(self)
            self.keys = keys
            size = 1 << max(2 * len(keys) - 1, 1).bit_length()
            self.index = np.zeros(size + 1, dtype=np.int64)
            self._restore(keys[:rows].copy())

    def _restore(self, keys: Integers) -> None:
        """Give rows to these bins, in order."""
        self.distinct[:] = 0.0
        for key in keys.tolist():
            add_bin(self.index, self.keys, self.distinct, key)

    def absorb(self, keys: Integers, used: NDArray[np.bool_], features: Integers) -> Integers:
        """Return the rows here of bins of another part of the stream, new ones in their order; -1 for nowhere.

        Parameters
        ----------
        keys, used
            Those of the other part, and which of them there is anything in.
        features
            Where each feature of the other part is here, negative for nowhere.
        """
        here = np.where(used, features[keys >> 16], -1)
        coming = np.flatnonzero(here >= 0)
        self.reserve(int(here.max(initial=-1)) + 1, len(coming))
        rows = np.full(len(keys), -1, dtype=np.int64)
        for place in coming.tolist():
            key = (int(here[place]) << 16) + int(keys[place] & 0xFFFF)
            rows[place] = add_bin(self.index, self.keys, self.distinct, key)
        return rows

    def restore(self, keys: NDArray[np.int64], features: int) -> None:
        """Make bins in which nothing was met those with these keys.

        Raises ValueError for what cannot be.
        """
        self.reserve(features, len(keys))
        if len(keys) and (keys.min() < 0 or (keys >> 16).max() >= features):
            raise ValueError("a bin of no feature")
        self._restore(keys)
        if len(self) < len(keys):
            raise ValueError("a bin twice")
