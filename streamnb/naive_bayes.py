"""NaiveBayes: the classifier that counts every event alike, or less the older it is.

Law: learning an event changes its class only; models of parts of a stream add up to that of the whole.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import fields
from typing import Any

import numpy as np

from streamnb.arrays import AMOUNT, LABEL, UNIT, Events, Floats, Tables
from streamnb.batch import as_weight
from streamnb.classifier import Classifier
from streamnb.encoded import part_of
from streamnb.events import Event
from streamnb.kernels.explain import explain
from streamnb.kernels.learn import learn
from streamnb.kernels.passes import score, test_then_train
from streamnb.kernels.unlearn import unlearn
from streamnb.labels import NO_LABEL, Label, as_label, by_label
from streamnb.learner import NO_LESSONS, NOTHING
from streamnb.settings import Bags, Prior, Settings
from streamnb.statistics import Statistics
from streamnb.tokenizer import TOKENS, Tokenizer
from streamnb.unlearn import Claim
from streamnb.values import FeatureName, Kind

_SETTINGS = [field.name for field in fields(Settings)]


class NaiveBayes(Classifier):
    """Naive Bayes for events of numbers, categories and text, learned one event at a time.

    Numbers are Gaussian within a class, with Welford's mean and variance; categories and tokens are counted and
    smoothed. A feature's kind is declared or fixed by its first value; missing values (no key, None, NaN) are left out;
    classes, features and values may come at any time.

    Parameters
    ----------
    smoothing
        Weight added to the count of each value of a categorical feature, and of each token; 0 leaves counts as they
        are, so that a value never seen in a class makes that class impossible.
    variance_prior
        How many observations the pooled variance of a numeric feature counts for in the variance of each class.
    unbiased
        Whether a variance divides by n - 1 instead of n.
    prior
        "observed", by the weight of each class; "uniform"; or the probability of each class, which sum to 1 (a class
        that is not among them has the prior 0).
    prior_smoothing
        Weight added to that of each class in the observed prior.
    known_classes
        Classes that are there before an event of theirs is learned.
    kinds
        Feature names with "numeric", "categorical", "bag" or "text", for features whose first value should not tell.
    bags
        What the tokens of a bag say: "multinomial", each token as often as it comes; "complement", how unlike the other
        classes they are, which suits classes of very different sizes (with a uniform prior, it is what Rennie and
        others give); or "bernoulli", each token of the vocabulary once, by being there or not.
    tokenizer
        How text is cut: a regular expression for the tokens in the lower-cased text, or a function from a text to its
        tokens. A function is not saved: `load` is to be given it again.
    half_life
        After how long an event counts half: in the unit of the times that are given with events or, where none are
        given, in events. None, or infinity, for never.
    max_values
        How many values (or tokens) of a feature are kept apart. Beyond it the rare ones share one column.
    max_features
        How many features are learned. Beyond it new ones are left out, and counted in `bad_values`.

    Raises
    ------
    ValueError
        For a setting that cannot be.

    References
    ----------
    Welford, B. P. (1962). Note on a method for calculating corrected sums of squares and products. Technometrics 4(3).
    Manning, Raghavan and Schuetze (2008). Introduction to Information Retrieval, chapter 13. Cambridge.
    Rennie, Shih, Teevan and Karger (2003). Tackling the poor assumptions of naive Bayes text classifiers. ICML.

    Examples
    --------
    >>> from streamnb import NaiveBayes
    >>> model = NaiveBayes()
    >>> model.predict_proba_one({"outlook": "sunny", "humidity": 70})
    {}
    >>> model.learn_one({"outlook": "sunny", "humidity": 90}, "stay")
    >>> model.learn_one({"outlook": "rain", "humidity": 75}, "play")
    >>> model.learn_one({"outlook": "sunny"}, "play")
    >>> model.predict_one({"outlook": "sunny", "humidity": 88})
    'stay'
    >>> model.schema()
    {'humidity': 'numeric', 'outlook': 'categorical'}
    """

    _tables: Tables

    def __init__(
        self,
        *,
        smoothing: float = 1.0,
        variance_prior: float = 5.0,
        unbiased: bool = False,
        prior: Prior = "observed",
        prior_smoothing: float = 0.0,
        known_classes: Sequence[Label] | None = None,
        kinds: Mapping[FeatureName, Kind] | None = None,
        bags: Bags = "multinomial",
        tokenizer: Tokenizer = TOKENS,
        half_life: float | None = None,
        max_values: int | None = None,
        max_features: int | None = None,
    ) -> None:
        self.smoothing = smoothing
        self.variance_prior = variance_prior
        self.unbiased = unbiased
        self.prior = prior
        self.prior_smoothing = prior_smoothing
        self.known_classes = known_classes
        self.kinds = kinds
        self.bags = bags
        self.tokenizer = tokenizer
        self.half_life = half_life
        self.max_values = max_values
        self.max_features = max_features
        self._begin(Settings(**{name: getattr(self, name) for name in _SETTINGS}))

    def learn_one(self, x: Event, y: Any, w: float = 1.0, t: float | None = None) -> None:
        """Learn one event under its label.

        Parameters
        ----------
        w
            The weight of the event: as if it came so many times. One of weight 0 changes nothing.
        t
            The time of the event, where the model has a half-life: NaN for the newest met before. Without it, events
            are a unit of time apart.

        Raises ValueError for a label, a weight or a time that cannot be one, TypeError for an event that is not a dict;
        nothing of such an event is kept.
        """
        self._take_one(x, y, w, t, answer=False)

    def _take_one(self, x: Event, y: Any, w: float, t: float | None, *, answer: bool) -> Floats:
        code = self._labels.find(y)
        label = as_label(y) if code is None else y
        plain = w == 1.0 and self._clock is None
        if not plain:
            time = self._when(t)
            if not as_weight(w):
                return NOTHING
        events = self._encoder.encode_one(x, learn=True)
        lesson = self._lesson if plain else np.array(((0.0,), (w,), (1.0,)))
        lesson[LABEL, 0] = self._labels.add(label) if code is None else code
        new = code is None or self._registered != self._vocabulary.registered
        if new:
            self._fit_tables()
        answers = NOTHING
        if answer:
            answers = np.zeros((1, len(self._labels.names)))
            times = None if self._clock is None else np.array((time,))
            self._learn(events, lesson, times, answers, None)
        else:
            if not plain:
                self._turn_clock(time, lesson)
            learn(*self._learn_tables, *events, lesson)
        if new and self._vocabulary.newcomers:
            self._admit(lesson[:, 0])
            self._fit_if_new()
        return answers

    def joint_log_likelihood(self, x: Event) -> dict[Label, float]:
        """Return log P(class) + log P(event | class) for each class, as river's naive Bayes models do."""
        event = self._encoder.encode_one(x, learn=False)
        with np.errstate(divide="ignore"):
            scores = np.log(self._priors())
        score(*self._tables[1:], *event, self._work, scores)
        return by_label(self._labels.names, scores.tolist())

    def _begin(self, settings: Settings) -> None:
        """Make this a model that has learned nothing."""
        self.settings = settings
        self._lesson = np.ones((3, 1))  # of one plain event
        self._take(Statistics(settings), Counter())

    def __getstate__(self) -> dict[str, object]:
        return {**self.__dict__, "_lesson": np.ones((3, 1)), "_work": np.ones_like(self._work)}  # no state

    def _take(self, state: Statistics, bad_values: Counter[FeatureName]) -> None:
        """Make this the model of some statistics."""
        self._state = state
        self._encode_with(state, state.clock, bad_values)
        self._array = self.settings.as_array()
        state.give_priors(self.settings.given)
        self._fit_tables()

    def _fit_tables(self) -> None:
        """Make room for every feature, value and class that has a number."""
        self._registered = self._vocabulary.registered
        self._tables = self.statistics.tables(self._array)
        self._learn_tables = self._tables[:7]
        self._work = np.ones((3, self._tables.classes))

    def _turn_clock(self, time: float, lesson: Floats) -> None:
        """Turn the clock on to an event, and the weight in its lesson into what it is stored with."""
        if self._clock is not None:
            times = np.array((time,))
            if not self._clock.weigh(times, 0, lesson):
                self.statistics.move(self._clock.age(time))
                self._clock.weigh(times, 0, lesson)
            self._array[UNIT] = self._clock.unit

    def _score(self, events: Events, probabilities: Floats) -> None:
        test_then_train(*self._tables, *events, self._work, NO_LESSONS, probabilities)

    def _learn(
        self,
        events: Events,
        lessons: Floats,
        times: Floats | None,
        probabilities: Floats | None,
        losses: Floats | None,
    ) -> None:
        """Score and learn encoded events, moving the landmark of the clock as is due."""
        del losses  # there is one memory: its losses are those of the predictions
        if self._clock is None or times is None:
            self._pass(events, lessons, probabilities)
            return
        start, size = 0, len(times)
        while start < size:
            stop = self._clock.weigh(times, start, lessons)
            scored = slice(start, stop + 1)  # the event that the landmark moves for is scored before it does
            some = lessons[:, scored].copy()
            some[LABEL, stop - start :] = NO_LABEL
            self._pass(part_of(events, scored), some, None if probabilities is None else probabilities[scored])
            if stop < size:
                self.statistics.move(self._clock.age(times[stop]))
                one = slice(stop, stop + 1)
                lesson = lessons[:, one].copy()
                self._clock.weigh(times[one], 0, lesson)
                self._pass(part_of(events, one), lesson, None)
                lessons[AMOUNT, stop] = lesson[AMOUNT, 0]
            self._array[UNIT] = self._clock.unit
            start = stop + 1

    def _pass(self, events: Events, lessons: Floats, probabilities: Floats | None) -> None:
        """Go once over encoded events, in machine code."""
        if probabilities is None:
            learn(*self._learn_tables, *events, lessons)
        else:
            test_then_train(*self._tables, *events, self._work, lessons, probabilities)

    def _admit(self, lesson: Floats) -> None:
        self.statistics.admit(float(lesson[AMOUNT]))

    def _unlearn(self, event: Events, slot: int, amount: float, time: float) -> None:
        if self._clock is not None:
            amount *= self._clock.weight(time)
        Claim(self._tables, self._vocabulary, event, slot, amount).settle()
        unlearn(*self._tables, *event, slot, amount)

    def _explain(self, event: Events, chosen: int, against: int, shares: Floats) -> tuple[int, int]:
        found: tuple[int, int] = explain(*self._tables, *event, self._work, chosen, against, shares)
        return found
