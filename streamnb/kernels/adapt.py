"""Whole events for a model with several memories: test, move the weights one step, train.

Law: what an event gives does not depend on the batch it came in; O(features x classes x memories) an event.
"""

import math

from streamnb.arrays import (
    AMOUNT,
    AUTO,
    BINNED,
    CATEGORIES,
    CLIP,
    FITS,
    GAUSSIAN,
    LABEL,
    LIKELIHOOD,
    LOSS_OF_LONGEST,
    NUMBERS,
    RATE,
    SMALLEST_PROBABILITY,
    TIME,
    TOKENS,
    UNIT_NOW,
    Floats,
    Integers,
    compiled,
)
from streamnb.kernels.answer import answer, parts_of
from streamnb.kernels.bins import add_bin, bin_of, has_bins
from streamnb.kernels.evidence import say_numbers, settle
from streamnb.kernels.remember import remember
from streamnb.kernels.weigh import step_memories, step_mixture


@compiled
def fit_likelihoods(
    evidence: Floats,
    moments: Floats,
    logs: Floats,
    binned: Floats,
    kinds: Floats,
    likelihoods: Floats,
    settings: Floats,
    units: Floats,
    features: Integers,
    values: Floats,
    ways: Integers,
    rows: Integers,
    known: Floats,
    several: int,
    label: int,
    weight: float,
) -> None:
    """Add, for features whose likelihood is to be found, how probable each likelihood alone would have made the label.

    By the longest memory. Of the evidence nothing is left.
    """
    longest = len(units) - 1
    for way in range(GAUSSIAN, BINNED + 1):
        ways[:] = way
        say_numbers(evidence, moments, logs, binned, kinds, settings, units, features, values, ways, rows)
        settle(evidence, 1 + 2 * len(features), known, several, settings[CLIP])
        for place in range(len(features)):
            if likelihoods[features[place], LIKELIHOOD] == AUTO and not math.isnan(values[place]):
                part = 1 + 2 * place + (way == BINNED)
                top, total = -math.inf, 0.0
                for k in range(len(known)):
                    if known[k] > 0.0:
                        top = max(top, evidence[longest, 0, k] + evidence[longest, part, k])
                for k in range(len(known)):
                    if known[k] > 0.0:
                        total += math.exp(evidence[longest, 0, k] + evidence[longest, part, k] - top)
                told = evidence[longest, 0, label] + evidence[longest, part, label] - top - math.log(total)
                likelihoods[features[place], FITS + way - GAUSSIAN] += weight * told


@compiled
def adapt(  # noqa: C901 - a call costs what two features cost
    evidence: Floats,
    scores: Floats,
    answers: Floats,
    places: Integers,
    floats: Floats,
    weights: Floats,
    moments: Floats,
    logs: Floats,
    counts: Floats,
    totals: Floats,
    distinct: Floats,
    owner: Integers,
    binned: Floats,
    keys: Integers,
    index: Integers,
    kinds: Floats,
    likelihoods: Floats,
    clocks: Floats,
    settings: Floats,
    number_weights: Floats,
    counted_weights: Floats,
    number_effects: Floats,
    value_effects: Floats,
    bin_effects: Floats,
    biases: Floats,
    whole: Floats,
    classes: int,
    starts: Integers,
    entries: Integers,
    values: Floats,
    lessons: Floats,
    probabilities: Floats,
) -> int:
    """For each event in turn set probabilities[event, class], if there is room, then learn it as its lesson says.

    A row stays as it was where nothing has been learned. Returns before which event there has to be more room, for bins
    or for the parts of the event, or else how many events there are. The arguments are `*space, *tables, *events,
    lessons, probabilities`.

    Parameters
    ----------
    evidence, scores, answers, places, floats
        Work space, see `work_space`.
    weights
        [memory, row, slot]; the memories' other tables are one below the other, the longest memory last.
    """
    memories, events = len(clocks), starts.shape[1] - 1
    shares, known, errors = floats[0, :memories], floats[1, :classes], floats[2, :classes]
    rate, to_find = settings[RATE], False
    for feature in range(len(likelihoods)):
        to_find |= bool(likelihoods[feature, LIKELIHOOD] == AUTO)
    for event in range(events):
        label = int(lessons[LABEL, event]) if event < lessons.shape[1] else -1
        first, last = starts[NUMBERS, event], starts[NUMBERS, event + 1]
        head, tail = starts[TOKENS, event], starts[TOKENS, event + 1]
        size = starts[CATEGORIES, event + 1] - starts[CATEGORIES, event]
        numbers, counts_of = last - first, size + tail - head
        if parts_of(numbers, counts_of) > evidence.shape[1] or (label >= 0 and index[-1] + numbers > len(keys)):
            return event
        own, told = entries[first:last], values[first:last]
        rows, ways, times, begins = places[0, :numbers], places[1, :numbers], floats[3, :numbers], floats[4, :numbers]
        codes, counted = places[2, :counts_of], places[3, :counts_of]
        several = answer(
            weights, moments, logs, counts, totals, distinct, owner, binned, keys, index, kinds, likelihoods, clocks,
            settings, number_weights, counted_weights, number_effects, value_effects, bin_effects, biases, whole,
            starts, entries, values, event,
            evidence, scores, answers, shares, known, rows, ways, codes, counted, times, begins,
        )  # fmt: skip
        if several > 0 and event < len(probabilities):
            for k in range(classes):
                probabilities[event, k] = answers[memories, k]
        if label < 0:
            continue
        weight = lessons[AMOUNT, event]
        if several > 0 and known[label] > 0.0:
            if len(lessons) > LOSS_OF_LONGEST:
                lessons[LOSS_OF_LONGEST, event] = -math.log(max(answers[memories - 1, label], SMALLEST_PROBABILITY))
            if rate > 0.0:
                step_mixture(
                    whole, biases, number_effects, value_effects, bin_effects, own, times, rows, codes, shares, scores,
                    answers, label, weight, known, errors, rate,
                )  # fmt: skip
            step_memories(
                evidence, number_weights, counted_weights, biases, whole, own, begins, counted, answers, label, weight,
                known, errors, rate,
            )  # fmt: skip
            if to_find and numbers > 0:
                fit_likelihoods(
                    evidence, moments, logs, binned, kinds, likelihoods, settings, clocks[:, UNIT_NOW], own, told,
                    ways, rows, known, several, label, weight,
                )  # fmt: skip
        for place in range(numbers):
            if rows[place] < 0 and has_bins(likelihoods, own[place]) and not math.isnan(told[place]):
                rows[place] = add_bin(index, keys, kinds, bin_of(likelihoods, own[place], told[place]))
        remember(
            weights, moments, logs, counts, totals, distinct, owner, binned, likelihoods, settings, clocks,
            entries, values, own, told, rows, codes, counted, size, head, tail, label + 1, lessons[TIME, event], weight,
        )  # fmt: skip
    return events  # type: ignore[no-any-return]
