"""Reading with confluent-kafka: a member of a group, and a reader of partitions in none.

Law: what is given is not read before it is started; the membership told is never newer than the partitions told.
"""

import contextlib
import math
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from consumers.kafka.client import Committed, FencedError, Messages, Place, Polled
from consumers.kafka.confluent.names import Consumer, KafkaError, KafkaException, TopicPartition
from consumers.kafka.confluent.reading import WAIT_SECONDS, Reading
from consumers.kafka.confluent.words import as_partition, as_place
from consumers.kafka.groups import Ownership, note_of
from consumers.kafka.settings import KafkaSettings

NOT_YET = {KafkaError._STATE, KafkaError._IN_PROGRESS, KafkaError._TIMED_OUT}  # noqa: SLF001


class ConfluentReader:
    """A member of a consumer group; `make` makes the library's consumer."""

    def __init__(
        self,
        settings: KafkaSettings,
        make: Callable[[], Consumer],
        group: str,
        topics: Sequence[str],
        headers: bool,
        cooperative: bool,
    ) -> None:
        self._settings = settings
        self._make = make
        self._group = group
        self._topics = list(topics)
        self._headers = headers
        self._cooperative = cooperative
        self._ownership = Ownership()
        self._membership: Any = None
        self._join()

    def _join(self) -> None:
        self._id = ""  # which the broker gave this member
        self._renewed = -math.inf  # when it was last seen to be another one than before
        self._consumer = self._make()
        self._reading = Reading(self._settings, self._consumer, self._group, self._headers)
        self._subscribe()

    def _subscribe(self) -> None:
        self._consumer.subscribe(self._topics, on_assign=self._given, on_revoke=self._taken, on_lost=self._taken)

    def _join_anew(self) -> None:
        """Join once more, as somebody new of the same name: all that was owned is taken."""
        self.close()
        self._ownership.take_all()  # the library has not told of it where it was closed before it could
        self._join()

    def _given(self, consumer: Consumer, partitions: list[TopicPartition]) -> None:
        if self._cooperative:
            consumer.incremental_assign([])  # each is assigned when it is started: only then is known from where
        else:
            consumer.assign([])
        self._ownership.give(map(as_place, partitions))

    def _taken(self, consumer: Consumer, partitions: list[TopicPartition]) -> None:
        taken = set(map(as_place, partitions))
        if self._cooperative:
            consumer.incremental_unassign([held for held in consumer.assignment() if as_place(held) in taken])
        else:
            consumer.unassign()
        self._ownership.take(taken)

    def poll(self, seconds: float) -> Polled:
        """Return what came, waiting no longer than so many seconds for something to come."""
        end = time.monotonic() + seconds
        while True:
            left = max(0.0, end - time.monotonic())
            try:
                messages = self._reading.read(min(left, self._settings.commit_seconds))
            except FencedError:
                if not self._fenced_itself():
                    raise
                self._join_anew()
                continue
            membership = self._consumer.consumer_group_metadata()
            if self._note_id():  # else it is in no group, and what came is as of when it was
                self._membership = membership
            if messages or self._ownership.pending() or time.monotonic() >= end:
                given, taken = self._ownership.changes()
                for place in given | taken:
                    self._reading.ends.pop(place, None)
                return Polled([part for part in messages if part.place in self._reading.ends], given, taken)

    def _note_id(self) -> str:
        """Return the id of this member, "" where it is none; note when it is another one than before."""
        now = self._consumer.memberid() or ""
        if self._id and now != self._id:
            self._renewed = time.monotonic()
        self._id = now or self._id
        return now

    def _fenced_itself(self) -> bool:
        """Return whether it may have been this member's own earlier join that took its name over.

        A member whose session has run out joins as a new one, and again when the broker is silent; where both come to
        a broker in the end, the one that it answered may be the one that it fences. So whoever was not given a new id
        within the last session was fenced by another process. After one more join only a session that has run out
        again makes another: of two processes of one name, one stops.
        """
        self._note_id()
        return time.monotonic() - self._renewed <= self._settings.session_seconds

    def start(self, positions: Mapping[Place, int]) -> None:
        """Read partitions, which must have been given, from an offset each; also those that were being read already.

        None is ever assigned at its end, to be told another offset later: the library asks the broker where that is,
        and if it is told while it waits for the answer, it asks again, and goes there after all (librdkafka 2.16).
        """
        self._reading.ends |= positions
        assigned = set(map(as_place, self._consumer.assignment()))
        anew = [place for place in positions if place not in assigned or not self._sought(place)]
        self._reading.halted -= positions.keys()
        if anew and self._cooperative:
            self._consumer.incremental_unassign([as_partition(place) for place in anew if place in assigned])
            self._consumer.incremental_assign([as_partition(place, positions[place]) for place in anew])
        elif anew:
            self._consumer.assign([as_partition(place, end) for place, end in self._reading.ends.items()])

    def _sought(self, place: Place) -> bool:
        """Go to where a partition is to be read from; return whether it takes that order, as none does after a gap."""
        end = time.monotonic() + WAIT_SECONDS
        while place not in self._reading.halted:
            try:
                self._consumer.seek(as_partition(place, self._reading.ends[place]))
            except KafkaException as error:
                if error.args[0].code() not in NOT_YET:
                    raise self._reading.explained(error.args[0], place.topic) from error
                if time.monotonic() > end:
                    return False
            else:
                return True
            time.sleep(0.01)  # what was assigned a moment ago is still being taken up
        return False

    def committed(self, places: Sequence[Place]) -> dict[Place, Committed]:
        """Return what the group has committed; an offset that an open transaction is about to commit is waited for."""
        seconds = self._settings.transaction_seconds + 10  # the broker looks every ten seconds
        try:
            return committed_of(self._consumer.committed([as_partition(place) for place in places], seconds))
        except KafkaException as error:
            raise self._reading.explained(error.args[0]) from error

    def position(self, place: Place) -> int:
        """Return the next offset to be read of a partition; marks of transactions are passed over."""
        return self._reading.ends[place]

    def membership(self) -> Any:
        """Return what tells the broker which member this is, as of the last poll: it goes with a commit."""
        return self._membership

    def rejoin(self) -> None:
        """Have the group share out anew what there is; all that is owned is taken first, and is then given again."""
        self._consumer.unsubscribe()
        self._subscribe()

    def close(self) -> None:
        """Leave the group (a member with a static name only goes silent), and close.

        What was given and not told yet is told before: what the library has still to tell while it closes may have it
        wait for itself for ever (librdkafka 2.16), or fail where all that is left to do is done.
        """
        with contextlib.suppress(KafkaException, RuntimeError):  # it was fenced, or closed
            self._consumer.pause(self._consumer.assignment())  # so that there is an end to what comes
            while self._consumer.consume(self._settings.commit_records, 0):
                pass
        with contextlib.suppress(KafkaError):  # type: ignore[arg-type]  # the library raises it, no exception as it is
            self._consumer.close()


class ConfluentTail:
    """Reads partitions from offsets, in no group, only what was committed."""

    def __init__(self, settings: KafkaSettings, consumer: Consumer, positions: Mapping[Place, int]) -> None:
        self._settings = settings
        self._consumer = consumer
        self._reading = Reading(settings, consumer, "", headers=True)
        self._reading.ends |= positions
        consumer.assign([as_partition(place, offset) for place, offset in positions.items()])

    def read(self, seconds: float) -> list[Messages]:
        """Return what came, waiting no longer than so many seconds for something to come."""
        end = time.monotonic() + seconds
        while True:
            messages = self._reading.read(max(0.0, min(end - time.monotonic(), self._settings.commit_seconds)))
            if messages or time.monotonic() >= end:
                return messages

    def position(self, place: Place) -> int:
        """Return the next offset to be read of a partition; marks of transactions are passed over."""
        return self._reading.ends[place]

    def close(self) -> None:
        """Close."""
        self._consumer.close()


def committed_of(partitions: Iterable[TopicPartition]) -> dict[Place, Committed]:
    """Return the offsets of partitions and the notes with them; those without an offset are left out."""
    return {
        as_place(partition): Committed(partition.offset, note_of(_metadata(partition)))
        for partition in partitions
        if partition.offset >= 0
    }


def _metadata(partition: TopicPartition) -> str:
    try:
        return partition.metadata or ""
    except UnicodeDecodeError as error:  # of what lies behind the note, since the library reads past its end
        return bytes(error.object).decode(errors="replace")
