"""The client made of kafka-python; only this package imports it.

Law: as `consumers.kafka.client` says, the same as any other client.
"""

import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeVar

from consumers.kafka import failures, security
from consumers.kafka.client import Place, partitions_of
from consumers.kafka.groups import RESTORE_SECONDS, assignor
from consumers.kafka.kafka_python.admin import KafkaPythonAdmin
from consumers.kafka.kafka_python.library import DIRECT, LAST_WORD, Consumer, Producer
from consumers.kafka.kafka_python.names import (
    AbstractTokenProvider,
    CooperativeStickyAssignor,
    KafkaAdminClient,
    KafkaNetClient,
    RangePartitionAssignor,
    errors,
)
from consumers.kafka.kafka_python.reader import KafkaPythonReader, KafkaPythonTail
from consumers.kafka.kafka_python.words import NO_LOGIN, milliseconds, reason
from consumers.kafka.kafka_python.writer import KafkaPythonWriter
from consumers.kafka.settings import KafkaSettings

Made = TypeVar("Made")

ASSIGNORS = {"range": RangePartitionAssignor, "cooperative-sticky": CooperativeStickyAssignor}
GATHERED_BYTES = 256 << 10  # what the broker waits for before it answers, unless commit_seconds are over
BATCH_BYTES = 256 << 10


READING = {
    "isolation_level": "read_committed",  # offsets that a transaction is about to commit are waited for as well
    "enable_auto_commit": False,
    "auto_offset_reset": "none",
    "allow_auto_create_topics": False,
    "max_partition_fetch_bytes": 1 << 20,
    "metrics_enabled": False,
}


class KafkaPython:
    """Makes readers, writers and the rest out of kafka-python."""

    def __init__(self, settings: KafkaSettings) -> None:
        self._settings = settings

    def reader(self, group: str, topics: Sequence[str], name: str, headers: bool) -> "KafkaPythonReader":
        """Return a member of a group that reads topics; `name` is its static name, "" for none."""
        settings = self._settings
        options = {
            "group_id": group,
            "group_instance_id": name or None,
            "client_id": name or f"{settings.application}-worker",
            "partition_assignment_strategy": (ASSIGNORS[assignor(settings, len(topics))],),
            "session_timeout_ms": milliseconds(settings.session_seconds),
            "heartbeat_interval_ms": milliseconds(min(3.0, settings.session_seconds / 3)),
            "max_poll_interval_ms": milliseconds(RESTORE_SECONDS),
            "fetch_max_wait_ms": milliseconds(settings.commit_seconds),
            "fetch_min_bytes": GATHERED_BYTES,
            "max_poll_records": settings.commit_records,
            "metadata_max_age_ms": 10_000,  # so soon are partitions read that were added
        }
        admin = self.admin()
        try:
            for topic in topics:
                partitions_of(admin, topic)
        finally:
            admin.close()
        return KafkaPythonReader(settings, self._connected(Consumer, **READING, **options), group, topics, headers)

    def writer(self, name: str) -> "KafkaPythonWriter":
        """Return a transactional producer of that name (its transactional id), one of none without transactions."""
        settings = self._settings
        timeout = milliseconds(settings.transaction_seconds)
        producer = self._connected(
            Producer,
            transactional_id=name or None,
            enable_idempotence=True,
            client_id=name or settings.application,
            transaction_timeout_ms=timeout,
            request_timeout_ms=min(30_000, timeout),
            delivery_timeout_ms=timeout + 1000,
            max_block_ms=2000,
            linger_ms=5,
            batch_size=min(BATCH_BYTES, settings.max_message_bytes),
            max_request_size=settings.max_message_bytes,
            retry_backoff_ms=10,  # a transaction that follows at once meets the end of the one before it
            allow_auto_create_topics=False,
            metrics_enabled=False,
        )
        writer = KafkaPythonWriter(settings, producer, name, self.admin)
        if not name:
            return writer
        try:
            writer.take_over()
        except BaseException:
            writer.close()
            raise
        return writer

    def tail(self, positions: Mapping[Place, int]) -> "KafkaPythonTail":
        """Return a reader of partitions from an offset each."""
        consumer = self._connected(Consumer, **READING, fetch_max_wait_ms=100, client_id=self._settings.application)
        return KafkaPythonTail(self._settings, consumer, positions)

    def admin(self) -> "KafkaPythonAdmin":
        """Return what looks after topics and groups."""
        return KafkaPythonAdmin(self._settings, self._connected(KafkaAdminClient, client_id=self._settings.application))

    def _connected(self, kind: Callable[..., Made], **options: Any) -> Made:
        """Return one of the library's clients that has reached a broker."""
        settings = self._settings
        secure = security.kafka_python_options(settings)
        if security.uses_login(settings) and settings.sasl_mechanism == "OAUTHBEARER":
            secure["sasl_oauth_token_provider"] = _Token(settings)
        seconds = max(0.5, settings.connect_seconds)  # one try at least
        end, attempt = time.monotonic() + seconds, 1.0
        LAST_WORD.error = None
        while True:
            try:
                return self._opened(kind, min(attempt, max(0.1, end - time.monotonic())), **secure, **options)
            except errors.KafkaError as error:
                said = LAST_WORD.error or error  # the library tries a wrong password again for all of its time
                if isinstance(said, (*NO_LOGIN, errors.AuthorizationError)):
                    raise failures.login_refused(settings, reason(said)) from None
                if time.monotonic() >= end:
                    raise failures.unreachable(settings, seconds, reason(said)) from None
            attempt *= 2

    def _opened(self, kind: Callable[..., Made], seconds: float, **options: Any) -> Made:
        """Return one of the library's clients; one that reaches no broker within so many seconds is closed."""
        opened: list[Any] = []

        def opening(**config: Any) -> Any:
            opened.append(KafkaNetClient(**config))
            return opened[-1]

        try:
            return kind(
                bootstrap_servers=list(self._settings.brokers),
                bootstrap_timeout_ms=milliseconds(seconds),
                reconnect_backoff_max_ms=2000,
                kafka_client=opening,
                proxy_url=DIRECT,
                **options,
            )
        except errors.KafkaError:
            for client in opened:
                client.close()
            raise


class _Token(AbstractTokenProvider):  # type: ignore[misc]  # untyped
    """Provides a token, read anew each time."""

    def __init__(self, settings: KafkaSettings) -> None:
        super().__init__()
        self._settings = settings

    def token(self) -> str:
        """Return the token."""
        return security.token(self._settings)
