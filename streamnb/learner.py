"""Learner: the inner half of a model, which encodes events and hands them to the kernels.

Law: a batch gives, bit for bit, what its events give one by one, however columns change hands in it.
"""

from collections import Counter
from collections.abc import Iterable
from typing import Any

import numpy as np

from streamnb.arrays import KNOWN, LABEL, WEIGHT, Events, Floats
from streamnb.batch import Batch, as_batch, as_events, to_number
from streamnb.clock import Clock
from streamnb.encoder import Encoder
from streamnb.events import Event
from streamnb.frames import columns
from streamnb.labels import NO_LABEL, Labels, as_label
from streamnb.settings import Settings
from streamnb.statistics import Statistics
from streamnb.tokenizer import Tokenizer, Tokens
from streamnb.values import FeatureName
from streamnb.vocabulary import Vocabulary

NO_LESSONS = np.empty((3, 0))
"""What events are only predicted with."""

NOTHING = np.empty((0, 0))
"""Room for no probabilities."""


class Learner:
    """The inner half of a classifier, which has the settings as attributes.

    `settings` are these, checked; `statistics` is what has been learned, and `_state` too, with all that goes with it:
    both can be copied, added up, packed, saved and restored. A model says by `_fit_tables` what arrays it
    works on, by `_score` and `_learn` how a batch is gone over, and by `_admit` what values are given that waited for a
    column.
    """

    tokenizer: Tokenizer
    settings: Settings
    statistics: Statistics
    _state: Any
    _array: Floats
    _tables: tuple[Any, ...]
    _labels: Labels
    _vocabulary: Vocabulary
    _clock: Clock | None
    _registered: int

    def _encode_with(self, statistics: Statistics, clock: Clock | None, bad_values: Counter[FeatureName]) -> None:
        """Make these the statistics, whose vocabulary events are encoded with, and this the clock of the model."""
        self.statistics = statistics
        self._labels, self._vocabulary, self._clock = statistics.labels, statistics.vocabulary, clock
        self._encoder = Encoder(self._vocabulary, Tokens(self.tokenizer))
        self._encoder.bad_values.update(bad_values)

    def _fit_tables(self) -> None:
        """Make room for every feature, value and class that has a number."""
        raise NotImplementedError

    def _score(self, events: Events, probabilities: Floats) -> None:
        """Set the probabilities [event, class] of encoded events; a row stays as it was where nothing was learned."""
        raise NotImplementedError

    def _learn(
        self,
        events: Events,
        lessons: Floats,
        times: Floats | None,
        probabilities: Floats | None,
        losses: Floats | None,
    ) -> None:
        """Score encoded events, if there is room for probabilities [event, class], and learn them.

        Where there is room for losses [event], they are those of the longest of several memories.
        """
        raise NotImplementedError

    def _admit(self, lesson: Floats) -> None:
        """Give the values that wait for a column one, each with what the event [row] of a lesson weighs."""
        raise NotImplementedError

    def _fit_if_new(self) -> None:
        if self._registered != self._vocabulary.registered or self._tables[-1] != len(self._labels.names):
            self._fit_tables()

    def _when(self, t: float | None) -> float:
        """Return the time of one event, 0 where times do not count; ValueError for what is none."""
        if self._clock is None:
            return 0.0
        return self._clock.time(self._clock.following() if t is None else to_number(t, "time"))

    def _batch(self, events: Any, labels: Iterable[object], weights: Any, times: Any) -> Batch:
        known = as_events(events)
        if callable(self.tokenizer):
            self._encoder.try_texts(known)
        return as_batch(known, labels, weights, times, self._labels, self._clock)

    def _run(
        self,
        batch: Batch,
        *,
        cells: bool,
        bad: Counter[FeatureName],
        probabilities: Floats | None = None,
        losses: Floats | None = None,
    ) -> None:
        """Encode events, score them, and learn them; see `_learn`."""
        start = 0
        for events in self._encoder.encode(batch.events, batch.lessons[LABEL] != NO_LABEL, cells, bad):
            self._fit_if_new()
            part = slice(start, start + events[0].shape[1] - 1)
            lessons = np.ascontiguousarray(batch.lessons[:, part])
            times = None if batch.times is None else batch.times[part]
            room = (None if array is None else array[part] for array in (probabilities, losses))
            self._learn(events, lessons, times, *room)
            if self._vocabulary.newcomers:
                self._admit(lessons[:, -1])
                self._fit_if_new()
            start = part.stop

    def _predict_many(self, X: Any) -> Floats:
        """Return probabilities [event, class] for a frame or array."""
        batch = columns(X)
        nothing = np.zeros(len(batch), dtype=np.bool_)
        probabilities = np.zeros((len(batch), len(self._labels)))
        for events in self._encoder.encode(batch, nothing, False, Counter()):
            self._score(events, probabilities)
        return probabilities

    def _priors(self) -> Floats:
        """Return the prior probability of each class."""
        statistics, settings = self.statistics, self.settings
        weights: Floats
        weights, events, given = statistics.weights[:, 1 : statistics.slots]
        known = (events > 0.0) | (weights > 0.0) | (np.arange(len(weights)) < self._array[KNOWN])
        if settings.given:
            return np.asarray(given)
        if settings.prior == "uniform":
            return np.asarray(known / max(known.sum(), 1))
        shares = np.where(known, weights / statistics.unit + settings.prior_smoothing, 0.0)
        total = statistics.weights[WEIGHT, 0] / statistics.unit + settings.prior_smoothing * known.sum()
        return shares / total if total > 0.0 else shares

    def _encoded(self, x: Event, *, cells: bool) -> Events:
        """Return one event, encoded to be looked at only."""
        if not cells:
            return self._encoder.encode_one(x, learn=False)
        return next(self._encoder.encode([x], np.zeros(1, dtype=np.bool_), True, Counter()))

    def _code(self, label: Any) -> int:
        code = self._labels.find(as_label(label))
        if code is None:
            raise ValueError(f"{label!r} is not one of the classes, which are {self._labels.names!r:.200}")
        return code
