"""Fading: tables whose weights are scaled as time goes on.

Law: fading by a power of two rounds nothing; of what becomes too small, nothing is left.
"""

from streamnb.arrays import FADED, MOMENTS, Floats, Integers, compiled


@compiled
def fade_weights(weights: Floats, factor: float) -> None:
    """Multiply weights [row, slot] by a power of two."""
    for row in range(weights.shape[0]):
        for slot in range(weights.shape[1]):
            weight = weights[row, slot] * factor
            weights[row, slot] = weight if weight >= FADED else 0.0


@compiled
def fade_moments(moments: Floats, factor: float) -> None:
    """Multiply the weights in moments [feature, moment, slot] by a power of two, as `fade_weights` does."""
    for feature in range(moments.shape[0]):
        for slot in range(moments.shape[2]):
            weight = moments[feature, 0, slot] * factor
            moments[feature, 0, slot] = weight
            moments[feature, 2, slot] *= factor
            if weight < FADED:
                for moment in range(MOMENTS):
                    moments[feature, moment, slot] = 0.0


@compiled
def count_distinct(counts: Floats, owner: Integers, distinct: Floats) -> None:
    """Count anew the values of each feature that have a weight."""
    distinct[:] = 0.0
    for code in range(len(owner)):
        if counts[code, 0] > 0.0:
            distinct[owner[code]] += 1.0
