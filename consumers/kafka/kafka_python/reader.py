"""Reading with kafka-python: a member of a group, and a reader of partitions in none.

Law: what is given is not read before it is started; the membership told is never newer than the partitions told.
"""

import time
from collections.abc import Mapping, Sequence
from typing import Any

from consumers.kafka import failures
from consumers.kafka.client import Committed, FencedError, GapError, Messages, Place, Polled
from consumers.kafka.groups import Ownership, note_of
from consumers.kafka.kafka_python.library import Consumer
from consumers.kafka.kafka_python.names import (
    ConsumerRebalanceListener,
    ConsumerRecord,
    MemberState,
    TopicPartition,
    errors,
)
from consumers.kafka.kafka_python.words import as_partition, as_place, milliseconds, reason, refused
from consumers.kafka.settings import KafkaSettings

SLICE_SECONDS = 0.1  # how soon a poll tells of partitions that were given


class KafkaPythonReader:
    """A member of a consumer group."""

    def __init__(
        self, settings: KafkaSettings, consumer: Consumer, group: str, topics: Sequence[str], headers: bool
    ) -> None:
        self._settings = settings
        self._consumer = consumer
        self._group = group
        self._headers = headers
        self._ownership = Ownership()
        self._ends: dict[TopicPartition, int] = {}  # of what is being read: how far has been told
        self._membership: Any = None
        consumer.subscribe(list(topics), listener=_Listener(consumer, self._ownership))
        consumer.learn_of_topics()

    def poll(self, seconds: float) -> Polled:
        """Return what came, waiting no longer than so many seconds for something to come."""
        end = time.monotonic() + seconds
        while True:
            left = max(0.0, end - time.monotonic())
            try:
                records = self._consumer.poll(timeout_ms=int(1000 * min(SLICE_SECONDS, left)))
            except errors.KafkaError as error:
                raise explained(error, self._settings, self._consumer, self._group) from error
            metadata = self._consumer.group_metadata()
            if metadata.state == MemberState.STABLE:  # else what came is as of the generation before
                self._membership = metadata
                if self._consumer.was_replaced():
                    raise replaced(self._group)
            if records or self._ownership.pending() or left <= SLICE_SECONDS:
                return self._polled(records)

    def _polled(self, records: Mapping[TopicPartition, Sequence[ConsumerRecord]]) -> Polled:
        if self._membership is None:  # given, and to be given anew before it could be committed
            return Polled([], set(), set())
        given, taken = self._ownership.changes()
        for place in given | taken:
            self._ends.pop(place, None)
        return Polled(messages_of(records, self._consumer.positions(), self._ends, self._headers), given, taken)

    def start(self, positions: Mapping[Place, int]) -> None:
        """Read partitions, which must have been given, from an offset each; also those that were being read already."""
        for place, offset in positions.items():
            self._consumer.restart(as_partition(place), offset)
            self._ends[as_partition(place)] = offset

    def committed(self, places: Sequence[Place]) -> dict[Place, Committed]:
        """Return what the group has committed; an offset that an open transaction is about to commit is waited for."""
        end = time.monotonic() + self._settings.transaction_seconds + 10  # the broker looks every ten seconds
        found = {}
        for place in places:
            left = milliseconds(max(0.1, end - time.monotonic()))
            try:
                offset = self._consumer.committed(as_partition(place), metadata=True, timeout_ms=left)
            except errors.KafkaError as error:
                raise explained(error, self._settings, self._consumer, self._group) from error
            if offset is not None:
                found[place] = Committed(offset.offset, note_of(offset.metadata or ""))
        return found

    def position(self, place: Place) -> int:
        """Return the next offset to be read of a partition; marks of transactions are passed over."""
        return self._consumer.positions()[as_partition(place)]

    def membership(self) -> Any:
        """Return what tells the broker which member this is, as of the last poll: it goes with a commit."""
        return self._membership

    def rejoin(self) -> None:
        """Have the group share out anew what there is; what is owned may be taken first, and is then given again."""
        self._consumer.rejoin()

    def close(self) -> None:
        """Leave the group (a member with a static name only goes silent), and close."""
        self._consumer.end()


class KafkaPythonTail:
    """Reads partitions from offsets, in no group, only what was committed."""

    def __init__(self, settings: KafkaSettings, consumer: Consumer, positions: Mapping[Place, int]) -> None:
        self._settings = settings
        self._consumer = consumer
        self._ends = {as_partition(place): offset for place, offset in positions.items()}
        consumer.assign(list(self._ends))
        for partition, offset in self._ends.items():
            consumer.seek(partition, offset)

    def read(self, seconds: float) -> list[Messages]:
        """Return what came, waiting no longer than so many seconds for something to come."""
        try:
            records = self._consumer.poll(timeout_ms=milliseconds(seconds))
        except errors.KafkaError as error:
            raise explained(error, self._settings, self._consumer, "") from error
        return messages_of(records, self._consumer.positions(), self._ends, True)

    def position(self, place: Place) -> int:
        """Return the next offset to be read of a partition; marks of transactions are passed over."""
        return self._consumer.positions()[as_partition(place)]

    def close(self) -> None:
        """Close."""
        self._consumer.end()


class _Listener(ConsumerRebalanceListener):  # type: ignore[misc]  # untyped
    """Notes what is given and taken, on the library's own thread, and keeps what is given from being read."""

    def __init__(self, consumer: Consumer, ownership: Ownership) -> None:
        self._consumer = consumer
        self._ownership = ownership

    def on_partitions_assigned(self, assigned: set[TopicPartition]) -> None:
        self._consumer.pause(*assigned)
        for partition in assigned:
            self._consumer.seek(partition, 0)  # with a position, it asks the group for none
        self._ownership.give(map(as_place, assigned))

    def on_partitions_revoked(self, revoked: set[TopicPartition]) -> None:
        self._ownership.take(map(as_place, revoked))

    def on_partitions_lost(self, lost: set[TopicPartition]) -> None:
        self._ownership.take(map(as_place, lost))


def messages_of(
    records: Mapping[TopicPartition, Sequence[ConsumerRecord]],
    positions: Mapping[TopicPartition, int],
    ends: dict[TopicPartition, int],
    headers: bool,
) -> list[Messages]:
    """Return messages by columns, and move the ends of what is being read to where it has been read up to."""
    found = []
    for partition, told in list(ends.items()):
        got = records.get(partition, ())
        end = positions.get(partition, told)
        if not got and end == told:
            continue
        ends[partition] = end
        found.append(
            Messages(
                as_place(partition),
                [record.offset for record in got],
                [record.value for record in got],
                [record.key for record in got],
                [record.timestamp for record in got],
                [[(name, value or b"") for name, value in record.headers] for record in got] if headers else [],
                end,
            )
        )
    return found


def explained(error: errors.KafkaError, settings: KafkaSettings, consumer: Consumer, group: str) -> Exception:
    """Return what an error of reading means; `group` is "" where there is none."""
    if isinstance(error, errors.FencedInstanceIdError):
        return replaced(group)
    if isinstance(error, errors.OffsetOutOfRangeError):
        partition, wanted = next(iter(error.args[0].items()))
        return GapError(as_place(partition), wanted, consumer.beginning_offsets([partition])[partition])
    if isinstance(error, errors.LogTruncationError):
        partition = next(iter(error.divergent_offsets))
        first = consumer.beginning_offsets([partition])[partition]
        return GapError(as_place(partition), consumer.positions()[partition], first)
    doing = f"reading as the group {group}" if group else "reading"
    if isinstance(error, errors.RetriableError):
        return failures.unanswered(settings, doing, reason(error))
    return refused(error, settings, doing, group=group) or failures.broker_failed(settings, doing, reason(error))


def replaced(group: str) -> FencedError:
    """Return the error of a member whose static name is another's now."""
    return FencedError(f"another member of the group {group} goes by the name of this one")
