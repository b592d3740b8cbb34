"""Remembering: what one event adds to the tables of a memory, whose older events fade.

Law: a memory's tables are, bit for bit, those of naive Bayes with the half-life of the memory (see streamnb/clock.py).
"""

import math

import numpy as np

from streamnb.arrays import (
    BAGS,
    FADED,
    FARTHEST,
    HALF_LIFE,
    LANDMARK,
    NEWEST,
    NUMBERS,
    UNIT_NOW,
    WEIGHT,
    Floats,
    Integers,
    compiled,
)
from streamnb.kernels.bins import bin_of, find_bin, has_bins, has_logs
from streamnb.kernels.fade import count_distinct, fade_moments, fade_weights
from streamnb.kernels.learn import count_value, learn_class, learn_number, learn_tokens
from streamnb.kernels.unlearn import unlearn_number, unlearn_weight


@compiled
def time_of(clocks: Floats, time: float) -> float:
    """Return the time of an event that is learned; for NaN one unit after the newest event, 0 for the first."""
    if not math.isnan(time):
        return time
    return clocks[0, NEWEST] + 1.0 if clocks[0, NEWEST] > -math.inf else 0.0


@compiled
def turn(clocks: Floats, m: int, time: float) -> float:
    """Turn a memory's clock on to an event; return the factor for all that is stored, 1 unless the landmark moved.

    The landmark moves by whole half-lives, as in `Clock`.
    """
    if clocks[m, HALF_LIFE] == math.inf:
        clocks[m, NEWEST] = max(clocks[m, NEWEST], time)
        return 1.0
    age = time / clocks[m, HALF_LIFE]
    factor = 1.0
    if clocks[m, NEWEST] == -math.inf:
        clocks[m, LANDMARK] = np.floor(age)  # a float, which math.floor in machine code is not
    elif age - clocks[m, LANDMARK] > FARTHEST:
        landmark = np.floor(age)
        factor = 2.0 ** max(clocks[m, LANDMARK] - landmark, -1e4)
        clocks[m, LANDMARK] = landmark
    clocks[m, NEWEST] = max(clocks[m, NEWEST], time)
    clocks[m, UNIT_NOW] = 2.0 ** (clocks[m, NEWEST] / clocks[m, HALF_LIFE] - clocks[m, LANDMARK])
    return factor


@compiled
def amount_of(clocks: Floats, m: int, time: float, amount: float) -> float:
    """Return what an event weighs as it is stored; 0 for one so old that nothing of it is left."""
    if time == clocks[m, NEWEST]:
        return amount * clocks[m, UNIT_NOW]  # type: ignore[no-any-return]
    power = 2.0 ** (time / clocks[m, HALF_LIFE] - clocks[m, LANDMARK])
    return amount * power if power >= FADED else 0.0


@compiled
def fade(
    m: int,
    memories: int,
    weights: Floats,
    moments: Floats,
    logs: Floats,
    counts: Floats,
    totals: Floats,
    distinct: Floats,
    owner: Integers,
    binned: Floats,
    factor: float,
) -> None:
    """Fade the tables of a memory."""
    features, columns, bags = len(moments) // memories, len(counts) // memories, len(totals) // memories
    bins, skewed = len(binned) // memories, len(logs) // memories
    own, kinds = counts[m * columns : (m + 1) * columns], distinct[m * bags : (m + 1) * bags]
    fade_weights(weights[m, : WEIGHT + 1], factor)
    fade_moments(moments[m * features : (m + 1) * features], factor)
    fade_moments(logs[m * skewed : (m + 1) * skewed], factor)
    fade_weights(own, factor)
    fade_weights(totals[m * bags : (m + 1) * bags], factor)
    fade_weights(binned[m * bins : (m + 1) * bins], factor)
    count_distinct(own, owner, kinds)


@compiled
def remember(
    weights: Floats,
    moments: Floats,
    logs: Floats,
    counts: Floats,
    totals: Floats,
    distinct: Floats,
    owner: Integers,
    binned: Floats,
    likelihoods: Floats,
    settings: Floats,
    clocks: Floats,
    entries: Integers,
    times: Floats,
    features: Integers,
    values: Floats,
    rows: Integers,
    codes: Integers,
    counted: Integers,
    size: int,
    head: int,
    tail: int,
    slot: int,
    time: float,
    weight: float,
) -> None:
    """Learn one event of a class in all memories, with a weight and a time.

    Parameters
    ----------
    entries, times, head, tail
        Where the tokens of the event are, and how often each came.
    features, values, rows
        For each number its feature, itself, and the row of its bin, negative for none.
    codes, counted, size
        The codes of the categories and tokens, their features, and how many of them are categories.
    """
    memories = len(clocks)
    each, columns = len(moments) // memories, len(counts) // memories
    bags, bins = len(totals) // memories, len(binned) // memories
    now = time_of(clocks, time)
    for m in range(memories):
        factor = turn(clocks, m, now)
        if factor != 1.0:
            fade(m, memories, weights, moments, logs, counts, totals, distinct, owner, binned, factor)
        amount = amount_of(clocks, m, now, weight)
        learn_class(weights[m], slot, amount)
        if amount == 0.0:  # so old that nothing of it is left
            continue
        for place in range(len(features)):
            value = values[place]
            if math.isnan(value):
                continue
            learn_number(moments, m * each + features[place], slot, amount, value)
            if value > 0.0 and has_logs(likelihoods, features[place]):
                learn_number(logs, m * each + features[place], slot, amount, math.log(value))
            if rows[place] >= 0:
                binned[m * bins + rows[place], 0] += amount
                binned[m * bins + rows[place], slot] += amount
        for place in range(size):
            if codes[place] >= 0:
                feature = m * bags + counted[place]
                count_value(counts, distinct, feature, m * columns + codes[place], slot, amount)
                totals[feature, 0] += amount
                totals[feature, slot] += amount
        if head < tail:
            learn_tokens(
                counts[m * columns : (m + 1) * columns], totals[m * bags : (m + 1) * bags],
                distinct[m * bags : (m + 1) * bags], owner, settings[BAGS], slot, amount, entries, times, head, tail,
            )  # fmt: skip


@compiled
def forget_numbers(
    m: int,
    memories: int,
    logs: Floats,
    binned: Floats,
    keys: Integers,
    index: Integers,
    likelihoods: Floats,
    starts: Integers,
    features: Integers,
    values: Floats,
    slot: int,
    amount: float,
    classes: int,
) -> None:
    """Take one event's numbers from a memory's tables of logarithms and bins, which have them."""
    each, bins = len(logs) // memories, len(binned) // memories
    for entry in range(starts[NUMBERS, 0], starts[NUMBERS, 1]):
        feature, value = features[entry], values[entry]
        if value > 0.0 and has_logs(likelihoods, feature):
            unlearn_number(logs, m * each + feature, slot, amount, math.log(value), classes)
        if not math.isnan(value) and has_bins(likelihoods, feature):
            row = m * bins + find_bin(index, keys, bin_of(likelihoods, feature, value))
            binned[row, 0] = unlearn_weight(binned, row, slot, amount, classes)
