"""The arrays that are learned: moments and counts, which grow, add up and fade.

Law: growing changes no value; adding is the same in any order, up to rounding, and adding nothing changes nothing;
fading by a power of two rounds nothing.
"""

from collections.abc import Sequence
from typing import TypeVar

import numpy as np

from streamnb.arrays import MOMENTS, Floats, Integers
from streamnb.kernels.fade import count_distinct, fade_moments, fade_weights
from streamnb.kernels.learn import two_sum


class Moments:
    """Weight, mean and sum of squared deviations of each numeric feature in each class.

    `array` has the axes [feature, moment, slot], with room to spare on the first and the last.
    """

    def __init__(self) -> None:
        self.array: Floats = np.zeros((0, MOMENTS, 1))

    def reserve(self, features: int, slots: int) -> None:
        """Make room for so many features and slots; what is new is zero."""
        self.array = grown(self.array, (features, MOMENTS, slots))

    def add(self, moments: Floats, features: Integers, slots: Integers) -> None:
        """Add the moments [feature, moment, slot] of another part of the stream, to these features and slots.

        Chan, T. F., Golub, G. H. and LeVeque, R. J. (1983). Algorithms for computing the sample variance: analysis and
        recommendations. The American Statistician 37(3).
        """
        place = np.ix_(features, np.arange(MOMENTS), slots)
        weight, mean, squares, taken, low = np.moveaxis(self.array[place], 1, 0)
        other_weight, other_mean, other_squares, other_taken, other_low = np.moveaxis(moments, 1, 0)
        total = weight + other_weight
        share = np.divide(other_weight, total, out=np.zeros_like(total), where=total > 0)
        distance = (other_mean - mean) + (other_low - low)
        both = (weight > 0) & (other_weight > 0)
        high, rest = two_sum(mean, low, np.where(both, distance * share, 0.0))
        mean, low = (np.where(weight > 0, mine, theirs) for mine, theirs in ((high, other_mean), (rest, other_low)))
        squares = squares + other_squares + np.where(both, distance * distance * weight * share, 0.0)
        self.array[place] = np.stack((total, mean, squares, np.maximum(taken, other_taken), low), axis=1)

    def fade(self, factor: float) -> None:
        """Multiply the weights by a power of two."""
        fade_moments(self.array, factor)


class Counts:
    """How often each value of each categorical feature came with each class.

    `array` [column, slot] counts values, `totals` [feature, slot] the events that had the feature (for a bag, tokens),
    `distinct` [feature] the values seen; `owner` [column] is the feature of each column. All have room to spare. Where
    the number of values is bounded, slot 0 of a column counts what it may have missed of its value as well.
    """

    def __init__(self) -> None:
        self.array: Floats = np.zeros((0, 1))
        self.totals: Floats = np.zeros((0, 1))
        self.distinct: Floats = np.zeros(0)
        self.owner: Integers = np.zeros(0, dtype=np.int64)
        self._columns = 0

    def reserve(self, features: int, owners: Sequence[int], slots: int) -> None:
        """Make room for so many features and slots and for a column per owner; what is new is zero."""
        self.array = grown(self.array, (len(owners), slots))
        self.totals = grown(self.totals, (features, slots))
        self.distinct = grown(self.distinct, (features,))
        self.owner = grown(self.owner, (len(owners),))
        self.owner[self._columns : len(owners)] = owners[self._columns :]
        self._columns = len(owners)

    def add(self, counts: Floats, totals: Floats, columns: Integers, features: Integers, slots: Integers) -> None:
        """Add the counts [column, slot] and totals [feature, slot] of another part of the stream, to these places."""
        self.array[np.ix_(columns, slots)] += counts
        self.totals[np.ix_(features, slots)] += totals
        self.count_distinct()

    def fade(self, factor: float) -> None:
        """Multiply by a power of two."""
        fade_weights(self.array, factor)
        fade_weights(self.totals, factor)
        self.count_distinct()

    def count_distinct(self) -> None:
        """Count anew the values of each feature that have a weight."""
        count_distinct(self.array, self.owner, self.distinct)


_Array = TypeVar("_Array", Floats, Integers)


def grown(array: _Array, needed: tuple[int, ...]) -> _Array:
    """Return the array itself if it is large enough, or else a copy with each short axis at least doubled."""
    if all(have >= need for have, need in zip(array.shape, needed, strict=True)):
        return array
    shape = [have if have >= need else max(need, 2 * have) for have, need in zip(array.shape, needed, strict=True)]
    larger = np.zeros(shape, dtype=array.dtype)
    larger[tuple(slice(have) for have in array.shape)] = array
    return larger
