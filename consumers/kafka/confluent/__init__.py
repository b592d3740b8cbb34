"""The client made of confluent-kafka; only this package imports it.

Law: as `consumers.kafka.client` says, the same as any other client.
"""

import time
from collections.abc import Mapping, Sequence
from typing import Any

from consumers.kafka import failures, security
from consumers.kafka.client import Place, partitions_of
from consumers.kafka.confluent.admin import ConfluentAdmin
from consumers.kafka.confluent.names import AdminClient, Consumer, KafkaError, KafkaException, Producer
from consumers.kafka.confluent.reader import ConfluentReader, ConfluentTail
from consumers.kafka.confluent.words import NO_LOGIN
from consumers.kafka.confluent.writer import ConfluentWriter
from consumers.kafka.groups import RESTORE_SECONDS, assignor
from consumers.kafka.settings import KafkaSettings

IN_FLIGHT_KILOBYTES = 8 << 10
TRY_SECONDS = 1.0  # for one answer, while a broker is not known to be there


class Confluent:
    """Makes readers, writers and the rest out of confluent-kafka."""

    def __init__(self, settings: KafkaSettings) -> None:
        self._settings = settings

    def reader(self, group: str, topics: Sequence[str], name: str, headers: bool) -> ConfluentReader:
        """Return a member of a group that reads topics; `name` is its static name, "" for none."""
        settings = self._settings
        kind = assignor(settings, len(topics))
        admin = self.admin()
        for topic in topics:
            partitions_of(admin, topic)
        options = {
            "group.id": group,
            "client.id": name or f"{settings.application}-worker",
            "partition.assignment.strategy": kind,
            "session.timeout.ms": _milliseconds(settings.session_seconds),
            "heartbeat.interval.ms": _milliseconds(min(3.0, settings.session_seconds / 3)),
            "max.poll.interval.ms": _milliseconds(RESTORE_SECONDS),
            "topic.metadata.refresh.interval.ms": 10_000,  # so soon are partitions read that were added
        }
        if name:
            options["group.instance.id"] = name
        return ConfluentReader(
            settings,
            lambda: Consumer(self._options(**READING, **options)),
            group,
            topics,
            headers,
            kind == "cooperative-sticky",
        )

    def writer(self, name: str) -> ConfluentWriter:
        """Return a transactional producer of that name (its transactional id), one of none without transactions."""
        self._reached()
        timeout = _milliseconds(self._settings.transaction_seconds)
        transactional = {"transactional.id": name, "transaction.timeout.ms": timeout}
        options = {
            **(transactional if name else {"enable.idempotence": True}),
            "client.id": name or self._settings.application,
            "message.timeout.ms": timeout,
            "connections.max.idle.ms": timeout,  # what is closed has the library look anew for whom it waits for
            "linger.ms": 5,
            "retry.backoff.ms": 10,  # a transaction that follows at once meets the end of the one before it
            "message.max.bytes": self._settings.max_message_bytes,
            # A coordinator that it once knew it would await for ever, had it forgotten that broker while none answered.
            "metadata.recovery.strategy": "none",
            "queue.buffering.max.kbytes": max(IN_FLIGHT_KILOBYTES, self._settings.max_message_bytes >> 9),
            "delivery.report.only.error": True,
        }
        writer = ConfluentWriter(
            self._settings, lambda refused: Producer(self._options(on_delivery=refused, **options)), name
        )
        if not name:
            return writer
        try:
            writer.take_over()
        except BaseException:
            writer.close()
            raise
        return writer

    def tail(self, positions: Mapping[Place, int]) -> ConfluentTail:
        """Return a reader of partitions from an offset each."""
        self._reached()
        options = {"group.id": self._settings.application, "client.id": self._settings.application}  # never joined
        return ConfluentTail(self._settings, Consumer(self._options(**READING, **options)), positions)

    def admin(self) -> ConfluentAdmin:
        """Return what looks after topics and groups."""
        return ConfluentAdmin(self._settings, self._reached())

    def _options(self, **options: Any) -> dict[str, Any]:
        settings = self._settings
        common: dict[str, Any] = {
            "bootstrap.servers": ",".join(settings.brokers),
            "log_level": 0,
            "reconnect.backoff.max.ms": 2000,
            **security.confluent_options(settings),
        }
        if security.uses_login(settings) and settings.sasl_mechanism == "OAUTHBEARER":
            common["oauth_cb"] = self._token
        return {**common, **options}

    def _token(self, _: str) -> tuple[str, float]:
        token = security.token(self._settings)
        return token, security.token_end(token, time.time())

    def _reached(self) -> AdminClient:
        """Return a client that a broker has answered."""
        said: list[KafkaError] = []
        seconds = max(0.5, self._settings.connect_seconds)  # one try at least
        end = time.monotonic() + seconds
        client = AdminClient(self._options(error_cb=said.append))
        while True:
            try:
                client.list_topics(timeout=max(0.1, min(TRY_SECONDS, end - time.monotonic())))
            except KafkaException as raised:
                said.append(raised.args[0])
            else:
                return client
            client.poll(0)  # brings what the library has to say
            for error in said:
                if error.code() in NO_LOGIN:
                    raise failures.login_refused(self._settings, error.str())
            if time.monotonic() >= end:
                raise failures.unreachable(self._settings, seconds, _reason(said))


READING: dict[str, Any] = {
    "isolation.level": "read_committed",  # offsets that a transaction is about to commit are waited for as well
    "enable.auto.commit": False,
    "enable.auto.offset.store": False,
    "enable.partition.eof": True,  # the only word of where marks of transactions end
    "auto.offset.reset": "error",
    "allow.auto.create.topics": False,
    "check.crcs": True,
    "fetch.wait.max.ms": 100,
    "queued.max.messages.kbytes": 16 << 10,
    "fetch.queue.backoff.ms": 10,  # by itself it waits a second where that much is read ahead: longer than it lasts
}


def _milliseconds(seconds: float) -> int:
    return round(1000 * seconds)


def _reason(said: Sequence[KafkaError]) -> str:
    """Return what says most: why a connection failed, and not that all of them did."""
    reasons = [error.str() for error in said if error.code() in {KafkaError._TRANSPORT, KafkaError._SSL}]  # noqa: SLF001
    return next((reason for reason in reasons if "://" in reason), (reasons or [said[-1].str()])[-1])
