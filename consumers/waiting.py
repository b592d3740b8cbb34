"""What waits: events for a label that comes later, labels for an event that comes later; matched by id.

Law: each label, and each event without one that has an id, is in exactly one count: joined, known already, given up,
or waiting; the first of an id is the one that counts.
"""

from collections import OrderedDict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any, Self

import numpy as np
from msgspec import UNSET, UnsetType

from consumers.late import GivenUp, Key, WaitingEvent, WaitingLabel, key_of, read_again
from consumers.records import Batch
from streamnb.arrays import Floats
from streamnb.labels import Label, Labels, as_label


@dataclass
class LateTally:
    """What became of late labels, and of events that came without a label but with an id.

    Those that wait in parts of the stream whose counts were added up are counted as such.
    """

    labels: int = 0
    events: int = 0
    joined: int = 0
    duplicate_labels: int = 0
    duplicate_events: int = 0
    labels_given_up: int = 0
    events_given_up: int = 0
    labels_in_parts: int = 0
    events_in_parts: int = 0

    def add(self, other: Self) -> None:
        """Add the counts of another part of the stream."""
        for name, count in asdict(other).items():
            setattr(self, name, getattr(self, name) + count)


class Waiting:
    """Events that wait for their label, labels that wait for their event, and ids that had theirs of late.

    Of each at most so many are kept, the oldest being given up, or forgotten. A label of an id that has one is a
    duplicate, even if it says something else; so is an event without label whose id waits, or has had its label.
    """

    def __init__(self) -> None:
        self.tally = LateTally()
        self._classes = Labels()
        self._events: OrderedDict[Key, WaitingEvent] = OrderedDict()
        self._labels: OrderedDict[Key, WaitingLabel] = OrderedDict()
        self._labelled: OrderedDict[Key, None] = OrderedDict()

    @property
    def classes(self) -> list[Label]:
        """The classes that the probabilities of waiting events are over."""
        return list(self._classes)

    @property
    def events(self) -> int:
        """How many events wait for their label."""
        return len(self._events) + self.tally.events_in_parts

    @property
    def labels(self) -> int:
        """How many labels wait for their event."""
        return len(self._labels) + self.tally.labels_in_parts

    def take_events(
        self, batch: Batch, ids: Sequence[Any], labels: list[Any], names: tuple[str, ...] | None, bound: int
    ) -> tuple[list[WaitingEvent | None], GivenUp]:
        """Match the events of a batch; return for each event what waits of it, if anything, and what is given up.

        Parameters
        ----------
        ids, labels
            What the events carry; an event without label whose label waits is given it here.
        names
            The names of the cells, where the events are rows of CSV.
        bound
            How many may wait.
        """
        origin = batch.position.stream, batch.position.partition
        entries: list[WaitingEvent | None] = [None] * len(ids)
        given_up: GivenUp = []
        for place, id_ in enumerate(ids):
            key = key_of(id_)
            if key is None:
                continue
            if labels[place] is not None:
                self.tally.duplicate_labels += self._labels.pop(key, None) is not None
                self._remember(key, bound)
                continue
            self.tally.events += 1
            if key in self._labels:
                labels[place] = self._labels.pop(key).label
                self._join(key, bound)
            elif key in self._events or key in self._labelled:
                self.tally.duplicate_events += 1
            else:
                offset = batch.offsets[place]
                entries[place] = self._events[key] = WaitingEvent(origin, offset, batch.raw[place], names)
                while len(self._events) > bound:
                    given_up.append((offset, self._events.popitem(last=False)[1]))
                    self.tally.events_given_up += 1
        return entries, given_up

    def keep(
        self,
        entries: Sequence[WaitingEvent | None],
        probabilities: Floats,
        classes: Sequence[Label],
        decisions: Sequence[Label | None] | None = None,
    ) -> None:
        """Keep what was predicted of events that wait.

        Parameters
        ----------
        entries
            What waits of each event.
        probabilities, classes
            [event, class], and the label of each class.
        decisions
            One for each event, None for none.
        """
        codes = self.meet(classes)
        if codes != list(range(len(codes))):  # some of the classes known then have been unlearned since
            spread = np.zeros((len(probabilities), len(self._classes)))
            spread[:, codes] = probabilities
            probabilities = spread
        answers, size = probabilities.tobytes(), 8 * probabilities.shape[1]
        for place, entry in enumerate(entries):
            if entry is not None:
                entry.answer = answers[place * size : (place + 1) * size]
                if decisions is not None:
                    entry.decision = decisions[place]

    def meet(self, classes: Sequence[Label]) -> list[int]:
        """Note the classes that a model knows, after every batch, so that no cut shows; return the place of each."""
        return [self._classes.add(label) for label in classes]

    def take_labels(
        self, batch: Batch, ids: Sequence[Any], labels: Sequence[Label], bound: int
    ) -> tuple[list[tuple[int, WaitingEvent]], GivenUp]:
        """Match the labels of a batch; return the events they join, each with the place of its label, and the given up.

        Parameters
        ----------
        ids, labels
            What the labels of the batch are of, and what they are.
        bound
            How many may wait.
        """
        origin = batch.position.stream, batch.position.partition
        joined: list[tuple[int, WaitingEvent]] = []
        given_up: GivenUp = []
        self.tally.labels += len(ids)
        for place, id_ in enumerate(ids):
            key = key_of(id_)
            if key is None:
                continue
            if key in self._events:
                joined.append((place, self._events.pop(key)))
                self._join(key, bound)
            elif key in self._labels or key in self._labelled:
                self.tally.duplicate_labels += 1
            else:
                offset = batch.offsets[place]
                self._labels[key] = WaitingLabel(origin, offset, batch.raw[place], labels[place])
                while len(self._labels) > bound:
                    given_up.append((offset, self._labels.popitem(last=False)[1]))
                    self.tally.labels_given_up += 1
        return joined, given_up

    def probabilities(self, entries: Sequence[WaitingEvent]) -> Floats:
        """Return the probabilities [event, class] that events were given, over `classes`."""
        size = 8 * len(self._classes)
        rows = bytearray().join(entry.answer.ljust(size, b"\0") for entry in entries)
        return np.frombuffer(rows).reshape(len(entries), len(self._classes))

    def _join(self, key: Key, bound: int) -> None:
        self.tally.joined += 1
        self._remember(key, bound)

    def _remember(self, key: Key, bound: int) -> None:
        """Remember that an id has its label."""
        self._labelled[key] = None
        while len(self._labelled) > bound:
            self._labelled.popitem(last=False)

    def add_counts(self, other: Self) -> None:
        """Add the counts of another part of the stream; what waits there stays there, and is counted as waiting."""
        self.tally.add(other.tally)
        self.tally.events_in_parts += len(other._events)
        self.tally.labels_in_parts += len(other._labels)

    def to_state(self) -> dict[str, Any]:
        """Return all that this is, as plain values."""
        events, labels = self._events.values(), self._labels.values()
        places = [*(event.origin for event in events), *(label.origin for label in labels)]
        origins = {origin: place for place, origin in enumerate(dict.fromkeys(places))}
        names = {each: place for place, each in enumerate(dict.fromkeys(event.names for event in events))}
        return {
            "tally": asdict(self.tally),
            "classes": self.classes,
            "origins": list(origins),
            "names": list(names),
            "events": {
                **_columns(self._events, origins),
                "names": [names[event.names] for event in events],
                "probabilities": self.probabilities(list(events)).tolist(),
                "decisions": [[] if event.decision is UNSET else [event.decision] for event in events],
            },
            "labels": {**_columns(self._labels, origins), "labels": [label.label for label in labels]},
            "labelled": _ids(self._labelled),
        }

    @classmethod
    def from_state(cls, state: Mapping[str, Any]) -> Self:
        """Return what waits, whose `to_state` this is; LookupError, TypeError or ValueError for what cannot be."""
        waiting = cls()
        waiting.tally = LateTally(**{name: int(count) for name, count in dict(state["tally"]).items()})
        waiting._classes = Labels(map(as_label, state["classes"]))
        origins = [(str(stream), int(partition)) for stream, partition in state["origins"]]
        headers = [None if names is None else tuple(map(str, names)) for names in state["names"]]
        events, labels = state["events"], state["labels"]
        shares = np.array(events["probabilities"], dtype=np.float64).reshape(len(events["ids"]), len(waiting._classes))
        entries = [
            WaitingEvent(*place, headers[names], decision=_decision(decision))
            for place, names, decision in zip(
                _places(events, origins), events["names"], events["decisions"], strict=True
            )
        ]
        if not ((shares >= 0.0) & (shares <= 1.0 + 1e-9)).all():
            raise ValueError("a probability that cannot be")
        for is_row in (False, True):  # what cannot be read again is found now, not when its label comes
            read_again([event for event in entries if (event.names is not None) == is_row])
        waiting.keep(entries, shares, waiting.classes)
        waiting._events.update(zip(_keys(events["ids"]), entries, strict=True))
        waiting._labels.update(
            (key, WaitingLabel(*place, as_label(label)))
            for key, place, label in zip(_keys(labels["ids"]), _places(labels, origins), labels["labels"], strict=True)
        )
        waiting._labelled.update((key, None) for key in _keys(state["labelled"]))
        return waiting


def _columns(
    waiting: Mapping[Key, WaitingEvent | WaitingLabel], origins: Mapping[tuple[str, int], int]
) -> dict[str, Any]:
    """Return what all that waits has, column by column."""
    each = waiting.values()
    return {
        "ids": _ids(waiting),
        "origins": [origins[one.origin] for one in each],
        "offsets": [one.offset for one in each],
        "texts": [one.raw.decode() for one in each],
    }


def _places(
    columns: Mapping[str, Any], origins: Sequence[tuple[str, int]]
) -> Iterator[tuple[tuple[str, int], int, bytes]]:
    """Yield of all that waits where it was read, and its bytes."""
    for origin, offset, text in zip(columns["origins"], columns["offsets"], columns["texts"], strict=True):
        yield origins[origin], int(offset), text.encode()


def _ids(keys: Iterable[Key]) -> list[str | int | float | bool]:
    return [key[0] if isinstance(key, tuple) else key for key in keys]


def _keys(ids: Iterable[Any]) -> list[Key]:
    """Return the keys of ids; ValueError for what is none, or comes twice."""
    keys = [key for key in map(key_of, ids) if key is not None]
    if len(set(keys)) < len(list(ids)):
        raise ValueError("an id that cannot be")
    return keys


def _decision(decision: Sequence[Any]) -> Label | UnsetType | None:
    if not decision:
        return UNSET
    return None if decision[0] is None else as_label(decision[0])
