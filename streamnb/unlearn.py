"""Whether an event can be unlearned.

Law: what was never learned, where that can be told, is refused before anything is changed; so no weight falls below
zero, and nothing is left half done.
"""

import math
from collections import defaultdict

from streamnb.arrays import BAGS, BERNOULLI, CATEGORIES, NUMBERS, RESIDUE, TOKENS, WEIGHT, Events, Tables
from streamnb.vocabulary import Vocabulary

_SLACK = 1e-9  # of a weight: what rounding may have taken from it
_BLUR = 1e-6  # of the spread and the size of a feature: how far rounding may have moved a mean


def prepare(tables: Tables, vocabulary: Vocabulary, event: Events, slot: int, amount: float) -> None:
    """Make sure that the tables have an event, so that it can be taken from them.

    Where the rare values of a feature share a column, what a value lacks in its own is moved there from theirs.

    Parameters
    ----------
    event
        One encoded event.
    amount
        The weight it is stored with.

    Raises ValueError, saying what was never learned; nothing is changed then.
    """
    starts, features, values, _ = event
    if tables.weights[WEIGHT, slot] < amount * (1 - _SLACK):
        raise ValueError("the class has less weight than that")
    for entry in range(starts[NUMBERS, 0], starts[NUMBERS, 1]):
        if not math.isnan(values[entry]):
            _check_number(tables, vocabulary, int(features[entry]), float(values[entry]), slot, amount)
    wanted = _wanted(tables, event)
    moves = []
    for code, times in wanted.items():
        owner = int(tables.owner[code]) if code >= 0 else -code - 1
        rare = vocabulary.codes[owner].get(None, -1)
        lacking = amount * times - (tables.counts[code, slot] if code >= 0 else 0.0)
        if lacking > amount * times * _SLACK:
            if code < 0 or rare < 0 or rare == code or tables.counts[rare, slot] < lacking * (1 - _SLACK):
                value = "a value" if code < 0 else repr(vocabulary.values[code])
                raise ValueError(f"{value} of {vocabulary.counted[owner]!r} was not learned with that class and weight")
            moves.append((code, rare, lacking))
    for code, rare, lacking in moves:
        for place in (0, slot):
            tables.counts[code, place] += lacking
            tables.counts[rare, place] = max(tables.counts[rare, place] - lacking, 0.0)


def _wanted(tables: Tables, event: Events) -> dict[int, float]:
    """Return how often each category and token comes in one encoded event, by its code."""
    starts, features, values, codes = event
    wanted: dict[int, float] = defaultdict(float)
    for code in codes[starts[CATEGORIES, 0] : starts[CATEGORIES, 1]].tolist():
        wanted[code] += 1.0
    for entry in range(starts[TOKENS, 0], starts[TOKENS, 1]):
        if values[entry] > 0.0:
            wanted[int(features[entry])] += 1.0 if tables.settings[BAGS] == BERNOULLI else float(values[entry])
    return wanted


def _check_number(tables: Tables, vocabulary: Vocabulary, feature: int, value: float, slot: int, amount: float) -> None:
    """Raise ValueError if a number cannot be among those of a class: there are too few, or it is too far from them."""
    weight, mean, squares = tables.moments[feature, :, slot].tolist()
    everywhere, center, spread = tables.moments[feature, :, 0].tolist()
    left = weight - amount
    blur = _BLUR * (math.sqrt(spread / everywhere if everywhere > 0.0 else 0.0) + max(abs(value), abs(center)))
    distance = max(abs(value - mean) - blur, 0.0)
    if left < -amount * _SLACK:
        raise ValueError(f"the class has less of {vocabulary.numeric[feature]!r} than that")
    impossible = distance > 0.0 if left <= amount * RESIDUE else distance**2 * amount * weight / left > squares
    if impossible:
        raise ValueError(f"{value!r} is too far from what the class had of {vocabulary.numeric[feature]!r}")
