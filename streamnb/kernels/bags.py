"""Tokens of bags: what they say of each class, multinomial, complement or Bernoulli.

Law: a token counts as often as it comes, or once, as the settings take bags.
"""

from streamnb.arrays import BAGS, BERNOULLI, COMPLEMENT, SCORES, SMOOTHING, Floats, Integers, compiled
from streamnb.kernels.score import log_or_less, share_of_value


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
