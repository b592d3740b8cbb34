"""What one value of an event is: a number, a category, a bag of tokens, missing, or bad.

Law: the answer depends on the value and on the kind of its feature alone, never on what came before.
"""

import math
import numbers
from collections import defaultdict
from collections.abc import Iterator, Mapping
from decimal import Decimal
from typing import Any, Final, Literal

import numpy as np

from streamnb.arrays import LARGEST

Kind = Literal["numeric", "categorical", "bag", "text"]
FeatureName = str | int
Category = str | bool | int | float
Bag = dict[str, float]
"""How often each token came, in the order of the tokens."""

NUMERIC: Final = "numeric"
CATEGORICAL: Final = "categorical"
BAG: Final = "bag"
TEXT: Final = "text"
KINDS: Final[tuple[Kind, ...]] = (NUMERIC, CATEGORICAL, BAG, TEXT)
BAGS: Final = (BAG, TEXT)
MISSING: Final = "missing"
BAD: Final = "bad"

MOST_TIMES = 1e9
"""How often a token may come in a bag."""

Reading = tuple[Literal["numeric", "categorical", "bag", "missing", "bad"], Any]
"""What a value is, and the plain Python number, category or bag that stands for it."""

_MISSING_TYPES = {"NAType", "NaTType"}  # pandas's own, told by name since pandas need not be installed
_LISTS = (list, tuple, set, frozenset, np.ndarray)
_NOTHING: Reading = (MISSING, None)
_SPOILED: Reading = (BAD, None)


def read(value: object, kind: Kind | None, text: bool) -> Reading:  # noqa: PLR0911 - one for each sort of value
    """Return what a value is for a feature of some kind.

    Parameters
    ----------
    kind
        The kind of the feature, None where nothing has fixed it yet.
    text
        Whether text may stand for a number.

    A categorical feature takes text, booleans and numbers; a numeric one numbers short of `LARGEST`; a bag, or a text
    that was cut into its tokens, a string, a list of strings, or a dict of counts.

    >>> read("3.5", None, text=False), read("3.5", None, text=True), read("high", "numeric", text=True)
    (('categorical', '3.5'), ('numeric', 3.5), ('bad', None))
    """
    if is_missing(value):
        return _NOTHING
    if kind in BAGS or (kind is None and isinstance(value, _LISTS)):
        return _read_bag(value, kind)
    if isinstance(value, np.datetime64 | np.timedelta64):
        return _SPOILED
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, str):
        return _read_text(str.__str__(value), kind, text)
    if isinstance(value, bool):
        return _SPOILED if kind == NUMERIC else (CATEGORICAL, value)
    if isinstance(value, numbers.Real | Decimal):
        return _read_number(value, kind)
    return _SPOILED


def _read_text(value: str, kind: Kind | None, text: bool) -> Reading:
    if not is_text(value):
        return _SPOILED
    if kind != CATEGORICAL and text:
        try:
            number = as_number(value)
        except ValueError:
            number = math.inf
        if math.isnan(number):
            return _NOTHING
        if abs(number) < LARGEST:
            return NUMERIC, number
    return _SPOILED if kind == NUMERIC else (CATEGORICAL, value)


def _read_number(value: Any, kind: Kind | None) -> Reading:
    try:
        number = float(value)
    except OverflowError:  # an integer beyond any float
        return _SPOILED
    if math.isnan(number):
        return _NOTHING
    if abs(number) >= LARGEST:
        return _SPOILED
    if kind != CATEGORICAL:
        return NUMERIC, number
    if isinstance(value, int):
        return (CATEGORICAL, int(value)) if -(2**63) <= value < 2**63 else _SPOILED
    return CATEGORICAL, int(number) if number.is_integer() and abs(number) < 2**53 else number


def _read_bag(value: object, kind: Kind | None) -> Reading:
    counts: dict[Any, float] = defaultdict(float)
    try:
        for token, times in _tokens(value):
            counts[token] += times
    except (TypeError, ValueError):  # no bag, a token that is a list, or a count that is none
        return _SPOILED
    if kind is None and not counts:  # nothing that would tell of what it is a list
        return _NOTHING
    if not all(isinstance(token, str) and is_text(token) for token in counts):
        return _SPOILED
    return BAG, {str.__str__(token): counts[token] for token in sorted(counts) if counts[token] > 0}


def _tokens(value: Any) -> Iterator[tuple[Any, float]]:
    """Yield tokens, each with how often it comes; TypeError or ValueError for what is no bag."""
    if isinstance(value, str):
        yield value, 1.0
    elif isinstance(value, Mapping):
        for token, times in value.items():
            if not is_missing(times):
                number = float(times) if isinstance(times, numbers.Real | Decimal) else math.inf
                if not 0 <= number <= MOST_TIMES:
                    raise ValueError(f"{token!r} cannot come {times!r} times")
                yield token, number
    elif isinstance(value, _LISTS):
        yield from ((token, 1.0) for token in value)
    else:
        raise TypeError(f"{type(value).__name__} is no bag")


def as_number(text: str) -> float:
    """Return the number that a text stands for; ValueError if it stands for none.

    >>> as_number(" 1e3 ")
    1000.0
    """
    if "_" in text:  # Python reads 1_000 as a number; in data it is a name
        raise ValueError(f"{text!r} is not a number")
    return float(text)


def category_key(value: Category | None) -> object:
    """Return what a vocabulary knows a category by: 1 and 1.0 are one category, "1" and True are others.

    None, for all rare ones together, is itself.
    """
    return value if isinstance(value, str | bool | None) else ("number", value)


def is_text(value: str) -> bool:
    """Tell whether a string can be written as UTF-8: one with lone surrogates cannot."""
    if value.isascii():
        return True
    try:
        value.encode()
    except UnicodeEncodeError:
        return False
    return True


def is_missing(value: object) -> bool:
    """Tell whether a value stands for none: None, a NaN of any type, or what pandas puts in its place."""
    if value is None or type(value).__name__ in _MISSING_TYPES:
        return True
    if isinstance(value, np.datetime64 | np.timedelta64):
        return bool(np.isnat(value))
    return value.is_nan() if isinstance(value, Decimal) else is_nan(value)


def is_nan(value: object) -> bool:
    """Tell whether a value is a float that is not a number."""
    return isinstance(value, float | np.floating) and math.isnan(value)
