"""The labels of classes.

Law: a class keeps its number, and classes are numbered in the order of first sight, told apart by type and value.
"""

import math
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from streamnb.arrays import Integers
from streamnb.values import is_missing, is_text

Label = str | int | float | bool
"""What can name a class."""

NO_LABEL = -1
"""The code of an event without a label."""


class Labels:
    """The classes in the order of first sight, told apart by type as well as by value.

    >>> labels = Labels([1, "1", True])
    >>> list(labels), labels.encode(["1", None, True, 2])
    ([1, '1', True], array([ 1, -1,  2,  3]))
    """

    def __init__(self, labels: Iterable[Label] = ()) -> None:
        self.names: list[Label] = []
        self._codes: dict[type, dict[Label, int]] = {str: {}, bool: {}, int: {}, float: {}}
        for label in labels:
            self.add(label)

    def find(self, label: object) -> int | None:
        """Return the code of a class, None for one not met."""
        codes = self._codes.get(type(label))
        return None if codes is None else codes.get(label)  # type: ignore[call-overload]

    def add(self, label: Label) -> int:
        """Return the code of a class, the next free one if it is new."""
        codes = self._codes[type(label)]
        code = codes.get(label)
        if code is None:
            code = codes[label] = len(self.names)
            self.names.append(label)
        return code

    def encode(self, values: Iterable[object]) -> Integers:
        """Return the codes [event] of labels, adding the classes that are new; None and NaN become NO_LABEL.

        Raises ValueError, naming the event by its place, for what cannot be a class; no class is added then.
        """
        if isinstance(values, np.ndarray) and values.ndim != 1:
            raise ValueError(f"labels have one axis, [event]; got the shape {values.shape}")
        if isinstance(values, np.ndarray) and values.dtype.kind in "bi":
            return self._encode_integers(values)
        plain = (
            values.tolist() if isinstance(values, np.ndarray) else values if isinstance(values, list) else list(values)
        )
        types = set(map(type, plain))
        if types <= {str} or types <= {bool} or types <= {int}:
            for label in [_label_at(plain.index(value), value) for value in dict.fromkeys(plain)]:
                self.add(label)
            codes = self._codes[next(iter(types), str)]
            return np.fromiter(map(codes.__getitem__, plain), np.int64, len(plain))
        labels = [None if is_missing(value) else _label_at(place, value) for place, value in enumerate(plain)]
        return np.array([NO_LABEL if label is None else self.add(label) for label in labels], dtype=np.int64)

    def _encode_integers(self, values: NDArray[Any]) -> Integers:
        """Do what `encode` does, sorting an array of integers or booleans instead of looking each of them up."""
        distinct, first, inverse = np.unique(values, return_index=True, return_inverse=True)
        codes = np.empty(len(distinct), dtype=np.int64)
        for place in np.argsort(first).tolist():
            codes[place] = self.add(distinct[place].item())
        return codes[inverse]

    def __iter__(self) -> Iterator[Label]:
        return iter(self.names)

    def __getitem__(self, code: int) -> Label:
        return self.names[code]

    def __len__(self) -> int:
        return len(self.names)


def as_label(value: object) -> Label:
    """Return a value as the plain Python label of a class.

    Raises ValueError for what cannot be one: anything but a string, a boolean, a finite number, an integer of 64 bits.

    >>> as_label(np.int64(3)), as_label("yes")
    (3, 'yes')
    """
    plain = value.item() if isinstance(value, np.generic) else value
    if isinstance(plain, bool):
        return plain
    if isinstance(plain, str) and is_text(plain):
        return str.__str__(plain)
    if isinstance(plain, int) and -(2**63) <= plain < 2**63:
        return int(plain)
    if isinstance(plain, float) and math.isfinite(plain):
        return float(plain) + 0.0  # -0.0 and 0.0 are one label
    raise ValueError(
        f"{value!r:.80} cannot be a class: a label is a string, a boolean, a finite number or an integer of 64 bits"
    )


def by_label(labels: Sequence[Label], values: Sequence[Any] | NDArray[Any]) -> dict[Label, Any]:
    """Return the value of each class by its label; labels that Python takes for equal, like 1 and True, share a sum."""
    named: dict[Label, Any] = {}
    for label, value in zip(labels, values, strict=True):
        named[label] = named[label] + value if label in named else value
    return named


def _label_at(place: int, value: object) -> Label:
    try:
        return as_label(value)
    except ValueError as error:
        raise ValueError(f"event {place}: {error}") from None
