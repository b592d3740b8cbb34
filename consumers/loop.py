"""The heart: read, predict, emit, measure, learn; now and then a snapshot.

Law: an event is predicted before its label is learned, and nothing about the result tells where batches were cut or
where a run was killed and started again.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate, count, repeat
from typing import Any

import numpy as np
from msgspec import UNSET

from consumers.alarms import Alarms
from consumers.errors import FileError, InterruptedRunError
from consumers.fields import Fields, Taken, bad_labels, bury, take
from consumers.formats import dead_letter_line, prediction_lines
from consumers.interrupts import Interrupts
from consumers.records import Batch, Position, Prediction, Sink, Source, Store
from consumers.state import State
from streamnb.arrays import Floats
from streamnb.decision_measure import DecisionMeasures
from streamnb.decisions import DecisionRule
from streamnb.explain import Share
from streamnb.labels import Label, Labels

Reasons = list[Share]


@dataclass(frozen=True)
class SnapshotPolicy:
    """When a snapshot is due: after so many records or so many seconds, whichever comes first."""

    records: int
    seconds: float

    def due(self, records: int, seconds: float) -> bool:
        """Tell whether a snapshot is due so many records and seconds after the last."""
        return records >= self.records or (records > 0 and seconds >= self.seconds)


class Loop:
    """Reads sources to their end, and keeps what it learns.

    Parameters
    ----------
    state
        What is known so far; it is brought forward.
    fields
        Which keys of an event are its label and its id.
    learn
        Whether labels are learned, or only measured.
    explain
        How many reasons each prediction is given.
    predictions, dead_letters
        Where they go; None for nowhere.
    alarms
        What looks for drift; None if nothing does.
    store, settings, policy
        Where snapshots are kept (None: nowhere), the settings that they depend on, and when one is due.
    clock
        Seconds, from any start.
    watch
        Called after each batch.
    interrupts
        Where signals wait for the end of a batch.
    rule
        How decisions are made; None for none.
    """

    def __init__(
        self,
        state: State,
        fields: Fields,
        *,
        learn: bool,
        explain: int,
        predictions: Sink | None,
        dead_letters: Sink | None,
        alarms: Alarms | None,
        store: Store | None,
        settings: Mapping[str, Any],
        policy: SnapshotPolicy,
        clock: Callable[[], float],
        watch: Callable[[], None],
        interrupts: Interrupts,
        rule: DecisionRule | None = None,
    ) -> None:
        self._state = state
        self._fields = fields
        self._learn = learn
        self._explain = explain
        self._predictions = predictions
        self._dead_letters = dead_letters
        self._alarms = alarms
        self._store = store
        self._settings = settings
        self._policy = policy
        self._clock = clock
        self._watch = watch
        self._interrupts = interrupts
        self._rule = rule
        if rule is not None and state.decisions is None:
            state.decisions = DecisionMeasures()

    def run(self, source: Source) -> None:
        """Read the source to its end, or to a signal; save at the start, when due, and at the end.

        Raises InterruptedRunError if a signal asked to stop, FileError for an input that fails, both with all saved.
        """
        state = self._state
        batches = source.batches([Position(*place, offset) for place, offset in state.positions.items()])
        classes = state.model.classes  # known before the first event, and so measured in their order
        state.measures.update(np.zeros((0, len(classes))), classes, [])
        self._save()
        if self._store is not None:
            self._store.wait()  # before the first output, for which a snapshot must account
        saved, at = state.tally.records, self._clock()
        while (batch := self._next(batches)) is not None:
            self._step(batch)
            self._watch()
            if self._policy.due(state.tally.records - saved, self._clock() - at):
                self._save()
                saved, at = state.tally.records, self._clock()
        self._save()

    def _next(self, batches: Iterator[Batch]) -> Batch | None:
        """Return the next batch; what ends the wait for it, a signal or an input that fails, finds all saved."""
        try:
            self._interrupts.check()
            batch = next(batches, None)
            if batch is None:
                self._interrupts.check()
        except (InterruptedRunError, FileError):
            self._save()
            raise
        return batch

    def _save(self) -> None:
        """Hand a snapshot of this moment to the store; the sinks hold by then all that it accounts for."""
        if self._store is not None:
            alarms = self._alarms.sink if self._alarms is not None else None
            sinks = [sink for sink in (self._predictions, self._dead_letters, alarms) if sink is not None]
            lengths = {sink.path: sink.flush() for sink in sinks}
            data = self._state.to_bytes(self._settings, lengths)
            self._store.save(self._state.tally.records, data, sinks)

    def _step(self, batch: Batch) -> None:
        """Take one batch all the way."""
        state = self._state
        state.tally.records += len(batch.events) + len(batch.dead)
        taken = take(self._fields, batch)
        if self._explain or not self._learn or taken.weights is not None:
            # What learns does not see every label, or not before it has learned something.
            taken = bury(batch, taken, bad_labels(taken.labels))
        parts = [(batch, taken)] if self._alarms is None else self._alarms.parts(batch, taken, state)
        for part, some in parts:
            self._answer(part, some)
            if part is not batch:
                batch.dead += part.dead
        batch.dead.sort()
        if self._dead_letters is not None:
            self._dead_letters.write(b"".join(dead_letter_line(batch.position, letter) for letter in batch.dead))
        state.tally.dead.update(letter.reason for letter in batch.dead)
        state.positions[batch.position.stream, batch.position.partition] = batch.position.offset

    def _answer(self, batch: Batch, taken: Taken) -> None:
        """Predict, measure, learn and emit the events of a batch, or of a part of one."""
        state = self._state
        known, learned = len(state.model.classes), state.model.learned
        try:
            probabilities, chosen, losses, reasons = self._predict(batch, taken)
        except ValueError:  # one of the labels cannot be a class; nothing has been learned or measured yet
            taken = bury(batch, taken, bad_labels(taken.labels))
            probabilities, chosen, losses, reasons = self._predict(batch, taken)
        decisions = self._decide(probabilities, chosen, taken)
        if self._predictions is not None:
            to_learn = self._to_learn(taken)
            without = [repeat(UNSET)] if decisions else []
            answers = [*state.model.classes, None]  # the last for -1: no answer
            columns = (
                taken.ids,
                map(answers.__getitem__, chosen),
                _shares(probabilities, state.model.classes, known, to_learn),
                repeat(batch.position.stream),
                repeat(batch.position.partition),
                batch.offsets,
                _learned_before(to_learn, learned),
                *(reasons or without),
                *decisions,
            )
            self._predictions.write(prediction_lines(list(map(Prediction, *columns))))
        state.tally.predicted += len(chosen) - chosen.count(-1)
        if self._alarms is not None:
            self._alarms.look(losses, batch, state)

    def _predict(self, batch: Batch, taken: Taken) -> tuple[Floats, list[int], Floats, list[list[Reasons]]]:
        """Predict, measure and learn; return probabilities [event, class], classes chosen, losses, a column of reasons.

        Without reasons to give there is no column. Raises ValueError, before anything is changed, for a label that
        cannot be a class.
        """
        state, model = self._state, self._state.model
        reasons: list[list[Reasons]] = []
        steady = None if self._alarms is None else np.full(len(batch.events), np.nan)
        if self._explain:
            each, probabilities = self._one_by_one(batch, taken, steady)
            reasons.append(each)
        else:
            columns = batch.events, self._to_learn(taken), taken.weights, taken.times
            probabilities = model.test_then_train(
                *columns, cells=batch.cells, bad_values=state.tally.bad_values, losses=steady
            )
        losses = np.empty(len(batch.events))
        chosen = state.measures.update(probabilities, model.classes, taken.labels, losses)
        if steady is not None:
            losses = np.where(np.isnan(losses) | np.isnan(steady), losses, steady)
        return probabilities, chosen, losses, reasons

    def _decide(self, probabilities: Floats, chosen: Sequence[int], taken: Taken) -> list[list[Label | None]]:
        """Decide and measure, given the places of the most probable classes; return a column of decisions.

        Where none are asked for there is no column.
        """
        rule, measures, classes = self._rule, self._state.decisions, self._state.model.classes
        if rule is None or measures is None:
            return []
        decisions = rule.decide(probabilities, classes)
        measures.update(rule, decisions, [None if code < 0 else classes[code] for code in chosen], taken.labels)
        return [decisions]

    def _one_by_one(self, batch: Batch, taken: Taken, steady: Floats | None) -> tuple[list[Reasons], Floats]:
        """Explain each event before it is predicted and learned; return reasons, and probabilities [event, class]."""
        model, bad_values, to_learn = self._state.model, self._state.tally.bad_values, self._to_learn(taken)
        reasons, rows = [], []
        for place, event in enumerate(batch.events):
            explanation = model.explain_one(event, cells=batch.cells)
            reasons.append(explanation.shares[: self._explain] if explanation else [])
            one = slice(place, place + 1)
            weights, times = (None if column is None else column[one] for column in (taken.weights, taken.times))
            columns = [event], to_learn[one], weights, times
            losses = None if steady is None else steady[one]
            answer = model.test_then_train(*columns, cells=batch.cells, bad_values=bad_values, losses=losses)
            rows.append(answer[0])
        probabilities = np.zeros((len(rows), len(model.classes)))
        for place, row in enumerate(rows):
            probabilities[place, : len(row)] = row
        return reasons, probabilities

    def _to_learn(self, taken: Taken) -> list[Any]:
        """Return what of the labels is learned, and not only measured."""
        if not self._learn:
            return [None] * len(taken.labels)
        if taken.weights is None or taken.weights.all():
            return taken.labels
        return [label if weight else None for label, weight in zip(taken.labels, taken.weights.tolist(), strict=True)]


def _shares(
    probabilities: Floats, classes: Sequence[Label], known: int, labels: Sequence[Label | None]
) -> Iterable[Sequence[tuple[Label, float]]]:
    """Return for each event the classes that had been seen by then, each with its probability.

    Parameters
    ----------
    known
        How many of the classes had been seen before the batch.
    labels
        What is learned from each event.
    """
    if known < len(classes):
        codes = Labels(classes)
        seen = accumulate((0 if label is None else codes.add(label) + 1 for label in labels), max, initial=known)
        rows = [row[:some] for row, some in zip(probabilities.tolist(), seen, strict=False)]
        return map(list, map(zip, repeat(classes), rows))
    if not classes:
        return repeat(())
    columns = zip(classes, probabilities.T.tolist(), strict=True)  # class by class, in half the time of event by event
    return zip(*(zip(repeat(label), column, strict=False) for label, column in columns), strict=True)


def _learned_before(labels: Sequence[Label | None], learned: int) -> Iterable[int]:
    """Return how many events had been learned before each of some with these labels."""
    return accumulate((label is not None for label in labels), initial=learned) if None in labels else count(learned)
