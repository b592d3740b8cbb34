"""The consumer and the producer of kafka-python, with what theirs lack.

Law: what is private to the library is used in this file alone, as it is in 3.0.12; the contract tests hold it.
"""

import contextlib
import logging
import time
from collections.abc import Mapping, Sequence
from typing import Any

from consumers.kafka.kafka_python.names import (
    Future,
    KafkaConsumer,
    KafkaNetSocket,
    KafkaProducer,
    OffsetAndMetadata,
    TopicPartition,
    errors,
)
from consumers.kafka.kafka_python.words import NO_LOGIN, milliseconds

CLOSE_SECONDS = 5.0
LEARN_SECONDS = 5.0


class LastWord(logging.Handler):
    """Keeps why the library could not connect last, which its errors do not hold; nothing that it logs is shown."""

    def __init__(self) -> None:
        super().__init__(logging.WARNING)
        self.error: Exception | None = None

    def emit(self, record: logging.LogRecord) -> None:
        """Keep the error in a warning: a refused login before any other, and none that only says that time is up."""
        if isinstance(self.error, NO_LOGIN):
            return
        for found in record.args if isinstance(record.args, tuple) else ():
            late = isinstance(found, errors.KafkaTimeoutError) or "timed out" in str(found)
            if isinstance(found, Exception) and not late:
                self.error = found


class _Socket(KafkaNetSocket):  # type: ignore[misc]  # untyped
    """A socket that is closed where it cannot connect; the library leaves that to the garbage collector."""

    SCHEMES = ("direct",)

    async def sock_connect(self, net: Any, sock: Any, *where: Any, **until: Any) -> Any:
        try:
            return await super().sock_connect(net, sock, *where, **until)
        except BaseException:
            sock.close()
            raise


DIRECT = "direct://"  # the address of a proxy that is none, which makes the library use `_Socket`


LAST_WORD = LastWord()
_LOG = logging.getLogger("kafka")
_LOG.setLevel(logging.WARNING)
_LOG.propagate = False
_LOG.addHandler(LAST_WORD)


class Consumer(KafkaConsumer):  # type: ignore[misc]  # untyped
    """A consumer that loses no join, and tells how far it has read without asking a broker."""

    def poll(self, timeout_ms: int = 0, **options: Any) -> dict[TopicPartition, list[Any]]:
        """Return what came; a join of the group that ended since the last poll is taken up.

        The library would begin another one, or, where it was a change of topics that began it, wait for ever: a member
        that neither reads nor sends heartbeats.
        """
        task = self._coordinator._join_task  # noqa: SLF001
        if task is not None and task.is_done and self._coordinator.rejoining:
            self._net.run(self._taken_up, task, timeout_ms)
        records: dict[TopicPartition, list[Any]] = super().poll(timeout_ms=timeout_ms, **options)
        return records

    async def _taken_up(self, task: Any, timeout_ms: int) -> None:
        again = Future()

        def pass_on() -> None:
            if task.succeeded():
                again.success(task.value)
            else:
                again.failure(task.exception)

        self._coordinator._join_task = again  # noqa: SLF001  # not done, so that it is waited for
        self._coordinator.request_rejoin()
        self._net.call_soon(pass_on)
        await self._coordinator.join_group_async(timeout_ms=timeout_ms)

    def restart(self, partition: TopicPartition, offset: int) -> None:
        """Read a partition from an offset; what was fetched of it before is dropped.

        Left where the library parks what it fetches of a paused partition, it would keep it from being read any more.
        """
        self._fetcher._paused_completed_fetches.pop(partition, None)  # noqa: SLF001
        if parked := self._fetcher._paused_partition_records.pop(partition, None):  # noqa: SLF001
            parked.drain()
        self.seek(partition, offset)
        self.resume(partition)

    def positions(self) -> dict[TopicPartition, int]:
        """Return the next offset to be read of each partition that has one; marks of transactions are passed over."""
        states = self._subscription.assignment.items()
        return {partition: state.position.offset for partition, state in states if state.position is not None}

    def learn_of_topics(self) -> None:
        """Learn which partitions there are of the topics that were subscribed to.

        A leader shares out what it knows of. Were that nothing yet, and it died before it knew more, its group would
        be left with nothing, and nobody in it to notice: whoever comes back by a static name is not told that it leads.
        """
        with contextlib.suppress(errors.KafkaError):  # then it is told later, and joins again
            self._net.run(self._manager.wait_for, self._cluster.request_update(), milliseconds(LEARN_SECONDS))

    def rejoin(self) -> None:
        """Join the group once more at the next poll."""
        self._coordinator.request_rejoin()

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

    def append(
        self,
        partition: TopicPartition,
        value: bytes | None,
        key: bytes | None,
        headers: list[Any],
        timestamp: int | None,
    ) -> Any:
        """Append a message to a partition of the transaction that `join` has joined; return its future.

        `send` does as much, and looks anew at what is the same for each message of a batch.
        """
        if len(value or b"") + len(key or b"") > self.config["max_request_size"]:
            raise errors.MessageSizeTooLargeError
        return self._accumulator.append(partition, timestamp, key, value, headers)[0]

    def join(self, partition: TopicPartition) -> None:
        """Make a partition one of the transaction's, if there are any. Raises ValueError for one the topic has not."""
        if partition.partition not in (self._metadata.partitions_for_topic(partition.topic) or ()):
            raise ValueError(f"topic {partition.topic} has no partition {partition.partition}")
        if self._transaction_manager.is_transactional():
            self._transaction_manager.maybe_add_partition_to_transaction(partition)

    def wake(self) -> None:
        """Have what was appended sent."""
        self._sender.wakeup()

    def settle(self, futures: Sequence[Any], seconds: float) -> None:
        """Wait until messages were taken or refused; the futures tell which."""
        end = time.monotonic() + seconds
        self._accumulator.begin_flush()
        self._sender.wakeup()
        try:
            for future in futures:
                if not future.is_done:  # flush would give up on a batch that was too large and is being split
                    with contextlib.suppress(errors.BrokerResponseError):
                        future.get(max(0.0, end - time.monotonic()))
        finally:
            self._accumulator._flushes_in_progress.decrement()  # noqa: SLF001

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
