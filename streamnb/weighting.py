"""What a model with several memories has learned about its evidence: weights, effects, biases.

Law: zeros are a model that has learned none; growing changes no value; of two parts, what both know is averaged by the
number of events that each has learned.
"""

import copy
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from streamnb.arrays import Floats, Integers
from streamnb.tables import grown
from streamnb.vocabulary import Places


@dataclass(frozen=True)
class Size:
    """How many there are of numeric features, counted features, columns, bins and classes."""

    numeric: int
    counted: int
    columns: int
    bins: int
    classes: int


class Weighting:
    """The arrays that a step on the log loss moves.

    A weight has the axis [change, squares] of arrays.py last, an effect the axes [change or squares, class].

    `number_weights` [feature, memory, part, 2] are those of the two parts that a number says, `counted_weights`
    [feature, memory, 2] those of categories and bags; `number_effects` [feature, 2, class], `value_effects`
    [column, 2, class] and `bin_effects` [bin, 2, class] correct the mixture; `biases` [memory, 2, class] are of each
    memory and, last, of the mixture; `whole` [memory, 3] has the weight of each prior and the loss of each memory and,
    last, the temperature of the mixture. All have room to spare.
    """

    NAMES = ("number_weights", "counted_weights", "number_effects", "value_effects", "bin_effects", "biases", "whole")

    def __init__(self, memories: int) -> None:
        self.memories = memories
        self.number_weights: Floats = np.zeros((0, memories, 2, 2))
        self.counted_weights: Floats = np.zeros((0, memories, 2))
        self.number_effects: Floats = np.zeros((0, 2, 0))
        self.value_effects: Floats = np.zeros((0, 2, 0))
        self.bin_effects: Floats = np.zeros((0, 2, 0))
        self.biases: Floats = np.zeros((memories + 1, 2, 0))
        self.whole: Floats = np.zeros((memories + 1, 3))

    def shapes(self, size: Size) -> dict[str, tuple[int, ...]]:
        """Return how large each array is without room to spare."""
        return {
            "number_weights": (size.numeric, self.memories, 2, 2),
            "counted_weights": (size.counted, self.memories, 2),
            "number_effects": (size.numeric, 2, size.classes),
            "value_effects": (size.columns, 2, size.classes),
            "bin_effects": (size.bins, 2, size.classes),
            "biases": (self.memories + 1, 2, size.classes),
            "whole": (self.memories + 1, 3),
        }

    def reserve(self, size: Size) -> None:
        """Make room; what is new is zero."""
        for name, shape in self.shapes(size).items():
            setattr(self, name, grown(getattr(self, name), shape))

    def arrays(self) -> tuple[Floats, ...]:
        """Return the arrays, as the kernels take them."""
        return tuple(getattr(self, name) for name in self.NAMES)

    def copy(self) -> Self:
        """Return the same again, to be changed apart."""
        return copy.deepcopy(self)

    def add(self, other: Self, before: Size, places: Places, classes: Integers, events: tuple[float, float]) -> None:
        """Add those of another part, for which there is room; nothing, where it has learned nothing.

        Parameters
        ----------
        before
            What was here before the other part came.
        places, classes
            Where what the other part has is here, its classes among it; -1 for nowhere.
        events
            How many events each of the two parts has learned.
        """
        if not events[1]:
            return
        share = events[1] / sum(events)
        everything = np.arange(self.memories + 1)
        axes: dict[str, tuple[Integers, int, Sequence[int]]] = {
            "number_weights": (places.numeric, before.numeric, (0,)),
            "counted_weights": (places.counted, before.counted, (0,)),
            "number_effects": (places.numeric, before.numeric, (0, 2)),
            "value_effects": (places.columns, before.columns, (0, 2)),
            "bin_effects": (places.bins, before.bins, (0, 2)),
            "biases": (everything, len(everything), (0, 2)),
            "whole": (everything, len(everything), (0,)),
        }
        for name, (rows, known_rows, along) in axes.items():
            mine, theirs = getattr(self, name), getattr(other, name)
            there = np.flatnonzero(rows >= 0)
            here = rows[there]
            if len(along) == 1:
                share_of = np.where(here < known_rows, share, 1.0).reshape(-1, *([1] * (mine.ndim - 1)))
                old, new = mine[here], theirs[there]
                mine[here] = _both(old, new, share_of, axis=mine.ndim - 1)
            else:
                coming = np.flatnonzero(classes >= 0)
                at = np.ix_(here, np.arange(2), classes[coming])
                known = (here < known_rows)[:, None, None] & (classes[coming] < before.classes)[None, None]
                old, new = mine[at], theirs[np.ix_(there, np.arange(2), coming)]
                mine[at] = _both(old, new, np.where(known, share, 1.0), axis=1)

    def to_state(self, size: Size) -> dict[str, NDArray[Any]]:
        """Return the arrays, cut to what is used."""
        return {name: getattr(self, name)[tuple(map(slice, shape))] for name, shape in self.shapes(size).items()}

    def restore(self, arrays: Mapping[str, NDArray[Any]], size: Size) -> None:
        """Take over arrays; ValueError for what cannot be."""
        self.reserve(size)
        for name, place in self.to_state(size).items():
            if arrays[name].shape != place.shape or not np.isfinite(arrays[name]).all():
                raise ValueError(f"{name} of the shape {arrays[name].shape}, not {place.shape}, or not finite")
            place[:] = arrays[name]


def _both(mine: Floats, theirs: Floats, share: Floats, axis: int) -> Floats:
    """Return changes averaged, the second by its share, and sums of squared gradients added up."""
    averaged = mine + share * (theirs - mine)
    squares = mine + theirs
    where = np.arange(mine.shape[axis]) == 1
    shape = [1] * mine.ndim
    shape[axis] = -1
    return np.where(where.reshape(shape), squares, averaged)
