"""NaiveBayes: the classifier, in river's terms.

Law: learning an event changes its class only; predicting changes nothing; a batch gives, bit for bit, what its events
give one by one; models of parts of a stream add up to that of the whole.
"""

import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import fields
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from river import base

from streamnb import frames
from streamnb.arrays import AMOUNT, EVENTS, LABEL, WEIGHT, Floats
from streamnb.batch import as_weight
from streamnb.events import Event
from streamnb.explain import Explanation, name_shares
from streamnb.features import alike, ranking, stats_of, table_of
from streamnb.kernels.explain import explain
from streamnb.kernels.learn import learn
from streamnb.kernels.passes import score, test_then_train
from streamnb.kernels.unlearn import unlearn
from streamnb.labels import Label, as_label, by_label
from streamnb.learner import NO_LESSONS, Learner
from streamnb.settings import Bags, Prior, Settings
from streamnb.tokenizer import TOKENS, Tokenizer
from streamnb.unlearn import Claim
from streamnb.values import FeatureName, Kind

_SETTINGS = [field.name for field in fields(Settings)]


class NaiveBayes(Learner, base.MiniBatchClassifier):
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

    @property
    def _multiclass(self) -> bool:
        return True

    @property
    def classes(self) -> list[Label]:
        """The classes, those known before and then in the order of first sight, as on every axis of classes."""
        return list(self.statistics.labels)

    @property
    def class_weights(self) -> list[float]:
        """The weight of each class: how many events were learned under it, each counting its weight as of now."""
        weights = self.statistics.weights[WEIGHT, 1 : len(self._labels) + 1]
        return (weights / self.statistics.unit).tolist()  # type: ignore[no-any-return]

    @property
    def learned(self) -> int:
        """How many events were learned, and not unlearned."""
        return int(self.statistics.weights[EVENTS, 0])

    @property
    def bad_values(self) -> Counter[FeatureName]:
        """How many values of each feature did not fit its kind, among the events learned."""
        return Counter(self._encoder.bad_values)

    def schema(self) -> dict[FeatureName, Kind]:
        """Return the kind of each feature that has been learned."""
        return self.statistics.vocabulary.schema()

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
        code = self._labels.find(y)
        label = as_label(y) if code is None else y
        plain = w == 1.0 and self._clock is None
        if not plain:
            time = self._when(t)
            if not as_weight(w):
                return
        events = self._encoder.encode_one(x, learn=True)
        lesson = self._lesson if plain else np.full((3, 1), float(w))
        lesson[LABEL, 0] = self._labels.add(label) if code is None else code
        new = code is None or self._registered != self._vocabulary.registered
        if new:
            self._fit_tables()
        if not plain:
            self._turn_clock(time, lesson)
        learn(*self._learn_tables, *events, lesson)
        if new and self._vocabulary.newcomers:
            self._admit(float(lesson[AMOUNT, 0]))

    def unlearn_one(self, x: Event, y: Any, w: float = 1.0, t: float | None = None, *, cells: bool = False) -> None:
        """Take back an event that was learned, so that what is left is as if it had never come.

        Up to rounding; a model that forgets does not turn back its time. Classes, features and values that came with no
        other event are gone. Where rare values share a column, a value may be taken from there.

        Parameters
        ----------
        w, t
            The weight and the time with which it was learned; without a time, that of the newest event.
        cells
            Whether every value is a cell of text, as in CSV.

        Raises ValueError where it can be told that the event was not learned; nothing is changed then.
        """
        code = self._labels.find(as_label(y))
        if code is None:
            raise ValueError(f"this event was not learned: no event was learned under the label {y!r}")
        time, amount = self._when(math.nan if t is None else t), as_weight(w)
        if amount == 0.0:
            return
        if self._clock is not None:
            amount *= self._clock.weight(time)
        unknown, bad = self._encoder.unknown(x, cells=cells)
        if unknown and not self._vocabulary.full:
            raise ValueError(f"this event was not learned: no value of {unknown[0]!r} was")
        event = self._encoded(x, cells=cells)
        try:
            Claim(self._tables, self._vocabulary, event, code + 1, amount).settle()
        except ValueError as error:
            raise ValueError(f"this event was not learned with the label {y!r} and the weight {w}: {error}") from error
        unlearn(*self._tables, *event, code + 1, amount)
        self._encoder.bad_values -= bad
        if self.statistics.is_empty(event, code + 1):
            self._take(self.statistics.packed(), self._encoder.bad_values)

    def explain_one(
        self, x: Event, label: Any = None, against: Any = None, *, cells: bool = False
    ) -> Explanation | None:
        """Return why one class is more probable than another; None where nothing has been learned.

        Parameters
        ----------
        label, against
            The two classes; None for the most probable, and for the most probable of the others.
        cells
            Whether every value is a cell of text, as in CSV.

        Raises ValueError for what is no class.
        """
        chosen = -1 if label is None else self._code(label)
        rival = -1 if against is None else self._code(against)
        if chosen == rival >= 0:
            raise ValueError(f"{label!r} is to be explained against another class, not against itself")
        if not self.statistics.weights[WEIGHT, 0]:
            return None
        labels = self._labels.names
        if len(labels) == 1:
            return Explanation(labels[0], None, 0.0, [])
        encoded = self._encoded(x, cells=cells)
        shares = np.empty(1 + len(encoded[1]))
        chosen, rival = explain(*self._tables, *encoded, chosen, rival, shares)
        prior, *rest = shares.tolist()
        return Explanation(labels[chosen], labels[rival], prior, name_shares(self._vocabulary, encoded, x, rest))

    def feature_stats(self, feature: FeatureName | None = None, label: Any = None, backend: str | None = None) -> Any:
        """Return what a feature was in a class or, without one, a data frame of all features in all classes.

        Parameters
        ----------
        feature, label
            A feature and a class: the answer is then a `FeatureStats`.
        backend
            What frame to make, such as "pandas" or "polars"; whichever is installed if None.

        Raises ValueError for what was never learned.
        """
        if feature is None:
            return frames.table(table_of(self.statistics, self.settings), backend)
        return stats_of(self.statistics, feature, as_label(label))

    def feature_ranking(self) -> list[tuple[FeatureName, float]]:
        """Return the features, the one that tells most of the label first, with what it tells in bits.

        That is the mutual information of feature and label, from the tables alone.

        >>> model = NaiveBayes()
        >>> for color, size in (("red", 1), ("green", 5), ("red", 2), ("green", 4)):
        ...     model.learn_one({"color": color, "shape": "round"}, color == "red")
        >>> [(name, round(bits, 2)) for name, bits in model.feature_ranking()]
        [('color', 0.19), ('shape', 0.0)]
        """
        return ranking(self.statistics, self.settings)

    def similar_features(self) -> list[list[FeatureName]]:
        """Return groups of features that tell the classes apart alike: copies, whose evidence counts once for each."""
        return alike(self.statistics, self.feature_ranking())

    @classmethod
    def merge(cls, models: Iterable[Self]) -> Self:
        """Return the model that would have learned what each of these models did, part after part.

        Classes, features and values are matched by name. Counts add up exactly, moments up to rounding. Models that
        forget are merged by the times of their events; where they counted events, each by its own count.

        Raises ValueError, saying why, where they do not go together, or where there is none.

        >>> one, other = NaiveBayes(), NaiveBayes()
        >>> one.learn_one({"size": 1.0}, "small")
        >>> other.learn_one({"size": 9.0}, "large")
        >>> (one + other).class_weights, (one + other).classes
        ([1.0, 1.0], ['small', 'large'])
        """
        first, *others = models
        statistics = first.statistics.copy()
        bad_values = first.bad_values
        for other in others:
            difference = first.settings.difference(other.settings)
            if difference is not None:
                raise ValueError(f"these models cannot be merged: {difference}")
            try:
                statistics.add(other.statistics)
            except ValueError as error:
                raise ValueError(f"these models cannot be merged: {error}") from error
            bad_values.update(other.bad_values)
        merged = first.clone()
        merged._take(statistics.bounded(), bad_values)  # noqa: SLF001 - one of its own kind
        return merged

    def __add__(self, other: Self) -> Self:
        """Return the two models merged."""
        return self.merge([self, other]) if isinstance(other, NaiveBayes) else NotImplemented

    def configure(self, **changes: Any) -> None:
        """Change how the model scores, without learning again: smoothing, priors, unbiased, multinomial or complement.

        Raises ValueError for a setting that cannot be, or cannot be changed; nothing is changed then.

        >>> model = NaiveBayes()
        >>> for label in ("spam", "ham", "ham", "ham"):
        ...     model.learn_one({}, label)
        >>> model.configure(prior={"spam": 0.1, "ham": 0.9})
        >>> model.p_class("ham")
        0.9
        """
        self.settings = self.settings.changed(changes)
        for name, value in changes.items():
            setattr(self, name, value)
        self.statistics.settings = self.settings
        statistics = self.statistics.packed() if "prior" in changes else self.statistics  # without classes once given
        self._take(statistics, self.bad_values)

    def predict_proba_one(self, x: Event, **_: Any) -> dict[Label, float]:  # type: ignore[override] # floats too
        """Return the probability of each class; nothing where nothing has been learned.

        Labels that Python takes for equal, such as 1 and True, share one key, with the sum; `test_then_train` keeps
        them apart. Keywords are river's, for other models, and change nothing.
        """
        labels = self._labels.names
        probabilities = np.zeros((1, len(labels)))
        events = self._encoder.encode_one(x, learn=False)
        test_then_train(*self._tables, *events, NO_LESSONS, probabilities)
        shares = probabilities.tolist()[0]
        if not any(shares):
            return {}
        named = dict(zip(labels, shares))  # noqa: B905 - of one length; checking it takes half as long again
        return named if len(named) == len(labels) else by_label(labels, shares)

    def predict_one(self, x: Event, **_: Any) -> Label | None:  # type: ignore[override] # floats too
        """Return the most probable class, the one seen first among equals; None where nothing has been learned."""
        labels = self._labels.names
        if not labels:
            return None
        probabilities = np.zeros((1, len(labels)))
        events = self._encoder.encode_one(x, learn=False)
        test_then_train(*self._tables, *events, NO_LESSONS, probabilities)
        return labels[int(probabilities.argmax())] if probabilities.any() else None

    def joint_log_likelihood(self, x: Event) -> dict[Label, float]:
        """Return log P(class) + log P(event | class) for each class, as river's naive Bayes models do."""
        event = self._encoder.encode_one(x, learn=False)
        with np.errstate(divide="ignore"):
            scores = np.log(self._priors())
        score(*self._tables[1:], *event, scores)
        return by_label(self._labels.names, scores.tolist())

    def p_class(self, c: Any) -> float:
        """Return the prior probability of a class; 0 for one that was never learned."""
        try:
            code = self._labels.find(as_label(c))
        except ValueError:
            return 0.0
        return 0.0 if code is None else float(self._priors()[code])

    def learn_many(self, X: Any, y: Iterable[object], w: Any = None, t: Any = None) -> None:
        """Learn the events of a frame (pandas, polars, ...), an array [event, feature] or a list of dicts.

        A row without a label (None or NaN) is not learned; values that do not fit their feature are left out, and
        counted in `bad_values`. Weights and times, one for each event, are as in `learn_one`. Raises ValueError for a
        label, a weight or a time that cannot be one; nothing of the batch is kept then.
        """
        batch = self._batch(X, y, w, t)
        self._run(batch, cells=False, bad=Counter(), probabilities=None)

    def predict_proba_many(self, X: Any) -> Any:
        """Return a frame like X with a row of probabilities per event and a column per class.

        Without columns, and in some kinds of frame without rows, where nothing has been learned. For dicts and arrays
        there is `test_then_train`, with None for labels.
        """
        return frames.probabilities(self._predict_many(X), self.classes if self.learned else [], like=X)

    def predict_many(self, X: Any) -> Any:
        """Return a series like X with the most probable class of each event; None where nothing has been learned."""
        probabilities = self._predict_many(X)
        if not probabilities.any():
            return frames.series([None] * len(X), like=X)
        best = probabilities.argmax(axis=1)
        return frames.series([self._labels[code] for code in best.tolist()], like=X)

    def test_then_train(
        self,
        events: Any,
        labels: Iterable[object],
        weights: Any = None,
        times: Any = None,
        *,
        cells: bool = False,
        bad_values: Counter[FeatureName] | None = None,
    ) -> Floats:
        """Predict each event in turn, then learn it under its label: exactly what the events give one by one.

        Parameters
        ----------
        events
            Dicts, or a frame, or an array [event, feature] whose features are then named 0, 1, ...
        labels
            A label for each event; None for one that is only predicted.
        weights, times
            One for each event, or None, as in `learn_one`.
        cells
            Whether every value is a cell of text, as in CSV, that may stand for a number.
        bad_values
            Counts, by feature, the values of these events that did not fit, whether learned or not.

        Returns
        -------
        Probabilities [event, class], in the order of `classes` after the call. A class not yet seen when its row was
        predicted has 0 there; a row predicted before any label came is all zeros.

        Examples
        --------
        >>> NaiveBayes().test_then_train([{"n": 1}, {"n": 5}, {"n": 1}], ["low", "high", "low"]).round(2)
        array([[0.  , 0.  ],
               [1.  , 0.  ],
               [0.92, 0.08]])
        """
        batch = self._batch(events, labels, weights, times)
        probabilities = np.zeros((len(batch.events), len(self._labels)))
        bad = Counter() if bad_values is None else bad_values
        self._run(batch, cells=cells, bad=bad, probabilities=probabilities)
        return probabilities

    def to_state(self) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
        """Return all that the model is: plain values, and arrays cut to what is used."""
        plain, arrays = self.statistics.to_state()
        bad_values = sorted(self._encoder.bad_values.items(), key=repr)
        return {**self.settings.to_state(), **plain, "bad_values": bad_values}, arrays

    @classmethod
    def from_state(
        cls, plain: Mapping[str, Any], arrays: Mapping[str, NDArray[Any]], tokenizer: Tokenizer | None = None
    ) -> Self:
        """Return the model whose `to_state` this is.

        Parameters
        ----------
        tokenizer
            What text is cut by, where that was a function and so is not in the state.
        """
        model = cls(**Settings.from_state(plain, tokenizer))
        model.statistics.restore(plain, arrays)
        model._take(model.statistics, Counter(dict(plain["bad_values"])))
        return model
