"""Likelihoods of numbers: what may be expected of a numeric feature within a class.

Law: a likelihood that cannot be is named, with what it may be, before anything is learned.
"""

import math
from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Any, Final, Literal

import numpy as np

from streamnb.arrays import AUTO, BINNED, EDGES, GAUSSIAN, LIKELIHOOD, LOG_NORMAL, MIXED, Floats
from streamnb.values import FeatureName

Likelihood = Literal["mixed", "gaussian", "log-normal", "binned", "auto"] | Sequence[float]
"""A Gaussian and bins, each with a weight of its own; one alone; the best of three; or bins between these edges."""

LIKELIHOODS: Final = {
    "mixed": MIXED,
    "gaussian": GAUSSIAN,
    "log-normal": LOG_NORMAL,
    "binned": BINNED,
    "auto": AUTO,
}


class Likelihoods:
    """The likelihood of each numeric feature.

    Parameters
    ----------
    given
        One for all features, or by feature; features that are not among them are mixed.

    `places` says how many a row has, `logs` whether some feature has moments of the logarithms of its numbers.

    Raises ValueError for one that cannot be.

    >>> Likelihoods({"fare": "log-normal", "age": [18, 40, 65]}).row("age").tolist()
    [3.0, 0.0, 0.0, 0.0, 18.0, 40.0, 65.0]
    """

    def __init__(self, given: Likelihood | Mapping[FeatureName, Likelihood]) -> None:
        self._by_feature = dict(given) if isinstance(given, Mapping) else {}
        self._other: Likelihood = "mixed" if isinstance(given, Mapping) else given
        for feature, likelihood in [(None, self._other), *self._by_feature.items()]:
            _check(feature, likelihood)
        edges = [each for each in (self._other, *self._by_feature.values()) if not isinstance(each, str)]
        self.places = EDGES + max(map(len, edges), default=0)
        named = [each for each in (self._other, *self._by_feature.values()) if isinstance(each, str)]
        self.logs = "log-normal" in named or "auto" in named

    def row(self, feature: FeatureName) -> Floats:
        """Return what the kernels need to know of a feature, in the places that arrays.py names."""
        likelihood = self._by_feature.get(feature, self._other)
        row = np.zeros(self.places)
        row[EDGES:] = np.nan if isinstance(likelihood, str) else np.inf
        if isinstance(likelihood, str):
            row[LIKELIHOOD] = LIKELIHOODS[likelihood]
        else:
            row[LIKELIHOOD] = BINNED
            row[EDGES : EDGES + len(likelihood)] = likelihood
        return row

    def to_state(self) -> Any:
        """Return what was given, as plain values."""
        if not self._by_feature:
            return _plain(self._other)
        return sorted(([name, _plain(likelihood)] for name, likelihood in self._by_feature.items()), key=repr)

    @staticmethod
    def from_state(state: Any) -> Any:
        """Return what was given, from its `to_state`."""
        if isinstance(state, str) or not state or not isinstance(state[0], Sequence):
            return state
        return {name: likelihood for name, likelihood in state}  # noqa: C416 - pairs that are lists


def _plain(likelihood: Likelihood) -> Any:
    return likelihood if isinstance(likelihood, str) else [float(edge) for edge in likelihood]


def _check(feature: FeatureName | None, likelihood: object) -> None:
    of = "" if feature is None else f" of {feature!r}"
    if isinstance(likelihood, str):
        if likelihood in LIKELIHOODS:
            return
    elif isinstance(likelihood, Sequence | np.ndarray):
        try:
            edges = [float(edge) for edge in likelihood]
        except (TypeError, ValueError):
            edges = []
        rising = all(one < other for one, other in pairwise(edges))
        if edges and rising and all(map(math.isfinite, edges)):
            return
        raise ValueError(f"the edges of bins{of} are {likelihood!r:.80}: they must be finite numbers that rise")
    raise ValueError(
        f"the likelihood{of} is {likelihood!r:.80}: it must be one of {', '.join(LIKELIHOODS)}, or a list of edges"
    )
