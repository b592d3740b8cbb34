"""Classifier: what every model answers, in river's terms.

Law: predicting changes nothing; a batch gives, bit for bit, what its events give one by one.
"""

import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray
from river import base

from streamnb import frames
from streamnb.arrays import EVENTS, WEIGHT, Events, Floats
from streamnb.batch import as_weight
from streamnb.events import Event
from streamnb.explain import Explanation, name_shares
from streamnb.features import alike, ranking, stats_of, table_of
from streamnb.labels import Label, as_label, by_label
from streamnb.learner import Learner
from streamnb.settings import Settings
from streamnb.tokenizer import Tokenizer
from streamnb.values import FeatureName, Kind, is_missing


class Classifier(Learner, base.MiniBatchClassifier):
    """The public half of a model; see `NaiveBayes` and `AdaptiveBayes` for how they learn.

    A model says by `_take` what follows from a state that it is given, by `_unlearn` how an encoded event is taken from
    it, and by `_explain` how the shares of a prediction are found.
    """

    _settings_type: ClassVar[type[Settings]] = Settings

    def _take_one(self, x: Event, y: Any, w: float, t: float | None, *, answer: bool) -> Floats:
        """Learn an event; return the probabilities [1, class] that it had before, or nothing if they are not asked."""
        raise NotImplementedError

    def _take(self, state: Any, bad_values: Counter[FeatureName]) -> None:
        """Make this the model of a state."""
        raise NotImplementedError

    def _unlearn(self, event: Events, slot: int, amount: float, time: float) -> None:
        """Take an event from the state; ValueError where it can be told that it is not there."""
        raise NotImplementedError

    def _explain(self, event: Events, chosen: int, against: int, shares: Floats) -> tuple[int, int]:
        """Set the shares of the prior and of each entry of an event; return the classes, found where negative."""
        raise NotImplementedError

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

        >>> from streamnb import NaiveBayes
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

    def __add__(self, other: Self) -> Self:
        """Return the two models merged."""
        return self.merge([self, other]) if isinstance(other, type(self)) else NotImplemented

    def predict_proba_one(self, x: Event, **_: Any) -> dict[Label, float]:  # type: ignore[override] # floats too
        """Return the probability of each class; nothing where nothing has been learned.

        Labels that Python takes for equal, such as 1 and True, share one key, with the sum; `test_then_train` keeps
        them apart. Keywords are river's, for other models, and change nothing.
        """
        labels = self._labels.names
        probabilities = np.zeros((1, len(labels)))
        events = self._encoder.encode_one(x, learn=False)
        self._score(events, probabilities)
        return _named(labels, probabilities)

    def test_then_train_one(self, x: Event, y: Any, w: float = 1.0, t: float | None = None) -> dict[Label, float]:
        """Predict an event, then learn it: what `predict_proba_one` and then `learn_one` give, in half the time.

        Parameters are those of `learn_one`; without a label, or with the weight 0, an event is only predicted.

        >>> from streamnb import NaiveBayes
        >>> model = NaiveBayes()
        >>> model.test_then_train_one({"word": "gold"}, "sell"), model.test_then_train_one({"word": "gold"}, None)
        ({}, {'sell': 1.0})
        """
        if (self._labels.find(y) is None and is_missing(y)) or not (w == 1.0 or as_weight(w)):
            return self.predict_proba_one(x)
        labels = self._labels.names.copy()  # those before the event
        return _named(labels, self._take_one(x, y, w, t, answer=True))

    def predict_one(self, x: Event, **_: Any) -> Label | None:  # type: ignore[override] # floats too
        """Return the most probable class, the one seen first among equals; None where nothing has been learned."""
        labels = self._labels.names
        if not labels:
            return None
        probabilities = np.zeros((1, len(labels)))
        events = self._encoder.encode_one(x, learn=False)
        self._score(events, probabilities)
        return labels[int(probabilities.argmax())] if probabilities.any() else None

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
        self._run(batch, cells=False, bad=Counter())

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
        losses: Floats | None = None,
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
        losses
            An array [event] in which a model with several memories sets the log loss that the longest of them has on
            each event that it learns: where that rises, what was learned before holds no longer, even if the
            predictions are as good as ever.

        Returns
        -------
        Probabilities [event, class], in the order of `classes` after the call. A class not yet seen when its row was
        predicted has 0 there; a row predicted before any label came is all zeros.

        Examples
        --------
        >>> from streamnb import NaiveBayes
        >>> NaiveBayes().test_then_train([{"n": 1}, {"n": 5}, {"n": 1}], ["low", "high", "low"]).round(2)
        array([[0.  , 0.  ],
               [1.  , 0.  ],
               [0.92, 0.08]])
        """
        batch = self._batch(events, labels, weights, times)
        probabilities = np.zeros((len(batch.events), len(self._labels)))
        bad = Counter() if bad_values is None else bad_values
        self._run(batch, cells=cells, bad=bad, probabilities=probabilities, losses=losses)
        return probabilities

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
        unknown, bad = self._encoder.unknown(x, cells=cells)
        if unknown and not self._vocabulary.full:
            raise ValueError(f"this event was not learned: no value of {unknown[0]!r} was")
        event = self._encoded(x, cells=cells)
        try:
            self._unlearn(event, code + 1, amount, time)
        except ValueError as error:
            raise ValueError(f"this event was not learned with the label {y!r} and the weight {w}: {error}") from error
        self._encoder.bad_values -= bad
        if self._state.is_empty(event, code + 1):
            self._take(self._state.packed(), self._encoder.bad_values)

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
        chosen, rival = self._explain(encoded, chosen, rival, shares)
        prior, *rest = shares.tolist()
        return Explanation(labels[chosen], labels[rival], prior, name_shares(self._vocabulary, encoded, x, rest))

    def feature_weights(self) -> dict[FeatureName, float]:
        """Return how much of what each feature says is listened to: 1 in plain naive Bayes."""
        return dict.fromkeys(self._vocabulary.features, 1.0)

    def memory_shares(self) -> dict[float, float]:
        """Return the share of each memory in the predictions, by its half-life, infinite for one that never forgets."""
        return {self.settings.half_life or math.inf: 1.0}

    def shifted_features(self) -> list[tuple[FeatureName, float]]:
        """Return the features with how far they are of late from what they were, in bits, the farthest first.

        Empty for a model with one memory, which has nothing to compare.
        """
        return []

    @classmethod
    def merge(cls, models: Iterable[Self]) -> Self:
        """Return the model that would have learned what each of these models did, part after part.

        Classes, features and values are matched by name. Counts add up exactly, moments up to rounding. Models that
        forget are merged by the times of their events; where they counted events, each by its own count.

        Raises ValueError, saying why, where they do not go together, or where there is none.

        >>> from streamnb import NaiveBayes
        >>> one, other = NaiveBayes(), NaiveBayes()
        >>> one.learn_one({"size": 1.0}, "small")
        >>> other.learn_one({"size": 9.0}, "large")
        >>> (one + other).class_weights, (one + other).classes
        ([1.0, 1.0], ['small', 'large'])
        """
        first, *others = models
        state = first._state.copy()  # noqa: SLF001 - one of its own kind
        bad_values = first.bad_values
        for other in others:
            if type(other) is not type(first):
                raise ValueError(f"these models cannot be merged: one is {_name(first)}, another {_name(other)}")
            difference = first.settings.difference(other.settings)
            if difference is not None:
                raise ValueError(f"these models cannot be merged: {difference}")
            try:
                state.add(other._state)  # noqa: SLF001 - the same
            except ValueError as error:
                raise ValueError(f"these models cannot be merged: {error}") from error
            bad_values.update(other.bad_values)
        merged = first.clone()
        merged._take(state.bounded(), bad_values)  # noqa: SLF001 - the same
        return merged

    def configure(self, **changes: Any) -> None:
        """Change how the model scores, without learning again: smoothing, priors, unbiased, multinomial or complement.

        Raises ValueError for a setting that cannot be, or cannot be changed; nothing is changed then.

        >>> from streamnb import NaiveBayes
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
        self._state.settings = self.settings
        state = self._state.packed() if "prior" in changes else self._state  # without classes once given
        self._take(state, self.bad_values)

    def to_state(self) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
        """Return all that the model is: plain values, and arrays cut to what is used."""
        plain, arrays = self._state.to_state()
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
        model = cls(**cls._settings_type.from_state(plain, tokenizer))
        model._state.restore(plain, arrays)
        model._take(model._state, Counter(dict(plain["bad_values"])))
        return model


def _named(labels: Sequence[Label], probabilities: Floats) -> dict[Label, float]:
    """Return the probability of each class of one event by its label; nothing where it had no answer.

    Classes beyond the labels, which came with the event, have none.
    """
    shares = probabilities.tolist()[0]
    if not any(shares):
        return {}
    named = dict(zip(labels, shares))  # noqa: B905 - checking the length takes half as long again
    return named if len(named) == len(labels) else by_label(labels, shares[: len(labels)])


def _name(model: Classifier) -> str:
    return type(model).__name__
