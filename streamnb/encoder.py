"""Events to columns and values by kind, by way of the vocabulary; the bad values.

Law: encoding to predict changes nothing; encoding to learn numbers what is new by event, then by name, so that neither
the order of an event's keys nor the cuts between batches can be told from the result.
"""

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from operator import itemgetter
from typing import Any

import numpy as np
from numpy.typing import NDArray

from streamnb.arrays import ABSENT, CATEGORIES, TOKENS, Events, Integers
from streamnb.encoded import Row, joined, stacked
from streamnb.events import Columns, Event, flatten, is_name
from streamnb.layout import Column, Layout, number_block
from streamnb.values import (
    BAD,
    BAG,
    CATEGORICAL,
    MISSING,
    NUMERIC,
    TEXT,
    Bag,
    Category,
    FeatureName,
    Reading,
    category_key,
    is_missing,
    is_text,
    read,
)
from streamnb.vocabulary import Vocabulary

BEYOND = "(features beyond the bound)"
"""What the values of features are counted under that are not learned, since there are too many features."""

_NO_KIND = {MISSING, BAD}
_PLAIN_CATEGORIES = {str, bool, int, type(None)}
_LAYOUTS = 1_000  # kept at the most; streams with more combinations of keys are read key by key
_SMALLEST_BLOCK = 16  # events; fewer cost more to read as a block than one by one


class Encoder:
    """Turns events into `Events`, learning names, kinds and values as they come.

    Parameters
    ----------
    vocabulary
        The features and values met; those that are learned are added to it.
    tokens
        Cuts a text into its tokens.

    The code of a category or token is its column of the counts; a value without a column has the code -feature - 1.
    """

    def __init__(self, vocabulary: Vocabulary, tokens: Callable[[Any], Any]) -> None:
        self.vocabulary = vocabulary
        self.bad_values: Counter[FeatureName] = Counter()
        self._tokens = tokens
        self._layouts: dict[tuple[Any, ...], Layout] = {}

    def __getstate__(self) -> dict[str, object]:
        return {**self.__dict__, "_layouts": {}}  # made anew as events come

    def encode_one(self, event: Event, *, learn: bool) -> Events:
        """Encode one event; only if it is to be learned do new features and values get a number.

        Raises TypeError for what is no dict.
        """
        layout = self._layouts.get(tuple(event)) if type(event) is dict else None
        if layout is not None:
            numbers = layout.plain_numbers(event)
            codes = self._plain_codes(event, layout) if layout.category_features else ()
            if numbers is not None and codes is not None:
                values = np.empty(len(numbers))
                layout.pack(values, 0, *numbers)  # type: ignore[arg-type] # an array is a buffer, as Python 3.12 knows
                return layout.starts, layout.entries(codes), values
        if not isinstance(event, Mapping):
            raise TypeError(f"an event is a dict of features, not {type(event).__name__}")
        return stacked([self._row(event, learn, False, Counter())])

    def try_texts(self, events: Sequence[Event] | Columns) -> None:
        """Cut every text once for nothing: what a user's tokenizer raises is raised before anything is learned."""
        texts = [name for name, kind in self.vocabulary.declared.items() if kind == TEXT]
        for event in events if texts else ():
            found, _ = flatten(event, self.vocabulary.bags)
            for name in texts:
                self._tokens(found.get(name))

    def unknown(self, event: Event, *, cells: bool) -> tuple[list[FeatureName], Counter[FeatureName]]:
        """Return the features of an event that were never learned, and what it would add to the bad values."""
        found, spoiled = flatten(event, self.vocabulary.bags)
        new = []
        for name, value in found.items():
            kind = self._read(name, value, cells)[0]
            known = name in self.vocabulary.features
            gone = not known and name in self.bad_values and not is_missing(value)  # but for its bad values
            if kind == BAD or gone:
                spoiled.append(name)
            elif not known and kind != MISSING:
                new.append(name)
        beyond = [BEYOND] * len(new) if self.vocabulary.full else []
        return new, Counter([*(name if name in self.bad_values else BEYOND for name in spoiled), *beyond])

    def encode(
        self, events: Sequence[Event] | Columns, learn: NDArray[np.bool_], cells: bool, bad: Counter[FeatureName]
    ) -> Iterator[Events]:
        """Yield events, encoded, to be learned or not: all at once, or in several parts if values wait for a column.

        Each part is to be learned, and its newcomers given their columns, before the next one is asked for.

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
        held: list[Events] = []
        for piece in self._pieces(events, learn, cells, bad):
            held.append(piece)
            if self.vocabulary.newcomers:
                yield joined(held)
                held = []
        if held:
            yield joined(held)

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
            rows: list[Row] = []
            for event, learned in zip(events, learn.tolist(), strict=True):
                rows.append(self._any_row(event, learned, cells, bad))
                if self.vocabulary.newcomers:
                    yield stacked(rows)
                    rows = []
            if rows or not len(events):
                yield stacked(rows)

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
            kinds: dict[str, dict[int, Any]] = {NUMERIC: {}, CATEGORICAL: {}}
            unknown, bags = [], False
            for key in keys:
                kind, feature = self.vocabulary.features.get(key, (None, 0)) if is_name(key) else (None, 0)
                if kind is None:
                    unknown.append(key)
                elif kind in kinds:
                    kinds[kind][feature] = key
                else:
                    bags = True
            if len(self._layouts) >= _LAYOUTS:
                self._layouts.clear()
            layout = self._layouts[keys] = Layout(kinds[NUMERIC], kinds[CATEGORICAL], unknown, bags=bags)
        return layout

    def _plain_codes(self, event: Event, layout: Layout) -> list[int] | None:
        """Return the codes of an event's categories if they are all known strings or integers, or else None."""
        codes = []
        for feature, value in zip(layout.category_features, layout.categories(event), strict=True):
            kind = type(value)
            key = value if kind is str else category_key(value) if kind is int else None
            code = None if key is None else self.vocabulary.codes[feature].get(key)
            if code is None:
                return None
            codes.append(code)
        return codes

    def _row(self, event: Event, learn: bool, cells: bool, bad: Counter[FeatureName]) -> Row:
        """Encode any event, key by key."""
        vocabulary = self.vocabulary
        found, spoiled = flatten(event, vocabulary.bags)
        readings = {name: self._read(name, value, cells) for name, value in found.items()}
        if learn:
            self._register(readings)
        numbers: list[tuple[int, float]] = []
        categories: list[tuple[int, Category]] = []
        bags: list[tuple[int, Bag]] = []
        for name, (kind, plain) in readings.items():
            _, feature = vocabulary.features.get(name, (None, -1))
            if kind == BAD:
                if learn or feature >= 0:
                    spoiled.append(name)
            elif feature < 0:
                if learn and kind != MISSING:
                    spoiled.append(BEYOND)
            elif kind == NUMERIC:
                numbers.append((feature, plain))
            elif kind == CATEGORICAL:
                categories.append((feature, plain))
            elif kind == BAG:
                bags.append((feature, plain))
        self._count_bad(spoiled, bad, learn=learn)
        if learn:
            self._layout(tuple(event))
        numbers.sort()
        categories.sort(key=itemgetter(0))
        bags.sort(key=itemgetter(0))
        codes = [self._code(feature, value, learn) for feature, value in categories]
        tokens = [token for feature, bag in bags for token in self._bag(feature, bag, learn)]
        return Row([feature for feature, _ in numbers], [number for _, number in numbers], codes, tokens)

    def _register(self, readings: Mapping[FeatureName, Reading]) -> None:
        """Give each new name whose value can tell its kind a number, in the order of the names."""
        vocabulary = self.vocabulary
        new = [name for name, (kind, _) in readings.items() if name not in vocabulary.features and kind not in _NO_KIND]
        for name in sorted(new, key=_by_type):
            if not vocabulary.full:
                vocabulary.add_feature(name, vocabulary.declared.get(name, readings[name][0]))  # type: ignore[arg-type]
                self._layouts.clear()

    def _read(self, name: FeatureName, value: object, cells: bool) -> Reading:
        """Return what a value is for the feature of this name: what its kind makes of it, and the plain value."""
        kind = self.vocabulary.kind(name)
        if kind == TEXT:
            value = self._tokens(value)
        reading = read(value, kind, cells or self.vocabulary.declared.get(name) == NUMERIC)
        return (MISSING, None) if reading == (BAG, {}) and not self.vocabulary.empty_bags else reading

    def _count_bad(self, spoiled: Sequence[FeatureName], bad: Counter[FeatureName], *, learn: bool) -> None:
        """Count bad values by feature; under one name those of features beyond the bound on features."""
        most = self.vocabulary.max_features
        for name in spoiled:
            for counter in (bad, self.bad_values) if learn else (bad,):
                beyond = most is not None and name not in self.vocabulary.features and len(counter) > most
                counter[BEYOND if beyond else name] += 1

    def _code(self, feature: int, value: Category, learn: bool) -> int:
        return self.vocabulary.add_value(feature, value) if learn else self.vocabulary.find_value(feature, value)

    def _bag(self, feature: int, bag: Bag, learn: bool) -> list[tuple[int, float]]:
        """Return the head of a bag and its tokens, each with how often it came: those with a column, by it, come first.

        New tokens are the last either way, whether the event is only predicted or they have just got their columns.
        """
        vocabulary = self.vocabulary
        tokens = [
            (vocabulary.add_value(feature, token, times) if learn else vocabulary.find_value(feature, token), times)
            for token, times in bag.items()
        ]
        tokens.sort(key=_seen_first)
        return [(-feature - 1, 0.0), *tokens]

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
        starts = np.outer((numbers.shape[1], codes.shape[1], 0), np.arange(len(events) + 1))
        starts[[CATEGORIES, TOKENS]] += numbers.size
        features = np.tile(layout.number_features, len(events))
        return starts, np.concatenate((features, codes.ravel())) if codes.size else features, numbers.ravel()

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
            known = self.vocabulary.codes[feature]
            keys = map(category_key, column) if int in set(map(type, column)) else column
            block[:, place] = [ABSENT if key is None else known.get(key, ABSENT) for key in keys]
            unseen += [
                (event, place, feature, column[event])
                for event in np.flatnonzero(block[:, place] == ABSENT).tolist()
                if column[event] is not None
            ]
        if not all(_is_plain(value) for *_, value in unseen):
            return None
        if self.vocabulary.max_values is not None and any(learn[event] for event, *_ in unseen):
            return None  # a new value may have to wait for a column
        for event, place, feature, value in sorted(unseen, key=itemgetter(0, 1)):
            block[event, place] = self._code(feature, value, bool(learn[event]))
        return block


def _is_plain(value: Any) -> bool:
    """Tell whether a string, boolean or integer is a category as it stands."""
    return is_text(value) if type(value) is str else -(2**63) <= value < 2**63


def _seen_first(token: tuple[int, float]) -> tuple[bool, int]:
    return token[0] < 0, token[0]


def _by_type(name: FeatureName) -> tuple[bool, FeatureName]:
    return isinstance(name, str), name
