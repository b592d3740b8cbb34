"""Events to columns and values by kind: the schema, the vocabularies, the bad values.

Law: encoding to predict changes nothing; encoding to learn numbers what is new by event, then by name, so that neither
the order of an event's keys nor the cuts between batches can be told from the result.
"""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from operator import itemgetter
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from streamnb.events import Columns, Event, flatten, is_name
from streamnb.kernels import ABSENT, Events, Integers
from streamnb.layout import Column, Layout, number_block
from streamnb.values import (
    BAD,
    CATEGORICAL,
    NUMERIC,
    Category,
    FeatureName,
    Kind,
    Reading,
    category_key,
    is_text,
    read,
)

_PLAIN_CATEGORIES = {str, bool, type(None)}
_NO_CODES = np.empty(0, dtype=np.int64)
_LAYOUTS = 1_000  # kept at the most; streams with more combinations of keys are read key by key
_SMALLEST_BLOCK = 16  # events; fewer cost more to read as a block than one by one


class Row(NamedTuple):
    """One encoded event."""

    features: Sequence[int] | Integers
    numbers: Sequence[float]
    codes: Sequence[int] | Integers


class Encoder:
    """Turns events into `Events`, learning names, kinds and values as they come.

    Parameters
    ----------
    kinds
        The declared kind of each feature that should not be told by its first value.

    The code of a category is its column of the counts; a value without a column has the code -feature - 1.
    """

    def __init__(self, kinds: Mapping[FeatureName, Kind]) -> None:
        self.declared = dict(kinds)
        self.bad_values: Counter[FeatureName] = Counter()
        self.numeric: list[FeatureName] = []
        self.categorical: list[FeatureName] = []
        self.columns: list[Category] = []
        self.owners: list[int] = []
        self.registered = 0  # features and values that have a number: when this grows, so must the tables
        self._features: dict[FeatureName, tuple[Kind, int]] = {}
        self._vocabularies: list[dict[object, int]] = []
        self._layouts: dict[tuple[Any, ...], Layout] = {}

    def __getstate__(self) -> dict[str, object]:
        return {**self.__dict__, "_layouts": {}}  # made anew as events come

    def schema(self) -> dict[FeatureName, Kind]:
        """Return the kind of each feature that has been learned."""
        return {name: kind for name, (kind, _) in self._features.items()}

    def add_feature(self, name: FeatureName, kind: Kind) -> None:
        """Give a new feature its kind and the next number of that kind."""
        names = self.numeric if kind == NUMERIC else self.categorical
        self._features[name] = (kind, len(names))
        names.append(name)
        self.registered += 1
        if kind == CATEGORICAL:
            self._vocabularies.append({})
        self._layouts.clear()

    def add_value(self, feature: int, value: Category) -> int:
        """Return the column of a value of a categorical feature, the next free one if it is new."""
        vocabulary = self._vocabularies[feature]
        key = category_key(value)
        code = vocabulary.get(key)
        if code is None:
            code = vocabulary[key] = len(self.columns)
            self.columns.append(value)
            self.owners.append(feature)
            self.registered += 1
        return code

    def encode_one(self, event: Event, *, learn: bool) -> Events:
        """Encode one event; only if it is to be learned do new features and values get a number.

        Raises TypeError for what is no dict.
        """
        layout = self._layouts.get(tuple(event)) if type(event) is dict else None
        if layout is not None:
            numbers = layout.plain_numbers(event)
            codes = self._plain_codes(event, layout) if layout.category_features else _NO_CODES
            if numbers is not None and codes is not None:
                values = np.empty(len(numbers))
                layout.pack(values, 0, *numbers)  # type: ignore[arg-type] # an array is a buffer, as Python 3.12 knows
                return layout.starts, layout.number_features, values, codes
        if not isinstance(event, Mapping):
            raise TypeError(f"an event is a dict of features, not {type(event).__name__}")
        return _stacked([self._row(event, learn, False, Counter())])

    def encode(
        self, events: Sequence[Event] | Columns, learn: NDArray[np.bool_], cells: bool, bad: Counter[FeatureName]
    ) -> Events:
        """Encode events, to be learned or not.

        Parameters
        ----------
        events
            The events. A block of them that is plain, that is with one set of keys and no value that asks for thought,
            is encoded column by column; what is not plain is halved until it is, or until it is small.
        learn
            For each event whether the new features and values in it get a number.
        cells
            Whether every value is a cell of text, as in CSV, that may stand for a number.
        bad
            Here the values that did not fit are counted, by feature.
        """
        pieces = list(self._pieces(events, learn, cells, bad))
        return pieces[0] if len(pieces) == 1 else _joined(pieces)

    def _pieces(
        self, events: Sequence[Event] | Columns, learn: NDArray[np.bool_], cells: bool, bad: Counter[FeatureName]
    ) -> Iterator[Events]:
        block = self._block(events, learn, cells)
        if block is not None:
            yield block
        elif len(events) > _SMALLEST_BLOCK:
            half = len(events) // 2
            yield from self._pieces(events[:half], learn[:half], cells, bad)
            yield from self._pieces(events[half:], learn[half:], cells, bad)
        else:
            yield _stacked([self._any_row(*each, cells, bad) for each in zip(events, learn.tolist(), strict=True)])

    def _any_row(self, event: Event, learn: bool, cells: bool, bad: Counter[FeatureName]) -> Row:
        layout = None if cells or type(event) is not dict else self._layouts.get(tuple(event))
        if layout is not None:
            numbers, codes = layout.plain_numbers(event), self._plain_codes(event, layout)
            if numbers is not None and codes is not None:
                return Row(layout.number_features, numbers, codes)
        return self._row(event, learn, cells, bad)

    def _layout(self, keys: tuple[Any, ...]) -> Layout:
        """Return the layout of events with these keys."""
        layout = self._layouts.get(keys)
        if layout is None:
            kinds: dict[Kind, dict[int, Any]] = {NUMERIC: {}, CATEGORICAL: {}}
            unknown = []
            for key in keys:
                if is_name(key) and key in self._features:
                    kind, feature = self._features[key]
                    kinds[kind][feature] = key
                else:
                    unknown.append(key)
            if len(self._layouts) >= _LAYOUTS:
                self._layouts.clear()
            layout = self._layouts[keys] = Layout(kinds[NUMERIC], kinds[CATEGORICAL], unknown)
        return layout

    def _plain_codes(self, event: Event, layout: Layout) -> Integers | None:
        """Return the codes of an event's categories if they are all known strings, or else None."""
        codes = []
        for feature, value in zip(layout.category_features, layout.categories(event), strict=True):
            code = self._vocabularies[feature].get(value) if type(value) is str else None
            if code is None:
                return None
            codes.append(code)
        return np.array(codes, dtype=np.int64)

    def _row(self, event: Event, learn: bool, cells: bool, bad: Counter[FeatureName]) -> Row:
        """Encode any event, key by key."""
        found, spoiled = flatten(event)
        if learn:
            self._register(found, cells)
        numbers: list[tuple[int, float]] = []
        categories: list[tuple[int, Category]] = []
        for name, value in found.items():
            if learn or name in self._features:
                kind, plain = self._read(name, value, cells)
                if kind == NUMERIC:
                    numbers.append((self._features[name][1], plain))
                elif kind == CATEGORICAL:
                    categories.append((self._features[name][1], plain))
                elif kind == BAD:
                    spoiled.append(name)
        bad.update(spoiled)
        if learn:
            self.bad_values.update(spoiled)
            self._layout(tuple(event))
        numbers.sort()
        categories.sort(key=itemgetter(0))
        codes = [self._code(feature, value, learn) for feature, value in categories]
        return Row([feature for feature, _ in numbers], [number for _, number in numbers], codes)

    def _register(self, found: Mapping[FeatureName, object], cells: bool) -> None:
        """Give each new name whose value can tell its kind a number, in the order of the names."""
        for name in sorted((name for name in found if name not in self._features), key=_by_type):
            kind = self._read(name, found[name], cells)[0]
            if kind == NUMERIC or kind == CATEGORICAL:  # noqa: PLR1714, SIM109 - types narrow by this
                self.add_feature(name, kind)

    def _read(self, name: FeatureName, value: object, cells: bool) -> Reading:
        """Return what a value is for the feature of this name: what its kind makes of it, and the plain value."""
        declared = self.declared.get(name)
        kind = self._features[name][0] if name in self._features else declared
        return read(value, kind, cells or declared == NUMERIC)

    def _code(self, feature: int, value: Category, learn: bool) -> int:
        if learn:
            return self.add_value(feature, value)
        return self._vocabularies[feature].get(category_key(value), -feature - 1)

    def _block(self, events: Sequence[Event] | Columns, learn: NDArray[np.bool_], cells: bool) -> Events | None:
        """Encode events that all have one set of keys and plain values, or return None and change nothing."""
        if len(events) <= _SMALLEST_BLOCK and not isinstance(events, Columns):
            return None
        names = events.names if isinstance(events, Columns) else tuple(events[0])
        picked = self._layout(names).pick(events, learn=bool(learn.any()))
        if picked is None:
            return None
        layout = self._layout(names)
        numbers = number_block(picked.numbers, len(events), cells=cells)
        codes = None if numbers is None else self._code_block(picked.categories, layout.category_features, learn)
        if numbers is None or codes is None:
            return None
        return (
            np.outer((numbers.shape[1], codes.shape[1]), np.arange(len(events) + 1)),
            np.tile(layout.number_features, len(events)),
            numbers.ravel(),
            codes.ravel(),
        )

    def _code_block(
        self, columns: Sequence[Column], features: Sequence[int], learn: NDArray[np.bool_]
    ) -> Integers | None:
        """Return the codes [event, feature] of columns of plain categories; None if some value is not plain."""
        if any(isinstance(column, np.ndarray) for column in columns):
            return None
        if not all(_PLAIN_CATEGORIES.issuperset(map(type, column)) for column in columns):
            return None
        block = np.empty((len(learn), len(features)), dtype=np.int64)
        unseen = []
        for place, (feature, column) in enumerate(zip(features, columns, strict=True)):
            vocabulary = self._vocabularies[feature]
            block[:, place] = [vocabulary.get(value, ABSENT) for value in column]
            unseen += [
                (event, place, feature, column[event])
                for event in np.flatnonzero(block[:, place] == ABSENT).tolist()
                if column[event] is not None
            ]
        if not all(value in (True, False) or is_text(value) for *_, value in unseen):
            return None
        for event, place, feature, value in sorted(unseen, key=itemgetter(0, 1)):
            block[event, place] = self._code(feature, value, bool(learn[event]))
        return block


def _by_type(name: FeatureName) -> tuple[bool, FeatureName]:
    return isinstance(name, str), name


def _stacked(rows: Sequence[Row]) -> Events:
    lengths = [(0, 0), *((len(row.numbers), len(row.codes)) for row in rows)]
    return (
        np.ascontiguousarray(np.cumsum(lengths, axis=0).T),
        np.array([feature for row in rows for feature in row.features], dtype=np.int64),
        np.array([number for row in rows for number in row.numbers], dtype=np.float64),
        np.array([code for row in rows for code in row.codes], dtype=np.int64),
    )


def _joined(pieces: Sequence[Events]) -> Events:
    starts, features, values, codes = zip(*pieces, strict=True)
    ends = np.cumsum([(0, 0), *(start[:, -1] for start in starts)], axis=0)
    shifted = [start[:, 1:] + end[:, None] for start, end in zip(starts, ends, strict=False)]
    return (
        np.concatenate([starts[0][:, :1], *shifted], axis=1),
        np.concatenate(features),
        np.concatenate(values),
        np.concatenate(codes),
    )
