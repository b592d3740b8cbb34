"""NaiveBayes: the classifier, in river's terms.

Law: learning an event changes its class only; predicting changes nothing; a batch gives, bit for bit, what its events
give one by one.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from river import base

from streamnb import frames, kernels
from streamnb.encoder import Encoder
from streamnb.events import Columns, Event
from streamnb.kernels import Events, Floats, Tables
from streamnb.tables import NO_LABEL, Counts, Label, Labels, Moments, as_label, by_label
from streamnb.values import KINDS, FeatureName, Kind

_MOST = (
    1e12  # a setting beyond it, or a smoothing below its inverse, would leave the bounds that kernels multiply within
)

_NO_LABELS = np.empty(0, dtype=np.int64)


class NaiveBayes(base.MiniBatchClassifier):
    """Naive Bayes for events of numbers and categories, learned one event at a time.

    Numbers are Gaussian within a class, with Welford's mean and variance; categories are counted and smoothed. A
    feature's kind is declared or fixed by its first value; missing values (no key, None, NaN) are left out; classes,
    features and values may come at any time.

    Parameters
    ----------
    smoothing
        Weight added to the count of each value of a categorical feature; 0 leaves counts as they are, so that a value
        never seen in a class makes that class impossible.
    variance_prior
        How many observations the pooled variance of a numeric feature counts for in the variance of each class.
    unbiased
        Whether a variance divides by n - 1 instead of n.
    prior_smoothing
        Weight added to that of each class in the prior.
    kinds
        Feature names with "numeric" or "categorical", for features whose first value should not tell.

    Raises
    ------
    ValueError
        For a setting below 0 or beyond 1e12, or a kind that does not exist.

    References
    ----------
    Welford, B. P. (1962). Note on a method for calculating corrected sums of squares and products. Technometrics 4(3).
    Manning, Raghavan and Schuetze (2008). Introduction to Information Retrieval, chapter 13. Cambridge.

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
        smoothing: float = 1.0,
        variance_prior: float = 5.0,
        unbiased: bool = False,
        prior_smoothing: float = 0.0,
        kinds: Mapping[FeatureName, Kind] | None = None,
    ) -> None:
        for name, value in (
            ("smoothing", smoothing),
            ("variance_prior", variance_prior),
            ("prior_smoothing", prior_smoothing),
        ):
            if not 0 <= value <= _MOST:
                raise ValueError(f"{name} is {value!r}: it must be a number from 0 to {_MOST}")
        if 0 < smoothing < 1 / _MOST:
            raise ValueError(f"smoothing is {smoothing!r}: it must be 0 or at least {1 / _MOST}")
        for feature, kind in (kinds or {}).items():
            if kind not in KINDS:
                raise ValueError(f"the kind of {feature!r} is {kind!r}: it must be one of {', '.join(KINDS)}")
        self.smoothing = smoothing
        self.variance_prior = variance_prior
        self.unbiased = unbiased
        self.prior_smoothing = prior_smoothing
        self.kinds = kinds
        self._encoder = Encoder(kinds or {})
        self._labels = Labels()
        self._weights: Floats = np.zeros(1)
        self._moments = Moments()
        self._counts = Counts()
        self._label = np.zeros(1, dtype=np.int64)
        self._fit_tables()

    @property
    def _multiclass(self) -> bool:
        return True

    @property
    def classes(self) -> list[Label]:
        """The classes in the order of first sight: the order of every axis of classes."""
        return list(self._labels)

    @property
    def class_weights(self) -> list[float]:
        """The weight of each class: how many events were learned under it, each counting 1."""
        return self._weights[1 : len(self._labels) + 1].tolist()  # type: ignore[no-any-return]

    @property
    def learned(self) -> int:
        """How many events were learned."""
        return int(self._weights[0])

    @property
    def bad_values(self) -> Counter[FeatureName]:
        """How many values of each feature did not fit its kind, among the events learned."""
        return Counter(self._encoder.bad_values)

    def schema(self) -> dict[FeatureName, Kind]:
        """Return the kind of each feature that has been learned."""
        return self._encoder.schema()

    def learn_one(self, x: Event, y: Any) -> None:
        """Learn one event under its label.

        Raises ValueError for a label that cannot be a class, TypeError for an event that is not a dict; nothing of
        such an event is kept.
        """
        code = self._labels.find(y)
        label = as_label(y) if code is None else y
        events = self._encoder.encode_one(x, learn=True)
        self._label[0] = self._labels.add(label) if code is None else code
        if code is None or self._registered != self._encoder.registered:
            self._fit_tables()
        kernels.learn(*self._tables[:6], *events, self._label)

    def predict_proba_one(self, x: Event, **_: Any) -> dict[Label, float]:  # type: ignore[override] # floats too
        """Return the probability of each class; nothing where nothing has been learned.

        Labels that Python takes for equal, such as 1 and True, share one key, with the sum; `test_then_train` keeps
        them apart. Keywords are river's, for other models, and change nothing.
        """
        labels = self._labels.names
        probabilities = np.empty((1, len(labels)))
        events = self._encoder.encode_one(x, learn=False)
        kernels.test_then_train(*self._tables, *events, _NO_LABELS, probabilities)
        shares = probabilities.tolist()[0]
        named = dict(zip(labels, shares))  # noqa: B905 - of one length; checking it takes half as long again
        return named if len(named) == len(labels) else by_label(labels, shares)

    def predict_one(self, x: Event, **_: Any) -> Label | None:  # type: ignore[override] # floats too
        """Return the most probable class, the one seen first among equals; None where nothing has been learned."""
        labels = self._labels.names
        if not labels:
            return None
        probabilities = np.empty((1, len(labels)))
        events = self._encoder.encode_one(x, learn=False)
        kernels.test_then_train(*self._tables, *events, _NO_LABELS, probabilities)
        return labels[int(probabilities.argmax())]

    def joint_log_likelihood(self, x: Event) -> dict[Label, float]:
        """Return log P(class) + log P(event | class) for each class, as river's naive Bayes models do."""
        tables = self._tables
        _, features, values, codes = self._encoder.encode_one(x, learn=False)
        numbers = (features, values, 0, len(values))
        work = np.ones((3, tables.classes))
        work[kernels.SCORES] = self._log_priors()
        kernels.score_numbers(tables.moments, tables.settings, tables.classes, *numbers, work)
        kernels.score_categories(*tables[2:], codes, 0, len(codes), work)
        constant = kernels.numeric_constant(tables.moments, tables.classes, *numbers)
        return by_label(self._labels.names, (work[kernels.SCORES] + constant).tolist())

    def p_class(self, c: Any) -> float:
        """Return the prior probability of a class; 0 for one that was never learned."""
        try:
            code = self._labels.find(as_label(c))
        except ValueError:
            return 0.0
        return 0.0 if code is None else float(np.exp(self._log_priors()[code]))

    def learn_many(self, X: Any, y: Iterable[object]) -> None:
        """Learn the events of a frame (pandas, polars, ...), an array [event, feature] or a list of dicts.

        A row without a label (None or NaN) is not learned; values that do not fit their feature are left out, and
        counted in `bad_values`. Raises ValueError for a label that cannot be a class;
        nothing of the batch is kept then.
        """
        events, codes = self._encode(X, y, cells=False, bad=Counter())
        kernels.learn(*self._tables[:6], *events, codes)

    def predict_proba_many(self, X: Any) -> Any:
        """Return a frame like X with a row of probabilities per event and a column per class.

        Without columns, and in some kinds of frame without rows, where nothing has been learned. For dicts and arrays
        there is `test_then_train`, with None for labels.
        """
        return frames.probabilities(self._predict_many(X), self.classes, like=X)

    def predict_many(self, X: Any) -> Any:
        """Return a series like X with the most probable class of each event; None where nothing has been learned."""
        if not self._labels.names:
            return frames.series([None] * len(X), like=X)
        best = self._predict_many(X).argmax(axis=1)
        return frames.series([self._labels[code] for code in best.tolist()], like=X)

    def test_then_train(
        self,
        events: Any,
        labels: Iterable[object],
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
        encoded, codes = self._encode(events, labels, cells, Counter() if bad_values is None else bad_values)
        probabilities = np.zeros((len(codes), len(self._labels)))
        kernels.test_then_train(*self._tables, *encoded, codes, probabilities)
        return probabilities

    def to_state(self) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
        """Return all that the model is: plain values, and arrays cut to what is used."""
        encoder = self._encoder
        slots = len(self._labels) + 1
        numeric, categorical, columns = len(encoder.numeric), len(encoder.categorical), len(encoder.columns)
        kinds = None if self.kinds is None else [(name, str(kind)) for name, kind in encoder.declared.items()]
        plain = {
            "smoothing": float(self.smoothing),
            "variance_prior": float(self.variance_prior),
            "unbiased": bool(self.unbiased),
            "prior_smoothing": float(self.prior_smoothing),
            "kinds": kinds if kinds is None else sorted(kinds, key=repr),
            "classes": self.classes,
            "features": list(encoder.schema().items()),
            "values": encoder.columns,
            "bad_values": sorted(encoder.bad_values.items(), key=repr),
        }
        arrays = {
            "weights": self._weights[:slots],
            "moments": self._moments.array[:numeric, :, :slots],
            "owner": np.array(encoder.owners, dtype=np.int64),
            "counts": self._counts.array[:columns, :slots],
            "totals": self._counts.totals[:categorical, :slots],
            "distinct": self._counts.distinct[:categorical],
        }
        return plain, arrays

    @classmethod
    def from_state(cls, plain: Mapping[str, Any], arrays: Mapping[str, NDArray[Any]]) -> Self:
        """Return the model whose `to_state` this is."""
        settings = ("smoothing", "variance_prior", "unbiased", "prior_smoothing")
        kinds = None if plain["kinds"] is None else dict(plain["kinds"])
        model = cls(**{name: plain[name] for name in settings}, kinds=kinds)
        encoder = model._encoder
        for name, kind in plain["features"]:
            encoder.add_feature(name, kind)
        for owner, value in zip(arrays["owner"].tolist(), plain["values"], strict=True):
            encoder.add_value(owner, value)
        encoder.bad_values.update(dict(plain["bad_values"]))
        model._labels = Labels(plain["classes"])
        model._fit_tables()
        _, places = model.to_state()
        if len(encoder.schema()) < len(plain["features"]) or len(encoder.columns) < len(plain["values"]):
            raise ValueError("a name or a value twice")
        for key, place in places.items():
            if arrays[key].shape != place.shape or arrays[key].dtype != place.dtype:
                raise ValueError(f"{key} of the shape {arrays[key].shape}, not {place.shape}")
            place[:] = arrays[key]
        return model

    def _encode(
        self, events: Any, labels: Iterable[object], cells: bool, bad: Counter[FeatureName]
    ) -> tuple[Events, NDArray[np.int64]]:
        """Encode events and labels, and make room for what is new in them."""
        if isinstance(events, tuple | Iterator):
            events = list(events)
        batch: Sequence[Event] | Columns = events if isinstance(events, list) else frames.columns(events)
        if isinstance(batch, list):
            for kind in set(map(type, batch)):
                if not issubclass(kind, Mapping):
                    raise TypeError(f"an event is a dict of features, not {kind.__name__}")
        labels = labels if isinstance(labels, np.ndarray) else list(labels)
        if len(labels) != len(batch):
            raise ValueError(f"{len(batch)} events came with {len(labels)} labels")
        codes = self._labels.encode(labels)
        encoded = self._encoder.encode(batch, codes != NO_LABEL, cells, bad)
        self._fit_tables()
        return encoded, codes

    def _log_priors(self) -> Floats:
        """Return the log of (N_k + a) / (N + a K) for each of the K classes."""
        weights = self._weights[1 : len(self._labels) + 1]
        total = self._weights[0] + self.prior_smoothing * np.count_nonzero(weights)
        with np.errstate(divide="ignore"):
            return np.where(weights > 0.0, np.log((weights + self.prior_smoothing) / total), -np.inf)

    def _predict_many(self, X: Any) -> Floats:
        """Return probabilities [event, class] for a frame or array."""
        batch = frames.columns(X)
        encoded = self._encoder.encode(batch, np.zeros(len(batch), dtype=np.bool_), False, Counter())
        probabilities = np.zeros((len(batch), len(self._labels)))
        kernels.test_then_train(*self._tables, *encoded, _NO_LABELS, probabilities)
        return probabilities

    def _fit_tables(self) -> None:
        """Make room for every feature, value and class that has a number."""
        encoder, classes = self._encoder, len(self._labels.names)
        self._registered = encoder.registered
        if len(self._weights) < classes + 1:
            self._weights = np.concatenate([self._weights, np.zeros(max(classes, len(self._weights)))])
        self._moments.reserve(len(encoder.numeric), classes + 1)
        self._counts.reserve(len(encoder.categorical), encoder.owners, classes + 1)
        self._tables = Tables(
            self._weights,
            self._moments.array,
            self._counts.array,
            self._counts.totals,
            self._counts.distinct,
            self._counts.owner,
            np.array((self.smoothing, self.variance_prior, self.unbiased, self.prior_smoothing), dtype=np.float64),
            classes,
        )
