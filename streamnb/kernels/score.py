"""Numbers and categories: what they say of each class; priors; and scores to probabilities.

Law: O(features x classes) an event. No logarithm is kept or taken per feature: likelihoods enter as ratios between
known bounds, eight of them are multiplied before one logarithm is taken, and so nothing derived has to be kept in step
with the tables.
"""

import math

from streamnb.arrays import (
    ABSENT,
    DEGREES,
    EVENTS,
    GIVEN,
    GIVEN_PRIOR,
    KNOWN,
    LARGEST,
    PRIOR,
    PRIOR_SMOOTHING,
    PRIORS,
    PRODUCTS,
    ROUNDING,
    SCORES,
    SMOOTHING,
    TAKEN,
    UNIFORM_PRIOR,
    VARIANCE_PRIOR,
    WEIGHT,
    Floats,
    Integers,
    compiled,
)

_CHUNK = 8  # ratios per logarithm: each lies within 1e-36..1e36, so eight of them neither overflow nor underflow
_LEAST_SMOOTHING = 1e-12  # below it ratios have no bound, and each takes a logarithm of its own
_FARTHEST = 1e300  # a squared distance beyond it is infinite for every purpose, but sums and differences stay finite
_LEAST_VARIANCE = 1e-9  # of the pooled variance: matters only where the user turned the variance prior off
_LEAST_SQUARES = 1e-300  # keeps a division by faded squares finite
_LEAST_SPREAD = 1.0 / LARGEST  # the square of a smaller one loses its digits


@compiled
def log_or_less(share: float) -> float:
    """Return a logarithm, minus infinity of zero."""
    return math.log(share) if share > 0.0 else -math.inf


@compiled
def pooled_variance(moments: Floats, feature: int, classes: int, unit: float) -> float:
    """Return the variance of a feature within its classes, with its variance over all of them as one observation more.

    Zero for a feature that never varied by more than rounding: such a feature tells the classes nothing.
    """
    weight = moments[feature, 0, 0]
    if weight <= 0.0:
        return 0.0
    overall = moments[feature, 2, 0] / weight
    noise = max(ROUNDING * abs(moments[feature, 1, 0]), _LEAST_SPREAD)
    if not overall > max(noise * noise, ROUNDING * moments[feature, TAKEN, 0] ** 2):
        return 0.0
    within = 0.0
    present = 0.0
    for slot in range(1, classes + 1):
        within += moments[feature, 2, slot]
        present += unit if moments[feature, 0, slot] > 0.0 else 0.0
    pooled: float = (within + overall * unit) / (max(weight - present, 0.0) + unit)
    return pooled


@compiled
def take_logs(work: Floats, classes: int, power: float) -> None:
    """Add the log of each class's product, to a power, to its score; the products begin anew at 1."""
    for k in range(classes):
        product = work[PRODUCTS, k]
        work[SCORES, k] += power * log_or_less(product)
        work[PRODUCTS, k] = 1.0


@compiled
def number_term(
    value: float,
    weight: float,
    mean: float,
    squares: float,
    everywhere: float,
    pooled: float,
    prior: float,
    degrees: float,
) -> tuple[float, float]:
    """Return what a number says of a class: pooled variance / variance, and the squared distance in variances.

    log N(x; mean, variance) - log N(0; 0, pooled variance) is half the log of the first less half of the second.

    Parameters
    ----------
    weight, mean, squares
        The moments of the class.
    everywhere
        The mean over all classes.
    """
    center = mean
    spread = squares + prior * pooled
    support = weight - degrees + prior
    if weight <= 0.0:  # a class without the feature: what all classes together say
        center = everywhere
        spread = pooled
        support = 1.0
    elif support <= 0.0:  # one sample, unbiased, and no prior
        spread = pooled
        support = 1.0
    precision = support / max(spread, _LEAST_VARIANCE * support * pooled, _LEAST_SQUARES)
    distance = value - center
    return precision * pooled, min(distance * distance * precision, _FARTHEST)


@compiled
def score_numbers(
    moments: Floats,
    settings: Floats,
    unit: float,
    classes: int,
    features: Integers,
    values: Floats,
    start: int,
    stop: int,
    work: Floats,
) -> None:
    """Add log N(x; class mean, class variance) - log N(0; 0, pooled variance), summed over one event's numbers."""
    prior = settings[VARIANCE_PRIOR] * unit
    degrees = settings[DEGREES] * unit
    limit = _CHUNK if settings[VARIANCE_PRIOR] >= _LEAST_SMOOTHING else 1
    chunk = 0
    for entry in range(start, stop):
        feature = features[entry]
        value = values[entry]
        pooled = pooled_variance(moments, feature, classes, unit)
        if pooled == 0.0 or math.isnan(value):
            continue
        everywhere = moments[feature, 1, 0]
        for k in range(classes):
            weight, mean, squares = moments[feature, 0, k + 1], moments[feature, 1, k + 1], moments[feature, 2, k + 1]
            ratio, distance = number_term(value, weight, mean, squares, everywhere, pooled, prior, degrees)
            work[SCORES, k] -= 0.5 * distance
            work[PRODUCTS, k] *= ratio
        chunk += 1
        if chunk == limit:
            chunk = 0
            take_logs(work, classes, 0.5)
    if chunk > 0:
        take_logs(work, classes, 0.5)


@compiled
def share_of_value(count: float, total: float, smoothing: float, mass: float) -> float:
    """Return P(value | class) = (N_v + smoothing) / (N + smoothing x distinct values), the last summand being mass.

    A class that never had the feature, unsmoothed, says nothing about it: 1.
    """
    return (count + smoothing) / (total + mass) if total + mass > 0.0 else 1.0


@compiled
def score_categories(
    counts: Floats,
    totals: Floats,
    distinct: Floats,
    owner: Integers,
    settings: Floats,
    unit: float,
    classes: int,
    codes: Integers,
    start: int,
    stop: int,
    work: Floats,
) -> None:
    """Add log P(value | class), summed over one event's categories."""
    smoothing = settings[SMOOTHING] * unit
    limit = _CHUNK if smoothing > 0.0 else 1
    chunk = 0
    for entry in range(start, stop):
        code = codes[entry]
        if code == ABSENT:
            continue
        feature = owner[code] if code >= 0 else -code - 1
        mass = smoothing * distinct[feature]
        for k in range(classes):
            count = counts[code, k + 1] if code >= 0 else 0.0
            work[PRODUCTS, k] *= share_of_value(count, totals[feature, k + 1], smoothing, mass)
        chunk += 1
        if chunk == limit:
            chunk = 0
            take_logs(work, classes, 1.0)
    if chunk > 0:
        take_logs(work, classes, 1.0)


@compiled
def prior_share(weights: Floats, settings: Floats, unit: float, k: int) -> float:
    """Return what the prior of a class is a share of; 0 for a class that is not known."""
    share: float
    if settings[PRIOR] == GIVEN_PRIOR:
        share = weights[GIVEN, k + 1]
    elif weights[EVENTS, k + 1] <= 0.0 and weights[WEIGHT, k + 1] <= 0.0 and k >= settings[KNOWN]:
        share = 0.0
    elif settings[PRIOR] == UNIFORM_PRIOR:
        share = 1.0
    else:
        share = weights[WEIGHT, k + 1] / unit + settings[PRIOR_SMOOTHING]
    return share


@compiled
def prior_scores(weights: Floats, settings: Floats, unit: float, classes: int, work: Floats) -> None:
    """Set the log priors."""
    for k in range(classes):
        work[PRIORS, k] = log_or_less(prior_share(weights, settings, unit, k))


@compiled
def numeric_constant(
    moments: Floats, unit: float, classes: int, features: Integers, values: Floats, start: int, stop: int
) -> float:
    """Return what all classes share of an event's log likelihood: the sum of log N(0; 0, pooled variance)."""
    constant = 0.0
    for entry in range(start, stop):
        pooled = pooled_variance(moments, features[entry], classes, unit)
        if pooled > 0.0 and not math.isnan(values[entry]):
            constant -= 0.5 * math.log(2.0 * math.pi * pooled)
    return constant


@compiled
def normalise(work: Floats, row: int, classes: int, event: int, probabilities: Floats) -> bool:
    """Set probabilities[event, class] from a row of log scores; False where all of them are impossible."""
    top = -math.inf
    for k in range(classes):
        top = max(top, work[row, k])
    if top == -math.inf:
        return False
    total = 0.0
    for k in range(classes):
        probabilities[event, k] = math.exp(work[row, k] - top) if work[row, k] < top else 1.0
        total += probabilities[event, k]
    for k in range(classes):
        probabilities[event, k] /= total
    return True
