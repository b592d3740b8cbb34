"""How to read events of one set of keys fast: one by one, or many of them column by column.

Law: what is read here is what `values.read` would make of each value; what takes a closer look is left to it.
"""

import math
import struct
from collections.abc import Callable, Mapping, Sequence
from operator import itemgetter
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from streamnb.arrays import LARGEST, Floats, Integers
from streamnb.events import Columns, Event, is_name
from streamnb.values import as_number, is_nan

_NONE = type(None)
_NUMBERS = {float, int}
_all_numbers = _NUMBERS.issuperset
_SCALARS = {str, bool, int, float, _NONE}

Column = Sequence[Any] | NDArray[Any]


class Picked(NamedTuple):
    """Values of several events, by column: of the numeric features, of the categorical ones, and of unknown names."""

    numbers: list[Column]
    categories: list[Column]
    unknown: list[Column]


class Layout:
    """How to read events that have one certain set of keys.

    Parameters
    ----------
    numbers, categories
        The keys that are features of either kind, by the number of the feature.
    unknown
        The keys that are no known features.
    bags
        Whether there are keys that are bags: such events take a closer look.
    """

    def __init__(
        self, numbers: Mapping[int, Any], categories: Mapping[int, Any], unknown: Sequence[Any], *, bags: bool
    ) -> None:
        self.number_features = np.array(sorted(numbers), dtype=np.int64)
        self.category_features = sorted(categories)
        self.known = not unknown and not bags
        size, whole = len(numbers), len(numbers) + len(categories)
        self.starts = np.array(((0, size), (size, whole), (size, size)))
        self.pack = struct.Struct(f"{len(numbers)}d").pack_into  # four times faster than numpy for a few numbers
        self._entries = np.concatenate((self.number_features, np.zeros(len(categories), dtype=np.int64)))
        self._pack_codes, self._codes_at = struct.Struct(f"{len(categories)}q").pack_into, 8 * len(numbers)
        self._names = (
            [numbers[feature] for feature in sorted(numbers)],
            [categories[feature] for feature in self.category_features],
            list(unknown),
        )
        self._getters = tuple(map(_values_of, self._names))
        self._numbers, self.categories, _ = self._getters
        self._named = not bags and all(map(is_name, unknown))

    def plain_numbers(self, event: Event) -> tuple[float, ...] | None:
        """Return an event's numbers if all its keys are known and the numbers short of LARGEST, or else None."""
        if not self.known:
            return None
        numbers = self._numbers(event)
        try:
            return numbers if _all_numbers(map(type, numbers)) and math.hypot(*numbers) < LARGEST else None
        except OverflowError:  # an integer beyond any float
            return None

    def entries(self, codes: Sequence[int]) -> Integers:
        """Return the entries of an event: the features of its numbers, and the codes of its categories."""
        if not codes:
            return self.number_features
        entries = self._entries.copy()
        self._pack_codes(entries, self._codes_at, *codes)  # type: ignore[arg-type] # as for `pack`
        return entries

    def pick(self, events: Sequence[Event] | Columns, *, learn: bool) -> Picked | None:
        """Return the columns of events; None unless all have these keys, and nothing under unknown ones is to be read.

        Parameters
        ----------
        learn
            Whether any of the events is to be learned.
        """
        if not self._named:
            return None
        if isinstance(events, Columns):
            by_name = dict(zip(events.names, events.columns, strict=True))
            picked = [[by_name[name] for name in names] for names in self._names]
        elif set(map(type, events)) != {dict} or set(map(len, events)) != {sum(map(len, self._names))}:
            return None
        else:
            try:
                picked = [
                    list(zip(*map(getter, events), strict=True)) if names else []
                    for names, getter in zip(self._names, self._getters, strict=True)
                ]
            except KeyError:
                return None
        return Picked(*picked) if all(_is_nothing(column, learn=learn) for column in picked[2]) else None


def number_block(columns: Sequence[Column], events: int, *, cells: bool) -> Floats | None:
    """Return numbers [event, column] with NaN for what is missing; None if some value is not a plain number.

    Parameters
    ----------
    cells
        Whether the values are text.
    """
    block = np.empty((events, len(columns)))
    try:
        for place, column in enumerate(columns):
            types = _NUMBERS if isinstance(column, np.ndarray) else set(map(type, column))
            if types <= _NUMBERS:
                block[:, place] = column
            elif types <= _NUMBERS | {_NONE}:
                block[:, place] = [np.nan if value is None else value for value in column]
            elif cells and types <= {str, _NONE}:
                block[:, place] = [np.nan if value is None else as_number(value) for value in column]
            else:
                return None
    except (ValueError, OverflowError):
        return None
    largest, smallest = (extreme.reduce(block, axis=None, initial=0.0) for extreme in (np.fmax, np.fmin))
    return block if smallest > -LARGEST and largest < LARGEST else None


def _is_nothing(column: Column, *, learn: bool) -> bool:
    """Tell whether a column of an unknown name can be passed over: if nothing is in it that could be learned."""
    if isinstance(column, np.ndarray):
        return not learn or bool(np.isnan(column).all())
    return _SCALARS.issuperset(map(type, column)) and (
        not learn or all(value is None or is_nan(value) for value in column)
    )


def _values_of(names: Sequence[Any]) -> Callable[[Event], tuple[Any, ...]]:
    """Return a function from an event to the tuple of its values of these names; KeyError if it lacks one."""
    if len(names) > 1:
        return itemgetter(*names)
    if not names:
        return lambda _: ()
    only = itemgetter(*names)
    return lambda event: (only(event),)
