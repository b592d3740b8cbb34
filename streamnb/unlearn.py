"""Whether an event can be unlearned.

Law: what was never learned, where that can be told, is refused before anything is changed; so no weight falls below
zero, and nothing is left half done.
"""

import math
from collections import Counter

import numpy as np

from streamnb.arrays import (
    BAGS,
    BERNOULLI,
    CATEGORIES,
    NUMBERS,
    RESIDUE,
    ROUNDING,
    TOKENS,
    WEIGHT,
    Events,
    Floats,
    Tables,
)
from streamnb.values import CATEGORICAL
from streamnb.vocabulary import Vocabulary

_SLACK = 1e-9  # of a weight: what rounding may have taken from it
_BLUR = 1e-6  # of the spread of a feature: how far rounding may have moved a mean
_DIGITS = 2.0**-40  # of the size of a number: what is lost of it where it is one of very many
_LEAST = 1e-300  # below it, squares are lost


class Claim:
    """That an event was learned with a class and a weight; `numbers` are those of the event by feature.

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
        starts, entries, values = event
        self._tables = tables
        self._vocabulary = vocabulary
        self._slot = slot
        self._amount = amount
        self._single = tables.settings[BAGS] == BERNOULLI
        numbers = slice(starts[NUMBERS, 0], starts[NUMBERS, 1])
        tokens = slice(starts[TOKENS, 0], starts[TOKENS, 1])
        pairs = list(zip(entries[tokens].tolist(), values[tokens].tolist(), strict=True))
        self.numbers = dict(zip(entries[numbers].tolist(), values[numbers].tolist(), strict=True))
        self._codes = entries[starts[CATEGORIES, 0] : starts[CATEGORIES, 1]].tolist()
        self._bags = [-code - 1 for code, times in pairs if times == 0.0]
        self._times: Counter[int] = Counter(self._codes)
        for code, times in pairs:
            if times > 0.0:
                self._times[code] += 1 if self._single else times

    def check(self) -> list[tuple[int, int, float]]:
        """Make sure that the tables have the event.

        Returns to which column, from which, and how much is to be moved so that it can be taken from them.

        Raises ValueError, saying what was never learned.
        """
        self._check_weights()
        for feature, value in self.numbers.items():
            self.check_number(self._tables.moments, feature, value)
        for feature in self._bags if self._single else ():
            self._check_bag(feature)
        moves = [move for code in self._times if (move := self._move(code)) is not None]
        self._check_rare(moves)
        return moves

    def settle(self) -> None:
        """Make sure that the event can be taken from the tables.

        Where the rare values of a feature share a column, what a value lacks in its own is moved there from theirs.

        Raises ValueError, saying what was never learned; nothing is changed then.
        """
        moves = self.check()
        counts = self._tables.counts
        for code, rare, lacking in moves:
            for place in (0, self._slot):
                counts[code, place] += lacking
                counts[rare, place] = max(counts[rare, place] - lacking, 0.0)

    def _check_weights(self) -> None:
        """Raise ValueError if less weight would be left of the class than of one of its features."""
        tables, vocabulary, amount = self._tables, self._vocabulary, self._amount
        weight = float(tables.weights[WEIGHT, self._slot])
        if weight < amount * (1 - _SLACK):
            raise ValueError("the class has less weight than that")
        numbers = tables.moments[: len(vocabulary.numeric), 0, self._slot].copy()
        numbers[list(self.numbers)] -= amount
        counted = tables.totals[: len(vocabulary.counted), self._slot].copy()
        for code in self._codes:
            counted[self._vocabulary.owner(code)] -= amount
        for feature in self._bags:
            counted[feature] -= amount if self._single else self._tokens(feature)
        if not self._single and weight > amount * (1 + _SLACK):  # bags have any number of tokens, but for the last one
            for place, name in enumerate(vocabulary.counted):
                counted[place] *= vocabulary.features[name][0] == CATEGORICAL
        for names, weights in ((vocabulary.numeric, numbers), (vocabulary.counted, counted)):
            over = np.flatnonzero(weights > weight - amount + weight * _SLACK)
            if len(over):
                raise ValueError(f"the class would be left with more of {names[over[0]]!r} than of itself")

    def check_number(self, moments: Floats, feature: int, value: float) -> None:
        """Raise ValueError if a number cannot be among those of the class: too few, or it is too far from them."""
        weight, mean, squares, _, low = moments[feature, :, self._slot].tolist()
        everywhere, center, spread, taken, _ = moments[feature, :, 0].tolist()
        left, name = weight - self._amount, self._vocabulary.numeric[feature]
        blur = _BLUR * (math.sqrt(spread / everywhere if everywhere > 0.0 else 0.0) + abs(value - center))
        blur += _DIGITS * max(abs(value), abs(center)) + ROUNDING * taken + _LEAST
        distance = max(abs((value - mean) - low) - blur, 0.0)
        squares += ROUNDING * taken**2 * weight  # what rounding may have taken from them
        if left < -self._amount * _SLACK:
            raise ValueError(f"the class has less of {name!r} than that")
        last = left <= self._amount * RESIDUE
        if distance > 0.0 if last else distance**2 * self._amount * weight / left > squares + _LEAST:
            raise ValueError(f"{value!r} is too far from what the class had of {name!r}")

    def _check_bag(self, feature: int) -> None:
        """Raise ValueError if fewer bags would be left than have one of the tokens."""
        columns = self._vocabulary.columns(feature).tolist()
        left = [self._tables.counts[code, self._slot] - self._amount * self._times[code] for code in columns]
        if self._tables.totals[feature, self._slot] - self._amount < max(left, default=0.0) - self._amount * _SLACK:
            raise ValueError(f"the class has less of {self._vocabulary.counted[feature]!r} than that")

    def check_bin(self, binned: Floats, row: int, feature: int) -> None:
        """Raise ValueError if the class has less in the bin of a number, whose row is negative for none, than that."""
        if row < 0 or binned[row, self._slot] < self._amount * (1 - _SLACK):
            raise ValueError(f"the class has no such number of {self._vocabulary.numeric[feature]!r}")

    def _move(self, code: int) -> tuple[int, int, float] | None:
        """Return to which column, from which, and how much is to be moved for a value; None where it lacks nothing.

        Raises ValueError if there is no column that it could be moved from.
        """
        if code < 0:
            raise ValueError(self._not_learned(code))
        wanted = self._amount * self._times[code]
        rare = self._vocabulary.codes[self._vocabulary.owner(code)].get(None, -1)
        lacking = wanted - float(self._tables.counts[code, self._slot])
        if lacking <= wanted * _SLACK:
            return None
        if rare in (-1, code):
            raise ValueError(self._not_learned(code))
        return code, rare, lacking

    def _check_rare(self, moves: list[tuple[int, int, float]]) -> None:
        """Raise ValueError if more is to be moved from the rare values of a feature than they have."""
        wanted: dict[int, float] = {}
        for code, rare, lacking in moves:
            before = wanted.get(rare, self._amount * self._times[rare])
            wanted[rare] = before + lacking
            if self._tables.counts[rare, self._slot] < wanted[rare] * (1 - _SLACK):
                raise ValueError(self._not_learned(code))

    def _tokens(self, feature: int) -> float:
        """Return the weight of the tokens of a bag of the event."""
        owner = self._vocabulary.owner
        return self._amount * sum(times for code, times in self._times.items() if owner(code) == feature)

    def _not_learned(self, code: int) -> str:
        value = "a value" if code < 0 else repr(self._vocabulary.values[code])
        name = self._vocabulary.counted[self._vocabulary.owner(code)]
        return f"{value} of {name!r} was not learned with that class and weight"
