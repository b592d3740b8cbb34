"""Messages to batches of events, and what comes of them to messages.

Law: every message is an event, a dead letter or a tombstone, once; what comes of it keeps its key and its time.
"""

from bisect import bisect_left
from collections.abc import Callable, Sequence

from consumers.formats import alarm_line, dead_letter_line, parse, prediction_lines
from consumers.kafka.client import OVERHEAD_BYTES, Messages, Place, Writer
from consumers.records import NOT_JSON, Alarm, Batch, DeadLetter, Position
from consumers.shard import Outcome


def batch_of(messages: Messages, limit: int) -> Batch:
    """Return the records of some messages, none larger than a limit in bytes; messages without a value are counted."""
    offsets, records = messages.offsets, messages.values
    tombstones = records.count(None)
    if tombstones:
        offsets = [offset for offset, record in zip(offsets, records, strict=True) if record is not None]
    present = [record for record in records if record is not None] if tombstones else records
    events, kept, raw, dead = parse(present, offsets, limit)  # type: ignore[arg-type] # none of them is None
    if len(events) + len(dead) < len(present):  # a blank line of a file is no record, but a message is one
        blank = [
            (offset, record) for offset, record in zip(offsets, present, strict=True) if not (record or b"").strip()
        ]
        dead = sorted(
            [*dead, *(DeadLetter(offset, record or b"", NOT_JSON, "it is empty") for offset, record in blank)]
        )
    position = Position(messages.place.topic, messages.place.partition, messages.end)
    return Batch(position, events, kept, raw, dead, tombstones=tombstones)


def up_to(messages: Messages, end: int) -> tuple[Messages, Messages | None]:
    """Return those of some messages that come before an offset, be they none, and the others; None for none of these.

    >>> before, after = up_to(Messages(Place("events", 0), [7], [b"{}"], [None], [-1], [], 8), 6)
    >>> before.offsets, before.end, after.offsets, after.end
    ([], 6, [7], 8)
    """
    if messages.end <= end:
        return messages, None
    count = bisect_left(messages.offsets, end)
    return _some(messages, slice(count), end), _some(messages, slice(count, None), messages.end)


def _some(messages: Messages, some: slice, end: int) -> Messages:
    return Messages(
        messages.place,
        messages.offsets[some],
        messages.values[some],
        messages.keys[some],
        messages.timestamps[some],
        messages.headers[some],
        end,
    )


def _fitting(position: Position, letter: DeadLetter, limit: int) -> bytes:
    """Return the line of a dead letter, its record cut until the line fits: what is too large would stop the stream."""
    line, raw = dead_letter_line(position, letter).rstrip(), letter.raw
    while len(line) > limit and raw:
        raw = raw[: len(raw) // 2]
        detail = f"{letter.detail}; cut to the first {len(raw):,} of {len(letter.raw):,} bytes"
        line = dead_letter_line(position, letter._replace(raw=raw, detail=detail)).rstrip()
    return line


class Outputs:
    """Where what comes of events is sent: to the partition of the event's number, or what is left of it.

    Parameters
    ----------
    partitions
        How many partitions each topic has.
    predictions, dead_letters, drift
        The topics; "" for nowhere.
    headers
        Whether the headers of an event go with its prediction.
    limit
        How large a message may be, in bytes; the records of dead letters are cut to it.
    tell
        Called with each drift that was found.
    """

    def __init__(
        self,
        partitions: dict[str, int],
        predictions: str,
        dead_letters: str,
        drift: str,
        *,
        headers: bool,
        limit: int,
        tell: Callable[[Alarm], None],
    ) -> None:
        self._partitions = partitions
        self._predictions = predictions
        self._dead_letters = dead_letters
        self._drift = drift
        self._headers = headers
        self._limit = limit
        self._tell = tell

    def send(self, writer: Writer, messages: Messages, outcome: Outcome) -> None:
        """Send what has come of some messages."""
        if outcome.predictions and self._predictions:
            values = prediction_lines(outcome.predictions).splitlines()
            offsets = [prediction.offset for prediction in outcome.predictions]
            self._send(writer, self._predictions, messages, offsets, values, headers=self._headers)
        if outcome.dead:
            position = Position(*messages.place, messages.end)
            values = [_fitting(position, letter, self._limit - OVERHEAD_BYTES) for letter in outcome.dead]
            offsets = [letter.offset if letter.origin is None else -1 for letter in outcome.dead]
            self._send(writer, self._dead_letters, messages, offsets, values)
        if outcome.alarms and self._drift:
            values = [alarm_line(alarm).rstrip() for alarm in outcome.alarms]
            self._send(writer, self._drift, messages, [alarm.offset for alarm in outcome.alarms], values)
        for alarm in outcome.alarms:
            self._tell(alarm)

    def _send(
        self,
        writer: Writer,
        topic: str,
        messages: Messages,
        offsets: list[int],
        values: Sequence[bytes],
        *,
        headers: bool = True,
    ) -> None:
        """Send values, each with the key, the time and, if it is to have them, the headers of its message.

        What comes of a record that was read before these messages has no key any more, and the time of the last.
        """
        place = Place(topic, messages.place.partition % self._partitions[topic])
        keys, timestamps, given = messages.keys, messages.timestamps, messages.headers if headers else []
        if offsets != messages.offsets:
            at = dict(zip(messages.offsets, range(len(messages.offsets)), strict=True))
            places = [at.get(offset) for offset in offsets]
            keys = [None if place is None else keys[place] for place in places]
            timestamps = [timestamps[-1 if place is None else place] for place in places]
            given = [() if place is None else given[place] for place in places] if given else []
        writer.send(place, values, keys, timestamps, given or None)
