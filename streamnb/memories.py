"""Several memories of one stream: statistics with one vocabulary, each with its half-life, and their weighting.

Law: the tables of each memory are those of naive Bayes with its half-life; parts of a stream add up, tables exactly.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from streamnb.arrays import (
    BIN,
    BINNED,
    CHANGE,
    CURVE,
    EVENTS,
    FITS,
    HALF_LIFE,
    LANDMARK,
    MIXED,
    NEWEST,
    RESIDUE,
    UNIT_NOW,
    Events,
    Floats,
)
from streamnb.bins import Bins
from streamnb.kernels.bins import bin_of, find_bin, has_bins, has_logs
from streamnb.kernels.evidence import chosen
from streamnb.kernels.remember import amount_of, forget_numbers
from streamnb.kernels.unlearn import unlearn
from streamnb.likelihoods import Likelihoods
from streamnb.memory import Memory
from streamnb.settings import Settings
from streamnb.tables import grown
from streamnb.unlearn import Claim
from streamnb.values import NUMERIC, Kind
from streamnb.weighting import Size, Weighting


class Memories:
    """Several memories, the longest last, and what was learned of how to weigh them.

    Parameters
    ----------
    settings
        What all memories have in common.
    half_lives
        Those of the memories, ascending; infinity for one that never forgets.
    likelihoods
        What is expected of numbers.

    References
    ----------
    Zaidi, N. A., Cerquides, J., Carman, M. J. and Webb, G. I. (2013). Alleviating naive Bayes attribute independence
    assumption by attribute weighting. Journal of Machine Learning Research 14.
    """

    def __init__(self, settings: Settings, half_lives: Sequence[float], likelihoods: Likelihoods) -> None:
        self.settings = settings
        self.half_lives = tuple(half_lives)
        self.likelihoods = likelihoods
        self.each: list[Memory] = []
        bins = Bins()
        for half_life in half_lives:
            own = replace(settings, half_life=half_life if math.isfinite(half_life) else None)
            names = self.each[0] if self.each else None
            self.each.append(Memory(own, bins, logs=likelihoods.logs, names=names))
        self.weighting = Weighting(len(self.each))
        self.expected: Floats = np.zeros((0, likelihoods.places))
        self._expected = 0
        self._stacks: dict[str, Floats] = {}
        self.clocks: Floats = np.zeros((len(self.each), 4))
        self.share_clocks()

    def share_clocks(self) -> None:
        """Keep the time of each memory where the kernels find it."""
        self.clocks[:, HALF_LIFE] = self.half_lives
        self.clocks[:, [LANDMARK, NEWEST, UNIT_NOW]] = 0.0, -np.inf, 1.0
        for row, memory in zip(self.clocks, self.each, strict=True):
            if memory.clock is not None:
                memory.clock.keep_in(row[LANDMARK:])

    def __getstate__(self) -> dict[str, object]:
        return {**self.__dict__, "_stacks": {}}  # a copy has to make its own

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self.share_clocks()

    @property
    def longest(self) -> Memory:
        """The memory that forgets last."""
        return self.each[-1]

    @property
    def bins(self) -> Bins:
        """The bins that numbers have fallen into."""
        return self.longest.bins

    @property
    def size(self) -> Size:
        """How many there are of everything."""
        vocabulary = self.longest.vocabulary
        return Size(
            len(vocabulary.numeric),
            len(vocabulary.counted),
            len(vocabulary.values),
            len(self.bins),
            len(self.longest.labels.names),
        )

    def reserve(self) -> None:
        """Make room for all that has a number."""
        for memory in self.each:
            memory.reserve()
        size = self.size
        self.weighting.reserve(replace(size, bins=len(self.bins.keys)))
        self.expected = grown(self.expected, (size.numeric, self.likelihoods.places))
        for feature, name in enumerate(self.longest.vocabulary.numeric[self._expected :], start=self._expected):
            self.expected[feature] = self.likelihoods.row(name)
        self._expected = size.numeric

    def tables(self, settings: Floats) -> tuple[Any, ...]:
        """Return the arrays, with room for all that has a number, as the kernels take them."""
        self.reserve()
        each, bins = self.each, self.bins
        tables = (
            self._stack("weights", each, "weights").reshape(len(each), 3, -1),
            self._stack("moments", [memory.moments for memory in each], "array"),
            self._stack("logs", [memory.logs for memory in each], "array"),
            self._stack("counts", [memory.counts for memory in each], "array"),
            self._stack("totals", [memory.counts for memory in each], "totals"),
            self._stack("distinct", [memory.counts for memory in each], "distinct"),
            self.longest.counts.owner,
            self._stack("binned", each, "binned"),
        )
        rest = (bins.keys, bins.index, bins.distinct, self.expected, self.clocks, settings)
        return (*tables, *rest, *self.weighting.arrays(), len(self.longest.labels.names))

    def _stack(self, name: str, parts: Sequence[object], attribute: str) -> Floats:
        """Return the arrays of all memories, one below the other in one that each of them is from now on a part of."""
        arrays = [getattr(part, attribute) for part in parts]
        stack = self._stacks.get(name)
        if stack is None or any(array.base is not stack for array in arrays):
            stack = self._stacks[name] = np.stack(arrays)
            for part, array in zip(parts, stack, strict=True):
                setattr(part, attribute, array)
        return stack.reshape(-1, *stack.shape[2:])

    def give_priors(self) -> None:
        """Note the prior probabilities that the user gave."""
        for memory in self.each:
            memory.give_priors(self.settings.given)

    def copy(self) -> Self:
        """Return the same again, to be changed apart."""
        twin = type(self)(self.settings, self.half_lives, self.likelihoods)
        first = self.each[0].copy()
        twin.each = [first, *(memory.copy(first) for memory in self.each[1:])]
        twin.weighting, twin.expected = self.weighting.copy(), self.expected.copy()
        twin._expected = self._expected  # noqa: SLF001 - one of its own kind
        twin.share_clocks()
        return twin

    def add(self, other: Self) -> None:
        """Add the memories of another part of the stream.

        Raises ValueError for a feature of two kinds; nothing is changed then.
        """
        before, events = self.size, (float(self.longest.weights[EVENTS, 0]), float(other.longest.weights[EVENTS, 0]))
        vocabulary = self.longest.vocabulary
        missed = [(mine.missed(), theirs.missed()) for mine, theirs in zip(self.each, other.each, strict=True)]
        places = vocabulary.absorb(other.longest.vocabulary, other.longest.used())  # which has what any memory has
        used = other.longest.binned[: len(other.bins), 0] > 0.0
        places = places._replace(bins=self.bins.absorb(other.bins.keys[: len(used)], used, places.numeric))
        for mine, theirs, both in reversed(list(zip(self.each, other.each, missed, strict=True))):
            mine.join(theirs, places, *both)
        self.reserve()
        labels, theirs_labels = self.longest.labels, other.longest.labels
        codes = [labels.find(label) for label in theirs_labels]
        classes = np.array([-1 if code is None else code for code in codes], dtype=np.int64)
        self.weighting.add(other.weighting, before, places, classes, events)
        there = np.flatnonzero(places.numeric >= 0)
        self.expected[places.numeric[there], FITS : FITS + 3] += other.expected[there, FITS : FITS + 3]

    def weights_of(self, kind: Kind, feature: int) -> Floats:
        """Return the weight of a feature in each memory; of a number, that of its parts together."""
        if kind != NUMERIC:
            return 1.0 + self.weighting.counted_weights[feature, :, CHANGE]
        curve, own = (self.weighting.number_weights[feature, :, part, CHANGE] for part in (CURVE, BIN))
        likelihood = chosen(self.expected, feature)
        return 1.0 + (curve + own if likelihood == MIXED else own if likelihood == BINNED else curve)

    def packed(self) -> Self:
        """Return the same without the classes, features, columns and bins in which nothing is left."""
        packed = type(self)(self.settings, self.half_lives, self.likelihoods)
        packed.add(self)
        return packed

    def bounded(self) -> Self:
        """Return the same, or where it has more values than the bound allows, with the least of them among the rare."""
        excess = self.longest.excess()
        for feature, columns in excess:
            for memory in self.each:
                memory.give_up(feature, columns)
        self.reserve()  # the rare values may have a column that is new
        return self.packed() if excess else self

    def stored(self, weight: float, time: float) -> list[float]:
        """Return what an event weighs as each memory stores it."""
        return [weight if memory.clock is None else weight * memory.clock.weight(time) for memory in self.each]

    def admit(self, weight: float, time: float) -> None:
        """Give each value that waits for a column that of the least value of its feature, as `Statistics.admit` does.

        Parameters
        ----------
        weight, time
            Those of the event that brought the newcomers.
        """
        vocabulary, counts = self.longest.vocabulary, self.longest.counts
        amounts = [amount_of(self.clocks, m, time, weight) for m in range(len(self.each))]
        newcomers, vocabulary.newcomers = vocabulary.newcomers if amounts[-1] > 0.0 else [], []
        for feature, value, times in newcomers:
            columns = vocabulary.columns(feature)
            least = int(columns[counts.array[columns, 0].argmin()])
            for memory, amount in zip(self.each, amounts, strict=True):
                memory.hand_over(feature, least, amount, times)
            self.weighting.value_effects[least] = 0.0
            vocabulary.replace(least, value)

    def unlearn(self, settings: Floats, event: Events, slot: int, weight: float, time: float) -> None:
        """Take an event of a class from all memories that still have it.

        Raises ValueError where it can be told that it was not learned; nothing is changed then.
        """
        tables = self.tables(settings)
        logs, binned, keys, index, expected = tables[2], tables[7], tables[8], tables[9], tables[11]
        amounts, vocabulary = self.stored(weight, time), self.longest.vocabulary
        claims = [
            Claim(memory.tables(settings), vocabulary, event, slot, amount)
            for memory, amount in zip(self.each, amounts, strict=True)
        ]
        held = [m for m in reversed(range(len(claims))) if self._has(m, claims[m], amounts[m])]
        for m in held:
            claims[m].settle()
            unlearn(*self.each[m].tables(settings), *event, slot, amounts[m])
            classes = len(self.longest.labels.names)
            forget_numbers(m, len(claims), logs, binned, keys, index, expected, *event, slot, amounts[m], classes)
        for memory in self.each:
            memory.weights[EVENTS] = self.longest.weights[EVENTS]

    def _has(self, m: int, claim: Claim, amount: float) -> bool:
        """Tell whether a memory has an event; ValueError where it does not, and should.

        All but the longest may have lost one of which there is no more than rounding.
        """
        memory = self.each[m]
        try:
            claim.check()
            for feature, value in claim.numbers.items():
                self._check_number(memory, claim, feature, value)
        except ValueError:
            if memory is self.longest or amount > RESIDUE * memory.unit:
                raise
            return False
        return True

    def _check_number(self, memory: Memory, claim: Claim, feature: int, value: float) -> None:
        if value > 0.0 and has_logs(self.expected, feature):
            claim.check_number(memory.logs.array, feature, math.log(value))
        if has_bins(self.expected, feature):
            row = find_bin(self.bins.index, self.bins.keys, bin_of(self.expected, feature, value))
            claim.check_bin(memory.binned, row, feature)

    def is_empty(self, event: Events, slot: int) -> bool:
        """Tell whether nothing is left of a class, of a feature or a value of one encoded event, or of a bin."""
        return self.longest.is_empty(event, slot) or not self.longest.binned[: len(self.bins), 0].all()

    def to_state(self) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
        """Return all that there is: plain values, and arrays cut to what is used."""
        plain, arrays = self.longest.to_state()
        states = [memory.to_state() for memory in self.each]
        stacked = {name: np.stack([own[name] for _, own in states]) for name in arrays if name != "owner"}
        plain["clock"] = [state["clock"] for state, _ in states]
        size = self.size
        return plain, {
            **stacked,
            "owner": arrays["owner"],
            "bins": self.bins.keys[: len(self.bins)],
            "fits": self.expected[: size.numeric, FITS : FITS + 3],
            **self.weighting.to_state(size),
        }

    def restore(self, plain: Mapping[str, Any], arrays: Mapping[str, NDArray[Any]]) -> None:
        """Make memories in which nothing has been learned those whose `to_state` this is.

        Raises ValueError for what cannot be.
        """
        for name, array in arrays.items():
            if name not in _SHARED and len(array) != len(self.each):
                raise ValueError(f"{name} of {len(array)} memories, not {len(self.each)}")
        self.longest.restore_names(plain, arrays)
        self.bins.restore(arrays["bins"], len(self.longest.vocabulary.numeric))
        for place, memory in enumerate(self.each):
            memory.labels = self.longest.labels
            own = {name: array[place] for name, array in arrays.items() if name not in _SHARED}
            memory.restore_tables(plain["clock"][place], {**own, "owner": arrays["owner"]})
        self.reserve()
        self.weighting.restore(arrays, self.size)
        fits = self.expected[: len(self.longest.vocabulary.numeric), FITS : FITS + 3]
        if arrays["fits"].shape != fits.shape or not np.isfinite(arrays["fits"]).all():
            raise ValueError(f"fits of the shape {arrays['fits'].shape}, not {fits.shape}, or not finite")
        fits[:] = arrays["fits"]


_SHARED = {"owner", "bins", "fits", *Weighting.NAMES}
