"""Late labels: what is kept of a record that waits, what of a record is a label, and events read again to be learned.

Law: what waits is kept as its bytes, and read again it is what it was.
"""

import math
from collections.abc import Iterator, Sequence
from itertools import groupby
from typing import Any

import msgspec

from consumers.fields import Fields, Taken, bury, take
from consumers.formats import parse, parse_row
from consumers.records import NO_EVENT_CAME, NO_ID, NO_LABEL, NO_LABEL_CAME, NOT_A_LABEL, Batch, DeadLetter, Position
from streamnb.labels import Label, as_label

Key = str | int | float | tuple[bool]
"""What events and labels are matched by; a boolean is put aside, since Python takes it for a number."""


class WaitingEvent(msgspec.Struct, gc=False):
    """An event that waits for its label: where it was read, its bytes, and what was predicted then.

    `names` are those of its cells, if it is a row of CSV; `answer` holds the probabilities of the classes known then,
    as the bytes of floats; `decision` is unset where none was asked for.
    """

    origin: tuple[str, int]
    offset: int
    raw: bytes
    names: tuple[str, ...] | None
    answer: bytes = b""
    decision: Label | msgspec.UnsetType | None = msgspec.UNSET


class WaitingLabel(msgspec.Struct, gc=False):
    """A label that waits for its event, where it was read, and its bytes."""

    origin: tuple[str, int]
    offset: int
    raw: bytes
    label: Label


GivenUp = list[tuple[int, WaitingEvent | WaitingLabel]]
"""What waited too long, each with the offset of the record for which it made room."""


def key_of(id_: Any) -> Key | None:
    """Return what an id is matched by, None for what is no id: a string, a finite number, a boolean.

    >>> key_of("1"), key_of(1), key_of(True), key_of(None), key_of(float("nan"))
    ('1', 1, (True,), None, None)
    """
    kind = type(id_)
    if kind is str or kind is int or (kind is float and math.isfinite(id_)):
        return id_  # type: ignore[no-any-return]
    return (id_,) if kind is bool else None


def take_labels(fields: Fields, batch: Batch) -> tuple[list[Any], list[Label]]:
    """Return the ids and the labels of a batch of late labels; records that have none join the dead letters."""
    taken = take(Fields(fields.label, fields.id), batch)
    problems: dict[int, tuple[str, str]] = {}
    labels: list[Any] = []
    for place, (id_, label) in enumerate(zip(taken.ids, taken.labels, strict=True)):
        try:
            if key_of(id_) is None:
                problems[place] = NO_ID, f"no string, number or boolean under the key {fields.id!r:.80}"
            elif label is None:
                problems[place] = NO_LABEL, f"nothing under the key {fields.label!r:.80}"
            labels.append(None if label is None else as_label(label))
        except ValueError as error:
            problems.setdefault(place, (NOT_A_LABEL, str(error)))
            labels.append(None)
    taken = bury(batch, taken._replace(labels=labels), problems) if problems else taken._replace(labels=labels)
    return taken.ids, taken.labels


def read_again(events: Sequence[WaitingEvent]) -> list[dict[str, Any]]:
    """Return events that waited, from their bytes; ValueError for what is no event."""
    if not events or events[0].names is not None:
        return [parse_row(event.raw, event.names or ()) for event in events]
    records = [event.raw for event in events]
    read, *_ = parse(records, list(range(len(records))), max(map(len, records)))
    if len(read) < len(records):
        raise ValueError("what waits is no event")
    return read


def joined_batches(
    fields: Fields, batch: Batch, labels: Sequence[Label], joined: Sequence[tuple[int, WaitingEvent]]
) -> Iterator[tuple[Batch, Taken, list[WaitingEvent]]]:
    """Yield the events that labels of a batch have joined, as batches at the places of the labels, in their order.

    Parameters
    ----------
    labels
        The labels of the batch.
    joined
        The place of a label, and the event that it joins.
    """
    for is_row, group in groupby(joined, key=lambda pair: pair[1].names is not None):
        places, events = map(list, zip(*group, strict=True))
        offsets, raw = ([column[place] for place in places] for column in (batch.offsets, batch.raw))
        part = Batch(batch.position, read_again(events), offsets, raw, cells=is_row)
        taken = take(fields, part)
        yield part, taken._replace(labels=[labels[place] for place in places]), events


def unmatched(given_up: GivenUp, bound: int) -> list[DeadLetter]:
    """Return what was given up as dead letters.

    Parameters
    ----------
    bound
        How many may wait.
    """
    letters = []
    for found, each in given_up:
        is_event = isinstance(each, WaitingEvent)
        reason, what = (NO_LABEL_CAME, "events") if is_event else (NO_EVENT_CAME, "labels")
        origin = Position(*each.origin, each.offset)
        letters.append(DeadLetter(found, each.raw, reason, f"more than {bound} {what} waited", origin))
    return letters
