"""Whole events: test then train, and score one.

Law: what an event gives does not depend on the batch it came in: the same serial loops run, event by event.
"""

from streamnb.arrays import (
    AMOUNT,
    BAGS,
    CATEGORIES,
    LABEL,
    NUMBERS,
    PRIORS,
    SCORES,
    TOKENS,
    UNIT,
    UNIT_THEN,
    WEIGHT,
    Floats,
    Integers,
    compiled,
)
from streamnb.kernels.bags import score_tokens
from streamnb.kernels.learn import learn_categories, learn_class, learn_numbers, learn_tokens
from streamnb.kernels.score import (
    log_or_less,
    normalise,
    numeric_constant,
    prior_scores,
    prior_share,
    score_categories,
    score_numbers,
)


@compiled
def test_then_train(  # noqa: C901, PLR0912 - a call costs what two features cost
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
    lessons: Floats,
    probabilities: Floats,
) -> None:
    """For each event in turn set probabilities[event, class], then learn it as its lesson says; without one, do not.

    A row stays as it was where nothing has been learned. The arguments are `*tables, *events, work, lessons,
    probabilities`: as named tuples they would take four times as long to reach the machine code. The products in the
    work space [row, class] are 1, before and after.
    """
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
            work[PRIORS, k] = log_or_less(prior_share(weights, settings, unit, k))
            if amount == 0.0:  # so old that nothing of it is left
                continue
            if first < last:
                learn_numbers(moments, k + 1, amount, entries, values, first, last)
            if begin < end:
                learn_categories(counts, totals, distinct, owner, k + 1, amount, entries, begin, end)
            if head < tail:
                learn_tokens(
                    counts, totals, distinct, owner, settings[BAGS], k + 1, amount, entries, values, head, tail
                )


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
    work: Floats,
    scores: Floats,
) -> None:
    """Add log P(event | class) to scores [class], for one event; the work space is as in `test_then_train`.

    The arguments are `*tables[1:], *events, work, scores`.
    """
    unit = settings[UNIT]
    for k in range(classes):
        work[PRIORS, k] = scores[k]
    score_event(
        moments, counts, totals, distinct, owner, settings, unit, classes,
        starts, entries, values, work,
    )  # fmt: skip
    constant = numeric_constant(moments, unit, classes, entries, values, starts[NUMBERS, 0], starts[NUMBERS, 1])
    for k in range(classes):
        scores[k] = work[SCORES, k] + constant
