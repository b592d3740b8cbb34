"""Encoded events: rows stacked, pieces joined, parts cut.

Law: what is stacked, joined or cut holds the same events, in the same order.
"""

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from streamnb.arrays import CATEGORIES, NUMBERS, TOKENS, Events, Integers


class Row(NamedTuple):
    """One encoded event; its tokens are codes, each with how often it came."""

    features: Sequence[int] | Integers
    numbers: Sequence[float]
    codes: Sequence[int]
    tokens: Sequence[tuple[int, float]] = ()


def stacked(rows: Sequence[Row]) -> Events:
    """Return the events that some rows are."""
    numbers = [(feature, number) for row in rows for feature, number in zip(row.features, row.numbers, strict=True)]
    pairs = numbers + [token for row in rows for token in row.tokens]
    codes = [code for row in rows for code in row.codes]
    first = (0, len(pairs), len(numbers))  # of the numbers, the categories, the tokens
    sizes = [(len(row.numbers), len(row.codes), len(row.tokens)) for row in rows]
    return (
        np.ascontiguousarray(np.cumsum([first, *sizes], axis=0).T),
        np.array([code for code, _ in pairs] + codes, dtype=np.int64),
        np.array([number for _, number in pairs], dtype=np.float64),
    )


def joined(pieces: Sequence[Events]) -> Events:
    """Return the events of several pieces as one."""
    if len(pieces) == 1:
        return pieces[0]
    starts, entries, values = zip(*pieces, strict=True)
    sizes = [start[:, -1] - start[:, 0] for start in starts]
    numbers, _, tokens = np.sum(sizes, axis=0).tolist()
    begins = np.cumsum([(0, numbers + tokens, numbers), *sizes], axis=0)
    moved = [start[:, 1:] + (begin - start[:, 0])[:, None] for start, begin in zip(starts, begins, strict=False)]
    return (
        np.concatenate([begins[:1].T, *moved], axis=1),
        np.concatenate([part for row in (NUMBERS, TOKENS, CATEGORIES) for part in _parts(starts, entries, row)]),
        np.concatenate([part for row in (NUMBERS, TOKENS) for part in _parts(starts, values, row)]),
    )


def part_of(events: Events, part: slice) -> Events:
    """Return some of encoded events."""
    starts, entries, values = events
    return np.ascontiguousarray(starts[:, part.start : part.stop + 1]), entries, values


def _parts(starts: Sequence[Integers], columns: Sequence[NDArray[Any]], row: int) -> Iterator[NDArray[Any]]:
    """Yield what each piece has of the numbers, of the tokens or of the categories."""
    for start, column in zip(starts, columns, strict=True):
        yield column[start[row, 0] : start[row, -1]]
