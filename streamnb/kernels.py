"""Numba kernels over the tables: score, learn, test then train, measure.

Law: an event costs O(features) to learn and O(features x classes) to score, and what it gives does not depend on the
batch it came in: every entry point runs the same serial loops, event by event.

Slot 0 of every class axis is all classes together; class k has slot k + 1.

No logarithm is kept or taken per feature. Likelihoods enter as ratios between known bounds, eight of them are
multiplied before one logarithm is taken, and so nothing derived has to be kept in step with the tables.
"""

import math
from collections.abc import Callable
from typing import Any, NamedTuple, TypeVar

import numba
import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]

ABSENT = np.iinfo(np.int64).min
"""The category code of a feature that an event does not have."""

LARGEST = 1e140
"""Numbers beyond this have squares that a sum of squares in double precision cannot hold."""

SMALLEST_PROBABILITY = 1e-15
"""Log loss takes a probability to lie between this and one minus this."""

SMOOTHING, VARIANCE_PRIOR, DEGREES, PRIOR_SMOOTHING = range(4)
"""The places in `Tables.settings`; degrees are what a variance takes off the weight: 0, or 1 where it is unbiased."""

PRODUCTS, SCORES, PRIORS = range(3)
"""The rows of the kernels' work space [row, class]: ratios multiplied so far, log scores, log priors."""

_CHUNK = 8  # ratios per logarithm: each lies within 1e-34..1e34, so eight of them neither overflow nor underflow
_FARTHEST = 1e300  # a squared distance beyond it is infinite for every purpose, but sums and differences stay finite
_LEAST_VARIANCE = 1e-9  # of the pooled variance: matters only where the user turned the variance prior off
_ROUNDING = 8 * float(np.finfo(np.float64).eps)  # a spread below this share of the mean is rounding noise, not data
_LEAST_SPREAD = 1.0 / LARGEST  # the square of a smaller one loses its digits


class Tables(NamedTuple):
    """What was learned, as arrays, and the settings that scoring needs; see tables.py for the axes."""

    weights: Floats
    moments: Floats
    counts: Floats
    totals: Floats
    distinct: Floats
    owner: Integers
    settings: Floats
    classes: int


Events = tuple[Integers, Integers, Floats, Integers]
"""Encoded events, as starts, features, values and codes.

Event i owns the numbers starts[0, i]:starts[0, i + 1], each a feature and a value, and the category codes
starts[1, i]:starts[1, i + 1], both ascending by feature. A plain tuple, since making a named one for every event takes
as long as learning it.
"""

_Kernel = TypeVar("_Kernel", bound=Callable[..., Any])


def compiled(function: _Kernel) -> _Kernel:
    """Compile on first call; keep the machine code on disk where numba finds a place that it may write to.

    Divisions that never meet a zero need no check (error_model), and small functions are worth no call (forceinline).
    """
    try:
        kernel: Any = numba.njit(cache=True, error_model="numpy", forceinline=True)(function)
    except RuntimeError:  # numba's word for: neither the package nor the home folder can be written to
        kernel = numba.njit(error_model="numpy", forceinline=True)(function)
    return kernel  # type: ignore[no-any-return]


@compiled
def pooled_variance(moments: Floats, feature: int, classes: int) -> float:
    """Return the variance of a feature within its classes, with its variance over all of them as one observation more.

    Zero for a feature that never varied by more than rounding: such a feature tells the classes nothing.
    """
    weight = moments[feature, 0, 0]
    if weight <= 0.0:
        return 0.0
    overall = moments[feature, 2, 0] / weight
    noise = max(_ROUNDING * abs(moments[feature, 1, 0]), _LEAST_SPREAD)
    if not overall > noise * noise:
        return 0.0
    within = 0.0
    present = 0.0
    for slot in range(1, classes + 1):
        within += moments[feature, 2, slot]
        present += 1.0 if moments[feature, 0, slot] > 0.0 else 0.0
    pooled: float = (within + overall) / (max(weight - present, 0.0) + 1.0)
    return pooled


@compiled
def take_logs(work: Floats, classes: int, power: float) -> None:
    """Add the log of each class's product, to a power, to its score; the products begin anew at 1."""
    for k in range(classes):
        product = work[PRODUCTS, k]
        work[SCORES, k] += power * math.log(product) if product > 0.0 else -math.inf
        work[PRODUCTS, k] = 1.0


@compiled
def score_numbers(
    moments: Floats,
    settings: Floats,
    classes: int,
    features: Integers,
    values: Floats,
    start: int,
    stop: int,
    work: Floats,
) -> None:
    """Add log N(x; class mean, class variance) - log N(0; 0, pooled variance), summed over one event's numbers."""
    prior = settings[VARIANCE_PRIOR]
    degrees = settings[DEGREES]
    chunk = 0
    for entry in range(start, stop):
        feature = features[entry]
        value = values[entry]
        pooled = pooled_variance(moments, feature, classes)
        if pooled == 0.0 or math.isnan(value):
            continue
        for k in range(classes):
            weight = moments[feature, 0, k + 1]
            center = moments[feature, 1, k + 1]
            spread = moments[feature, 2, k + 1] + prior * pooled
            support = weight - degrees + prior
            if weight <= 0.0:  # a class without the feature: what all classes together say
                center = moments[feature, 1, 0]
                spread = pooled
                support = 1.0
            elif support <= 0.0:  # one sample, unbiased, and no prior
                spread = pooled
                support = 1.0
            precision = support / max(spread, _LEAST_VARIANCE * support * pooled)
            distance = value - center
            work[SCORES, k] -= 0.5 * min(distance * distance * precision, _FARTHEST)
            work[PRODUCTS, k] *= precision * pooled
        chunk += 1
        if chunk == _CHUNK:
            chunk = 0
            take_logs(work, classes, 0.5)
    if chunk > 0:
        take_logs(work, classes, 0.5)


@compiled
def score_categories(
    counts: Floats,
    totals: Floats,
    distinct: Floats,
    owner: Integers,
    settings: Floats,
    classes: int,
    codes: Integers,
    start: int,
    stop: int,
    work: Floats,
) -> None:
    """Add log (N_v + smoothing) / (N + smoothing x distinct values), summed over one event's categories."""
    smoothing = settings[SMOOTHING]
    chunk = 0
    for entry in range(start, stop):
        code = codes[entry]
        if code == ABSENT:
            continue
        feature = owner[code] if code >= 0 else -code - 1
        mass = smoothing * distinct[feature]
        for k in range(classes):
            total = totals[feature, k + 1] + mass
            count = counts[code, k + 1] if code >= 0 else 0.0
            if total > 0.0:  # a class that never had the feature, unsmoothed, says nothing about it
                work[PRODUCTS, k] *= (count + smoothing) / total
        chunk += 1
        if chunk == _CHUNK:
            chunk = 0
            take_logs(work, classes, 1.0)
    if chunk > 0:
        take_logs(work, classes, 1.0)


@compiled
def log_prior(weights: Floats, settings: Floats, k: int) -> float:
    """Return the log of a class's weight and smoothing, of which the prior is a share; -inf without weight."""
    weight = weights[k + 1]
    return math.log(weight + settings[PRIOR_SMOOTHING]) if weight > 0.0 else -math.inf


@compiled
def numeric_constant(moments: Floats, classes: int, features: Integers, values: Floats, start: int, stop: int) -> float:
    """Return what all classes share of an event's log likelihood: the sum of log N(0; 0, pooled variance)."""
    constant = 0.0
    for entry in range(start, stop):
        pooled = pooled_variance(moments, features[entry], classes)
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


@compiled
def learn_numbers(moments: Floats, slot: int, features: Integers, values: Floats, start: int, stop: int) -> None:
    """Welford's step for one event's numbers: in the slot of its class and in that of all classes."""
    for entry in range(start, stop):
        feature = features[entry]
        value = values[entry]
        if math.isnan(value):
            continue
        for place in (0, slot):
            weight = moments[feature, 0, place] + 1.0
            distance = value - moments[feature, 1, place]
            mean = moments[feature, 1, place] + distance / weight
            moments[feature, 0, place] = weight
            moments[feature, 1, place] = mean
            moments[feature, 2, place] += distance * (value - mean)


@compiled
def learn_categories(
    counts: Floats, totals: Floats, distinct: Floats, owner: Integers, slot: int, codes: Integers, start: int, stop: int
) -> None:
    """Count one event's categories: in the slot of its class and in that of all classes."""
    for entry in range(start, stop):
        code = codes[entry]
        if code < 0:
            continue
        feature = owner[code]
        if counts[code, 0] == 0.0:
            distinct[feature] += 1.0
        for place in (0, slot):
            counts[code, place] += 1.0
            totals[feature, place] += 1.0


@compiled
def test_then_train(
    weights: Floats,
    moments: Floats,
    counts: Floats,
    totals: Floats,
    distinct: Floats,
    owner: Integers,
    settings: Floats,
    classes: int,
    starts: Integers,
    features: Integers,
    values: Floats,
    codes: Integers,
    labels: Integers,
    probabilities: Floats,
) -> None:
    """For each event in turn set probabilities[event, class], then learn it under its label [event].

    A negative label is not learned; without labels no event is. A row stays as it was where nothing has been learned.
    The arguments are `*tables, *events, labels, probabilities`: as named tuples they would take four times as long to
    reach the machine code.
    """
    work = np.ones((3, classes))
    for k in range(classes):
        work[PRIORS, k] = log_prior(weights, settings, k)
    for event in range(len(probabilities)):
        first, last = starts[0, event], starts[0, event + 1]
        begin, end = starts[1, event], starts[1, event + 1]
        if weights[0] > 0.0:
            for k in range(classes):
                work[SCORES, k] = work[PRIORS, k]
            if first < last:  # a call takes as long as two features
                score_numbers(moments, settings, classes, features, values, first, last, work)
            if begin < end:
                score_categories(counts, totals, distinct, owner, settings, classes, codes, begin, end, work)
            if not normalise(work, SCORES, classes, event, probabilities):
                normalise(work, PRIORS, classes, event, probabilities)
        if event < len(labels) and labels[event] >= 0:
            k = labels[event]
            weights[0] += 1.0
            weights[k + 1] += 1.0
            work[PRIORS, k] = log_prior(weights, settings, k)
            if first < last:
                learn_numbers(moments, k + 1, features, values, first, last)
            if begin < end:
                learn_categories(counts, totals, distinct, owner, k + 1, codes, begin, end)


@compiled
def learn(
    weights: Floats,
    moments: Floats,
    counts: Floats,
    totals: Floats,
    distinct: Floats,
    owner: Integers,
    starts: Integers,
    features: Integers,
    values: Floats,
    codes: Integers,
    labels: Integers,
) -> None:
    """Do what `test_then_train` does to the tables. The arguments are `*tables[:6], *events, labels`."""
    for event in range(len(labels)):
        k = labels[event]
        if k >= 0:
            weights[0] += 1.0
            weights[k + 1] += 1.0
            learn_numbers(moments, k + 1, features, values, starts[0, event], starts[0, event + 1])
            learn_categories(counts, totals, distinct, owner, k + 1, codes, starts[1, event], starts[1, event + 1])


@compiled
def measure(
    probabilities: Floats, columns: Integers, labels: Integers, confusion: Integers, sums: Floats, chosen: Integers
) -> None:
    """Measure predictions in turn: add to confusion[label, predicted] and to sums, set chosen[event].

    columns[class] is the place in the confusion of each column of the probabilities; chosen is the column of the
    largest probability, the first of equals, or -1 for a row of zeros: no answer. Sums are the log loss, and the
    labelled events that had no answer.
    """
    for event in range(len(probabilities)):
        row = probabilities[event]
        best = -1
        most = 0.0
        for k in range(len(row)):
            if row[k] > most:
                best = k
                most = row[k]
        chosen[event] = best
        label = labels[event]
        if label < 0:
            continue
        if best < 0:
            sums[1] += 1.0
            continue
        confusion[label, columns[best]] += 1
        given = 0.0
        for k in range(len(row)):
            if columns[k] == label:
                given = row[k]
        sums[0] -= math.log(min(max(given, SMALLEST_PROBABILITY), 1.0 - SMALLEST_PROBABILITY))
