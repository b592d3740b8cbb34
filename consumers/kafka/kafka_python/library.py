"""The consumer and the producer of kafka-python, with what theirs lack.

Law: what is private to the library is used in this file alone, as it is in 3.0.12; the contract tests hold it.
"""

import contextlib
import logging
from collections.abc import Mapping
from typing import Any

from kafka import KafkaConsumer, KafkaProducer, TopicPartition, errors
from kafka.structs import OffsetAndMetadata

from consumers.kafka.kafka_python.words import milliseconds

CLOSE_SECONDS = 5.0


class LastWord(logging.Handler):
    """Keeps the last warning of the library, which its errors do not hold, instead of showing it."""

    def __init__(self) -> None:
        super().__init__(logging.WARNING)
        self.text = ""

    def emit(self, record: logging.LogRecord) -> None:
        """Keep what a warning says."""
        self.text = record.getMessage()


LAST_WORD = LastWord()
_LOG = logging.getLogger("kafka")
_LOG.setLevel(logging.WARNING)
_LOG.propagate = False
_LOG.addHandler(LAST_WORD)


class Consumer(KafkaConsumer):  # type: ignore[misc]  # untyped
    """A consumer that tells how far it has read without asking a broker."""

    def positions(self) -> dict[TopicPartition, int]:
        """Return the next offset to be read of each partition that has one; marks of transactions are passed over."""
        states = self._subscription.assignment.items()
        return {partition: state.position.offset for partition, state in states if state.position is not None}

    def was_replaced(self) -> bool:
        """Return whether a heartbeat was told that the static name is another's; that alone ends a member's own."""
        return not self._coordinator._heartbeat_enabled  # noqa: SLF001  # nothing public says so

    def end(self) -> None:
        """Leave the group and close, whether the broker is there or not."""
        try:
            self.close(autocommit=False, timeout_ms=milliseconds(CLOSE_SECONDS))
        except errors.KafkaError:
            self._client.close()


class Producer(KafkaProducer):  # type: ignore[misc]  # untyped
    """A producer whose waits have an end: each raises KafkaTimeoutError when its seconds are over."""

    def take_over(self, seconds: float) -> None:
        """Take over the transactional id."""
        self._waited(self._transaction_manager.initialize_transactions(), seconds)

    def add_offsets(self, offsets: Mapping[Any, OffsetAndMetadata], membership: Any, seconds: float) -> None:
        """Add the offsets of a group to the transaction."""
        self._waited(self._transaction_manager.send_offsets_to_transaction(offsets, membership), seconds)

    def commit(self, seconds: float) -> None:
        """Commit the transaction."""
        self._waited(self._transaction_manager.begin_commit(), seconds)

    def cause(self) -> Exception | None:
        """Return the error that the transaction met first, of which later ones are only the echo."""
        error: Exception | None = self._transaction_manager.last_error
        return error

    def end(self) -> None:
        """Abort what is open and close, whether the broker is there or not."""
        with contextlib.suppress(errors.KafkaError):  # there is none, or it ends when its time is over
            self._waited(self._transaction_manager.begin_abort(), CLOSE_SECONDS)
        self._sender.force_close()
        self._sender.join(CLOSE_SECONDS)
        self.close(timeout=0)

    def _waited(self, result: Any, seconds: float) -> None:
        self._sender.wakeup()
        if not result.wait(milliseconds(seconds)):
            raise errors.KafkaTimeoutError(f"no answer for {seconds:g} s")
