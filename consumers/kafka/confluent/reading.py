"""What a consumer of confluent-kafka reads, by partition and by columns.

Law: messages go before an error that was met behind them; the ends of partitions tell of marks of transactions as well.
"""

from collections.abc import Sequence
from typing import cast

from consumers.kafka import failures
from consumers.kafka.client import FencedError, GapError, Messages, Place, TopicMissingError
from consumers.kafka.confluent.names import Consumer, KafkaError, KafkaException, Message
from consumers.kafka.confluent.words import FENCED, NO_TOPIC, PASSING, SILENT, as_partition, refused
from consumers.kafka.settings import KafkaSettings

WAIT_SECONDS = 30.0  # for a single answer of a broker
END = KafkaError._PARTITION_EOF  # noqa: SLF001  # the library's public names begin so
FATAL = KafkaError._FATAL  # noqa: SLF001  # wraps what was fatal, and keeps only its text
GONE = {KafkaError._AUTO_OFFSET_RESET, KafkaError.OFFSET_OUT_OF_RANGE}  # noqa: SLF001


class Reading:
    """Messages of a consumer by partition and by columns, and how far each partition has been read.

    Parameters
    ----------
    settings
        Those of Kafka.
    consumer
        What reads; it tells of the ends of partitions.
    group
        The group it is a member of, "" for none.
    headers
        Whether headers are asked for.
    """

    def __init__(self, settings: KafkaSettings, consumer: Consumer, group: str, headers: bool) -> None:
        self.ends: dict[Place, int] = {}  # of what is being read
        self._settings = settings
        self._consumer = consumer
        self._group = group
        self._headers = headers
        self.halted: set[Place] = set()  # what is read no more since there was a gap
        self._error: Exception | None = None  # met behind messages, which go first

    def read(self, seconds: float) -> list[Messages]:
        """Return what came within so many seconds, as much as a transaction may hold."""
        if self._error is not None:
            met, self._error = self._error, None
            raise met
        try:
            came = self._consumer.consume(self._settings.commit_records, seconds)
        except KafkaException as raised:
            raise self.explained(raised.args[0]) from raised
        parts: dict[Place, list[Message]] = {}
        for message in came:
            place = Place(message.topic() or "", message.partition() or 0)
            if (error := message.error()) is not None:
                self._note(place, message.offset() or 0, error, parts)
            elif place in self.ends:
                parts.setdefault(place, []).append(message)
        for place, messages in parts.items():
            if messages:
                self.ends[place] = max(self.ends[place], (messages[-1].offset() or 0) + 1)
        if self._error is not None and not parts:
            return self.read(seconds)
        return [self._columns(place, messages) for place, messages in parts.items()]

    def _note(self, place: Place, offset: int, error: KafkaError, parts: dict[Place, list[Message]]) -> None:
        """Note what is no message: the end of a partition, or what went wrong with it."""
        if error.code() == END:
            if offset > self.ends.get(place, offset):
                self.ends[place] = offset
                parts.setdefault(place, [])
        elif error.code() in GONE:
            if place in self.ends:
                self.halted.add(place)
                self._error = self._error or GapError(place, self.ends[place], self._first(place))
        elif error.fatal() or error.code() in FENCED or not error.retriable():
            self._error = self._error or self.explained(error, place.topic)

    def _columns(self, place: Place, messages: Sequence[Message]) -> Messages:
        return Messages(
            place,
            [message.offset() or 0 for message in messages],
            [message.value() for message in messages],
            [message.key() for message in messages],
            [stamp if kind else -1 for kind, stamp in (message.timestamp() for message in messages)],
            [_headers(message) for message in messages] if self._headers else [],
            self.ends[place],
        )

    def _first(self, place: Place) -> int:
        first, _ = self._consumer.get_watermark_offsets(as_partition(place), WAIT_SECONDS)
        return int(first)

    def explained(self, error: KafkaError, topic: str = "") -> Exception:
        """Return what an error of reading means."""
        doing = f"reading as the group {self._group}" if self._group else "reading"
        if error.code() in FENCED or (error.code() == FATAL and "fenced" in error.str()):
            return FencedError(f"another member of the group {self._group} goes by the name of this one")
        if error.code() in NO_TOPIC and topic:
            return TopicMissingError(topic)
        if error.retriable() or error.code() in PASSING | SILENT:
            return failures.unanswered(self._settings, doing, error.str())
        return refused(error, self._settings, doing, topic, self._group) or failures.broker_failed(
            self._settings, doing, error.str()
        )


def _headers(message: Message) -> list[tuple[str, bytes]]:
    return [
        (name, _bytes(value)) for name, value in cast("list[tuple[str, str | bytes | None]]", message.headers() or [])
    ]


def _bytes(value: str | bytes | None) -> bytes:
    return value.encode() if isinstance(value, str) else value or b""
