"""Decisions: what to do about an event, given its probabilities, what mistakes cost, and what abstaining costs.

Law: a decision hangs on its event's probabilities and the rule alone; classes of probability 0, such as those that came
later in a batch, change none.
"""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Final

import numpy as np
from numpy.typing import ArrayLike

from streamnb.arrays import Floats
from streamnb.labels import Label, Labels, as_label

Costs = Mapping[tuple[Label, Label], float] | Sequence[tuple[tuple[Label, Label], float]]
Thresholds = Mapping[Label, float] | Sequence[tuple[Label, float]]

COST_ROUNDING: Final = 1e-12
"""Expected costs that differ by no more than this share of the sizes of their terms are equal."""

LARGEST_COST: Final = 1e100
"""The largest size of a cost: sums of costs stay finite."""

_Key = tuple[type, Label]


@dataclass(frozen=True, eq=False)
class DecisionRule:
    """The decision of least expected cost, among those allowed; or abstaining, where that costs less.

    Deciding d is expected to cost sum_k P(k) cost(k, d) over the classes k. The least is taken; of costs that are equal
    up to rounding, that of the class seen first. A decision need not be a class: each that a cost names may be made. A
    class of probability 0 that no cost names as a decision is not decided for.

    Parameters
    ----------
    costs
        The cost by (true class, decision), as a mapping or as pairs, which hold 1 and True apart. A gain is a negative
        cost. Where it does not say, a right decision costs 0 and a wrong one 1. Classes need not have been met.
    thresholds
        The probability by class that it must have to be decided for, as a mapping or as pairs.
    abstain
        The cost of abstaining, which is chosen where the least expected cost is above it. With None only an event that
        has no decision left by the thresholds is abstained on, and that costs 1, as a wrong decision does.

    Raises
    ------
    ValueError
        For a label, a cost or a probability that cannot be one, or that is given twice.

    References
    ----------
    Chow, C. K. (1970). On optimum recognition error and reject tradeoff. IEEE Transactions on Information Theory 16(1).
    Elkan, C. (2001). The foundations of cost-sensitive learning. IJCAI.

    Examples
    --------
    >>> rule = DecisionRule({("fraud", "good"): 50.0}, abstain=0.9)
    >>> rule.decide(np.array([[0.99, 0.01], [0.97, 0.03], [0.05, 0.95], [0.0, 0.0]]), ["good", "fraud"])
    ['good', None, 'fraud', None]
    >>> rule.decide_one({"good": 0.9, "fraud": 0.1})
    'fraud'
    """

    costs: Costs = ()
    thresholds: Thresholds = ()
    abstain: float | None = None

    def __post_init__(self) -> None:
        if self.abstain is not None:
            _as_cost(self.abstain)  # raises for what cannot be one, as do the next two
        _ = self._named, self._least

    @cached_property
    def _named(self) -> dict[tuple[_Key, _Key], float]:
        """The given costs."""
        named: dict[tuple[_Key, _Key], float] = {}
        for (truth, decision), cost in self.costs.items() if isinstance(self.costs, Mapping) else self.costs:
            pair = _key(truth), _key(decision)
            if pair in named:
                raise ValueError(f"the cost of deciding {decision!r} where the truth is {truth!r} is given twice")
            named[pair] = _as_cost(cost)
        return named

    @cached_property
    def _least(self) -> dict[_Key, float]:
        """The given thresholds."""
        least: dict[_Key, float] = {}
        given = self.thresholds.items() if isinstance(self.thresholds, Mapping) else self.thresholds
        for label, threshold in given:
            if not 0 <= _as_float(threshold) <= 1:
                raise ValueError(f"the threshold of {label!r} is {threshold!r}: it must be a probability, from 0 to 1")
            if _key(label) in least:
                raise ValueError(f"the threshold of {label!r} is given twice")
            least[_key(label)] = float(threshold)
        return least

    @cached_property
    def _decisions(self) -> Labels:
        """The decisions that costs name, in the order of first sight."""
        return Labels(decision for _, (_, decision) in self._named)

    @cached_property
    def _by_decision(self) -> dict[_Key, list[tuple[Label, float]]]:
        """The given costs of each decision, by true class."""
        by_decision: dict[_Key, list[tuple[Label, float]]] = {}
        for ((_, truth), decision), cost in self._named.items():
            by_decision.setdefault(decision, []).append((truth, cost))
        return by_decision

    @cached_property
    def _is_zero_one(self) -> bool:
        """Whether every cost is what it would be without having been given."""
        return all(cost == (truth != decision) for (truth, decision), cost in self._named.items())

    def cost(self, truth: Any, decision: Any) -> float:
        """Return what a decision costs where the truth is known; None is to abstain.

        >>> rule = DecisionRule({("fraud", "good"): 50.0}, abstain=0.9)
        >>> rule.cost("fraud", "good"), rule.cost("good", "fraud"), rule.cost("good", "good"), rule.cost("good", None)
        (50.0, 1.0, 0.0, 0.9)
        """
        if decision is None:
            return 1.0 if self.abstain is None else float(self.abstain)
        pair = _key(truth), _key(decision)
        return self._named.get(pair, float(pair[0] != pair[1]))

    def decide_one(self, probabilities: Mapping[Label, float]) -> Label | None:
        """Return the decision for one event, by the probability of each class as `predict_proba_one` has it.

        Of equals, the first of the mapping. None is to abstain or, without probabilities, nothing to decide on.
        """
        return self.decide(np.array([list(probabilities.values())], dtype=np.float64), probabilities)[0]

    def decide(self, probabilities: ArrayLike, classes: Iterable[Label]) -> list[Label | None]:
        """Return the decision for each event: None is to abstain or, for a row of zeros, nothing to decide on.

        Parameters
        ----------
        probabilities
            [event, class]; each row sums to 1, or is of zeros: no answer yet.
        classes
            The label of each class, in the order of first sight.

        Raises ValueError, naming the event by its place, for what are no probabilities.
        """
        labels = Labels(map(as_label, classes))
        shares = _checked(probabilities, len(labels))
        options = [*labels, *self._decisions]
        if not options:
            return [None] * len(shares)
        own, expected, slack = self._expected(shares, labels)
        least = np.array([self._least.get(_key(option), 0.0) for option in options])
        allowed = own >= least
        allowed[:, : len(labels)] &= shares > 0.0
        ranks, margins = (-own, np.zeros_like(slack)) if self._is_zero_one else (expected, slack)
        best = np.where(allowed, ranks, math.inf).argmin(axis=1)[:, np.newaxis]
        bound = np.take_along_axis(ranks + margins, best, axis=1)
        chosen = (allowed & (ranks - margins <= bound)).argmax(axis=1)
        decided = np.logical_and(shares.any(axis=1), allowed.any(axis=1))
        if self.abstain is not None:
            places = np.arange(len(shares)), chosen
            decided &= expected[places] - slack[places] <= self.abstain
        return [
            options[place] if is_made else None
            for place, is_made in zip(chosen.tolist(), decided.tolist(), strict=True)
        ]

    def _expected(self, shares: Floats, labels: Labels) -> tuple[Floats, Floats, Floats]:
        """Return for each option its probability, its expected cost, and how far rounding may have put that off.

        All are [event, option], the options being the classes and then the decisions that costs name. One that is both
        stands at both places, the second being for where its probability is 0. Sums go from class to class, since any
        other order would hang on how many classes there are.
        """
        known = len(labels)
        own, expected = (np.zeros((len(shares), known + len(self._decisions))) for _ in range(2))
        own[:, :known] = shares
        if known > 1:  # the probability of all classes but one
            expected[:, 1:known] = shares.cumsum(axis=1)[:, :-1]
            expected[:, : known - 1] += shares[:, ::-1].cumsum(axis=1)[:, -2::-1]
        sizes = expected.copy()
        for place, decision in enumerate(self._decisions, start=known):
            code = labels.find(decision)
            terms = shares * self._costs_of(decision, labels)
            for column in (place,) if code is None else (place, code):
                expected[:, column] = _total(terms)
                sizes[:, column] = _total(np.abs(terms))
        return own, expected, COST_ROUNDING * sizes

    def _costs_of(self, decision: Label, labels: Labels) -> Floats:
        """Return what a decision costs by the true class."""
        costs = np.ones(len(labels))
        code = labels.find(decision)
        if code is not None:
            costs[code] = 0.0
        for truth, cost in self._by_decision[_key(decision)]:
            code = labels.find(truth)
            if code is not None:
                costs[code] = cost
        return costs


def _as_cost(value: Any) -> float:
    """Return a value as a cost; ValueError for what is no finite number, or beyond `LARGEST_COST`."""
    cost = _as_float(value)
    if not abs(cost) <= LARGEST_COST:
        raise ValueError(f"{value!r:.80} is no cost: it must be a number from {-LARGEST_COST} to {LARGEST_COST}")
    return cost


def _as_float(value: Any) -> float:
    """Return a value as a float, NaN for what is none."""
    try:
        return float(value)
    except (OverflowError, TypeError, ValueError):
        return math.nan


def _key(label: Any) -> _Key:
    """Return what tells a label from those that Python takes for equal; ValueError for what cannot be a class."""
    plain = as_label(label)
    return type(plain), plain


def _total(terms: Floats) -> Floats:
    """Return the sums of rows, from left to right: so more zeros at their ends change no bit."""
    return terms.cumsum(axis=1)[:, -1] if terms.shape[1] else np.zeros(len(terms))


def _checked(probabilities: ArrayLike, classes: int) -> Floats:
    shares = np.asarray(probabilities, dtype=np.float64)
    if shares.ndim != 2 or shares.shape[1] != classes:
        raise ValueError(f"probabilities [event, class] of the shape {shares.shape} came with {classes} classes")
    sums = shares.sum(axis=1)
    bad = ~((shares >= 0.0).all(axis=1) & ((sums == 0.0) | (np.abs(sums - 1.0) <= 1e-3)))
    if bad.any():
        place = int(bad.argmax())
        raise ValueError(
            f"event {place}: {shares[place].tolist()!r:.200} are no probabilities: they are from 0 to 1 and sum to 1, "
            "or are all 0 where there is no answer"
        )
    return shares
