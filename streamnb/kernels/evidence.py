"""Evidence: what each part of an event says of the classes, to each memory.

Law: the evidence of a part is its log-likelihood, centred over the classes known, and no larger than the clip; classes
that are not known have none. Logarithms are taken of quotients with the first class, which is one less. Parts are the
prior, two for each number (its density curve, its bin), and one for each category and token, in the order of the
encoded event. O(parts x classes) for each memory.
"""

import math

from streamnb.arrays import (
    AUTO,
    BAGS,
    BERNOULLI,
    BINNED,
    DEGREES,
    FITS,
    GAUSSIAN,
    LIKELIHOOD,
    LOG_NORMAL,
    MIXED,
    SMOOTHING,
    VARIANCE_PRIOR,
    WEIGHT,
    Floats,
    Integers,
    compiled,
)
from streamnb.kernels.bags import log_of_absent, log_of_token, times_that_count
from streamnb.kernels.score import number_term, pooled_variance, prior_share, share_of_value

_LEAST = 1e-3  # events: what a class counts for in the prior of a memory that has forgotten it
_IMPOSSIBLE = 1e-150  # the least likelihood: one that is smaller says no more, and quotients of two are finite


@compiled
def find_known(weights: Floats, settings: Floats, known: Floats) -> int:
    """Set known [class] to 1 for the classes that an event can be of, else 0; return how many there are.

    Nothing is known before anything has been learned.
    """
    count = 0
    for k in range(len(known)):
        there = weights[WEIGHT, 0] > 0.0 and prior_share(weights, settings, 1.0, k) > 0.0
        known[k] = 1.0 if there else 0.0
        count += 1 if there else 0
    return count


@compiled
def chosen(likelihoods: Floats, feature: int) -> float:
    """Return the likelihood of a feature's numbers, the one that told the label best if it is to be found."""
    likelihood: float = likelihoods[feature, LIKELIHOOD]
    if likelihood == AUTO:
        likelihood, best = GAUSSIAN, likelihoods[feature, FITS]
        if likelihoods[feature, FITS + 1] > best:
            likelihood, best = LOG_NORMAL, likelihoods[feature, FITS + 1]
        if likelihoods[feature, FITS + 2] > best:
            likelihood = BINNED
    return likelihood


@compiled
def say_priors(evidence: Floats, weights: Floats, settings: Floats, units: Floats) -> None:
    """Set what the prior says: part 0 of the evidence [memory, part, class]; weights are [memory, row, slot]."""
    for m in range(len(units)):
        for k in range(evidence.shape[2]):
            evidence[m, 0, k] = math.log(max(prior_share(weights[m], settings, units[m], k), _LEAST))


@compiled
def say_numbers(
    evidence: Floats,
    moments: Floats,
    logs: Floats,
    binned: Floats,
    kinds: Floats,
    settings: Floats,
    units: Floats,
    features: Integers,
    values: Floats,
    ways: Integers,
    rows: Integers,
) -> None:
    """Set what the numbers of an event say: two parts for each, from part 1 on.

    Parameters
    ----------
    moments, logs, binned
        The tables of all memories, one below the other.
    kinds
        How many bins a feature has.
    features, values, ways, rows
        For each number its feature, itself, its likelihood, and the row of its bin, negative for none.
    """
    memories, classes = len(units), evidence.shape[2]
    each, bins = len(moments) // memories, len(binned) // memories
    for m in range(memories):
        prior, degrees = settings[VARIANCE_PRIOR] * units[m], settings[DEGREES] * units[m]
        smoothing = settings[SMOOTHING] * units[m]
        for place in range(len(features)):
            part, way, value = 1 + 2 * place, ways[place], values[place]
            own = m * each + features[place]
            table, x = moments, value
            if way == LOG_NORMAL:
                table, x = logs, math.log(value) if value > 0.0 else math.nan
            pooled = 0.0 if way == BINNED or math.isnan(x) else pooled_variance(table, own, classes, units[m])
            first, near = 1.0, 0.0
            for k in range(classes):
                evidence[m, part, k] = 0.0
                if pooled > 0.0:
                    ratio, distance = number_term(
                        x, table[own, 0, k + 1], table[own, 1, k + 1], table[own, 2, k + 1], table[own, 1, 0],
                        pooled, prior, degrees,
                    )  # fmt: skip
                    ratio = max(ratio, _IMPOSSIBLE)
                    if k == 0:
                        first, near = ratio, distance
                    else:
                        evidence[m, part, k] = 0.5 * (math.log(ratio / first) + (near - distance))
            binning = (way == MIXED) | (way == BINNED)
            mass, row = smoothing * kinds[features[place]], m * bins + rows[place]
            for k in range(classes):
                evidence[m, part + 1, k] = 0.0
                if binning and not math.isnan(value):
                    count = binned[row, k + 1] if rows[place] >= 0 else 0.0
                    share = max(share_of_value(count, moments[own, 0, k + 1], smoothing, mass), _IMPOSSIBLE)
                    if k == 0:
                        first = share
                    else:
                        evidence[m, part + 1, k] = math.log(share / first)


@compiled
def say_categories(
    evidence: Floats,
    part: int,
    counts: Floats,
    totals: Floats,
    distinct: Floats,
    settings: Floats,
    units: Floats,
    features: Integers,
    codes: Integers,
    size: int,
) -> None:
    """Set what the first so many of an event's codes say, its categories, from some part on.

    Parameters
    ----------
    counts, totals, distinct
        The tables of all memories, one below the other.
    features
        Those of the codes, -1 for what is absent.
    """
    memories, classes = len(units), evidence.shape[2]
    columns, each = len(counts) // memories, len(totals) // memories
    for m in range(memories):
        smoothing = settings[SMOOTHING] * units[m]
        for place in range(size):
            there, code = features[place] >= 0, codes[place]
            total = m * each + features[place]
            mass, first = smoothing * distinct[total] if there else 0.0, 1.0
            for k in range(classes):
                evidence[m, part + place, k] = 0.0
                if there:
                    count = counts[m * columns + code, k + 1] if code >= 0 else 0.0
                    share = max(share_of_value(count, totals[total, k + 1], smoothing, mass), _IMPOSSIBLE)
                    if k == 0:
                        first = share
                    else:
                        evidence[m, part + place, k] = math.log(share / first)


@compiled
def say_tokens(
    evidence: Floats,
    m: int,
    part: int,
    counts: Floats,
    totals: Floats,
    distinct: Floats,
    owner: Integers,
    settings: Floats,
    unit: float,
    codes: Integers,
    times: Floats,
    start: int,
    stop: int,
    classes: int,
) -> None:
    """Set what the tokens of an event's bags say, from some part on; a bag's head speaks for the tokens absent.

    Parameters
    ----------
    counts, totals, distinct
        The tables of the memory.
    """
    for entry in range(start, stop):
        own = part + entry - start
        head = times[entry] == 0.0
        silent = head and settings[BAGS] != BERNOULLI
        often = times_that_count(settings[BAGS], codes, times, entry, start)
        for k in range(classes):
            if silent:
                log = 0.0
            elif head:
                log = log_of_absent(counts, totals, owner, settings, unit, k + 1, codes, entry, stop)
            else:
                log = log_of_token(counts, totals, distinct, owner, settings, unit, classes, codes[entry], often, k + 1)
            evidence[m, own, k] = min(max(log, -1.0 / _IMPOSSIBLE), 1.0 / _IMPOSSIBLE)


@compiled
def settle(evidence: Floats, parts: int, known: Floats, several: int, clip: float) -> None:
    """Centre what each of so many parts says over the classes known, and clip it."""
    classes, share = evidence.shape[2], 1.0 / several
    for m in range(evidence.shape[0]):
        for part in range(parts):
            mean = 0.0
            for k in range(classes):
                mean += evidence[m, part, k] * known[k]
            mean *= share
            for k in range(classes):
                evidence[m, part, k] = min(max(evidence[m, part, k] - mean, -clip), clip) * known[k]
