"""Whether an event can be unlearned.

Law: what was never learned, where that can be told, is refused before anything is changed; so no weight falls below
zero, and nothing is left half done.
"""

import math
from collections import Counter

import numpy as np

from streamnb.arrays import BAGS, BERNOULLI, CATEGORIES, NUMBERS, RESIDUE, ROUNDING, TOKENS, WEIGHT, Events, Tables
from streamnb.vocabulary import Vocabulary

_SLACK = 1e-9  # of a weight: what rounding may have taken from it
_BLUR = 1e-6  # of the spread and the size of a feature: how far rounding may have moved a mean


class Claim:
    """That an event was learned with a class and a weight.

    Parameters
    ----------
    event
        One encoded event.
    slot
        That of its class.
    amount
        The weight it is stored with.
    """

    def __init__(self, tables: Tables, vocabulary: Vocabulary, event: Events, slot: int, amount: float) -> None:
        starts, features, values, codes = event
        self._tables = tables
        self._vocabulary = vocabulary
        self._slot = slot
        self._amount = amount
        numbers = slice(starts[NUMBERS, 0], starts[NUMBERS, 1])
        self._numbers = dict(zip(features[numbers].tolist(), values[numbers].tolist(), strict=True))
        tokens = slice(starts[TOKENS, 0], starts[TOKENS, 1])
        pairs = list(zip(features[tokens].tolist(), values[tokens].tolist(), strict=True))
        self._bags = [-code - 1 for code, times in pairs if times == 0.0]
        single = tables.settings[BAGS] == BERNOULLI
        self._times: Counter[int] = Counter(codes[starts[CATEGORIES, 0] : starts[CATEGORIES, 1]].tolist())
        for code, times in pairs:
            if times > 0.0:
                self._times[code] += 1 if single else times

    def settle(self) -> None:
        """Make sure that the tables have the event, so that it can be taken from them.

        Where the rare values of a feature share a column, what a value lacks in its own is moved there from theirs.

        Raises ValueError, saying what was never learned; nothing is changed then.
        """
        weight = self._tables.weights[WEIGHT, self._slot]
        if weight < self._amount * (1 - _SLACK):
            raise ValueError("the class has less weight than that")
        for feature, value in self._numbers.items():
            self._check_number(feature, value)
        if self._tables.settings[BAGS] == BERNOULLI:
            for feature in self._bags:
                self._check_bag(feature)
        if weight <= self._amount * (1 + _SLACK):
            self._check_last()
        moves = [move for code in self._times if (move := self._move(code)) is not None]
        for code, rare, lacking in moves:
            for place in (0, self._slot):
                self._tables.counts[code, place] += lacking
                self._tables.counts[rare, place] = max(self._tables.counts[rare, place] - lacking, 0.0)

    def _check_number(self, feature: int, value: float) -> None:
        """Raise ValueError if a number cannot be among those of the class: too few, or it is too far from them."""
        weight, mean, squares, _ = self._tables.moments[feature, :, self._slot].tolist()
        everywhere, center, spread, taken = self._tables.moments[feature, :, 0].tolist()
        left, name = weight - self._amount, self._vocabulary.numeric[feature]
        blur = _BLUR * (math.sqrt(spread / everywhere if everywhere > 0.0 else 0.0) + max(abs(value), abs(center)))
        distance = max(abs(value - mean) - blur - ROUNDING * taken, 0.0)
        squares += ROUNDING * taken**2 * weight  # what rounding may have taken from them
        if left < -self._amount * _SLACK:
            raise ValueError(f"the class has less of {name!r} than that")
        last = left <= self._amount * RESIDUE
        if distance > 0.0 if last else distance**2 * self._amount * weight / left > squares:
            raise ValueError(f"{value!r} is too far from what the class had of {name!r}")

    def _check_bag(self, feature: int) -> None:
        """Raise ValueError if fewer bags would be left than have one of the tokens."""
        columns = self._vocabulary.columns(feature).tolist()
        left = [self._tables.counts[code, self._slot] - self._amount * self._times[code] for code in columns]
        if self._tables.totals[feature, self._slot] - self._amount < max(left, default=0.0) - self._amount * _SLACK:
            raise ValueError(f"the class has less of {self._vocabulary.counted[feature]!r} than that")

    def _check_last(self) -> None:
        """Raise ValueError if the class had more features or values than its last event has."""
        numbers = self._tables.moments[: len(self._vocabulary.numeric), 0, self._slot].copy()
        numbers[list(self._numbers)] = 0.0
        values = self._tables.counts[: len(self._vocabulary.values), self._slot].copy()
        for code, times in self._times.items():
            if code >= 0:
                values[code] -= self._amount * times
        rare = [codes[None] for codes in self._vocabulary.codes if None in codes]
        values[rare] = 0.0  # they have what values lack of their own
        over = np.flatnonzero(values > self._amount * _SLACK)
        names = [self._vocabulary.numeric[feature] for feature in np.flatnonzero(numbers).tolist()]
        names += [self._vocabulary.counted[self._tables.owner[code]] for code in over.tolist()]
        if names:
            raise ValueError(f"it would be the last of its class, which has more of {names[0]!r} than that")

    def _move(self, code: int) -> tuple[int, int, float] | None:
        """Return to which column, from which, and how much is to be moved for a value; None where it lacks nothing.

        Raises ValueError if it lacks more than there is.
        """
        wanted = self._amount * self._times[code]
        feature = int(self._tables.owner[code]) if code >= 0 else -code - 1
        rare = self._vocabulary.codes[feature].get(None, -1)
        lacking = wanted - (float(self._tables.counts[code, self._slot]) if code >= 0 else 0.0)
        if lacking <= wanted * _SLACK:
            return None
        if code < 0 or rare in (-1, code) or self._tables.counts[rare, self._slot] < lacking * (1 - _SLACK):
            value = "a value" if code < 0 else repr(self._vocabulary.values[code])
            name = self._vocabulary.counted[feature]
            raise ValueError(f"{value} of {name!r} was not learned with that class and weight")
        return code, rare, lacking
