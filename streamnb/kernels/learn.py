"""Learning: what an event adds to the tables.

Law: an event changes its class and what all classes have together, in O(features).
"""

import math
from typing import TypeVar

from streamnb.arrays import (
    AMOUNT,
    BAGS,
    BERNOULLI,
    CATEGORIES,
    EVENTS,
    LABEL,
    LOW,
    NUMBERS,
    TOKENS,
    WEIGHT,
    Floats,
    Integers,
    compiled,
)

_Number = TypeVar("_Number", float, Floats)


@compiled
def learn_class(weights: Floats, slot: int, amount: float) -> None:
    """Add an amount as one event: in the slot of a class and in that of all."""
    for place in (0, slot):
        weights[WEIGHT, place] += amount
        weights[EVENTS, place] += 1.0


def two_sum(mean: _Number, low: _Number, step: _Number) -> tuple[_Number, _Number]:
    """Return a mean, kept as the sum of two numbers, after a step: no digit is lost (Knuth's two-sum)."""
    total = mean + step
    part = total - mean
    low = low + ((mean - (total - part)) + (step - part))
    high = total + low
    return high, low - (high - total)


moved = compiled(two_sum)
"""The same in machine code; as it stands it takes arrays as well."""


@compiled
def welford(before: float, mean: float, low: float, value: float, amount: float) -> tuple[float, float, float]:
    """Return the mean, as a sum of two numbers, after a step with a weight; and what the squares gain."""
    distance = (value - mean) - low
    step = distance * amount / (before + amount) if before > 0.0 else distance
    mean, low = moved(mean, low, step)
    return mean, low, distance * step * before


@compiled
def learn_number(moments: Floats, feature: int, slot: int, amount: float, value: float) -> None:
    """Learn a number in the slot of its class and in that of all classes."""
    for place in (0, slot):
        before = moments[feature, 0, place]
        mean, low, gain = welford(before, moments[feature, 1, place], moments[feature, LOW, place], value, amount)
        moments[feature, 0, place] = before + amount
        moments[feature, 1, place], moments[feature, LOW, place] = mean, low
        moments[feature, 2, place] += gain


@compiled
def learn_numbers(
    moments: Floats, slot: int, amount: float, features: Integers, values: Floats, start: int, stop: int
) -> None:
    """Learn one event's numbers."""
    for entry in range(start, stop):
        if not math.isnan(values[entry]):
            learn_number(moments, features[entry], slot, amount, values[entry])


@compiled
def count_value(counts: Floats, distinct: Floats, feature: int, code: int, slot: int, amount: float) -> None:
    """Add an amount to a value's count: in the slot of a class and in that of all classes."""
    if counts[code, 0] == 0.0 and amount > 0.0:
        distinct[feature] += 1.0
    counts[code, 0] += amount
    counts[code, slot] += amount


@compiled
def learn_categories(
    counts: Floats,
    totals: Floats,
    distinct: Floats,
    owner: Integers,
    slot: int,
    amount: float,
    codes: Integers,
    start: int,
    stop: int,
) -> None:
    """Count one event's categories."""
    for entry in range(start, stop):
        code = codes[entry]
        if code < 0:
            continue
        feature = owner[code]
        count_value(counts, distinct, feature, code, slot, amount)
        for place in (0, slot):
            totals[feature, place] += amount


@compiled
def learn_tokens(
    counts: Floats,
    totals: Floats,
    distinct: Floats,
    owner: Integers,
    bags: float,
    slot: int,
    amount: float,
    codes: Integers,
    times: Floats,
    start: int,
    stop: int,
) -> None:
    """Count the tokens of one event's bags; the total is of tokens, or, where each counts once (Bernoulli), of bags."""
    for entry in range(start, stop):
        code = codes[entry]
        head = times[entry] == 0.0
        feature = -code - 1 if head else owner[code]
        each = amount if head or bags == BERNOULLI else amount * times[entry]
        if not head:
            count_value(counts, distinct, feature, code, slot, each)
        if head == (bags == BERNOULLI):
            for place in (0, slot):
                totals[feature, place] += each


@compiled
def learn(
    weights: Floats,
    moments: Floats,
    counts: Floats,
    totals: Floats,
    distinct: Floats,
    owner: Integers,
    settings: Floats,
    starts: Integers,
    entries: Integers,
    values: Floats,
    lessons: Floats,
) -> None:
    """Do what `test_then_train` does to the tables. The arguments are `*tables[:7], *events, lessons`."""
    for event in range(lessons.shape[1]):
        if lessons[LABEL, event] < 0.0:
            continue
        slot = int(lessons[LABEL, event]) + 1
        amount = lessons[AMOUNT, event]
        learn_class(weights, slot, amount)
        if amount == 0.0:  # so old that nothing of it is left
            continue
        start, stop = starts[NUMBERS, event], starts[NUMBERS, event + 1]
        if start < stop:
            learn_numbers(moments, slot, amount, entries, values, start, stop)
        start, stop = starts[CATEGORIES, event], starts[CATEGORIES, event + 1]
        if start < stop:
            learn_categories(counts, totals, distinct, owner, slot, amount, entries, start, stop)
        start, stop = starts[TOKENS, event], starts[TOKENS, event + 1]
        if start < stop:
            learn_tokens(counts, totals, distinct, owner, settings[BAGS], slot, amount, entries, values, start, stop)
