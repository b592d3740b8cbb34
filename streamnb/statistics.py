"""What a model has learned: labels, vocabulary, tables and clock, and the algebra over them.

Law: the statistics of parts add up to those of the whole, in any order up to rounding; what has no weight is as if it
had never been.
"""

import copy
import math
from collections.abc import Mapping, Sequence
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from streamnb.arrays import GIVEN, MOMENTS, NUMBERS, UNIT, WEIGHT, Events, Floats, Integers, Tables
from streamnb.clock import Clock
from streamnb.kernels.fade import fade_weights
from streamnb.labels import Label, Labels
from streamnb.settings import Settings
from streamnb.tables import Counts, Moments, grown
from streamnb.vocabulary import Places, Used, Vocabulary


class Statistics:
    """All that is learned from a stream, or from a part of it.

    `settings` are those of the model; `weights` [row, slot] has the rows that arrays.py names, with room to spare; see
    tables.py for moments and counts.
    """

    labels: Labels
    vocabulary: Vocabulary

    def __init__(self, settings: Settings, names: "Statistics | None" = None) -> None:
        """Begin with nothing learned; `names` are statistics to share labels and vocabulary with."""
        self.settings = settings
        if names is None:
            self.labels = Labels([*settings.known, *(label for label, _ in settings.given)])
            self.vocabulary = Vocabulary(
                settings.kinds or {},
                settings.max_values,
                settings.max_features,
                empty_bags=settings.bags == "bernoulli",
            )
        else:
            self.labels, self.vocabulary = names.labels, names.vocabulary
        self.clock = Clock(settings.half_life) if settings.half_life is not None and settings.decays else None
        self.weights: Floats = np.zeros((3, 1))
        self.moments = Moments()
        self.counts = Counts()

    @property
    def slots(self) -> int:
        """How many slots of the class axes are used."""
        return len(self.labels.names) + 1

    @property
    def unit(self) -> float:
        """What an event of now weighs as it is stored."""
        return self.clock.unit if self.clock is not None else 1.0

    def reserve(self) -> None:
        """Make room for every feature, value and class that has a number."""
        vocabulary, slots = self.vocabulary, self.slots
        self.weights = grown(self.weights, (3, slots))
        self.moments.reserve(len(vocabulary.numeric), slots)
        self.counts.reserve(len(vocabulary.counted), vocabulary.owners, slots)

    def copy(self, names: "Statistics | None" = None) -> Self:
        """Return the same again, to be changed apart; `names` are statistics to share labels and vocabulary with."""
        twin = copy.copy(self)
        twin.clock = copy.deepcopy(self.clock)
        twin.labels = copy.deepcopy(self.labels) if names is None else names.labels
        twin.vocabulary = self.vocabulary.copy() if names is None else names.vocabulary
        twin.weights = self.weights.copy()
        twin.moments, twin.counts = copy.deepcopy(self.moments), copy.deepcopy(self.counts)
        return twin

    def give_priors(self, given: Sequence[tuple[Label, float]]) -> None:
        """Note the prior probabilities that the user gave."""
        codes = [self.labels.add(label) for label, _ in given]
        self.reserve()
        self.weights[GIVEN] = 0.0
        for code, (_, share) in zip(codes, given, strict=True):
            self.weights[GIVEN, code + 1] = share

    def tables(self, settings: Floats) -> Tables:
        """Return the arrays, with room for all that has a number, as the kernels take them."""
        self.reserve()
        counts = self.counts
        settings[UNIT] = self.unit
        return Tables(
            self.weights,
            self.moments.array,
            counts.array,
            counts.totals,
            counts.distinct,
            counts.owner,
            settings,
            len(self.labels.names),
        )

    def move(self, landmark: float) -> None:
        """Move the landmark of the clock, and scale what is stored accordingly."""
        if self.clock is not None and landmark != self.clock.landmark:
            self._fade(self.clock.move(landmark))

    def _fade(self, factor: float) -> None:
        fade_weights(self.weights[: WEIGHT + 1], factor)
        self.moments.fade(factor)
        self.counts.fade(factor)

    def admit(self, amount: float) -> None:
        """Give each value that waits for a column that of the least value of its feature, which joins the rare ones.

        Slot 0 of the column goes on from what it was, so that it counts at least the whole weight of its value; a value
        with more than its share of the feature's weight always has a column.

        Metwally, A., Agrawal, D. and El Abbadi, A. (2005). Efficient computation of frequent and top-k elements in data
        streams. ICDT.

        Parameters
        ----------
        amount
            The weight of the event that brought the newcomers.
        """
        vocabulary = self.vocabulary
        newcomers, vocabulary.newcomers = vocabulary.newcomers if amount > 0.0 else [], []
        for feature, value, times in newcomers:
            columns = vocabulary.columns(feature)
            least = int(columns[self.counts.array[columns, 0].argmin()])
            self.hand_over(feature, least, amount, times)
            vocabulary.replace(least, value)

    def hand_over(self, feature: int, column: int, amount: float, times: float) -> None:
        """Move what a column has counted to the rare values, and give it the weight of a newcomer."""
        self._join_rare(feature, np.array([column]))
        if self.counts.array[column, 0] == 0.0 and amount > 0.0:  # all of it had faded
            self.counts.distinct[feature] += 1.0
        self.counts.array[column, 0] += amount * (1.0 if self.settings.bags == "bernoulli" else times)

    def _join_rare(self, feature: int, columns: Integers) -> None:
        """Move what columns of a feature have counted, by class, to that which its rare values share."""
        counts, rare = self.counts.array, self.vocabulary.add_value(feature, None)
        joining = counts[columns, 1:]
        if counts[rare, 0] == 0.0 and joining.any():  # all of theirs had faded
            self.counts.distinct[feature] += 1.0
        counts[rare, 1:] += joining.sum(axis=0)
        counts[rare, 0] += joining.sum()
        counts[columns, 1:] = 0.0

    def add(self, other: Self) -> None:
        """Add the statistics of another part of the stream.

        Raises ValueError for a feature of two kinds; nothing is changed then.

        Columns of bounded features are merged as by Agarwal, P. K. and others (2012). Mergeable summaries. PODS.
        """
        missed = self.missed(), other.missed()
        self.join(other, self.vocabulary.absorb(other.vocabulary, other.used()), *missed)

    def join(self, other: Self, places: Places, mine: Mapping[int, float], theirs: Mapping[int, float]) -> None:
        """Add the statistics of another part of the stream, whose names have found their places here.

        Parameters
        ----------
        mine, theirs
            What `missed` told of the two parts before.
        """
        if self.clock is not None and other.clock is not None:
            clocks = self.clock, other.clock
            landmark = max((clock.landmark for clock in clocks if clock.newest > -math.inf), default=0.0)
            newest = max(clock.newest for clock in clocks)
            if other.clock.landmark != landmark:
                other = other.copy()
            self.move(landmark)
            other.move(landmark)
            self.clock.restore(landmark, newest)
        there = np.array([0, *filter(other.has_class, range(1, other.slots))])
        here = np.array([self.labels.add(other.labels[slot - 1]) + 1 if slot else 0 for slot in there.tolist()])
        self.reserve()
        self._join_tables(other, places, there, here)
        if self.vocabulary.max_values is not None:
            self._credit(other, places, mine, theirs)
        counted, columns = np.flatnonzero(places.counted >= 0), np.flatnonzero(places.columns >= 0)
        self.counts.add(
            other.counts.array[np.ix_(columns, there)],
            other.counts.totals[np.ix_(counted, there)],
            places.columns[columns],
            places.counted[counted],
            here,
        )

    def _join_tables(self, other: Self, places: Places, there: Integers, here: Integers) -> None:
        """Add weights and moments, of some slots of another part to some slots here."""
        self.weights[:GIVEN, here] += other.weights[:GIVEN, there]
        numeric = np.flatnonzero(places.numeric >= 0)
        self.moments.add(other.moments.array[np.ix_(numeric, np.arange(MOMENTS), there)], places.numeric[numeric], here)

    def has_class(self, slot: int) -> bool:
        """Tell whether anything is left of a class."""
        return bool(self.weights[:GIVEN, slot].any())

    def missed(self) -> dict[int, float]:
        """Return for each feature with rare values the most that any of these may have weighed."""
        if self.vocabulary.max_values is None:
            return {}
        rare = [feature for feature, codes in enumerate(self.vocabulary.codes) if None in codes]
        return {feature: self.counts.array[self.vocabulary.columns(feature), 0].min().item() for feature in rare}

    def _credit(self, other: Self, places: Places, mine: Mapping[int, float], theirs: Mapping[int, float]) -> None:
        """Add to slot 0 of the columns that only one of two parts has what the other may have missed of their value."""
        for feature, here in enumerate(places.counted.tolist()):
            if here >= 0:
                columns = self.vocabulary.columns(here)
                new = self.counts.array[columns, 0] == 0.0
                shared = np.isin(columns, places.columns[other.vocabulary.columns(feature)])
                self.counts.array[columns[new], 0] += mine.get(here, 0.0)
                self.counts.array[columns[~new & ~shared], 0] += theirs.get(feature, 0.0)

    def used(self) -> Used:
        """Return which features and columns have any weight."""
        vocabulary, counts = self.vocabulary, self.counts
        return Used(
            self.moments.array[: len(vocabulary.numeric), 0, 0] > 0.0,
            counts.totals[: len(vocabulary.counted), 0] > 0.0,
            counts.array[: len(vocabulary.values), 0] > 0.0,
        )

    def is_empty(self, event: Events, slot: int) -> bool:
        """Tell whether nothing is left of a class, or of a feature or a value of one encoded event."""
        starts, entries, _ = event
        numbers = entries[: starts[NUMBERS, 1]]
        codes = entries[starts[NUMBERS, 1] :]
        columns = codes[codes >= 0]
        counted = np.concatenate((self.counts.owner[columns], -codes[codes < 0] - 1))
        left = (
            self.weights[WEIGHT, slot],
            self.moments.array[numbers, 0, 0],
            self.counts.totals[counted, 0],
            self.counts.array[columns, 0],
        )
        return not all(map(np.all, left))

    def packed(self) -> Self:
        """Return the same without the classes, features and columns in which nothing is left."""
        packed = type(self)(self.settings)
        packed.add(self)
        return packed

    def bounded(self) -> Self:
        """Return the same, or where it has more values than the bound allows, with the least of them among the rare."""
        excess = self.excess()
        for feature, columns in excess:
            self.give_up(feature, columns)
        return self.packed() if excess else self

    def excess(self) -> list[tuple[int, Integers]]:
        """Return the columns of the least values of features that have more than the bound allows, with their feature.

        The rare values of each of these features have a column then.
        """
        most = self.vocabulary.max_values
        if most is None:
            return []
        columns_of = map(self.vocabulary.columns, range(len(self.vocabulary.counted)))
        found = [(feature, columns) for feature, columns in enumerate(columns_of) if len(columns) > most]
        for feature, _ in found:
            self.vocabulary.add_value(feature, None)
        weights = self.counts.array[:, 0]
        return [
            (feature, columns[np.argsort(weights[columns], kind="stable")][: len(columns) - most])
            for feature, columns in found
        ]

    def give_up(self, feature: int, columns: Integers) -> None:
        """Move what columns of a feature have counted to its rare values."""
        self.reserve()
        self._join_rare(feature, columns)
        self.counts.array[columns, 0] = 0.0

    def to_state(self) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
        """Return all that there is: plain values, and arrays cut to what is used."""
        vocabulary, counts, slots = self.vocabulary, self.counts, self.slots
        numeric, counted, columns = len(vocabulary.numeric), len(vocabulary.counted), len(vocabulary.values)
        plain = {
            "classes": list(self.labels),
            "features": list(vocabulary.schema().items()),
            "values": vocabulary.values,
            "clock": None if self.clock is None else [self.clock.landmark, _or_none(self.clock.newest)],
        }
        arrays = {
            "weights": self.weights[:GIVEN, :slots],
            "moments": self.moments.array[:numeric, :, :slots],
            "owner": np.array(vocabulary.owners, dtype=np.int64),
            "counts": counts.array[:columns, :slots],
            "totals": counts.totals[:counted, :slots],
            "distinct": counts.distinct[:counted],
        }
        return plain, arrays

    def restore(self, plain: Mapping[str, Any], arrays: Mapping[str, NDArray[Any]]) -> None:
        """Make statistics in which nothing has been learned those whose `to_state` this is.

        Raises ValueError for what cannot be.
        """
        self.restore_names(plain, arrays)
        self.restore_tables(plain.get("clock"), arrays)

    def restore_names(self, plain: Mapping[str, Any], arrays: Mapping[str, NDArray[Any]]) -> None:
        """Restore labels, features and values."""
        for name, kind in plain["features"]:
            self.vocabulary.add_feature(name, kind)
        self.vocabulary.restore_values(arrays["owner"].tolist(), plain["values"])
        self.labels = Labels(plain["classes"])
        if len(self.vocabulary.features) < len(plain["features"]) or len(self.labels.names) < len(plain["classes"]):
            raise ValueError("a name twice")

    def restore_tables(self, clock: Sequence[Any] | None, arrays: Mapping[str, NDArray[Any]]) -> None:
        """Restore clock and tables, for names that are there."""
        self.reserve()
        _, places = self.to_state()
        if arrays["weights"].ndim == 1:  # as in version 1: each event weighed 1, and none was unlearned
            moments = np.pad(arrays["moments"], ((0, 0), (0, MOMENTS - 3), (0, 0)))
            arrays = {**arrays, "weights": np.stack((arrays["weights"],) * 2), "moments": moments}
        for key, place in places.items():
            if arrays[key].shape != place.shape or arrays[key].dtype != place.dtype:
                raise ValueError(f"{key} of the shape {arrays[key].shape}, not {place.shape}")
            weights = arrays[key][:, (0, 2)] if place.ndim == 3 else arrays[key]  # a mean may be negative
            if not np.isfinite(arrays[key]).all() or (weights < 0.0).any():
                raise ValueError(f"{key} that are negative or not finite")
            place[:] = arrays[key]
        if self.clock is not None and clock is not None:
            landmark, newest = clock
            self.clock.restore(landmark, -math.inf if newest is None else newest)


def _or_none(time: float) -> float | None:
    return None if math.isinf(time) else time
