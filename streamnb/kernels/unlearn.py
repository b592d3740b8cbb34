"""Unlearning: what an event takes from the tables, which have it (see streamnb/unlearn.py).

Law: the tables are as they were before the event was learned, up to rounding; what all classes have together is what is
left of each.
"""

import math

from streamnb.arrays import (
    BAGS,
    BERNOULLI,
    CATEGORIES,
    EVENTS,
    LOW,
    NUMBERS,
    RESIDUE,
    TAKEN,
    TOKENS,
    WEIGHT,
    Floats,
    Integers,
    compiled,
)
from streamnb.kernels.learn import moved


@compiled
def left(weight: float, amount: float) -> float:
    """Return what is left of a weight, nothing where that is only rounding."""
    return weight - amount if weight - amount > amount * RESIDUE else 0.0


@compiled
def blur(taken: float, moments: Floats, value: float) -> float:
    """Return how far from the mean numbers were, of whose unlearning rounding may be left: a value among them, if so.

    None is left to speak of while the feature still varies; nor where it does not, if its mean is a short number.
    """
    weight, mean, squares = moments[0], moments[1], moments[2]
    distance = abs(value - mean)
    size = 16.0 * distance  # adding and subtracting it rounds to a multiple of the noise
    if weight <= 0.0:
        return 0.0
    if squares == 0.0 and (mean + size) - size == mean:
        return taken
    larger: float = max(taken, distance)
    return larger


@compiled
def unlearn_number(moments: Floats, feature: int, slot: int, amount: float, value: float, classes: int) -> None:
    """Take a number from a class: Welford's step backwards; then add the classes up anew (see tables.py)."""
    weight = left(moments[feature, 0, slot], amount)
    mean, low = moments[feature, 1, slot], moments[feature, LOW, slot]
    distance = (value - mean) - low
    if weight > 0.0:
        mean, low = moved(mean, low, -distance * amount / weight)
    squares = moments[feature, 2, slot] - distance * ((value - mean) - low) * amount
    moments[feature, 0, slot] = weight
    moments[feature, 1, slot] = mean if weight > 0.0 else 0.0
    moments[feature, LOW, slot] = low if weight > 0.0 else 0.0
    moments[feature, 2, slot] = squares if squares > 0.0 and weight > 0.0 else 0.0
    weight = mean = low = squares = 0.0
    for place in range(1, classes + 1):
        if moments[feature, 0, place] > 0.0:
            weight += moments[feature, 0, place]
            share = moments[feature, 0, place] / weight
            distance = (moments[feature, 1, place] - mean) + (moments[feature, LOW, place] - low)
            squares += moments[feature, 2, place] + distance * distance * (weight - moments[feature, 0, place]) * share
            if share < 1.0:
                mean, low = moved(mean, low, distance * share)
            else:
                mean, low = moments[feature, 1, place], moments[feature, LOW, place]
    moments[feature, 0, 0] = weight
    moments[feature, 1, 0] = mean
    moments[feature, LOW, 0] = low
    moments[feature, 2, 0] = squares
    moments[feature, TAKEN, 0] = blur(moments[feature, TAKEN, 0], moments[feature, :, 0], value)


@compiled
def unlearn_weight(weights: Floats, row: int, slot: int, amount: float, classes: int) -> float:
    """Take an amount from a row [slot] of weights, in the slot of a class; return what is left of all classes."""
    weights[row, slot] = left(weights[row, slot], amount)
    total = 0.0
    for place in range(1, classes + 1):
        total += weights[row, place]
    return total


@compiled
def unlearn_value(
    counts: Floats, distinct: Floats, feature: int, code: int, slot: int, amount: float, classes: int
) -> None:
    """Take an amount from a value's count; slot 0 keeps what may have been missed of the value."""
    total = unlearn_weight(counts, code, slot, amount, classes)
    before = counts[code, 0]
    counts[code, 0] = max(left(before, amount), total)
    if before > 0.0 and counts[code, 0] == 0.0:
        distinct[feature] -= 1.0


@compiled
def unlearn(
    weights: Floats,
    moments: Floats,
    counts: Floats,
    totals: Floats,
    distinct: Floats,
    owner: Integers,
    settings: Floats,
    classes: int,
    starts: Integers,
    entries: Integers,
    values: Floats,
    slot: int,
    amount: float,
) -> None:
    """Take one event of a class from the tables, which have it (see unlearn.py).

    What all classes have together is what is left of each. The arguments are `*tables, *events, slot, amount`.
    """
    weights[WEIGHT, 0] = unlearn_weight(weights, WEIGHT, slot, amount, classes)
    # Of an event, a part can be taken back: then it is still there.
    weights[EVENTS, slot] = max(weights[EVENTS, slot] - 1.0, 1.0) if weights[WEIGHT, slot] > 0.0 else 0.0
    weights[EVENTS, 0] = weights[EVENTS, 1 : classes + 1].sum()
    for entry in range(starts[NUMBERS, 0], starts[NUMBERS, 1]):
        if not math.isnan(values[entry]):
            unlearn_number(moments, entries[entry], slot, amount, values[entry], classes)
    for entry in range(starts[CATEGORIES, 0], starts[CATEGORIES, 1]):
        code = entries[entry]
        if code >= 0:
            unlearn_value(counts, distinct, owner[code], code, slot, amount, classes)
            totals[owner[code], 0] = unlearn_weight(totals, owner[code], slot, amount, classes)
    single = settings[BAGS] == BERNOULLI
    for entry in range(starts[TOKENS, 0], starts[TOKENS, 1]):
        code, head = entries[entry], values[entry] == 0.0
        feature = -code - 1 if head else owner[code]
        each = amount if head or single else amount * values[entry]
        if not head:
            unlearn_value(counts, distinct, feature, code, slot, each, classes)
        if head == single:
            totals[feature, 0] = unlearn_weight(totals, feature, slot, each, classes)
