"""What the features tell, from the tables alone: statistics by class, information about the label, likely copies.

Law: nothing is changed, and weights are as of now.
"""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np

from streamnb.arrays import LOW, TAKEN, WEIGHT, Floats, Integers
from streamnb.kernels.score import pooled_variance
from streamnb.labels import Label
from streamnb.settings import Settings
from streamnb.statistics import Statistics
from streamnb.values import Category, FeatureName

_ALIKE = 0.02  # of what features tell: as far apart as they may be to be taken for copies
_LITTLE = 1e-3  # bits; of features that tell less, none is taken for a copy


@dataclass(frozen=True)
class FeatureStats:
    """What a feature was in a class: of numbers, weight, mean and variance; of values, weight and counts.

    `var` is the unbiased variance, 0 for less than two observations, `var_population` the one that divides by n.
    """

    feature: FeatureName
    label: Label
    n: float
    mean: float
    var: float
    var_population: float
    counts: Mapping[Category | None, float]


def stats_of(statistics: Statistics, feature: FeatureName, label: Label) -> FeatureStats:
    """Return the statistics of a feature in a class.

    Raises ValueError for a feature or a class that was never learned.
    """
    vocabulary, unit = statistics.vocabulary, statistics.unit
    code = statistics.labels.find(label)
    if feature not in vocabulary.features:
        raise ValueError(f"the feature {feature!r} was never learned")
    if code is None:
        raise ValueError(f"the class {label!r} was never learned")
    kind, number = vocabulary.features[feature]
    if kind == "numeric":
        weight, mean, squares = statistics.moments.array[number, :TAKEN, code + 1].tolist()
        n, squares = weight / unit, squares / unit
        mean += float(statistics.moments.array[number, LOW, code + 1])
        var = squares / (n - 1) if n > 1 else 0.0
        return FeatureStats(feature, label, n, mean, var, squares / n if n else 0.0, {})
    values, weights = values_of(statistics, feature)
    counts = dict(zip(values, weights[:, code].tolist(), strict=True))
    n = float(statistics.counts.totals[number, code + 1]) / unit
    return FeatureStats(feature, label, n, math.nan, math.nan, math.nan, counts)


def values_of(statistics: Statistics, feature: FeatureName) -> tuple[list[Category | None], Floats]:
    """Return the values of a feature that is not numeric, the commonest first, and their weights [value, class].

    None stands for the rare values that share a column.
    """
    vocabulary, counts = statistics.vocabulary, statistics.counts.array
    columns = np.sort(_columns(statistics, vocabulary.features[feature][1]))
    columns = columns[np.argsort(-counts[columns, 0], kind="stable")]
    weights = counts[columns, 1 : statistics.slots] / statistics.unit
    return [vocabulary.values[column] for column in columns.tolist()], weights


def _columns(statistics: Statistics, feature: int) -> Integers:
    """Return the columns of a feature that is not numeric, that of its rare values among them."""
    return np.array(list(statistics.vocabulary.codes[feature].values()), dtype=np.int64)


def table_of(statistics: Statistics, settings: Settings) -> dict[str, list[Any]]:
    """Return columns of a table with a row for each feature and class."""
    bits = dict(ranking(statistics, settings))
    vocabulary, unit = statistics.vocabulary, statistics.unit
    rows: list[tuple[Any, ...]] = []
    for name, (kind, number) in vocabulary.features.items():
        for slot, label in enumerate(statistics.labels, start=1):
            if kind == "numeric":
                stats = stats_of(statistics, name, label)
                rows.append((name, kind, label, stats.n, stats.mean, stats.var, 0, bits[name]))
            else:
                n, values = float(statistics.counts.totals[number, slot]) / unit, len(vocabulary.codes[number])
                rows.append((name, kind, label, n, math.nan, math.nan, values, bits[name]))
    names = ("feature", "kind", "class", "n", "mean", "var", "values", "information")
    return {column: [row[place] for row in rows] for place, column in enumerate(names)}


def ranking(statistics: Statistics, settings: Settings) -> list[tuple[FeatureName, float]]:
    """Return the features with the mutual information, in bits, of their value and the label; the largest first.

    The distributions are those that the model scores with, smoothed and with the variance prior; those of a bag are of
    one token. A feature that only some events have tells that share of the events only.

    Cover, T. M. and Thomas, J. A. (2006). Elements of Information Theory, chapter 2. Wiley.
    """
    vocabulary, everything = statistics.vocabulary, statistics.weights[WEIGHT, 0]
    bits = []
    for name, (kind, number) in vocabulary.features.items():
        if kind == "numeric":
            weight = statistics.moments.array[number, 0, 0]
            information = _of_numbers(statistics, settings, number)
        else:
            weight = everything if kind != "categorical" else statistics.counts.totals[number, 0]
            information = _of_values(statistics, settings, number)
        bits.append((name, information * float(min(weight / everything, 1.0)) if everything else 0.0))
    return sorted(bits, key=lambda pair: -pair[1])


def _of_values(statistics: Statistics, settings: Settings, feature: int) -> float:
    columns = _columns(statistics, feature)
    totals = statistics.counts.totals[feature, 1 : statistics.slots]
    classes = np.flatnonzero(totals > 0.0)
    counts = statistics.counts.array[np.ix_(columns, classes + 1)] + settings.smoothing * statistics.unit
    told = counts.sum(axis=0) > 0.0  # a class may have had empty bags alone
    classes, counts = classes[told], counts[:, told]
    if counts.size == 0:
        return 0.0
    given = counts / counts.sum(axis=0)
    priors = totals[classes] / totals[classes].sum()
    return information_of_values(given, priors)


def _of_numbers(statistics: Statistics, settings: Settings, feature: int) -> float:
    means, deviations, priors = _gaussians(statistics, settings, feature)
    return information_of_numbers(means, deviations, priors) if len(priors) else 0.0


def information_of_numbers(means: Floats, deviations: Floats, priors: Floats) -> float:
    """Return the mutual information, in bits, of a number and which of some Gaussians, with some prior, it comes from.

    >>> far, near = np.array([0.0, 9.0]), np.array([0.0, 1e-9])
    >>> [round(information_of_numbers(means, np.ones(2), np.full(2, 0.5)), 3) for means in (far, near)]
    [1.0, 0.0]
    """
    nodes, masses = _quadrature()
    bits = 0.0
    for mean, deviation, prior in zip(means, deviations, priors, strict=True):
        distances = (mean + deviation * nodes[:, None] - means) / deviations  # [node, class]
        densities = np.exp(-0.5 * distances**2) / deviations
        inside = np.log2(np.exp(-0.5 * nodes**2) / deviation / (densities @ priors))
        bits += float(prior * (inside @ masses))
    return max(bits, 0.0)


@cache
def _quadrature() -> tuple[Floats, Floats]:
    """Return places and their shares, to integrate over a Gaussian; only who asks waits for them."""
    nodes, masses = np.polynomial.hermite_e.hermegauss(48)
    return nodes, masses / masses.sum()


def _gaussians(statistics: Statistics, settings: Settings, feature: int) -> tuple[Floats, Floats, Floats]:
    """Return mean, standard deviation and share of each class that has a numeric feature; none for a constant one."""
    unit, moments = statistics.unit, statistics.moments.array
    pooled = pooled_variance(moments, feature, statistics.slots - 1, unit)
    weights, means, squares = moments[feature, :TAKEN, 1 : statistics.slots]
    means = (means - moments[feature, 1, 0]) + moments[feature, LOW, 1 : statistics.slots]  # so that no digit is lost
    there = weights > 0.0
    if pooled <= 0.0:
        there = np.zeros_like(there)
    prior = max(settings.variance_prior, 1e-9) * unit
    deviations = np.sqrt((squares[there] + prior * pooled) / (weights[there] + prior))
    scale = math.sqrt(pooled) if pooled > 0.0 else 1.0  # free of the unit of the feature
    return means[there] / scale, deviations / scale, weights[there] / weights[there].sum()


def information_of_values(given: Floats, priors: Floats) -> float:
    """Return the mutual information, in bits, of a class with some prior and a value [value, class] given it.

    >>> information_of_values(np.array([[1.0, 0.0], [0.0, 1.0]]), np.full(2, 0.5))
    1.0
    """
    mixture = given @ priors
    with np.errstate(divide="ignore", invalid="ignore"):
        terms = np.where(given > 0.0, given * np.log2(given / mixture[:, None]), 0.0)
    return max(float(terms.sum(axis=0) @ priors), 0.0)


def alike(statistics: Statistics, ranked: Iterable[tuple[FeatureName, float]]) -> list[list[FeatureName]]:
    """Return groups of features that tell the classes apart in the same way, and so are likely to be copies.

    Naive Bayes counts the evidence of copies once for each. Numeric features are alike if their means and variances by
    class, on a scale of their own, are within two hundredths of what they tell; others if their tables of counts are
    the same but for the names of their values. Features that tell next to nothing are not compared.

    Parameters
    ----------
    ranked
        The features with what they tell, in bits.
    """
    vocabulary = statistics.vocabulary
    telling = {name for name, bits in ranked if bits > _LITTLE}
    numeric = [(number, name) for number, name in enumerate(vocabulary.numeric) if name in telling]
    groups = _near([name for _, name in numeric], [_profile(statistics, number) for number, _ in numeric])
    counted: dict[tuple[int, bytes], list[FeatureName]] = {}
    for number, name in enumerate(vocabulary.counted):
        if name in telling:
            counts = statistics.counts.array[_columns(statistics, number), 1 : statistics.slots]
            counted.setdefault((len(counts), counts[np.lexsort(counts.T)].tobytes()), []).append(name)
    return [names for names in (*groups, *counted.values()) if len(names) > 1]


def _profile(statistics: Statistics, feature: int) -> Floats:
    """Return how the classes of a numeric feature differ: means and log variances, on the scale of the feature."""
    weights, means, squares = statistics.moments.array[feature, :TAKEN, : statistics.slots]
    means = (means - means[0]) + statistics.moments.array[feature, LOW, : statistics.slots]
    safe = np.maximum(weights, np.finfo(np.float64).tiny)
    variances = squares / safe
    overall = max(variances[0], np.finfo(np.float64).tiny)
    shifts = np.where(weights[1:] > 0.0, (means[1:] - means[0]) / math.sqrt(overall), 0.0)
    first = shifts[np.abs(shifts).argmax()] if len(shifts) else 1.0
    spreads = np.where(weights[1:] > 0.0, variances[1:] / overall - 1.0, 0.0)
    profile: Floats = np.concatenate((shifts * (-1.0 if first < 0.0 else 1.0), spreads, weights / safe[0] - 1.0))
    return profile


def _near(names: Sequence[FeatureName], profiles: Sequence[Floats]) -> list[list[FeatureName]]:
    """Return groups of features whose profiles are near that of the first of the group."""
    groups: list[list[FeatureName]] = []
    leaders = np.empty((len(profiles), len(profiles[0]) if profiles else 0))
    for name, profile in zip(names, profiles, strict=True):
        apart = np.linalg.norm(leaders[: len(groups)] - profile, axis=1)
        near = np.flatnonzero(apart <= _ALIKE * np.linalg.norm(profile[: 2 * len(profile) // 3]))
        if len(near):
            groups[near[0]].append(name)
        else:
            leaders[len(groups)] = profile
            groups.append([name])
    return groups
