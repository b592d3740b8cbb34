"""How far what was learned of late is from what was learned in the long run: in bits, feature by feature.

Law: no shift is found between equal statistics, it is the same both ways, and free of the unit and the origin of
numbers; what chance would make of the same distributions is taken off.
"""

import math
from collections.abc import Iterator

import numpy as np

from streamnb.arrays import LOW, ROUNDING, TAKEN, WEIGHT, Floats, Integers
from streamnb.features import information_of_numbers, information_of_values
from streamnb.settings import Settings
from streamnb.statistics import Statistics
from streamnb.values import CATEGORICAL, NUMERIC, FeatureName

CLASSES = "(classes)"
"""The name under which a shift of the classes themselves is told."""

_DEVIATIONS = 3.0  # standard deviations of what chance makes that are taken off beside its mean
_TAILS = 2.0  # a ratio of variances that samples of one distribution may have: those of heavy tails vary that much
_HALVES = np.full(2, 0.5)

_Slots = list[tuple[int, int, float]]


def shifts(short: Statistics, long: Statistics, settings: Settings) -> list[tuple[FeatureName, float]]:
    """Return the features, and CLASSES, with how far their distributions of late are from those of old; largest first.

    It is the Jensen-Shannon divergence in bits: how well one event tells from which of the two memories it was drawn,
    from 0 to 1. That of a feature is taken within each class that both have met, missing values being a value like
    others, and averaged over the classes by their mean weight in the two; so a feature does not shift by a shift of the
    classes. Of each the mean and three standard deviations are taken off that chance gives to samples of these weights,
    (d + 3 sqrt(2 d)) (1 / n + 1 / m) / (8 ln 2) with d degrees of freedom. Features, values and classes are matched by
    name.

    Lin, J. (1991). Divergence measures based on the Shannon entropy. IEEE Transactions on Information Theory 37(1).

    Parameters
    ----------
    settings
        Those of the model: for as many numbers as its variance prior says, the variance of both memories counts.

    Raises ValueError for a feature of two kinds.
    """
    if not (short.weights[WEIGHT, 0] and long.weights[WEIGHT, 0]):
        return []
    slots = list(_slots(short, long))
    found: list[tuple[FeatureName, float]] = [(CLASSES, float(_of_classes(short, long)))]
    for name in dict.fromkeys([*long.vocabulary.features, *short.vocabulary.features]):
        kinds = {side.vocabulary.features[name][0] for side in (short, long) if name in side.vocabulary.features}
        if len(kinds) > 1:
            raise ValueError(f"the feature {name!r} is {' and '.join(sorted(kinds))}")
        kind = kinds.pop()
        if kind == NUMERIC:
            bits = _of_numbers(short, long, name, slots, settings)
        else:
            bits = _of_values(short, long, name, slots, missing=kind == CATEGORICAL)
        found.append((name, float(bits)))
    return sorted(found, key=lambda pair: -pair[1])


def _slots(short: Statistics, long: Statistics) -> Iterator[tuple[int, int, float]]:
    """Yield the slots of each class that has a weight in both, and its mean share of the two."""
    everything = short.weights[WEIGHT, 0], long.weights[WEIGHT, 0]
    for slot, label in enumerate(long.labels, start=1):
        code = short.labels.find(label)
        if code is not None:
            shares = short.weights[WEIGHT, code + 1] / everything[0], long.weights[WEIGHT, slot] / everything[1]
            if all(shares):
                yield code + 1, slot, float(sum(shares)) / 2.0


def _of_classes(short: Statistics, long: Statistics) -> float:
    labels = [*long.labels, *(label for label in short.labels if long.labels.find(label) is None)]
    counts = np.zeros((len(labels), 2))
    for row, label in enumerate(labels):
        for column, side in enumerate((short, long)):
            code = side.labels.find(label)
            counts[row, column] = 0.0 if code is None else side.weights[WEIGHT, code + 1] / side.unit
    return _divergence(counts)


def _of_values(short: Statistics, long: Statistics, name: FeatureName, slots: _Slots, *, missing: bool) -> float:
    """Return the shift of a feature that is counted; where it may be missing, that is one more value."""
    keys: dict[object, None] = {}
    for side in (long, short):
        if name in side.vocabulary.features:
            keys |= dict.fromkeys(side.vocabulary.codes[side.vocabulary.features[name][1]])
    tables = _table(short, name, keys), _table(long, name, keys)
    bits = 0.0
    for one, other, share in slots:
        counts = np.stack((tables[0][:, one], tables[1][:, other]), axis=1)
        if missing:
            weights = np.array([_weight(short, one), _weight(long, other)])
            counts = np.vstack((counts, np.maximum(weights - counts.sum(axis=0), 0.0)))
        bits += share * _divergence(counts)
    return bits


def _table(side: Statistics, name: FeatureName, keys: dict[object, None]) -> Floats:
    """Return the weights [value, slot] of some values of a feature; zeros for what was never met."""
    weights = np.zeros((len(keys), side.slots))
    if name in side.vocabulary.features:
        codes = side.vocabulary.codes[side.vocabulary.features[name][1]]
        columns: Integers = np.fromiter((codes.get(key, -1) for key in keys), np.int64, len(keys))
        weights[columns >= 0] = side.counts.array[columns[columns >= 0], : side.slots] / side.unit
    return weights


def _weight(side: Statistics, slot: int) -> float:
    return float(side.weights[WEIGHT, slot]) / side.unit


def _of_numbers(short: Statistics, long: Statistics, name: FeatureName, slots: _Slots, settings: Settings) -> float:
    bits = 0.0
    for one, other, share in slots:
        moments = np.stack((_moments(short, name, one), _moments(long, name, other)), axis=1)
        events = np.array([_weight(short, one), _weight(long, other)])
        here = np.minimum(moments[0], events)
        there = _divergence(np.stack((here, events - here)))
        if here.all():
            there += float((here / events).mean()) * _between(moments, settings.variance_prior)
        bits += share * there
    return bits


def _moments(side: Statistics, name: FeatureName, slot: int) -> Floats:
    """Return weight, mean, sum of squared deviations and the rest of the mean of a numeric feature in a class."""
    if name not in side.vocabulary.features:
        return np.zeros(4)
    moments = side.moments.array[side.vocabulary.features[name][1], :, slot]
    weight, mean, squares = moments[:TAKEN]
    return np.array([weight / side.unit, mean, squares / side.unit, moments[LOW]])


def _between(moments: Floats, prior: float) -> float:
    """Return the divergence of two Gaussians [moment, memory], a variance of both counting for some observations."""
    weights, means, squares, low = moments
    distance = (means[1] - means[0]) + (low[1] - low[0])
    common = squares.sum() / weights.sum()
    variances = (squares + prior * common) / (weights + prior)
    spread = variances.mean() + distance * distance / 4.0  # the variance of both together
    if not spread > (ROUNDING * np.abs(means).max()) ** 2:
        return 0.0  # rounding
    logs = np.log(np.maximum(variances / spread, 1e-9))  # a constant that becomes another is far from it
    apart = np.maximum(np.abs(logs - logs.mean()) - math.log(_TAILS) / 2.0, 0.0) * np.sign(logs - logs.mean())
    deviations = np.exp((logs.mean() + apart) / 2.0)
    bits = information_of_numbers(np.array([0.0, distance / math.sqrt(spread)]), deviations, _HALVES)
    return max(bits - _chance(2.0, weights), 0.0)


def _divergence(counts: Floats) -> float:
    """Return the divergence of two distributions given as counts [value, memory]; 0 where one of them is empty."""
    weights = counts.sum(axis=0)
    if not weights.all():
        return 0.0
    bits = information_of_values(counts / weights, _HALVES)
    return max(bits - _chance(np.count_nonzero(counts.any(axis=1)) - 1.0, weights), 0.0)


def _chance(freedom: float, weights: Floats) -> float:
    """Return the divergence, in bits, that samples of these weights of one distribution seldom exceed.

    Eight times the divergence in nats is to second order the chi-squared distance, whose mean is its degrees of
    freedom times the sum of the reciprocal weights.
    """
    return (freedom + _DEVIATIONS * math.sqrt(2.0 * freedom)) * float((1.0 / weights).sum()) / (8.0 * math.log(2.0))
