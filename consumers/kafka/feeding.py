"""Feeds a topic from files: event by event, at a steady rate.

Law: every record is sent, or told of; those of one key are in the order of the file.
"""

import math
from collections import defaultdict
from collections.abc import Callable, Sequence
from itertools import count

import orjson

from consumers.errors import BrokerError
from consumers.kafka.client import Client, Place, TransactionLostError
from consumers.kafka.keys import key_of, partition_of
from consumers.records import Batch
from streamnb.values import as_number

_TICK_SECONDS = 0.005  # events that are due within it go together
_BURST_SECONDS = 0.1  # what was held up for longer is not made up for
_AT_ONCE = 1000  # events between two looks at the clock
_SURE_SECONDS = 1.0  # after which it is made sure of what was sent


class Pace:
    """Tells how many events are due, so that they come at a steady rate.

    Parameters
    ----------
    rate
        Events a second; 0 is all at once.
    clock
        Seconds, from any start.

    >>> now = iter([0.0, 0.0, 1.0, 1.0])
    >>> pace = Pace(100, lambda: next(now))
    >>> pace.due(), pace.take(1), pace.due(), pace.take(10)  # of the second that was lost, a tenth is made up for
    (1, None, 11, None)
    """

    def __init__(self, rate: float, clock: Callable[[], float]) -> None:
        self._rate = rate
        self._clock = clock
        self._next = clock()  # when the next event is due

    def due(self) -> int:
        """Return how many events are due."""
        if not self._rate:
            return 1 << 62
        now = self._clock()
        self._next = max(self._next, now - _BURST_SECONDS)
        return max(0, math.floor((now - self._next) * self._rate + 1e-6) + 1)

    def take(self, events: int) -> None:
        """Note that so many of those that were due are on their way."""
        if self._rate:
            self._next += events / self._rate

    def wait(self) -> float:
        """Return in how many seconds it is worth while to ask again."""
        return max(self._next - self._clock(), _TICK_SECONDS)


class Feeder:
    """Sends events to a topic, each to the partition of its key, those without a key to one after the other.

    Parameters
    ----------
    client
        Kafka.
    topic, partitions
        Where to send to, and how many partitions there are.
    pace
        When events are due.
    clock
        Seconds, from any start.
    pause
        Sleeps; may raise, and then what was sent before is still to be made sure of.
    watch
        Called with the number of events sent so far, now and then.

    `sent` is how many events are in the topic for certain.
    """

    def __init__(
        self,
        client: Client,
        topic: str,
        partitions: int,
        *,
        pace: Pace,
        clock: Callable[[], float],
        pause: Callable[[float], None],
        watch: Callable[[int], None],
    ) -> None:
        self.sent = 0
        self.without_key = 0
        self._topic = topic
        self._partitions = partitions
        self._pace = pace
        self._clock = clock
        self._pause = pause
        self._watch = watch
        self._turns = count()
        self._under_way = 0
        self._sure = clock()
        self._writer = client.writer("")

    def feed(self, values: Sequence[bytes], keys: Sequence[bytes | None]) -> None:
        """Send events as they become due; a key of None is none.

        Raises BrokerError.
        """
        at = 0
        while at < len(values):
            due = min(self._pace.due(), _AT_ONCE, len(values) - at)
            if due:
                self._send(values[at : at + due], keys[at : at + due])
                self._pace.take(due)
                at += due
            else:
                self._pause(self._pace.wait())
            if self._clock() - self._sure >= _SURE_SECONDS:
                self.make_sure()
            self._watch(self.sent + self._under_way)

    def make_sure(self) -> None:
        """Return when all that was sent is there. Raises BrokerError."""
        try:
            self._writer.commit({}, None)
            self._writer.settle()
        except TransactionLostError as lost:
            raise BrokerError(f"{self._topic} cannot be written: {lost}") from lost
        self.sent += self._under_way
        self._under_way, self._sure = 0, self._clock()

    def close(self) -> None:
        """Close; what was not made sure of may be there or not."""
        self._writer.close()

    def _send(self, values: Sequence[bytes], keys: Sequence[bytes | None]) -> None:
        columns: dict[int, tuple[list[bytes | None], list[bytes | None]]] = defaultdict(lambda: ([], []))
        for value, key in zip(values, keys, strict=True):
            number = next(self._turns) % self._partitions if key is None else partition_of(key, self._partitions)
            columns[number][0].append(value)
            columns[number][1].append(key)
        self._under_way += len(values)
        self.without_key += sum(key is None for key in keys)
        try:
            for number, column in columns.items():
                self._writer.send(Place(self._topic, number), *column)
        except TransactionLostError as lost:
            raise BrokerError(f"{self._topic} cannot be written: {lost}") from lost


def messages_of(batch: Batch, key: str, text: set[str]) -> tuple[list[bytes], list[bytes | None]]:
    """Return the events of a batch as messages: their values, JSON objects, and their keys.

    Lines of JSON are sent as they are; of a row of CSV, cells that look like a number become one.

    Parameters
    ----------
    key
        The field whose value is the key.
    text
        The columns of CSV that stay text.
    """
    keys = [key_of(event, key) for event in batch.events]
    if not batch.cells:
        return batch.raw, keys
    return [
        orjson.dumps({name: _cell(name, cell, text) for name, cell in event.items()}) for event in batch.events
    ], keys


def _cell(name: str, cell: str | None, text: set[str]) -> str | float | None:
    if cell is None or name in text:
        return cell
    try:
        number = as_number(cell)
    except ValueError:
        return cell
    return cell if math.isinf(number) else number
