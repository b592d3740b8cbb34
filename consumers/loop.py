"""The heart: read, predict, emit, measure, learn; now and then a snapshot.

Law: an event is predicted before its label is learned, and nothing about the result tells where batches were cut or
where a run was killed and started again.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate, count, repeat
from operator import methodcaller
from typing import Any

from consumers.errors import FileError, InterruptedRunError
from consumers.formats import dead_letter_line, prediction_lines
from consumers.interrupts import Interrupts
from consumers.records import NOT_A_LABEL, Batch, DeadLetter, Position, Prediction, Sink, Source, Store
from consumers.state import State
from streamnb.arrays import Floats
from streamnb.labels import Label, Labels, as_label
from streamnb.values import is_nan

_STRUCTURES = {dict, list}  # no id


@dataclass(frozen=True)
class Fields:
    """Which keys of an event are its label and its id, and which are to be left out."""

    label: str
    id: str
    ignore: tuple[str, ...] = ()


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
    predictions, dead_letters
        Where they go; None for nowhere.
    store, settings, policy
        Where snapshots are kept (None: nowhere), the settings that they depend on, and when one is due.
    clock
        Seconds, from any start.
    watch
        Called after each batch.
    interrupts
        Where signals wait for the end of a batch.
    """

    def __init__(
        self,
        state: State,
        fields: Fields,
        *,
        learn: bool,
        predictions: Sink | None,
        dead_letters: Sink | None,
        store: Store | None,
        settings: Mapping[str, Any],
        policy: SnapshotPolicy,
        clock: Callable[[], float],
        watch: Callable[[], None],
        interrupts: Interrupts,
    ) -> None:
        self._state = state
        self._fields = fields
        self._learn = learn
        self._predictions = predictions
        self._dead_letters = dead_letters
        self._store = store
        self._settings = settings
        self._policy = policy
        self._clock = clock
        self._watch = watch
        self._interrupts = interrupts

    def run(self, source: Source) -> None:
        """Read the source to its end, or to a signal; save at the start, when due, and at the end.

        Raises InterruptedRunError if a signal asked to stop, FileError for an input that fails, both with all saved.
        """
        state = self._state
        batches = source.batches([Position(*place, offset) for place, offset in state.positions.items()])
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
            sinks = [sink for sink in (self._predictions, self._dead_letters) if sink is not None]
            lengths = {sink.path: sink.flush() for sink in sinks}
            data = self._state.to_bytes(self._settings, lengths)
            self._store.save(self._state.tally.records, data, sinks)

    def _step(self, batch: Batch) -> None:
        """Take one batch all the way."""
        state = self._state
        state.tally.records += len(batch.events) + len(batch.dead)
        ids, labels = self._take(batch)
        known, learned = len(state.model.classes), state.model.learned
        try:
            probabilities, chosen = self._predict(batch, labels)
        except ValueError:  # one of the labels cannot be a class; nothing has been learned or measured yet
            ids, labels = _bury_bad_labels(batch, ids, labels)
            probabilities, chosen = self._predict(batch, labels)
        if self._predictions is not None:
            to_learn = self._to_learn(labels)
            answers = [*state.model.classes, None]  # the last for -1: no answer
            columns = (
                ids,
                map(answers.__getitem__, chosen),
                _shares(probabilities, state.model.classes, known, to_learn),
                repeat(batch.position.stream),
                repeat(batch.position.partition),
                batch.offsets,
                _learned_before(to_learn, learned),
            )
            self._predictions.write(prediction_lines(list(map(Prediction, *columns))))
        if self._dead_letters is not None:
            self._dead_letters.write(b"".join(dead_letter_line(batch.position, letter) for letter in batch.dead))
        state.tally.predicted += len(chosen) - chosen.count(-1)
        state.tally.dead.update(letter.reason for letter in batch.dead)
        state.positions[batch.position.stream, batch.position.partition] = batch.position.offset

    def _take(self, batch: Batch) -> tuple[list[Any], list[Any]]:
        """Take the id and the label out of each event, and what is to be ignored; return the ids and the labels."""
        fields = self._fields
        ids = _pop(batch.events, fields.id)
        if not _STRUCTURES.isdisjoint(map(type, ids)):
            ids = [None if type(id_) in _STRUCTURES else id_ for id_ in ids]
        labels = _pop(batch.events, fields.label)
        if float in set(map(type, labels)):
            labels = [None if is_nan(label) else label for label in labels]
        for name in fields.ignore:
            _pop(batch.events, name)
        return ids, labels

    def _predict(self, batch: Batch, labels: list[Any]) -> tuple[Floats, list[int]]:
        """Predict, measure and learn; return probabilities [event, class] and the class chosen for each event.

        Raises ValueError, before anything is changed, for a label that cannot be a class.
        """
        state = self._state
        bad_values: Counter[str | int] = Counter()
        probabilities = state.model.test_then_train(
            batch.events, self._to_learn(labels), cells=batch.cells, bad_values=bad_values
        )
        chosen = state.measures.update(probabilities, state.model.classes, labels)
        state.tally.bad_values.update(bad_values)
        return probabilities, chosen

    def _to_learn(self, labels: list[Any]) -> list[Any]:
        """Return what of the labels is learned, and not only measured."""
        return labels if self._learn else [None] * len(labels)


def _pop(events: Sequence[dict[str, Any]], name: str) -> list[Any]:
    """Take the value of a name out of each event, None where there is none; dots lead into nested objects."""
    if "." not in name:
        return list(map(methodcaller("pop", name, None), events))
    return [_pop_nested(event, name) for event in events]


def _pop_nested(event: dict[str, Any], name: str) -> Any:
    if name in event:
        return event.pop(name)
    head, dot, rest = name.partition(".")
    inner = event.get(head) if dot else None
    return _pop_nested(inner, rest) if isinstance(inner, dict) else None


def _bury_bad_labels(batch: Batch, ids: list[Any], labels: list[Any]) -> tuple[list[Any], list[Any]]:
    """Move the events whose label cannot be a class to the dead letters; return the other ids and labels."""
    good = []
    for place, label in enumerate(labels):
        try:
            if label is not None:
                as_label(label)
            good.append(place)
        except ValueError as error:
            batch.dead.append(DeadLetter(batch.offsets[place], batch.raw[place], NOT_A_LABEL, str(error)))
    batch.dead.sort()
    batch.events = [batch.events[place] for place in good]
    batch.offsets = [batch.offsets[place] for place in good]
    return [ids[place] for place in good], [labels[place] for place in good]


def _shares(
    probabilities: Floats, classes: Sequence[Label], known: int, labels: Sequence[Label | None]
) -> Iterable[list[tuple[Label, float]]]:
    """Return for each event the classes that had been seen by then, each with its probability.

    Parameters
    ----------
    known
        How many of the classes had been seen before the batch.
    labels
        What is learned from each event.
    """
    rows = probabilities.tolist()
    if known < len(classes):
        codes = Labels(classes)
        seen = accumulate((0 if label is None else codes.add(label) + 1 for label in labels), max, initial=known)
        rows = [row[:some] for row, some in zip(rows, seen, strict=False)]
    return map(list, map(zip, repeat(classes), rows))


def _learned_before(labels: Sequence[Label | None], learned: int) -> Iterable[int]:
    """Return how many events had been learned before each of some with these labels."""
    return accumulate((label is not None for label in labels), initial=learned) if None in labels else count(learned)
