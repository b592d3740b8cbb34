"""What an event is: its names and their values, whether it comes as a dict or as a row of columns.

Law: which name a key stands for depends on the key alone; which of two values of one name counts, not on their order.
"""

import numbers
from collections.abc import Container, Iterator, Mapping, Sequence
from decimal import Decimal
from typing import Any

import numpy as np
from numpy.typing import NDArray

from streamnb.values import FeatureName, is_text

Event = Mapping[Any, Any]


class Columns:
    """Events given by column: a sequence of events, whose columns can be had without making them.

    Parameters
    ----------
    columns
        For each name a list of plain Python values, or an array of numbers.
    """

    def __init__(self, names: Sequence[Any], columns: Sequence[Sequence[Any] | NDArray[Any]], length: int) -> None:
        self.names = tuple(names)
        self.columns = columns
        self._length = length

    def __len__(self) -> int:
        return self._length

    def __getitem__(self, part: slice) -> "Columns":
        return Columns(self.names, [column[part] for column in self.columns], len(range(self._length)[part]))

    def __iter__(self) -> Iterator[Event]:
        if not self.columns:
            return iter([{}] * self._length)
        columns = [column.tolist() if isinstance(column, np.ndarray) else column for column in self.columns]
        return (dict(zip(self.names, row, strict=True)) for row in zip(*columns, strict=True))


def is_name(key: object) -> bool:
    """Tell whether a key is its own name: text, or an integer of 64 bits."""
    return (type(key) is str and is_text(key)) or (type(key) is int and -(2**63) <= key < 2**63)


def as_name(key: object) -> FeatureName:
    """Return the name that a key stands for.

    What Python takes for an integer is that integer, since no dict can tell them apart; anything else is its text.

    >>> as_name("a"), as_name(1), as_name(True), as_name(1.0), as_name(("a", 1))
    ('a', 1, 1, 1, "('a', 1)")
    """
    if is_name(key):
        return key  # type: ignore[return-value]
    if isinstance(key, numbers.Real | Decimal) and key == key // 1:
        whole = int(key)  # type: ignore[arg-type] # a whole number has an integer
        return whole if is_name(whole) else hex(whole)
    text = str.__str__(key) if isinstance(key, str) else str(key)
    return text if is_text(text) else text.encode("utf-8", "backslashreplace").decode()


def flatten(event: Event, whole: Container[FeatureName] = ()) -> tuple[dict[FeatureName, Any], list[FeatureName]]:
    """Return the values of an event by name, nested names joined by dots, and the names that came more than once.

    Parameters
    ----------
    whole
        The names whose value may be a dict.

    Of several values of one name counts the shallowest, then the one whose keys are nearest to the name.

    >>> flatten({"a": {"b": 1, "c": {"d": 2}}, "a.b": 3})
    ({'a.b': 3, 'a.c.d': 2}, ['a.b'])
    """
    found: dict[FeatureName, Any] = {}
    paths: dict[FeatureName, tuple[int, list[tuple[str, str]]]] = {}
    again: list[FeatureName] = []
    level: list[tuple[str, list[tuple[str, str]], Event]] = [("", [], event)]
    while level:
        deeper: list[tuple[str, list[tuple[str, str]], Event]] = []
        for prefix, path, part in level:
            for key, value in part.items():
                name = f"{prefix}{as_name(key)}" if prefix else as_name(key)
                own = is_name(key) and (type(key) is str or not prefix)
                keys = [*path, ("" if own else type(key).__name__, str(name))]
                if isinstance(value, Mapping) and name not in whole:
                    deeper.append((f"{name}.", keys, value))
                    continue
                if name in found:
                    again.append(name)
                if name not in found or (len(keys), keys) < paths[name]:
                    found[name] = value
                    paths[name] = (len(keys), keys)
        level = deeper
    return found, again
