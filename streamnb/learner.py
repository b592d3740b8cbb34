"""Learner: statistics with what it takes to learn and score events and batches.

Law: a batch gives, bit for bit, what its events give one by one, however time passes and columns change hands in it.
"""

from collections import Counter
from collections.abc import Iterable
from typing import Any

import numpy as np

from streamnb.arrays import AMOUNT, KNOWN, LABEL, UNIT, WEIGHT, Events, Floats
from streamnb.batch import Batch, as_batch, as_events, to_number
from streamnb.encoded import part_of
from streamnb.encoder import Encoder
from streamnb.events import Event
from streamnb.frames import columns
from streamnb.kernels.learn import learn
from streamnb.kernels.passes import test_then_train
from streamnb.labels import NO_LABEL, as_label
from streamnb.settings import Settings
from streamnb.statistics import Statistics
from streamnb.tokenizer import Tokenizer, Tokens
from streamnb.values import FeatureName

NO_LESSONS = np.empty((3, 0))
"""What events are only predicted with."""


class Learner:
    """The inner half of a classifier, which has the settings as attributes.

    `settings` are these, checked; `statistics` is what has been learned.
    """

    tokenizer: Tokenizer
    settings: Settings
    statistics: Statistics

    def _begin(self, settings: Settings) -> None:
        """Make this a model that has learned nothing."""
        self.settings = settings
        self._lesson = np.ones((3, 1))  # of one plain event
        self._take(Statistics(settings), Counter())

    def __getstate__(self) -> dict[str, object]:
        return {**self.__dict__, "_lesson": np.ones((3, 1))}  # work space is no state

    def _take(self, statistics: Statistics, bad_values: Counter[FeatureName]) -> None:
        """Make this the model of some statistics."""
        self.statistics = statistics
        self._labels, self._vocabulary, self._clock = statistics.labels, statistics.vocabulary, statistics.clock
        self._encoder = Encoder(self._vocabulary, Tokens(self.tokenizer))
        self._encoder.bad_values.update(bad_values)
        self._array = self.settings.as_array()
        statistics.give_priors(self.settings.given)
        self._fit_tables()

    def _fit_tables(self) -> None:
        """Make room for every feature, value and class that has a number."""
        self._registered = self._vocabulary.registered
        self._tables = self.statistics.tables(self._array)
        self._learn_tables = self._tables[:7]

    def _fit_if_new(self) -> None:
        if self._registered != self._vocabulary.registered or self._tables.classes != len(self._labels.names):
            self._fit_tables()

    def _admit(self, amount: float) -> None:
        self.statistics.admit(amount)
        self._fit_if_new()

    def _when(self, t: float | None) -> float:
        """Return the time of one event, 0 where times do not count; ValueError for what is none."""
        if self._clock is None:
            return 0.0
        return self._clock.time(self._clock.following() if t is None else to_number(t, "time"))

    def _turn_clock(self, time: float, lesson: Floats) -> None:
        """Turn the clock on to an event, and the weight in its lesson into what it is stored with."""
        if self._clock is not None:
            times = np.array((time,))
            if not self._clock.weigh(times, 0, lesson):
                self.statistics.move(self._clock.age(time))
                self._clock.weigh(times, 0, lesson)
            self._array[UNIT] = self._clock.unit

    def _batch(self, events: Any, labels: Iterable[object], weights: Any, times: Any) -> Batch:
        known = as_events(events)
        if callable(self.tokenizer):
            self._encoder.try_texts(known)
        return as_batch(known, labels, weights, times, self._labels, self._clock)

    def _run(self, batch: Batch, *, cells: bool, bad: Counter[FeatureName], probabilities: Floats | None) -> None:
        """Encode events, score them if there is room for probabilities [event, class], and learn them."""
        start = 0
        for events in self._encoder.encode(batch.events, batch.lessons[LABEL] != NO_LABEL, cells, bad):
            self._fit_if_new()
            part = slice(start, start + events[0].shape[1] - 1)
            lessons = np.ascontiguousarray(batch.lessons[:, part])
            times = None if batch.times is None else batch.times[part]
            self._learn(events, lessons, times, None if probabilities is None else probabilities[part])
            if self._vocabulary.newcomers:
                self._admit(float(lessons[AMOUNT, -1]))
            start = part.stop

    def _learn(self, events: Events, lessons: Floats, times: Floats | None, probabilities: Floats | None) -> None:
        """Score and learn encoded events, moving the landmark of the clock as is due."""
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
            test_then_train(*self._tables, *events, lessons, probabilities)

    def _predict_many(self, X: Any) -> Floats:
        """Return probabilities [event, class] for a frame or array."""
        batch = columns(X)
        nothing = np.zeros(len(batch), dtype=np.bool_)
        probabilities = np.zeros((len(batch), len(self._labels)))
        for events in self._encoder.encode(batch, nothing, False, Counter()):
            test_then_train(*self._tables, *events, NO_LESSONS, probabilities)
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
