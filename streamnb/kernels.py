"""Numba kernels over the tables: score, learn, test then train, unlearn, explain.

Law: an event costs O(features) to learn and O(features x classes) to score or unlearn, and what it gives does not
depend on the batch it came in: every entry point runs the same serial loops, event by event. To unlearn an event leaves
the tables as they were before it was learned, up to rounding.

No logarithm is kept or taken per feature. Likelihoods enter as ratios between known bounds, eight of them are
multiplied before one logarithm is taken, and so nothing derived has to be kept in step with the tables.

One module, since numba's cache of machine code looks only at the file of the function that was called.
"""

import math

import numpy as np

from streamnb.arrays import (
    ABSENT,
    AMOUNT,
    BAGS,
    BERNOULLI,
    CATEGORIES,
    COMPLEMENT,
    DEGREES,
    EVENTS,
    GIVEN,
    GIVEN_PRIOR,
    KNOWN,
    LABEL,
    LARGEST,
    NUMBERS,
    ORIGIN,
    PRIOR,
    PRIOR_SMOOTHING,
    PRIORS,
    PRODUCTS,
    RESIDUE,
    ROUNDING,
    SCORES,
    SMOOTHING,
    TAKEN,
    TOKENS,
    UNIFORM_PRIOR,
    UNIT,
    UNIT_THEN,
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
def pooled_variance(moments: Floats, feature: int, classes: int, unit: float) -> float:
    """Return the variance of a feature within its classes, with its variance over all of them as one observation more.

    Zero for a feature that never varied by more than rounding: such a feature tells the classes nothing.
    """
    weight = moments[feature, 0, 0]
    if weight <= 0.0:
        return 0.0
    overall = moments[feature, 2, 0] / weight
    noise = max(ROUNDING * abs(moments[feature, 1, 0] + moments[feature, ORIGIN, 0]), _LEAST_SPREAD)
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
def log_or_less(share: float) -> float:
    """Return a logarithm, minus infinity of zero."""
    return math.log(share) if share > 0.0 else -math.inf


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
        value -= moments[feature, ORIGIN, 0]
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
def share_of_others(
    counts: Floats, totals: Floats, classes: int, code: int, feature: int, slot: int, smoothing: float, mass: float
) -> float:
    """Return what `share_of_value` would for the other classes together: P(value | not the class)."""
    total = mass
    count = smoothing
    for other in range(1, classes + 1):
        if other != slot:
            total += totals[feature, other]
            count += counts[code, other] if code >= 0 else 0.0
    return count / total if total > 0.0 else 1.0


@compiled
def share_of_bags(
    counts: Floats, totals: Floats, code: int, feature: int, slot: int, smoothing: float, present: bool
) -> float:
    """Return P(a bag of the class has the value), (N_v + smoothing) / (N + 2 smoothing), or one minus that."""
    total = totals[feature, slot] + 2.0 * smoothing
    if total <= 0.0:
        return 1.0
    count = min(counts[code, slot], totals[feature, slot])  # of rare ones that share a column, a bag may have several
    among = count if present else totals[feature, slot] - count
    share: float = (among + smoothing) / total
    return share


@compiled
def log_of_token(
    counts: Floats,
    totals: Floats,
    distinct: Floats,
    owner: Integers,
    settings: Floats,
    unit: float,
    classes: int,
    code: int,
    times: float,
    slot: int,
) -> float:
    """Return what a token says of a class, as a logarithm; nothing if it comes no times."""
    if times == 0.0:
        return 0.0
    smoothing = settings[SMOOTHING] * unit
    feature = owner[code] if code >= 0 else -code - 1
    mass = smoothing * distinct[feature]
    if settings[BAGS] == COMPLEMENT:
        others = share_of_others(counts, totals, classes, code, feature, slot, smoothing, mass)
        return -times * log_or_less(others)
    if settings[BAGS] == BERNOULLI:
        if code < 0 or counts[code, 0] == 0.0:  # the vocabulary ends with what was learned
            return 0.0
        return log_or_less(share_of_bags(counts, totals, code, feature, slot, smoothing, True))
    count = counts[code, slot] if code >= 0 else 0.0
    return times * log_or_less(share_of_value(count, totals[feature, slot], smoothing, mass))


@compiled
def log_of_absent(
    counts: Floats,
    totals: Floats,
    owner: Integers,
    settings: Floats,
    unit: float,
    slot: int,
    codes: Integers,
    head: int,
    stop: int,
) -> float:
    """Return what the tokens that a bag does not have say of a class, where that counts (Bernoulli).

    Parameters
    ----------
    head
        The entry that begins the bag.
    stop
        Where the event's entries end.
    """
    feature = -codes[head] - 1
    smoothing = settings[SMOOTHING] * unit
    entry = head + 1
    total = 0.0
    for code in range(len(owner)):
        if owner[code] == feature and counts[code, 0] > 0.0:
            while entry < stop and 0 <= codes[entry] < code:
                entry += 1
            if entry >= stop or codes[entry] != code:
                share = share_of_bags(counts, totals, code, feature, slot, smoothing, False)
                total += log_or_less(share)
    return total


@compiled
def times_that_count(bags: float, codes: Integers, times: Floats, entry: int, start: int) -> float:
    """Return how often a token counts: as often as it comes, or once, also where rare ones share a code (Bernoulli)."""
    if bags != BERNOULLI or times[entry] == 0.0:
        return times[entry]  # type: ignore[no-any-return]
    return 0.0 if entry > start and codes[entry] == codes[entry - 1] and times[entry - 1] > 0.0 else 1.0


@compiled
def score_tokens(
    counts: Floats,
    totals: Floats,
    distinct: Floats,
    owner: Integers,
    settings: Floats,
    unit: float,
    classes: int,
    codes: Integers,
    times: Floats,
    start: int,
    stop: int,
    work: Floats,
) -> None:
    """Add what the tokens of one event's bags say, as the settings take bags."""
    for entry in range(start, stop):
        often = times_that_count(settings[BAGS], codes, times, entry, start)
        for k in range(classes):
            work[SCORES, k] += log_of_token(
                counts, totals, distinct, owner, settings, unit, classes, codes[entry], often, k + 1
            )
            if times[entry] == 0.0 and settings[BAGS] == BERNOULLI:
                work[SCORES, k] += log_of_absent(counts, totals, owner, settings, unit, k + 1, codes, entry, stop)


@compiled
def log_prior(weights: Floats, settings: Floats, unit: float, k: int) -> float:
    """Return the log of what the prior of a class is a share of; -inf for a class that is not known."""
    if settings[PRIOR] == GIVEN_PRIOR:
        share = weights[GIVEN, k + 1]
    elif weights[EVENTS, k + 1] <= 0.0 and weights[WEIGHT, k + 1] <= 0.0 and k >= settings[KNOWN]:
        share = 0.0
    elif settings[PRIOR] == UNIFORM_PRIOR:
        share = 1.0
    else:
        share = weights[WEIGHT, k + 1] / unit + settings[PRIOR_SMOOTHING]
    return log_or_less(share)


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


@compiled
def learn_class(weights: Floats, slot: int, amount: float) -> None:
    """Add an amount as one event: in the slot of a class and in that of all."""
    for place in (0, slot):
        weights[WEIGHT, place] += amount
        weights[EVENTS, place] += 1.0


@compiled
def learn_numbers(
    moments: Floats, slot: int, amount: float, features: Integers, values: Floats, start: int, stop: int
) -> None:
    """Welford's step, with a weight, for one event's numbers: in the slot of its class and in that of all classes."""
    for entry in range(start, stop):
        feature = features[entry]
        value = values[entry]
        if math.isnan(value):
            continue
        if moments[feature, 0, 0] == 0.0:
            moments[feature, ORIGIN, 0] = value
        value -= moments[feature, ORIGIN, 0]
        for place in (0, slot):
            before = moments[feature, 0, place]
            mean = moments[feature, 1, place]
            distance = value - mean
            step = distance * amount / (before + amount) if before > 0.0 else distance
            moments[feature, 0, place] = before + amount
            moments[feature, 1, place] = mean + step
            moments[feature, 2, place] += distance * step * before


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
def prior_scores(weights: Floats, settings: Floats, unit: float, classes: int, work: Floats) -> None:
    """Set the log priors."""
    for k in range(classes):
        work[PRIORS, k] = log_prior(weights, settings, unit, k)


@compiled
def test_then_train(  # noqa: C901 - a call costs what two features cost
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
    lessons: Floats,
    probabilities: Floats,
) -> None:
    """For each event in turn set probabilities[event, class], then learn it as its lesson says; without one, do not.

    A row stays as it was where nothing has been learned. The arguments are `*tables, *events, lessons, probabilities`:
    as named tuples they would take four times as long to reach the machine code.
    """
    work = np.ones((3, classes))
    unit = settings[UNIT]
    prior_scores(weights, settings, unit, classes, work)
    for event in range(len(probabilities)):
        taught = event < lessons.shape[1]
        if taught and lessons[UNIT_THEN, event] != unit:
            unit = lessons[UNIT_THEN, event]
            prior_scores(weights, settings, unit, classes, work)
        first, last = starts[NUMBERS, event], starts[NUMBERS, event + 1]
        begin, end = starts[CATEGORIES, event], starts[CATEGORIES, event + 1]
        head, tail = starts[TOKENS, event], starts[TOKENS, event + 1]
        if weights[WEIGHT, 0] > 0.0:
            for k in range(classes):
                work[SCORES, k] = work[PRIORS, k]
            if first < last:
                score_numbers(moments, settings, unit, classes, entries, values, first, last, work)
            if begin < end:
                score_categories(counts, totals, distinct, owner, settings, unit, classes, entries, begin, end, work)
            if head < tail:
                score_tokens(
                    counts, totals, distinct, owner, settings, unit, classes, entries, values, head, tail, work
                )
            if not normalise(work, SCORES, classes, event, probabilities):
                normalise(work, PRIORS, classes, event, probabilities)
        if taught and lessons[LABEL, event] >= 0.0:
            k = int(lessons[LABEL, event])
            amount = lessons[AMOUNT, event]
            learn_class(weights, k + 1, amount)
            work[PRIORS, k] = log_prior(weights, settings, unit, k)
            if first < last:
                learn_numbers(moments, k + 1, amount, entries, values, first, last)
            if begin < end:
                learn_categories(counts, totals, distinct, owner, k + 1, amount, entries, begin, end)
            if head < tail:
                learn_tokens(
                    counts, totals, distinct, owner, settings[BAGS], k + 1, amount, entries, values, head, tail
                )


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
        start, stop = starts[NUMBERS, event], starts[NUMBERS, event + 1]
        if start < stop:
            learn_numbers(moments, slot, amount, entries, values, start, stop)
        start, stop = starts[CATEGORIES, event], starts[CATEGORIES, event + 1]
        if start < stop:
            learn_categories(counts, totals, distinct, owner, slot, amount, entries, start, stop)
        start, stop = starts[TOKENS, event], starts[TOKENS, event + 1]
        if start < stop:
            learn_tokens(counts, totals, distinct, owner, settings[BAGS], slot, amount, entries, values, start, stop)


@compiled
def score_event(
    moments: Floats,
    counts: Floats,
    totals: Floats,
    distinct: Floats,
    owner: Integers,
    settings: Floats,
    unit: float,
    classes: int,
    starts: Integers,
    entries: Integers,
    values: Floats,
    work: Floats,
) -> None:
    """Set the scores: the log priors, and what one event's numbers, categories and tokens add.

    Where it counts, in `test_then_train`, this stands as it is: handing over so many arrays takes as long as scoring.
    """
    for k in range(classes):
        work[SCORES, k] = work[PRIORS, k]
    start, stop = starts[NUMBERS, 0], starts[NUMBERS, 1]
    if start < stop:
        score_numbers(moments, settings, unit, classes, entries, values, start, stop, work)
    start, stop = starts[CATEGORIES, 0], starts[CATEGORIES, 1]
    if start < stop:
        score_categories(counts, totals, distinct, owner, settings, unit, classes, entries, start, stop, work)
    start, stop = starts[TOKENS, 0], starts[TOKENS, 1]
    if start < stop:
        score_tokens(counts, totals, distinct, owner, settings, unit, classes, entries, values, start, stop, work)


@compiled
def score(
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
    scores: Floats,
) -> None:
    """Add log P(event | class) to scores [class], for one event. The arguments are `*tables[1:], *events, scores`."""
    unit = settings[UNIT]
    work = np.ones((3, classes))
    work[PRIORS] = scores
    score_event(
        moments, counts, totals, distinct, owner, settings, unit, classes,
        starts, entries, values, work,
    )  # fmt: skip
    constant = numeric_constant(moments, unit, classes, entries, values, starts[NUMBERS, 0], starts[NUMBERS, 1])
    for k in range(classes):
        scores[k] = work[SCORES, k] + constant


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
        value -= moments[feature, ORIGIN, 0]
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
    chosen: int,
    against: int,
    shares: Floats,
) -> tuple[int, int]:
    """Set the shares of one event's log odds of one class against another; return the two.

    The shares are of the prior, then of each number, category and token in the order of the event, the head of a bag
    standing for the tokens that it does not have. The arguments are `*tables, *events, chosen, against, shares`; a
    negative class is to be found: the most probable, and the most probable of the others.
    """
    unit = settings[UNIT]
    work = np.ones((3, classes))
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
    if squares > 1e6 * ROUNDING * distance * distance * weight or (squares == 0.0 and (mean + size) - size == mean):
        return taken
    larger: float = max(taken, distance)
    return larger


@compiled
def unlearn_number(moments: Floats, feature: int, slot: int, amount: float, value: float, classes: int) -> None:
    """Take a number from a class: Welford's step backwards; then add the classes up anew (see tables.py)."""
    value -= moments[feature, ORIGIN, 0]
    weight = left(moments[feature, 0, slot], amount)
    distance = value - moments[feature, 1, slot]
    mean = moments[feature, 1, slot] - distance * amount / weight if weight > 0.0 else 0.0
    squares = moments[feature, 2, slot] - distance * (value - mean) * amount
    moments[feature, 0, slot] = weight
    moments[feature, 1, slot] = mean
    moments[feature, 2, slot] = squares if squares > 0.0 and weight > 0.0 else 0.0
    weight = mean = squares = 0.0
    for place in range(1, classes + 1):
        if moments[feature, 0, place] > 0.0:
            weight += moments[feature, 0, place]
            share = moments[feature, 0, place] / weight
            distance = moments[feature, 1, place] - mean
            squares += moments[feature, 2, place] + distance * distance * (weight - moments[feature, 0, place]) * share
            mean = mean + distance * share if share < 1.0 else moments[feature, 1, place]
    moments[feature, 0, 0] = weight
    moments[feature, 1, 0] = mean
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
