"""Explaining a mixture of memories: what each part of an event adds to the log odds of two classes.

Law: the shares add up to the difference of the scores.
"""

import math

from streamnb.arrays import CHANGE, NUMBERS, Floats, Integers, compiled
from streamnb.kernels.answer import answer
from streamnb.kernels.explain import most


@compiled
def share_parts(
    evidence: Floats,
    m: int,
    strength: float,
    number_weights: Floats,
    counted_weights: Floats,
    features: Integers,
    begins: Floats,
    counted: Integers,
    one: int,
    other: int,
    shares: Floats,
) -> None:
    """Add to the shares what numbers, categories and tokens say to a memory, by its weights and its strength."""
    numbers = len(begins)
    for place in range(numbers):
        for own in range(2):
            part = 1 + 2 * place + own
            weight = begins[place] + number_weights[features[place], m, own, CHANGE]
            shares[1 + place] += strength * weight * (evidence[m, part, one] - evidence[m, part, other])
    for place in range(len(counted)):
        if counted[place] >= 0:
            part = 1 + 2 * numbers + place
            weight = 1.0 + counted_weights[counted[place], m, CHANGE]
            shares[1 + numbers + place] += strength * weight * (evidence[m, part, one] - evidence[m, part, other])


@compiled
def share_effects(
    number_effects: Floats,
    value_effects: Floats,
    bin_effects: Floats,
    features: Integers,
    times: Floats,
    rows: Integers,
    codes: Integers,
    one: int,
    other: int,
    shares: Floats,
) -> None:
    """Add to the shares the effects of numbers, bins, categories and tokens."""
    numbers = len(times)
    for place in range(numbers):
        effects = number_effects[features[place], CHANGE]
        shares[1 + place] += times[place] * (effects[one] - effects[other])
        if rows[place] >= 0:
            shares[1 + place] += bin_effects[rows[place], CHANGE, one] - bin_effects[rows[place], CHANGE, other]
    for place in range(len(codes)):
        if codes[place] >= 0:
            effects = value_effects[codes[place], CHANGE]
            shares[1 + numbers + place] += effects[one] - effects[other]


@compiled
def explain_mixture(
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
    chosen_class: int,
    against: int,
    shares: Floats,
) -> tuple[int, int]:
    """Set the shares of one event's log odds of one class against another; return the two.

    As `explain` does for one memory: the shares are of the prior, with all biases, then of each number, category and
    token. The arguments are `*space, *tables, *events, chosen_class, against, shares`, the space (see `work_space`)
    with room for all parts of the event; a negative class is to be found.
    """
    memories = len(clocks)
    numbers = starts[NUMBERS, 1] - starts[NUMBERS, 0]
    others = len(entries) - numbers
    mixed, known = floats[0, :memories], floats[1, :classes]
    rows, ways, codes, counted = places[0, :numbers], places[1, :numbers], places[2, :others], places[3, :others]
    times, begins = floats[2, :numbers], floats[3, :numbers]
    answer(
        weights, moments, logs, counts, totals, distinct, owner, binned, keys, index, kinds, likelihoods, clocks,
        settings, number_weights, counted_weights, number_effects, value_effects, bin_effects, biases, whole,
        starts, entries, values, 0,
        evidence, scores, answers, mixed, known, rows, ways, codes, counted, times, begins,
    )  # fmt: skip
    for k in range(classes):
        if known[k] == 0.0:
            scores[memories, k] = -math.inf
    if chosen_class < 0:
        chosen_class = most(scores, memories, classes, against)
    if against < 0:
        against = most(scores, memories, classes, chosen_class)
    one, other = chosen_class, against
    shares[:] = 0.0
    shares[0] = biases[memories, CHANGE, one] - biases[memories, CHANGE, other]
    if known[one] != known[other]:  # impossible, as in the probabilities
        shares[0] = math.inf * (known[one] - known[other])
    for m in range(memories):
        strength = (1.0 + whole[memories, CHANGE]) * mixed[m]
        prior = (1.0 + whole[m, CHANGE]) * (evidence[m, 0, one] - evidence[m, 0, other])
        shares[0] += strength * (biases[m, CHANGE, one] - biases[m, CHANGE, other] + prior)
        share_parts(
            evidence, m, strength, number_weights, counted_weights, entries, begins, counted, one, other, shares
        )
    share_effects(number_effects, value_effects, bin_effects, entries, times, rows, codes, one, other, shares)
    return one, other
