"""Writing with confluent-kafka, in transactions.

Law: a transaction is committed only when each of its messages is known to have been taken.
"""

import contextlib
import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import Future
from itertools import repeat
from threading import Thread
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
from consumers.kafka.confluent.names import KafkaError, KafkaException, Message, Producer
from consumers.kafka.confluent.reading import WAIT_SECONDS
from consumers.kafka.confluent.words import FENCED, NO_TOPIC, TOO_LARGE, as_partition, refused
from consumers.kafka.groups import noted
from consumers.kafka.settings import KafkaSettings

CLOSE_SECONDS = 5.0
LATE_SECONDS = 1.0  # for the library to say itself that time is up, and why


class _Ending(Thread):
    """The end of a transaction, under way in a thread of its own, which keeps no process from ending.

    The library waits for a group's coordinator without regard to the time that it is given: for ever, if that broker
    has left the cluster since it was looked up (librdkafka 2.16).
    """

    def __init__(self, end: Callable[[], None]) -> None:
        super().__init__(name="ending", daemon=True)
        self.over: Future[None] = Future()
        self._end = end
        self.start()

    def run(self) -> None:
        """Come to the end."""
        try:
            self._end()
        except BaseException as error:  # noqa: BLE001 - raised where it is waited for
            self.over.set_exception(error)
        else:
            self.over.set_result(None)


class ConfluentWriter:
    """A producer, transactional where it has a name.

    `make` makes the library's, given what to call for each message that is refused.
    """

    def __init__(self, settings: KafkaSettings, make: Callable[[Callable[..., None]], Producer], name: str) -> None:
        self._settings = settings
        self._name = name
        self._known: set[str] = set()
        self._failed: list[tuple[KafkaError, str, int]] = []  # errors, topics and sizes of messages that were refused
        self._open = False
        self._closed = False
        self._ending: _Ending | None = None
        self._producer = make(self._refused)

    def _refused(self, error: KafkaError | None, message: Message) -> None:
        if error is not None:
            self._failed.append((error, message.topic() or "", len(message.value() or b"")))

    def take_over(self) -> None:
        """Take over the name, and end what an earlier writer of it had left open."""
        seconds = max(self._settings.connect_seconds, CLOSE_SECONDS)
        try:
            self._producer.init_transactions(seconds)
        except KafkaException as error:
            if error.args[0].code() == KafkaError._TIMED_OUT:  # noqa: SLF001
                raise failures.unreachable(self._settings, seconds, error.args[0].str()) from error
            raise self._lost(error, "taking over a transactional id") from error

    def begin(self) -> None:
        """Begin a transaction."""
        self._failed.clear()
        if not self._name:
            return
        try:
            self._producer.begin_transaction()
        except KafkaException as error:
            raise self._lost(error, "beginning a transaction") from error
        self._open = True

    def send(
        self,
        place: Place,
        values: Sequence[bytes | None],
        keys: Sequence[bytes | None],
        timestamps: Sequence[int] | None = None,
        headers: Sequence[Headers] | None = None,
    ) -> None:
        """Send messages to a partition, one of each column for every message; a value of None deletes its key."""
        topic, partition = place
        self._know(topic)
        produce = self._producer.produce
        lists: Iterable[Any] = map(list, headers) if headers is not None else repeat(None)
        columns = zip(values, keys, timestamps if timestamps is not None else repeat(0), lists, strict=False)
        value: bytes | None = None
        try:
            for value, key, timestamp, header in columns:
                while True:
                    try:
                        produce(topic, value, key, partition, None, None, timestamp, header)
                        break
                    except BufferError:  # as much is in flight as may be
                        self._producer.poll(0.1)
                        self._check(f"writing to {topic}")
        except KafkaException as error:
            if error.args[0].code() in TOO_LARGE:
                raise TooLargeError(topic, len(value or b"")) from error
            raise self._lost(error, f"writing to {topic}") from error

    def commit(self, positions: Mapping[Place, Committed], membership: Any) -> None:
        """Begin to commit all that was sent, with the offsets that a group has read up to, and a note with each."""
        if not self._name:
            return
        seconds = self._settings.transaction_seconds
        offsets = [as_partition(place, held.offset, noted(held.note)) for place, held in positions.items()]

        def end() -> None:
            if offsets:
                self._producer.send_offsets_to_transaction(offsets, membership, seconds)
            self._producer.commit_transaction(seconds)

        self._ending = _Ending(end)

    def settle(self) -> None:
        """Wait for the end of the transaction that is being committed; without a name, until all was taken."""
        seconds = self._settings.transaction_seconds
        if not self._name:
            left = self._producer.flush(seconds)
            self._check("writing")
            if left:
                raise TransactionLostError(f"writing: {left} messages were not taken for {seconds:g} s")
        elif self._ending is not None:
            try:
                self._ending.over.result(seconds + LATE_SECONDS)
            except TimeoutError:
                raise TransactionLostError(f"committing as {self._name}: no answer for {seconds:g} s") from None
            except KafkaException as error:
                with contextlib.suppress(KafkaException):  # the same again
                    self._producer.poll(0)
                self._check("committing", error)
                raise self._lost(error, "committing") from error
            self._open, self._ending = False, None

    def close(self) -> None:
        """Close; what was not committed is aborted."""
        if self._closed:
            return
        self._closed = True
        if self._ending is not None:
            self._ending.join(CLOSE_SECONDS)
        if self._ending is None or not self._ending.is_alive():
            self._end()
        else:  # the library may not be closed under a call: what it left open ends with the next writer of the name
            Thread(target=self._end_late, args=(self._ending,), name="close", daemon=True).start()

    def _end_late(self, ending: _Ending) -> None:
        ending.join()
        self._end()

    def _end(self) -> None:
        with contextlib.suppress(KafkaException):  # it ends when its time is over
            if self._open:
                self._producer.abort_transaction(CLOSE_SECONDS)
        with contextlib.suppress(KafkaException), warnings.catch_warnings():
            warnings.simplefilter("ignore", RuntimeWarning)  # says that it could not be aborted
            self._producer.purge()
            self._producer.flush(CLOSE_SECONDS)
            self._producer.close()

    def _know(self, topic: str) -> None:
        """Look for a topic before the first message to it."""
        if topic in self._known:
            return
        try:
            found = self._producer.list_topics(topic, WAIT_SECONDS).topics[topic]
        except KafkaException as error:
            raise self._lost(error, f"writing to {topic}", topic) from error
        if found.error is not None:
            self._failed.append((found.error, topic, 0))
            self._check(f"writing to {topic}")
        self._known.add(topic)

    def _check(self, doing: str, cause: Exception | None = None) -> None:
        """Raise why the first message that was refused was refused."""
        for error, topic, _ in self._failed:
            if error.code() in TOO_LARGE:  # the broker refuses all that came with it as well
                raise TooLargeError(topic, max(size for _, at, size in self._failed if at == topic)) from cause
            if error.code() in NO_TOPIC:
                raise TopicMissingError(topic) from cause
            if error.code() != KafkaError._PURGE_QUEUE:  # noqa: SLF001  # only the echo of another error
                raise self._lost(KafkaException(error), doing, topic) from cause

    def _lost(self, raised: KafkaException, doing: str, topic: str = "") -> Exception:
        error: KafkaError = raised.args[0]
        if error.code() in FENCED:
            return FencedError(f"another has taken over the name of {self._name} ({doing}): {error.str()}")
        names = {"topic": topic, "group": self._settings.application, "transactional_id": self._name}
        found = refused(error, self._settings, doing, **names)
        return found or TransactionLostError(f"{doing} as {self._name}: {error.str()}")
