"""AdaptiveBayes: naive Bayes in several memories, with learned weights.

Law: its tables are those of naive Bayes with each of the half-lives; a prediction is a sum over the parts of an event,
so that each part has its exact share of it; a batch gives, bit for bit, what its events give one by one.
"""

import math
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import fields, replace
from typing import Any, ClassVar

import numpy as np

from streamnb.arrays import AMOUNT, LABEL, LOSS, LOSS_OF_LONGEST, TIME, Events, Floats
from streamnb.batch import as_weight
from streamnb.classifier import Classifier
from streamnb.encoded import part_of
from streamnb.events import Event
from streamnb.explain import Explanation
from streamnb.kernels.adapt import adapt
from streamnb.kernels.answer import parts_of, work_space
from streamnb.kernels.explain_mixture import explain_mixture
from streamnb.labels import Label, as_label
from streamnb.learner import NO_LESSONS, NOTHING
from streamnb.likelihoods import Likelihood, Likelihoods
from streamnb.memories import Memories
from streamnb.settings import AdaptiveSettings, Bags, Prior
from streamnb.shift import shifts
from streamnb.statistics import Statistics
from streamnb.tokenizer import TOKENS, Tokenizer
from streamnb.values import FeatureName, Kind

HALF_LIVES = (10.0, 100.0, 1000.0, math.inf)
"""The memories unless others are asked for: a ladder of tens, and one that never forgets."""


def _from_a_hundred(memory: Statistics) -> float:
    """Return how far the half-life of a memory is from a hundred."""
    half_life = memory.settings.half_life
    return math.inf if half_life is None else abs(math.log(half_life / 100.0))


_SETTINGS = [field.name for field in fields(AdaptiveSettings) if field.name != "half_life"]


class AdaptiveBayes(Classifier):
    """Naive Bayes that forgets what no longer holds, counts correlated evidence once, and is as sure as it is right.

    It keeps the tables of `NaiveBayes` in several memories side by side, from one of ten events to one that never
    forgets. What each part of an event says of the classes is multiplied by a weight, one for each memory; memories are
    mixed by how well they have done of late; and small effects of single values correct the mixture. Weights and
    effects take one gradient step on the log loss of each event before its label is counted. A number says two things:
    what its Gaussian does, and what the bin that it falls into does.

    Parameters
    ----------
    half_lives
        How long each memory lasts: after how long an event counts half in it, in events, or in the unit of the times
        that are given with events. Infinity is never.
    rate
        How large a step weights and effects take: 0 leaves them alone.
    clip
        The most that one part of an event may say, in log odds.
    likelihoods
        What is expected of numbers, for all features or by feature: "gaussian"; "log-normal", for positive and skewed
        ones; "binned", eight bins from a number to its double; a list of edges, for bins between these; "mixed", a
        Gaussian and bins, each with a weight of its own; "auto", the one of the first three that has told the label
        best so far. Features that are not named are mixed.
    smoothing, variance_prior, unbiased, prior, prior_smoothing, known_classes, kinds, bags, tokenizer
        As for `NaiveBayes`.
    max_values, max_features
        As for `NaiveBayes`.

    Raises
    ------
    ValueError
        For a setting that cannot be.

    References
    ----------
    Zaidi, N. A., Cerquides, J., Carman, M. J. and Webb, G. I. (2013). Alleviating naive Bayes attribute independence
    assumption by attribute weighting. Journal of Machine Learning Research 14.
    Duchi, J., Hazan, E. and Singer, Y. (2011). Adaptive subgradient methods. Journal of Machine Learning Research 12.
    Herbster, M. and Warmuth, M. K. (1998). Tracking the best expert. Machine Learning 32.
    Genest, C. and Zidek, J. V. (1986). Combining probability distributions. Statistical Science 1: logarithmic pools.

    Examples
    --------
    >>> from streamnb import AdaptiveBayes
    >>> model = AdaptiveBayes()
    >>> for day in range(100):
    ...     model.learn_one({"size": day % 7, "twin": day % 7, "noise": day % 2}, day % 7 > 4)
    >>> model.predict_one({"size": 6, "twin": 6, "noise": 0})
    True
    >>> weights = model.feature_weights()
    >>> weights["size"] > weights["noise"]
    True
    """

    _kernel: ClassVar[Callable[..., int]] = staticmethod(adapt)
    _explainer: ClassVar[Callable[..., tuple[int, int]]] = staticmethod(explain_mixture)
    _settings_type = AdaptiveSettings
    memories: Memories
    _space: tuple[Any, ...]

    def __init__(
        self,
        *,
        half_lives: Sequence[float] = HALF_LIVES,
        rate: float = 0.2,
        clip: float = 5.0,
        likelihoods: Likelihood | Mapping[FeatureName, Likelihood] = "mixed",
        smoothing: float = 1.0,
        variance_prior: float = 5.0,
        unbiased: bool = False,
        prior: Prior = "observed",
        prior_smoothing: float = 0.0,
        known_classes: Sequence[Label] | None = None,
        kinds: Mapping[FeatureName, Kind] | None = None,
        bags: Bags = "multinomial",
        tokenizer: Tokenizer = TOKENS,
        max_values: int | None = None,
        max_features: int | None = None,
    ) -> None:
        self.half_lives = half_lives
        self.rate = rate
        self.clip = clip
        self.likelihoods = likelihoods
        self.smoothing = smoothing
        self.variance_prior = variance_prior
        self.unbiased = unbiased
        self.prior = prior
        self.prior_smoothing = prior_smoothing
        self.known_classes = known_classes
        self.kinds = kinds
        self.bags = bags
        self.tokenizer = tokenizer
        self.max_values = max_values
        self.max_features = max_features
        self.settings = AdaptiveSettings(**{name: getattr(self, name) for name in _SETTINGS})
        self._lesson = np.ones((3, 1))  # of one event
        self._parts, self._space = 0, ()  # how many parts an event has had at the most, and work space for them
        self._take(Memories(self.settings, sorted(half_lives), Likelihoods(likelihoods)), Counter())

    def learn_one(self, x: Event, y: Any, w: float = 1.0, t: float | None = None) -> None:
        """Learn one event under its label: weights and effects take a step, then the event is counted.

        Parameters
        ----------
        w
            The weight of the event. Tables count it so many times; the step is as many times as steep.
        t
            The time of the event, for memories that forget: NaN for the newest met before. Without it, events are a
            unit of time apart.

        Raises ValueError for a label, a weight or a time that cannot be one, TypeError for an event that is not a dict;
        nothing of such an event is kept.
        """
        self._take_one(x, y, w, t, answer=False)

    def _take_one(self, x: Event, y: Any, w: float, t: float | None, *, answer: bool) -> Floats:
        code = self._labels.find(y)
        label = as_label(y) if code is None else y
        time = math.nan if t is None else self._when(t)
        if not (w == 1.0 or as_weight(w)):
            return NOTHING
        events = self._encoder.encode_one(x, learn=True)
        lesson = self._lesson
        lesson[LABEL, 0] = self._labels.add(label) if code is None else code
        lesson[AMOUNT, 0], lesson[TIME, 0] = w, time
        if code is None or self._registered != self._vocabulary.registered:
            self._fit_tables()
        answers = np.zeros((1, len(self._labels.names))) if answer else NOTHING
        self._adapt(events, lesson, answers)
        if self._vocabulary.newcomers:
            self._admit(lesson[:, 0])
            self._fit_if_new()
        return answers

    def shifted_features(self) -> list[tuple[FeatureName, float]]:
        """Return the features with how far they are of late from what they were, in bits, the farthest first.

        Compared are the memories of the half-life nearest to a hundred and of the longest.
        """
        recent = min(self.memories.each, key=_from_a_hundred)
        return shifts(recent, self.memories.longest, self.settings)

    def explain_one(
        self, x: Event, label: Any = None, against: Any = None, *, cells: bool = False
    ) -> Explanation | None:
        """Return why one class is more probable than another, as `NaiveBayes` does; with weights and memories."""
        explanation = super().explain_one(x, label, against, cells=cells)
        if explanation is None:
            return None
        weights = self._weights(dict.fromkeys(share.feature for share in explanation.shares))
        return replace(explanation, weights=weights, memories=self.memory_shares())

    def __getstate__(self) -> dict[str, object]:
        state = {**self.__dict__, "_lesson": np.ones((3, 1)), "_parts": 0, "_space": ()}  # work space is no state
        del state["_tables"]  # which a copy would have apart from the memories that they are part of
        return state

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self._fit_tables()

    def feature_weights(self) -> dict[FeatureName, float]:
        """Return how much of what each feature says is listened to, by the memories as they are mixed now.

        1 is what plain naive Bayes does; of features that tell the same, some fall towards 0.
        """
        return self._weights(self._vocabulary.features)

    def _weights(self, names: Iterable[FeatureName]) -> dict[FeatureName, float]:
        shares, features = self._shares(), self._vocabulary.features
        return {name: float(shares @ self.memories.weights_of(*features[name])) for name in names}

    def memory_shares(self) -> dict[float, float]:
        """Return the share of each memory in the mixture, by its half-life."""
        return dict(zip(self.memories.half_lives, self._shares().tolist(), strict=True))

    def _shares(self) -> Floats:
        losses = self.memories.weighting.whole[:-1, LOSS]
        shares = np.exp(losses.min() - losses)
        return shares / shares.sum()  # type: ignore[no-any-return]

    def _take(self, state: Memories, bad_values: Counter[FeatureName]) -> None:
        """Make this the model of some memories."""
        self._state = self.memories = state
        clocks = [memory.clock for memory in state.each if memory.clock is not None]
        self._encode_with(state.longest, clocks[0] if clocks else None, bad_values)
        self._array = self.settings.as_array()
        state.give_priors()
        self._fit_tables()

    def _fit_tables(self) -> None:
        """Make room for every feature, value and class that has a number, and for the parts of events."""
        self._registered = self._vocabulary.registered
        parts = parts_of(len(self._vocabulary.numeric), len(self._vocabulary.counted))
        self._parts = max(self._parts, parts)
        memories, classes = len(self.memories.each), len(self._labels.names)
        if not self._space or self._space[0].shape != (memories, self._parts, classes):
            self._space = work_space(memories, self._parts, classes)
        self._tables = (*self._space, *self.memories.tables(self._array))

    def _make_room(self, numbers: int, others: int) -> None:
        """Make room for an event of so many numbers, categories and tokens."""
        self.memories.bins.reserve(0, numbers)
        self._parts = max(self._parts, parts_of(numbers, others))
        self._fit_tables()

    def _adapt(self, events: Events, lessons: Floats, probabilities: Floats) -> None:
        """Go over encoded events, making room for bins and parts as they come."""
        done = self._kernel(*self._tables, *events, lessons, probabilities)
        size = events[0].shape[1] - 1
        while done < size:
            numbers, *others = np.diff(events[0])[:, done].tolist()
            self._make_room(numbers, sum(others))
            rest, more = part_of(events, slice(done, size)), lessons[:, done:].copy()
            go_on = self._kernel(*self._tables, *rest, more, probabilities[done:])
            lessons[:, done:] = more
            done += go_on

    def _score(self, events: Events, probabilities: Floats) -> None:
        self._adapt(events, NO_LESSONS, probabilities)

    def _learn(
        self,
        events: Events,
        lessons: Floats,
        times: Floats | None,
        probabilities: Floats | None,
        losses: Floats | None,
    ) -> None:
        """Score and learn encoded events."""
        lessons[TIME] = 0.0 if times is None else times
        if losses is not None:
            lessons = np.vstack((lessons, losses))
        self._adapt(events, lessons, NOTHING if probabilities is None else probabilities)
        if losses is not None:
            losses[:] = lessons[LOSS_OF_LONGEST]

    def _admit(self, lesson: Floats) -> None:
        time = 0.0 if self._clock is None else self._clock.time(float(lesson[TIME]))
        self.memories.admit(float(lesson[AMOUNT]), time)

    def _unlearn(self, event: Events, slot: int, amount: float, time: float) -> None:
        self.memories.unlearn(self._array, event, slot, amount, time)

    def _explain(self, event: Events, chosen: int, against: int, shares: Floats) -> tuple[int, int]:
        numbers, *others = np.diff(event[0])[:, 0].tolist()
        if parts_of(numbers, sum(others)) > self._parts:
            self._make_room(numbers, sum(others))
        return self._explainer(*self._tables, *event, chosen, against, shares)
