"""Writing with kafka-python, in transactions.

Law: a transaction is committed only when each of its messages is known to have been taken.
"""

import time
from collections.abc import Callable, Mapping, Sequence
from itertools import repeat
from typing import Any

from consumers.kafka import failures
from consumers.kafka.client import (
    Committed,
    FencedError,
    Headers,
    Place,
    TooLargeError,
    TopicMissingError,
    TransactionLostError,
)
from consumers.kafka.groups import noted
from consumers.kafka.kafka_python.admin import KafkaPythonAdmin
from consumers.kafka.kafka_python.library import CLOSE_SECONDS, LAST_WORD, Producer
from consumers.kafka.kafka_python.names import OffsetAndMetadata, errors
from consumers.kafka.kafka_python.words import FENCED, TOO_LARGE, as_partition, reason, refused
from consumers.kafka.settings import KafkaSettings

IN_FLIGHT_BYTES = 8 << 20  # the library's own memory has no bound


class KafkaPythonWriter:
    """A producer, transactional where it has a name."""

    def __init__(
        self, settings: KafkaSettings, producer: Producer, name: str, admin: Callable[[], "KafkaPythonAdmin"]
    ) -> None:
        self._settings = settings
        self._producer = producer
        self._name = name
        self._admin = admin
        self._known: set[str] = set()
        self._sent: list[tuple[str, list[Any]]] = []  # topics and futures of the transaction
        self._in_flight = 0

    def take_over(self) -> None:
        """Take over the name, and end what an earlier writer of it had left open."""
        seconds = max(self._settings.connect_seconds, CLOSE_SECONDS)
        try:
            self._producer.take_over(seconds)
        except errors.KafkaError as error:
            if isinstance(error, errors.KafkaTimeoutError):
                raise failures.unreachable(self._settings, seconds, reason(LAST_WORD.error or error)) from error
            raise self._lost(error, "taking over a transactional id") from error

    def begin(self) -> None:
        """Begin a transaction."""
        self._sent, self._in_flight = [], 0
        if not self._name:
            return
        try:
            self._producer.begin_transaction()
        except errors.KafkaError as error:
            raise self._lost(error, "beginning a transaction") from error

    def send(
        self,
        place: Place,
        values: Sequence[bytes | None],
        keys: Sequence[bytes | None],
        timestamps: Sequence[int] | None = None,
        headers: Sequence[Headers] | None = None,
    ) -> None:
        """Send messages to a partition, one of each column for every message; a value of None deletes its key."""
        topic = place.topic
        self._know(topic)
        partition, append = as_partition(place), self._producer.append
        futures: list[Any] = []
        self._sent.append((topic, futures))
        lists = map(list, headers) if headers is not None else repeat([])
        columns = zip(values, keys, lists, timestamps if timestamps is not None else repeat(None), strict=False)
        value: bytes | None = None
        try:
            self._producer.join(partition)
            for value, key, header, timestamp in columns:
                futures.append(append(partition, value, key, header, timestamp))
                self._in_flight += len(value or b"")
                if self._in_flight > IN_FLIGHT_BYTES:
                    self._settle()
            self._producer.wake()
        except errors.KafkaError as error:
            if isinstance(error, TOO_LARGE):
                raise TooLargeError(topic, len(value or b"")) from error
            raise self._lost(error, f"writing to {topic}") from error
        except ValueError as error:  # the topic may have been extended since this producer looked at it
            raise TransactionLostError(f"writing to {topic}: {error}") from error

    def commit(self, positions: Mapping[Place, Committed], membership: Any) -> None:
        """Commit all that was sent, together with the offsets that a group has read up to, and a note with each.

        All is done when it returns: the library's thread is Python too, and would take turns with what comes next.
        """
        offsets = {
            as_partition(place): OffsetAndMetadata(held.offset, noted(held.note), -1)
            for place, held in positions.items()
        }
        try:
            if offsets:
                self._producer.add_offsets(offsets, membership, self._settings.transaction_seconds)
            self._settle()
            if self._name:
                self._producer.commit(self._settings.transaction_seconds)
        except errors.KafkaError as error:
            raise self._lost(error, "committing", getattr(membership, "group_id", "")) from error

    def settle(self) -> None:
        """Wait for nothing, since `commit` has."""

    def close(self) -> None:
        """Close; what was not committed is aborted."""
        self._producer.end()

    def _know(self, topic: str) -> None:
        """Learn of a topic's partitions before the first message to it, or say that there is no such topic."""
        if topic in self._known:
            return
        try:
            self._producer.partitions_for(topic)
        except errors.KafkaTimeoutError as error:
            admin = self._admin()
            try:
                there = admin.partitions(topic)
            finally:
                admin.close()
            if not there:
                raise TopicMissingError(topic) from error
            raise self._lost(error, f"writing to {topic}") from error
        except errors.KafkaError as error:
            raise self._lost(error, f"writing to {topic}") from error
        self._known.add(topic)

    def _settle(self) -> None:
        """Wait until all that was sent is acknowledged; a message that was refused raises why."""
        end = time.monotonic() + self._settings.transaction_seconds
        for topic, futures in self._sent:
            self._producer.settle(futures, end - time.monotonic())
            for future in futures:
                if future.exception is None:
                    continue
                if isinstance(future.exception, TOO_LARGE):
                    raise TooLargeError(topic, future.args[4]) from future.exception
                raise future.exception
            futures.clear()
        self._in_flight = 0

    def _lost(self, error: errors.KafkaError, doing: str, group: str = "") -> Exception:
        """Return what an error means; its cause is what the producer met first."""
        cause = self._producer.cause() or error
        if isinstance(cause, FENCED):
            return FencedError(f"another has taken over the name of {self._name} ({doing}): {reason(cause)}")
        found = refused(cause, self._settings, doing, group=group, transactional_id=self._name)
        return found or TransactionLostError(f"{doing} as {self._name}: {reason(cause)}")
