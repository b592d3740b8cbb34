"""How decisions did: how often each was made, and what they cost beside the most probable classes.

Law: measuring goes event by event, so the cuts between batches do not show; measures of parts add up.
"""

import math
from collections.abc import Mapping, Sequence
from typing import Any, Self

from streamnb.decisions import DecisionRule
from streamnb.labels import Label, Labels, as_label


class DecisionMeasures:
    """How often each decision was made, and what decisions cost where the truth became known.

    Decisions made under several rules cost each what its own rule says. An event without an answer is not counted.

    Examples
    --------
    >>> rule, measures = DecisionRule({("fraud", "good"): 50.0}, abstain=0.9), DecisionMeasures()
    >>> measures.update(rule, ["good", None, "fraud"], ["good", "good", "fraud"], ["good", "fraud", None])
    >>> measures.decisions, measures.abstained, measures.measured
    ([('good', 1), ('fraud', 1)], 1, 2)
    >>> measures.mean_cost, measures.most_probable_cost
    (0.45, 25.0)
    """

    def __init__(self) -> None:
        self._labels = Labels()
        self._counts: list[int] = []
        self.abstained = 0
        self.measured = 0
        self._sums = [0.0, 0.0]

    def update(
        self,
        rule: DecisionRule,
        decisions: Sequence[Label | None],
        answers: Sequence[Label | None],
        labels: Sequence[Any],
    ) -> None:
        """Count decisions, and what they cost.

        Parameters
        ----------
        decisions
            What the rule decided; None where it abstained.
        answers
            The most probable class; None for an event without an answer, which is not counted.
        labels
            The true labels; None where they are not known.

        Raises ValueError for labels that cannot be classes, and for columns of several lengths.
        """
        self.measure(rule, decisions, answers, labels)
        for decision, answer in zip(decisions, answers, strict=True):
            if answer is None:
                continue
            if decision is None:
                self.abstained += 1
            else:
                self._count(decision, 1)

    def measure(
        self,
        rule: DecisionRule,
        decisions: Sequence[Label | None],
        answers: Sequence[Label | None],
        labels: Sequence[Any],
    ) -> None:
        """Add what decisions cost that were counted when they were made, and whose labels have become known since.

        Parameters and what it raises are those of `update`.
        """
        measured = [
            (rule.cost(label, decision), rule.cost(label, answer))
            for decision, answer, label in zip(decisions, answers, labels, strict=True)
            if answer is not None and label is not None
        ]
        self.measured += len(measured)
        for cost, other in measured:  # one by one, so that no cut between batches shows
            self._sums[0] += cost
            self._sums[1] += other

    def _count(self, decision: Label, times: int) -> None:
        code = self._labels.add(decision)
        if code == len(self._counts):
            self._counts.append(0)
        self._counts[code] += times

    @property
    def decisions(self) -> list[tuple[Label, int]]:
        """How often each decision was made, in the order of first sight."""
        return list(zip(self._labels, self._counts, strict=True))

    @property
    def mean_cost(self) -> float:
        """The mean cost of the decisions, and of abstaining, on events whose label is known; NaN before the first."""
        return self._sums[0] / self.measured if self.measured else math.nan

    @property
    def most_probable_cost(self) -> float:
        """The mean cost, on the same events, that taking the most probable class would have had."""
        return self._sums[1] / self.measured if self.measured else math.nan

    def merge(self, other: Self) -> None:
        """Add the measures of another part of the stream; decisions are matched by label."""
        for decision, times in other.decisions:
            self._count(decision, times)
        self.abstained += other.abstained
        self.measured += other.measured
        self._sums = [sum(pair) for pair in zip(self._sums, other._sums, strict=True)]

    def to_state(self) -> dict[str, Any]:
        """Return all that the measures are, as plain values."""
        return {
            "decisions": self.decisions,
            "abstained": self.abstained,
            "measured": self.measured,
            "costs": self._sums,
        }

    @classmethod
    def from_state(cls, state: Mapping[str, Any]) -> Self:
        """Return the measures whose `to_state` this is; ValueError for what cannot be."""
        measures = cls()
        for decision, times in state["decisions"]:
            measures._count(as_label(decision), int(times))
        if len(measures._counts) < len(state["decisions"]):
            raise ValueError("a decision twice")
        measures.abstained, measures.measured = int(state["abstained"]), int(state["measured"])
        cost, other = state["costs"]
        measures._sums = [float(cost), float(other)]
        return measures
