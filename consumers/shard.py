"""The heart: predict, measure and learn the records of one shard.

Law: an event is predicted before its label is learned, and nothing about the result tells where batches were cut.
"""

from collections.abc import Iterable, Iterator, Sequence
from itertools import accumulate, count, repeat
from typing import Any, NamedTuple, TypeVar

import numpy as np
from msgspec import UNSET

from consumers.alarms import Alarms
from consumers.fields import Fields, Taken, bad_labels, bury, take
from consumers.late import GivenUp, WaitingEvent, joined_batches, take_labels, unmatched
from consumers.records import Alarm, Batch, DeadLetter, Prediction
from consumers.state import State
from consumers.waiting import Waiting
from streamnb.arrays import Floats
from streamnb.decision_measure import DecisionMeasures
from streamnb.decisions import DecisionRule
from streamnb.explain import Share
from streamnb.labels import Label, Labels

Reasons = list[Share]

_Entry = TypeVar("_Entry")


class Outcome(NamedTuple):
    """What comes of a batch: a prediction for each of its events, its dead letters, and drifts that were found."""

    predictions: list[Prediction]
    dead: list[DeadLetter]
    alarms: list[Alarm]


class Shard:
    """Takes batches all the way, and brings its state forward.

    `stamp` tells what the model is a fold of, for predictions to say so; None for a model that is the shard's own.

    Parameters
    ----------
    state
        What is known so far.
    fields
        Which keys of an event are its label, its id and the like.
    learn
        Whether labels are learned, or only measured.
    emit
        Whether predictions are wanted.
    explain
        How many reasons each prediction is given.
    alarms
        What looks for drift; None if nothing does.
    rule
        How decisions are made; None for none.
    waiting
        How many events may wait for a label that comes later, and labels for their event; 0 if events do not wait.
    tell_unmatched
        Whether what has waited too long joins the dead letters.
    """

    def __init__(
        self,
        state: State,
        fields: Fields,
        *,
        learn: bool,
        emit: bool,
        explain: int = 0,
        alarms: Alarms | None = None,
        rule: DecisionRule | None = None,
        waiting: int = 0,
        tell_unmatched: bool = False,
    ) -> None:
        self.state = state
        self.stamp: str | None = None
        self._fields = fields
        self._learn = learn
        self._emit = emit
        self._explain = explain
        self._alarms = alarms
        self._rule = rule
        self._bound = waiting
        self._tell_unmatched = tell_unmatched
        if waiting and state.waiting is None:
            state.waiting = Waiting()
        if rule is not None and state.decisions is None:
            state.decisions = DecisionMeasures()
        classes = state.model.classes  # known before the first event, and so measured in their order
        state.measures.update(np.zeros((0, len(classes))), classes, [])

    def take(self, batch: Batch) -> Outcome:
        """Take one batch all the way."""
        state = self.state
        state.tally.records += len(batch.events) + len(batch.dead) + batch.tombstones
        state.tally.tombstones += batch.tombstones
        outcome = Outcome([], batch.dead, [])
        given_up = self._take_labels(batch, outcome) if batch.late else self._take_events(batch, outcome)
        batch.dead.sort()
        state.tally.dead.update(letter.reason for letter in batch.dead)
        if self._tell_unmatched and given_up:
            batch.dead += unmatched(given_up, self._bound)
            batch.dead.sort(key=lambda letter: letter.offset)  # no further, since what was given up is in order
        state.positions[batch.position.stream, batch.position.partition] = batch.position.offset
        return outcome

    def _take_events(self, batch: Batch, outcome: Outcome) -> GivenUp:
        """Take a batch of events all the way; return what waited too long."""
        waiting, given_up = self.state.waiting if self._bound else None, GivenUp()
        names = tuple(batch.events[0]) if waiting and batch.cells and batch.events else None
        taken = take(self._fields, batch)
        if self._explain or not self._learn or taken.weights is not None or waiting:
            # What learns does not see every label, or not before it has learned something.
            taken = bury(batch, taken, bad_labels(taken.labels))
        entries: list[WaitingEvent | None] = []
        if waiting:
            entries, given_up = waiting.take_events(batch, taken.ids, taken.labels, names, self._bound)
        for part, some, those in self._parts(batch, taken, entries):
            self._answer(part, some, those, outcome)
            if part is not batch:
                batch.dead += part.dead
        return given_up

    def _parts(
        self, batch: Batch, taken: Taken, entries: Sequence[_Entry]
    ) -> Iterator[tuple[Batch, Taken, Sequence[_Entry]]]:
        """Cut a batch, and what waits of each event, where drift may be found, if it is looked for."""
        start = 0
        for part, some in [(batch, taken)] if self._alarms is None else self._alarms.parts(batch, taken, self.state):
            stop = start + len(part.events)
            yield part, some, entries[start:stop]
            start = stop

    def _take_labels(self, batch: Batch, outcome: Outcome) -> GivenUp:
        """Measure and learn the events that a batch of late labels is of; return what waited too long."""
        state = self.state
        waiting = state.waiting = state.waiting or Waiting()
        ids, labels = take_labels(self._fields, batch)
        joined, given_up = waiting.take_labels(batch, ids, labels, self._bound)
        for late, taken, entries in joined_batches(self._fields, batch, labels, joined):
            for part, some, those in self._parts(late, taken, entries):
                self._learn_late(waiting, part, some, those, outcome)
        waiting.meet(state.model.classes)
        return given_up

    def _learn_late(
        self, waiting: Waiting, batch: Batch, taken: Taken, entries: Sequence[WaitingEvent], outcome: Outcome
    ) -> None:
        """Measure what was predicted of events whose labels have come, then learn them; add the alarms."""
        state, rule, losses = self.state, self._rule, np.empty(len(entries))
        probabilities, classes = waiting.probabilities(entries), waiting.classes
        chosen = state.measures.update(probabilities, classes, taken.labels, losses)
        if rule is not None and state.decisions is not None:
            made = [None if each.decision is UNSET else each.decision for each in entries]
            answers = [
                None if code < 0 or each.decision is UNSET else classes[code]  # measured if it was decided then
                for code, each in zip(chosen, entries, strict=True)
            ]
            state.decisions.measure(rule, made, answers, taken.labels)
        steady = None if self._alarms is None else np.full(len(entries), np.nan)
        if self._learn:
            columns = batch.events, self._to_learn(taken), taken.weights, taken.times
            state.model.test_then_train(*columns, cells=batch.cells, losses=steady)
        if self._alarms is not None and steady is not None:
            outcome.alarms.extend(self._alarms.look(_steady(losses, steady), batch, state))

    def _answer(self, batch: Batch, taken: Taken, entries: Sequence[WaitingEvent | None], outcome: Outcome) -> None:
        """Predict, measure and learn the events of a batch, or of a part of one; add what comes of it."""
        state = self.state
        known, learned = len(state.model.classes), state.model.learned
        try:
            probabilities, chosen, losses, reasons = self._predict(batch, taken)
        except ValueError:  # one of the labels cannot be a class; nothing has been learned or measured yet
            taken = bury(batch, taken, bad_labels(taken.labels))
            probabilities, chosen, losses, reasons = self._predict(batch, taken)
        decisions = self._decide(probabilities, chosen, taken)
        if state.waiting is not None and self._bound:
            state.waiting.keep(entries, probabilities, state.model.classes, *decisions)
        if self._emit:
            to_learn = self._to_learn(taken)
            unset = [repeat(UNSET)]
            stamps = [] if self.stamp is None else [repeat(self.stamp)]
            answers = [*state.model.classes, None]  # the last for -1: no answer
            columns = (
                taken.ids,
                map(answers.__getitem__, chosen),
                _shares(probabilities, state.model.classes, known, to_learn),
                repeat(batch.position.stream),
                repeat(batch.position.partition),
                batch.offsets,
                _learned_before(to_learn, learned),
                *(reasons or (unset if decisions or stamps else [])),
                *(decisions or (unset if stamps else [])),
                *stamps,
            )
            outcome.predictions.extend(map(Prediction, *columns))
        state.tally.predicted += len(chosen) - chosen.count(-1)
        if self._alarms is not None:
            outcome.alarms.extend(self._alarms.look(losses, batch, state))

    def _predict(self, batch: Batch, taken: Taken) -> tuple[Floats, list[int], Floats, list[list[Reasons]]]:
        """Predict, measure and learn; return probabilities [event, class], classes chosen, losses, a column of reasons.

        Without reasons to give there is no column. Raises ValueError, before anything is changed, for a label that
        cannot be a class.
        """
        state, model = self.state, self.state.model
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
            losses = _steady(losses, steady)
        return probabilities, chosen, losses, reasons

    def _decide(self, probabilities: Floats, chosen: Sequence[int], taken: Taken) -> list[list[Label | None]]:
        """Decide and measure, given the places of the most probable classes; return a column of decisions.

        Where none are asked for there is no column.
        """
        rule, measures, classes = self._rule, self.state.decisions, self.state.model.classes
        if rule is None or measures is None:
            return []
        decisions = rule.decide(probabilities, classes)
        measures.update(rule, decisions, [None if code < 0 else classes[code] for code in chosen], taken.labels)
        return [decisions]

    def _one_by_one(self, batch: Batch, taken: Taken, steady: Floats | None) -> tuple[list[Reasons], Floats]:
        """Explain each event before it is predicted and learned; return reasons, and probabilities [event, class]."""
        model, bad_values, to_learn = self.state.model, self.state.tally.bad_values, self._to_learn(taken)
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


def _steady(losses: Floats, steady: Floats) -> Floats:
    """Return losses [event] with those of the longest memory in their place, where a model of several has them."""
    return np.where(np.isnan(losses) | np.isnan(steady), losses, steady)


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
