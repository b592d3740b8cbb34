"""What a model has met: features with their kinds and numbers, and values with their columns.

Law: a feature keeps its kind and its number. A value keeps its column, except that where the number of values is
bounded a rare one gives it up, and joins the column that the rare values of its feature share.
"""

import copy
from collections.abc import Container, Mapping, Sequence
from itertools import compress
from typing import NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from streamnb.arrays import Integers
from streamnb.values import BAGS, NUMERIC, Category, FeatureName, Kind, category_key


class Newcomer(NamedTuple):
    """A value that waits for a column to be freed for it: its feature, itself, and how often it came."""

    feature: int
    value: Category
    times: float


class Used(NamedTuple):
    """For each numeric feature, counted feature and column, whether there is anything in it."""

    numeric: NDArray[np.bool_]
    counted: NDArray[np.bool_]
    columns: NDArray[np.bool_]


class Places(NamedTuple):
    """Where the numeric features, counted features and columns of a vocabulary are in another; -1 for nowhere.

    And, where numbers have bins, where these are.
    """

    numeric: Integers
    counted: Integers
    columns: Integers
    bins: Integers = np.empty(0, dtype=np.int64)


class Vocabulary:
    """The features and values met, numbered in the order in which they were added.

    Parameters
    ----------
    declared
        The kind of each feature that is not to be told by its first value.
    max_values
        How many values of a feature get a column of their own; None for all.
    max_features
        How many features are learned; None for all.
    empty_bags
        Whether a bag without tokens tells something, and is not the same as none.

    Numeric features have numbers of their own; those of the others, which are counted, share the table of counts. The
    column that the rare values of a feature share has the value None.

    >>> vocabulary = Vocabulary({}, max_values=1, max_features=None)
    >>> vocabulary.add_feature("color", "categorical")
    >>> [vocabulary.add_value(0, value) for value in ("red", "blue", "red", "green")]
    [0, 1, 0, 1]
    >>> vocabulary.values, vocabulary.newcomers[0]
    (['red', None], Newcomer(feature=0, value='blue', times=1.0))
    """

    def __init__(
        self,
        declared: Mapping[FeatureName, Kind],
        max_values: int | None,
        max_features: int | None,
        *,
        empty_bags: bool = False,
    ) -> None:
        self.declared = dict(declared)
        self.max_values = max_values
        self.max_features = max_features
        self.empty_bags = empty_bags
        self.features: dict[FeatureName, tuple[Kind, int]] = {}
        self.numeric: list[FeatureName] = []
        self.counted: list[FeatureName] = []
        self.values: list[Category | None] = []
        self.owners: list[int] = []
        self.codes: list[dict[object, int]] = []
        self.newcomers: list[Newcomer] = []
        self.registered = 0  # features and values that came new: when this grows, so may the tables have to
        self._bags = {name for name, kind in declared.items() if kind in BAGS}
        self._columns: dict[int, Integers] = {}

    @property
    def bags(self) -> Container[FeatureName]:
        """The names of the features whose value is a bag."""
        return self._bags

    @property
    def full(self) -> bool:
        """Whether no feature can be added."""
        return self.max_features is not None and len(self.features) >= self.max_features

    def schema(self) -> dict[FeatureName, Kind]:
        """Return the kind of each feature."""
        return {name: kind for name, (kind, _) in self.features.items()}

    def copy(self) -> Self:
        """Return the same again, to be added to apart."""
        twin = copy.copy(self)
        for name, held in vars(self).items():
            if isinstance(held, dict | list | set):
                setattr(twin, name, held.copy())
        twin.codes = [codes.copy() for codes in self.codes]
        return twin

    def kind(self, name: FeatureName) -> Kind | None:
        """Return the kind of a feature, as fixed or else as declared; None where nothing has told it."""
        known = self.features.get(name)
        return self.declared.get(name) if known is None else known[0]

    def add_feature(self, name: FeatureName, kind: Kind) -> None:
        """Give a new feature its kind and its number."""
        names = self.numeric if kind == NUMERIC else self.counted
        self.features[name] = (kind, len(names))
        names.append(name)
        self.registered += 1
        if kind != NUMERIC:
            self.codes.append({})
        if kind in BAGS:
            self._bags.add(name)

    def add_value(self, feature: int, value: Category | None, times: float = 1.0) -> int:
        """Return the column to count a value in: its own, the next free one if it is new, or that of the rare ones.

        Parameters
        ----------
        value
            The value; None for all rare ones together.
        times
            How often it came.
        """
        codes = self.codes[feature]
        key = category_key(value)
        code = codes.get(key)
        if code is not None:
            return code
        if value is not None and self.max_values is not None and len(codes) - (None in codes) >= self.max_values:
            self.newcomers.append(Newcomer(feature, value, times))
            self.registered += 1
            return self.add_value(feature, None)
        code = codes[key] = len(self.values)
        self.values.append(value)
        self.owners.append(feature)
        self.registered += 1
        self._columns.pop(feature, None)
        return code

    def find_value(self, feature: int, value: Category) -> int:
        """Return the column that tells of a value: its own, or that of the rare ones, or -feature - 1 for none."""
        codes = self.codes[feature]
        code = codes.get(category_key(value))
        return codes.get(None, -feature - 1) if code is None else code

    def owner(self, code: int) -> int:
        """Return the feature that a code tells of, whether it is a column's or a value's that has none."""
        return self.owners[code] if code >= 0 else -code - 1

    def columns(self, feature: int) -> Integers:
        """Return the columns of the values of a feature that have their own, ascending."""
        columns = self._columns.get(feature)
        if columns is None:
            own = [code for key, code in self.codes[feature].items() if key is not None]
            columns = self._columns[feature] = np.array(sorted(own), dtype=np.int64)
        return columns

    def replace(self, code: int, value: Category) -> None:
        """Give a column to another value of its feature."""
        codes = self.codes[self.owners[code]]
        old = self.values[code]
        if old is None:
            raise ValueError("the column of the rare values stays theirs")
        del codes[category_key(old)]
        codes[category_key(value)] = code
        self.values[code] = value

    def restore_values(self, owners: Sequence[int], values: Sequence[Category | None]) -> None:
        """Give columns to the values of features, as they were.

        Raises ValueError where one comes twice.
        """
        for feature, value in zip(owners, values, strict=True):
            codes = self.codes[feature]
            codes[category_key(value)] = len(self.values)
            self.values.append(value)
        self.owners += owners
        self.registered += len(owners)
        if sum(map(len, self.codes)) < len(owners):
            raise ValueError("a value twice")

    def absorb(self, other: Self, used: Used) -> Places:
        """Add what is used of another vocabulary; return where all of it is in this one.

        More values may come than the bound allows, for the caller to reduce; features beyond their bound get no place.

        Raises ValueError for a feature of two kinds; nothing is changed then.
        """
        coming = {*compress(other.numeric, used.numeric), *compress(other.counted, used.counted)}
        for name, (kind, _) in other.features.items():
            if name in coming and name in self.features and self.features[name][0] != kind:
                raise ValueError(f"the feature {name!r} is {self.features[name][0]} in one and {kind} in another")
        for name, (kind, _) in other.features.items():
            if name in coming and name not in self.features and not self.full:
                self.add_feature(name, kind)
        numeric, counted = (
            np.array([self._number(name) if name in coming else -1 for name in names], dtype=np.int64)
            for names in (other.numeric, other.counted)
        )
        return Places(numeric, counted, self._absorb_values(other, counted, used.columns))

    def _number(self, name: FeatureName) -> int:
        return self.features[name][1] if name in self.features else -1

    def _absorb_values(self, other: Self, features: Integers, used: NDArray[np.bool_]) -> Integers:
        """Return for each used column of another vocabulary the column of its value here, new ones in their order."""
        places = np.full(len(other.values), -1, dtype=np.int64)
        coming: dict[int, tuple[list[object], Integers]] = {}
        for feature, (codes, here) in enumerate(zip(other.codes, features.tolist(), strict=True)):
            if here < 0:
                continue
            columns = np.fromiter(codes.values(), np.int64, len(codes))
            known = np.array(list(map(self.codes[here].get, codes)), dtype=np.float64)  # NaN for a new one
            new = np.isnan(known)
            places[columns[~new]] = known[~new]
            new &= used[columns]
            coming[feature] = list(compress(codes, new.tolist())), columns[new]
        order = np.sort(np.concatenate([columns for _, columns in coming.values()] or [np.empty(0, dtype=np.int64)]))
        places[order] = np.arange(len(self.values), len(self.values) + len(order))
        self.values += [other.values[column] for column in order.tolist()]
        owners = np.array(other.owners, dtype=np.int64)[order]
        self.owners += features[owners].tolist()
        for feature, (keys, columns) in coming.items():
            self.codes[features[feature]].update(zip(keys, places[columns].tolist(), strict=True))
        self.registered += len(order)
        self._columns.clear()
        places[~used] = -1
        return places
