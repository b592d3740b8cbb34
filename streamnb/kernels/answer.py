"""Answering: from one event to what all memories, and their mixture, make of it.

Law: nothing is changed; O(parts x classes x memories).
"""

import math

import numpy as np

from streamnb.arrays import ABSENT, CATEGORIES, CLIP, MIXED, NUMBERS, TOKENS, UNIT_NOW, Floats, Integers, compiled
from streamnb.kernels.bins import bin_of, find_bin, has_bins
from streamnb.kernels.evidence import (
    chosen,
    find_known,
    say_categories,
    say_numbers,
    say_priors,
    say_tokens,
    settle,
)
from streamnb.kernels.weigh import mix, share, softmax, standing, weigh


@compiled
def parts_of(numbers: int, others: int) -> int:
    """Return how many parts an event has: the prior, two for each number, one for each category and token."""
    return 1 + 2 * numbers + others


def work_space(memories: int, parts: int, classes: int) -> tuple[Floats, Floats, Floats, Integers, Floats]:
    """Return the work space for events of so many parts at the most, since kernels make no arrays.

    It is evidence, scores and answers, as in `answer`, and rows of integers and of floats for the rest.
    """
    return (
        np.empty((memories, parts, classes)),
        np.empty((memories + 1, classes)),
        np.empty((memories + 1, classes)),
        np.empty((4, parts), dtype=np.int64),
        np.empty((5, max(memories, parts, classes))),
    )


@compiled
def answer(
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
    starts: Integers,
    entries: Integers,
    values: Floats,
    event: int,
    evidence: Floats,
    scores: Floats,
    answers: Floats,
    shares: Floats,
    known: Floats,
    rows: Integers,
    ways: Integers,
    codes: Integers,
    counted: Integers,
    times: Floats,
    begins: Floats,
) -> int:
    """Set what one event says, and how all memories and the mixture answer it; return how many classes are known.

    Without any, only the numbers and codes of the event are looked up.

    Parameters
    ----------
    evidence, scores, answers
        [memory, part, class], [memory, class] and [memory, class], the mixture last.
    shares
        Of the memories in the mixture.
    known
        1 for each class that the event can be of, else 0.
    rows, ways, times, begins
        For each number the row of its bin, negative for none; its likelihood; how often its linear effect enters; and
        where its weights start.
    codes, counted
        The codes of the categories and then of the tokens; and the features of these, -1 for what is absent.
    """
    memories, classes = len(clocks), len(known)
    longest, features = memories - 1, len(moments) // memories
    first, last = starts[NUMBERS, event], starts[NUMBERS, event + 1]
    begin, size = starts[CATEGORIES, event], starts[CATEGORIES, event + 1] - starts[CATEGORIES, event]
    head, tail = starts[TOKENS, event], starts[TOKENS, event + 1]
    own, told, numbers = entries[first:last], values[first:last], last - first
    for place in range(numbers):
        feature, value = own[place], told[place]
        likelihood = chosen(likelihoods, feature)
        there = has_bins(likelihoods, feature) and not math.isnan(value)
        rows[place] = find_bin(index, keys, bin_of(likelihoods, feature, value)) if there else -1
        ways[place], begins[place] = likelihood, 0.5 if likelihood == MIXED else 1.0
        times[place] = standing(moments, longest * features + feature, value)
    for place in range(len(codes)):
        code = entries[begin + place if place < size else head + place - size]
        codes[place] = code
        counted[place] = -1 if code == ABSENT else owner[code] if code >= 0 else -code - 1
    several = find_known(weights[longest], settings, known)
    if several == 0:
        return several
    units = clocks[:, UNIT_NOW]
    say_priors(evidence, weights, settings, units)
    if numbers > 0:
        say_numbers(evidence, moments, logs, binned, kinds, settings, units, own, told, ways, rows)
    part = 1 + 2 * numbers
    if size > 0:
        say_categories(evidence, part, counts, totals, distinct, settings, units, counted, codes, size)
    if head < tail:
        columns, bags = len(counts) // memories, len(totals) // memories
        for m in range(memories):
            say_tokens(
                evidence, m, part + size, counts[m * columns : (m + 1) * columns], totals[m * bags : (m + 1) * bags],
                distinct[m * bags : (m + 1) * bags], owner, settings, units[m], entries, values, head, tail, classes,
            )  # fmt: skip
    settle(evidence, part + len(codes), known, several, settings[CLIP])
    weigh(evidence, number_weights, counted_weights, biases, whole, own, begins, counted, known, scores, answers)
    share(whole, shares)
    mix(whole, biases, number_effects, value_effects, bin_effects, own, times, rows, codes, shares, scores)
    softmax(scores, memories, memories + 1, known, answers)
    return several
