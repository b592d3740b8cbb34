"""Weighing: from the evidence of all memories to the probabilities of one event, and one step on the log loss.

Law: a score is a sum over parts, memories and effects, so each part has its exact share of it; a step costs as much as
the score. A weight is kept as its change from where it starts, so that zeros are a model that has learned none.
"""

import math

from streamnb.arrays import CHANGE, LOSS, SQUARES, Floats, Integers, compiled

_FADING = 0.998  # of the loss of a memory, each event: it is judged by the last few hundred
_LEAST_PROBABILITY = 1e-6  # one miss costs a memory no more than this one
_FIRST, _FIRST_EFFECT = 0.01, 1.0  # squared gradients before any: effects start slowly, since many of them meet at once
_LINEAR, _VALUE, _WHOLE = 0.5, 0.05, 0.1  # rates of effects and of the mixture, as shares of that of a weight
_FARTHEST = 3.0  # standard deviations: where the linear effect of a number ends


@compiled
def standing(moments: Floats, row: int, value: float) -> float:
    """Return how many standard deviations a number is from the mean of all classes, within bounds; 0 for none."""
    weight, squares = moments[row, 0, 0], moments[row, 2, 0]
    if math.isnan(value) or not squares > 0.0:
        return 0.0
    distance: float = (value - moments[row, 1, 0]) / math.sqrt(squares / weight)
    return min(max(distance, -_FARTHEST), _FARTHEST)


@compiled
def weigh(
    evidence: Floats,
    number_weights: Floats,
    counted_weights: Floats,
    biases: Floats,
    whole: Floats,
    features: Integers,
    begins: Floats,
    counted: Integers,
    known: Floats,
    scores: Floats,
    answers: Floats,
) -> None:
    """Set scores and answers [memory, class] of each memory: its bias, and what each part says, by its weight.

    Parameters
    ----------
    features, begins, counted
        The feature of each number and where its weights start; the feature of each category and token.
    """
    memories, classes = evidence.shape[0], evidence.shape[2]
    for m in range(memories):
        weight = 1.0 + whole[m, CHANGE]
        for k in range(classes):
            scores[m, k] = biases[m, CHANGE, k] + weight * evidence[m, 0, k]
        part = 1
        for place in range(len(features)):
            feature, start = features[place], begins[place]
            curve, own = start + number_weights[feature, m, 0, CHANGE], start + number_weights[feature, m, 1, CHANGE]
            for k in range(classes):
                scores[m, k] += curve * evidence[m, part, k] + own * evidence[m, part + 1, k]
            part += 2
        for place in range(len(counted)):
            if counted[place] >= 0:
                weight = 1.0 + counted_weights[counted[place], m, CHANGE]
                for k in range(classes):
                    scores[m, k] += weight * evidence[m, part, k]
            part += 1
    softmax(scores, 0, memories, known, answers)


@compiled
def softmax(scores: Floats, start: int, stop: int, known: Floats, answers: Floats) -> None:
    """Set rows of answers [row, class], probabilities, from those of scores; 0 for a class that is not known."""
    for row in range(start, stop):
        top = -math.inf
        for k in range(len(known)):
            if known[k] > 0.0:
                top = max(top, scores[row, k])
        total = 0.0
        for k in range(len(known)):
            answers[row, k] = math.exp(scores[row, k] - top) if known[k] > 0.0 else 0.0
            total += answers[row, k]
        for k in range(len(known)):
            answers[row, k] /= total


@compiled
def share(whole: Floats, shares: Floats) -> None:
    """Set the share of each memory in the mixture, by how well it has done of late."""
    memories = len(shares)
    least = math.inf
    for m in range(memories):
        least = min(least, whole[m, LOSS])
    total = 0.0
    for m in range(memories):
        shares[m] = math.exp(least - whole[m, LOSS])
        total += shares[m]
    for m in range(memories):
        shares[m] /= total


@compiled
def mix(
    whole: Floats,
    biases: Floats,
    number_effects: Floats,
    value_effects: Floats,
    bin_effects: Floats,
    features: Integers,
    times: Floats,
    rows: Integers,
    codes: Integers,
    shares: Floats,
    scores: Floats,
) -> None:
    """Set the last row of scores [memory, class]: all memories by their shares, and the effects.

    Parameters
    ----------
    times, rows
        How often the linear effect of each number enters, and the row of its bin.
    codes
        Those of the categories and tokens.
    """
    memories, classes = len(shares), scores.shape[1]
    for k in range(classes):
        scores[memories, k] = biases[memories, CHANGE, k]
    for m in range(memories):
        strength = (1.0 + whole[memories, CHANGE]) * shares[m]
        for k in range(classes):
            scores[memories, k] += strength * scores[m, k]
    for place in range(len(features)):
        for k in range(classes):
            scores[memories, k] += times[place] * number_effects[features[place], CHANGE, k]
        if rows[place] >= 0:
            for k in range(classes):
                scores[memories, k] += bin_effects[rows[place], CHANGE, k]
    for place in range(len(codes)):
        if codes[place] >= 0:
            for k in range(classes):
                scores[memories, k] += value_effects[codes[place], CHANGE, k]


@compiled
def stepped(
    change: float, squares: float, slope: float, first: float, start: float, rate: float
) -> tuple[float, float]:
    """Return the change of a weight and its squared gradients after a step of AdaGrad, the weight not below zero.

    Duchi, J., Hazan, E. and Singer, Y. (2011). Adaptive subgradient methods for online learning and stochastic
    optimization. Journal of Machine Learning Research 12.

    Parameters
    ----------
    first, start
        The squared gradients before any, and where the weight starts.
    """
    squares += slope * slope
    return max(change + rate * slope / math.sqrt(squares + first), -start), squares


@compiled
def step_effect(effects: Floats, row: int, times: float, errors: Floats, first: float, rate: float) -> None:
    """Move a row of effects [row, change or squares, class], which entered so many times, one step."""
    for k in range(len(errors)):
        effects[row, CHANGE, k], effects[row, SQUARES, k] = stepped(
            effects[row, CHANGE, k], effects[row, SQUARES, k], times * errors[k], first, math.inf, rate
        )


@compiled
def step_memories(
    evidence: Floats,
    number_weights: Floats,
    counted_weights: Floats,
    biases: Floats,
    whole: Floats,
    features: Integers,
    begins: Floats,
    counted: Integers,
    answers: Floats,
    label: int,
    weight: float,
    known: Floats,
    errors: Floats,
    rate: float,
) -> None:
    """Move the weights of each memory, and its bias, one step on its own log loss; the tokens of a bag share one."""
    memories, classes = evidence.shape[0], evidence.shape[2]
    for m in range(memories):
        prior = 0.0
        for k in range(classes):
            errors[k] = weight * ((1.0 if k == label else 0.0) - answers[m, k]) * known[k]
            prior += errors[k] * evidence[m, 0, k]
        step_effect(biases, m, 1.0, errors, _FIRST, rate)
        whole[m, CHANGE], whole[m, SQUARES] = stepped(whole[m, CHANGE], whole[m, SQUARES], prior, _FIRST, 1.0, rate)
        part = 1
        for place in range(len(features)):
            feature = features[place]
            for own in range(2):
                slope = 0.0
                for k in range(classes):
                    slope += errors[k] * evidence[m, part, k]
                if slope != 0.0:
                    change, squares = number_weights[feature, m, own, CHANGE], number_weights[feature, m, own, SQUARES]
                    change, squares = stepped(change, squares, slope, _FIRST, begins[place], rate)
                    number_weights[feature, m, own, CHANGE], number_weights[feature, m, own, SQUARES] = change, squares
                part += 1
        slope = 0.0
        for place in range(len(counted)):
            feature = counted[place]
            for k in range(classes):
                slope += errors[k] * evidence[m, part, k]
            part += 1
            if place + 1 == len(counted) or counted[place + 1] != feature:
                if slope != 0.0:
                    change, squares = counted_weights[feature, m, CHANGE], counted_weights[feature, m, SQUARES]
                    change, squares = stepped(change, squares, slope, _FIRST, 1.0, rate)
                    counted_weights[feature, m, CHANGE], counted_weights[feature, m, SQUARES] = change, squares
                slope = 0.0
        whole[m, LOSS] = _FADING * whole[m, LOSS] - weight * math.log(max(answers[m, label], _LEAST_PROBABILITY))


@compiled
def step_mixture(
    whole: Floats,
    biases: Floats,
    number_effects: Floats,
    value_effects: Floats,
    bin_effects: Floats,
    features: Integers,
    times: Floats,
    rows: Integers,
    codes: Integers,
    shares: Floats,
    scores: Floats,
    answers: Floats,
    label: int,
    weight: float,
    known: Floats,
    errors: Floats,
    rate: float,
) -> None:
    """Move the temperature of the mixture, its bias and the effects one step on its log loss."""
    memories, classes = len(shares), len(errors)
    slope = 0.0
    for k in range(classes):
        errors[k] = weight * ((1.0 if k == label else 0.0) - answers[memories, k]) * known[k]
        for m in range(memories):
            slope += shares[m] * errors[k] * scores[m, k]
    whole[memories, CHANGE], whole[memories, SQUARES] = stepped(
        whole[memories, CHANGE], whole[memories, SQUARES], slope, _FIRST, 1.0, _WHOLE * rate
    )
    step_effect(biases, memories, 1.0, errors, _FIRST, _WHOLE * rate)
    for place in range(len(features)):
        step_effect(number_effects, features[place], times[place], errors, _FIRST_EFFECT, _LINEAR * rate)
        if rows[place] >= 0:
            step_effect(bin_effects, rows[place], 1.0, errors, _FIRST_EFFECT, _VALUE * rate)
    for place in range(len(codes)):
        if codes[place] >= 0:
            step_effect(value_effects, codes[place], 1.0, errors, _FIRST_EFFECT, _VALUE * rate)
