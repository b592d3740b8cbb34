"""Why a class was chosen: each feature's share of the log odds against another class.

Law: the prior and the shares add up to the difference of the two classes' scores.
"""

import html
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any, NamedTuple

from streamnb.arrays import Events
from streamnb.events import Event, flatten
from streamnb.labels import Label
from streamnb.values import FeatureName
from streamnb.vocabulary import Vocabulary

OTHER_TOKENS = "(rare or unseen tokens)"
"""What stands for the tokens of a bag that have no column of their own."""

ABSENT_TOKENS = "(tokens that are absent)"
"""What stands for the tokens of the vocabulary that a bag does not have, where that counts."""


class Share(NamedTuple):
    """What one value of an event, or one token of a bag, adds to the log odds."""

    feature: FeatureName
    value: Any
    share: float


@dataclass(frozen=True, slots=True)
class Explanation:
    """Why `label` rather than `against`, which is None where there is no other class.

    `prior` is what the classes' frequencies add to the log odds, `shares` what the features do, the largest first. From
    a model that has learned weights there are `weights`, that of each feature, and `memories`, the share of each in the
    mixture by its half-life; what a feature and the prior add is with all of these.

    Examples
    --------
    >>> from streamnb import NaiveBayes
    >>> model = NaiveBayes()
    >>> for size, color, label in ((1, "red", "apple"), (9, "green", "melon"), (2, "green", "apple")):
    ...     model.learn_one({"size": size, "color": color}, label)
    >>> print(model.explain_one({"size": 1.5, "color": "green"}))
    'apple' rather than 'melon': log odds 5.60
      +5.20  size = 1.5
      +0.69  (prior)
      -0.29  color = 'green'
    """

    label: Label
    against: Label | None
    prior: float
    shares: list[Share]
    weights: Mapping[FeatureName, float] = field(default_factory=dict)
    memories: Mapping[float, float] = field(default_factory=dict)

    @property
    def score(self) -> float:
        """The log odds: the exact sum of the prior and all shares, rounded once; NaN for infinity against infinity."""
        try:
            return math.fsum([self.prior, *(share.share for share in self.shares)])
        except ValueError:  # shares of +inf and -inf, where smoothing is off
            return math.nan

    def by_feature(self) -> dict[FeatureName, float]:
        """Return the share of each feature, its tokens taken together, the largest first."""
        sums: dict[FeatureName, float] = {}
        for feature, _, share in self.shares:
            sums[feature] = sums.get(feature, 0.0) + share
        return dict(sorted(sums.items(), key=lambda item: -abs(item[1])))

    def plot(self, top: int = 10, ax: Any = None) -> Any:
        """Draw the largest shares as bars; return matplotlib's axes. Needs the extra `plot`.

        Parameters
        ----------
        top
            How many to draw, the prior among them.
        ax
            Axes to draw on; new ones if None.
        """
        if ax is None:
            try:
                from matplotlib import pyplot as plt  # noqa: PLC0415 - an extra, and slow to import
            except ImportError as error:
                raise ImportError("a plot needs matplotlib, which the extra plot brings along: install it") from error
            _, ax = plt.subplots()
        names, shares = zip(*reversed(self._bars(top)), strict=True)
        ax.barh(range(len(names)), shares, color=["tab:blue" if share > 0 else "tab:red" for share in shares])
        ax.set_yticks(range(len(names)), names)
        ax.axvline(0, color="black", linewidth=0.8)
        ax.set_xlabel("share of the log odds")
        ax.set_title(self._title())
        return ax

    def __str__(self) -> str:
        lines = [f"  {share:+.2f}  {name}" for name, share in self._bars(len(self.shares) + 1)]
        memories = [f"{share:.0%} {_half_life(half_life)}" for half_life, share in self.memories.items()]
        return "\n".join([self._title(), *lines, *([f"  by memories: {', '.join(memories)}"] if memories else [])])

    def _repr_html_(self) -> str:
        """Return a table for a notebook."""
        bars = self._bars(20)
        largest = max((abs(share) for _, share in bars if math.isfinite(share)), default=0.0) or 1.0
        rows = []
        for name, share in bars:
            color, width = "#4878cf" if share > 0 else "#d65f5f", min(abs(share) / largest, 1)
            bar = f"<div style='height:1em;width:{width:.0%};background:{color}'></div>"
            rows.append(f"<tr><td>{html.escape(name)}</td><td>{share:+.2f}</td><td>{bar}</td></tr>")
        return f"<table style='min-width:30em'><caption>{html.escape(self._title())}</caption>{''.join(rows)}</table>"

    def _title(self) -> str:
        if self.against is None:
            return f"{self.label!r}, the only class"
        return f"{self.label!r} rather than {self.against!r}: log odds {self.score:.2f}"

    def _weight(self, feature: FeatureName) -> str:
        return f"  (weight {self.weights[feature]:.2f})" if feature in self.weights else ""

    def _bars(self, top: int) -> list[tuple[str, float]]:
        bars = [(f"{feature} = {value!r:.40}{self._weight(feature)}", share) for feature, value, share in self.shares]
        bars.append(("(prior)", self.prior))
        return sorted(bars, key=lambda bar: -abs(bar[1]))[:top]


def _half_life(half_life: float) -> str:
    return "for good" if math.isinf(half_life) else f"of {half_life:g}"


def name_shares(vocabulary: Vocabulary, encoded: Events, event: Event, shares: Sequence[float]) -> list[Share]:
    """Return the shares of one event's values in the order of the event as encoded, the largest first.

    Parameters
    ----------
    encoded, event
        The event, encoded and as it came.
    shares
        One for each number, category and token, as kernels/explain.py sets them.
    """
    starts, entries, values = encoded
    (_, numbers), (begin, end), (first, last) = starts.tolist()
    codes, told = entries.tolist(), values.tolist()
    names: list[FeatureName] = [vocabulary.numeric[feature] for feature in codes[:numbers]]
    told, often = told[:numbers], told[numbers:]
    if begin < end:
        own = [vocabulary.counted[vocabulary.owner(code)] for code in codes[begin:end]]
        found = event if all(map(event.__contains__, own)) else flatten(event, vocabulary.bags)[0]
        names += own
        told += map(found.__getitem__, own)
    if first < last:
        bags, tokens = _name_tokens(vocabulary, codes[first:last], often)
        names += bags
        told += tokens
    sizes = list(map(abs, shares))
    order = sorted(range(len(names)), key=sizes.__getitem__, reverse=True)
    named = map(_share, [(names[place], told[place], shares[place]) for place in order])
    return (
        [share for share in named if share.share or share.value is not ABSENT_TOKENS] if first < last else list(named)
    )


_share = partial(tuple.__new__, Share)  # three times as fast as calling it


def _name_tokens(
    vocabulary: Vocabulary, codes: Sequence[int], often: Sequence[float]
) -> tuple[list[FeatureName], list[Any]]:
    """Return the feature and the value that each token, or head of a bag, is told by."""
    names: list[FeatureName] = []
    tokens: list[Any] = []
    for code, times in zip(codes, often, strict=True):
        head = times == 0.0
        names.append(vocabulary.counted[-code - 1] if head else names[-1])
        known = code >= 0 and vocabulary.values[code] is not None
        tokens.append(ABSENT_TOKENS if head else vocabulary.values[code] if known else OTHER_TOKENS)
    return names, tokens
