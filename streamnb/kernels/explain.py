"""Explaining: what each part of an event adds to the log odds of one class against another.

Law: the shares add up to the difference of the scores.
"""

import math

from streamnb.arrays import (
    ABSENT,
    BAGS,
    BERNOULLI,
    CATEGORIES,
    DEGREES,
    NUMBERS,
    PRIORS,
    SCORES,
    SMOOTHING,
    TOKENS,
    UNIT,
    VARIANCE_PRIOR,
    Floats,
    Integers,
    compiled,
)
from streamnb.kernels.bags import log_of_absent, log_of_token, times_that_count
from streamnb.kernels.passes import score_event
from streamnb.kernels.score import log_or_less, number_term, pooled_variance, prior_scores, share_of_value


@compiled
def share_numbers(
    moments: Floats,
    settings: Floats,
    classes: int,
    features: Integers,
    values: Floats,
    starts: Integers,
    chosen: int,
    against: int,
    shares: Floats,
) -> None:
    """Set the shares of one event's numbers in the log odds of one class against another."""
    unit = settings[UNIT]
    prior, degrees = settings[VARIANCE_PRIOR] * unit, settings[DEGREES] * unit
    for place in range(starts[NUMBERS, 1] - starts[NUMBERS, 0]):
        entry = starts[NUMBERS, 0] + place
        feature, value = features[entry], values[entry]
        pooled = pooled_variance(moments, feature, classes, unit)
        everywhere = moments[feature, 1, 0]
        if pooled > 0.0 and not math.isnan(value):
            slot = chosen + 1
            weight, mean, squares = moments[feature, 0, slot], moments[feature, 1, slot], moments[feature, 2, slot]
            ratio, distance = number_term(value, weight, mean, squares, everywhere, pooled, prior, degrees)
            slot = against + 1
            weight, mean, squares = moments[feature, 0, slot], moments[feature, 1, slot], moments[feature, 2, slot]
            other, farther = number_term(value, weight, mean, squares, everywhere, pooled, prior, degrees)
            shares[place] = 0.5 * (math.log(ratio / other) + (farther - distance))


@compiled
def share_categories(
    counts: Floats,
    totals: Floats,
    distinct: Floats,
    owner: Integers,
    settings: Floats,
    codes: Integers,
    starts: Integers,
    chosen: int,
    against: int,
    shares: Floats,
) -> None:
    """Set the shares of one event's categories in the log odds of one class against another."""
    smoothing = settings[SMOOTHING] * settings[UNIT]
    for place in range(starts[CATEGORIES, 1] - starts[CATEGORIES, 0]):
        code = codes[starts[CATEGORIES, 0] + place]
        if code != ABSENT:
            feature = owner[code] if code >= 0 else -code - 1
            mass = smoothing * distinct[feature]
            count = counts[code, chosen + 1] if code >= 0 else 0.0
            share = share_of_value(count, totals[feature, chosen + 1], smoothing, mass)
            count = counts[code, against + 1] if code >= 0 else 0.0
            other = share_of_value(count, totals[feature, against + 1], smoothing, mass)
            shares[place] = ratio_of(log_or_less(share), log_or_less(other))


@compiled
def share_tokens(
    counts: Floats,
    totals: Floats,
    distinct: Floats,
    owner: Integers,
    settings: Floats,
    classes: int,
    codes: Integers,
    times: Floats,
    starts: Integers,
    chosen: int,
    against: int,
    shares: Floats,
) -> None:
    """Set the shares of one event's tokens in the log odds of two classes, that of a bag's head for those absent."""
    unit = settings[UNIT]
    stop = starts[TOKENS, 1]
    for place in range(stop - starts[TOKENS, 0]):
        entry = starts[TOKENS, 0] + place
        code = codes[entry]
        often = times_that_count(settings[BAGS], codes, times, entry, starts[TOKENS, 0])
        if times[entry] > 0.0:
            share = log_of_token(counts, totals, distinct, owner, settings, unit, classes, code, often, chosen + 1)
            other = log_of_token(counts, totals, distinct, owner, settings, unit, classes, code, often, against + 1)
            shares[place] = ratio_of(share, other)
        elif settings[BAGS] == BERNOULLI:
            share = log_of_absent(counts, totals, owner, settings, unit, chosen + 1, codes, entry, stop)
            other = log_of_absent(counts, totals, owner, settings, unit, against + 1, codes, entry, stop)
            shares[place] = ratio_of(share, other)


@compiled
def explain(
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
    work: Floats,
    chosen: int,
    against: int,
    shares: Floats,
) -> tuple[int, int]:
    """Set the shares of one event's log odds of one class against another; return the two.

    The shares are of the prior, then of each number, category and token in the order of the event, the head of a bag
    standing for the tokens that it does not have. The arguments are `*tables, *events, work, chosen,
    against, shares`; a negative class is to be found: the most probable, and the most probable of the others. The work
    space is as in `test_then_train`.
    """
    unit = settings[UNIT]
    prior_scores(weights, settings, unit, classes, work)
    score_event(
        moments, counts, totals, distinct, owner, settings, unit, classes,
        starts, entries, values, work,
    )  # fmt: skip
    row = PRIORS
    for k in range(classes):
        row = SCORES if work[SCORES, k] > -math.inf else row
    if chosen < 0:
        chosen = most(work, row, classes, against)
    if against < 0:
        against = most(work, row, classes, chosen)
    shares[:] = 0.0
    shares[0] = ratio_of(work[PRIORS, chosen], work[PRIORS, against])
    if row == PRIORS:  # every class is impossible, and the prior answers
        return chosen, against
    numbers = starts[NUMBERS, 1] - starts[NUMBERS, 0]
    categories = starts[CATEGORIES, 1] - starts[CATEGORIES, 0]
    share_numbers(moments, settings, classes, entries, values, starts, chosen, against, shares[1:])
    share_categories(counts, totals, distinct, owner, settings, entries, starts, chosen, against, shares[1 + numbers :])
    share_tokens(
        counts, totals, distinct, owner, settings, classes, entries, values, starts, chosen, against,
        shares[1 + numbers + categories :],
    )  # fmt: skip
    return chosen, against


@compiled
def most(work: Floats, row: int, classes: int, but: int) -> int:
    """Return the class with the largest score in a row, the first of equals, leaving one out."""
    best = -1
    for k in range(classes):
        if k != but and (best < 0 or work[row, k] > work[row, best]):
            best = k
    return best


@compiled
def ratio_of(score: float, other: float) -> float:
    """Return the difference of two logs, nothing where both are of the impossible."""
    return score - other if score != other else 0.0
