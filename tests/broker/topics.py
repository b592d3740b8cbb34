"""Topics to test with: made, written and read by librdkafka, which is not the client that the product is built on.

Law: what is read is all that there is to be seen, once, by partition and offset.
"""

from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple
from uuid import uuid4

from confluent_kafka import (
    OFFSET_BEGINNING,
    Consumer,
    IsolationLevel,
    KafkaError,
    KafkaException,
    Producer,
    TopicPartition,
)
from confluent_kafka import Message as Polled
from confluent_kafka.admin import AdminClient, NewTopic, OffsetSpec

from tests.broker.waiting import until

Headers = Sequence[tuple[str, bytes | None]]


class Message(NamedTuple):
    """A message to write: without a partition, its key decides; without a time, it is of now (milliseconds)."""

    value: bytes | None
    key: bytes | None = None
    partition: int = -1
    headers: Headers = ()
    timestamp: int = 0


class Received(NamedTuple):
    """A message as it was read; the timestamp is in milliseconds."""

    partition: int
    offset: int
    key: bytes | None
    value: bytes | None
    headers: Headers
    timestamp: int


def make_topic(address: str, partitions: int = 1, name: str = "", **config: object) -> str:
    """Make a topic, with a name of its own where none is given; return the name when it can be written to.

    Parameters
    ----------
    address
        "host:port" of the cluster.
    partitions
        How many.
    name
        The name of one that was deleted, to be made anew.
    config
        Settings of the topic, with underscores for dots: `cleanup_policy="compact"`.
    """
    name = name or f"topic-{uuid4().hex[:12]}"
    client = AdminClient({"bootstrap.servers": address})
    topic = NewTopic(name, num_partitions=partitions, config=_dotted(config))
    client.create_topics([topic])[name].result(60)
    until(lambda: _leaders(client, name) == partitions, f"{name} has a leader for each partition")
    return name


def write_all(address: str, topic: str, messages: Iterable[Message | bytes], **config: object) -> None:
    """Write messages in their order, and return when the broker has them all; bytes are a message's value.

    Further settings are librdkafka's, with underscores for dots: `compression_type="lz4"`.

    Raises
    ------
    KafkaException
        When one of them is refused.
    """
    errors: list[KafkaError] = []
    settings = {
        "bootstrap.servers": address,
        "max.in.flight.requests.per.connection": 1,  # order without idempotence, which begins 0.5 s later
        "queue.buffering.max.messages": 10_000_000,
        **_dotted(config),
    }
    producer = Producer(settings)
    for message in messages:
        value, key, partition, headers, timestamp = message if isinstance(message, Message) else Message(message)
        producer.produce(
            topic,
            value,
            key,
            partition,
            on_delivery=lambda error, _: errors.append(error) if error else None,
            timestamp=timestamp,
            headers=list(headers),
        )
        producer.poll(0)
    if left := producer.flush(60):
        raise TimeoutError(f"{left} messages for {topic} have not been written within 60 s")
    if errors:
        raise KafkaException(errors[0])


def until_marked(address: str) -> None:
    """Wait until no transaction is open, offsets included; a commit returns before the broker has marked what it is of.

    A broker that is killed in between may drop the marks when it comes back, and with them what was committed.
    """
    client = AdminClient({"bootstrap.servers": address})

    def ends(isolation: IsolationLevel) -> dict[TopicPartition, int]:
        topics = client.list_topics(timeout=60).topics.values()
        asked = {
            TopicPartition(each.topic, number): OffsetSpec.latest() for each in topics for number in each.partitions
        }
        found = client.list_offsets(asked, isolation_level=isolation, request_timeout=60)
        return {place: future.result(60).offset for place, future in found.items()}

    def marked() -> bool:
        try:
            return ends(IsolationLevel.READ_COMMITTED) == ends(IsolationLevel.READ_UNCOMMITTED)
        except KafkaException as error:
            if error.args[0].code() != KafkaError.NOT_LEADER_FOR_PARTITION:  # a topic of the broker's own, just made
                raise
            return False

    until(marked, "every transaction has its marks")


def read_all(address: str, topic: str, *, committed: bool = True, **config: object) -> list[Received]:
    """Return all messages of a topic from its first to its end, sorted by partition and offset.

    Parameters
    ----------
    address
        "host:port" of the cluster.
    topic
        Its name.
    committed
        Whether to read as read_committed, which ends at the first transaction that is still open, or as
        read_uncommitted.
    config
        Further settings of librdkafka, with underscores for dots.
    """
    settings = {
        "bootstrap.servers": address,
        "group.id": "read-all",  # demanded, and never joined
        "enable.auto.commit": False,
        "enable.partition.eof": True,
        "fetch.wait.max.ms": 10,
        "isolation.level": "read_committed" if committed else "read_uncommitted",
        **_dotted(config),
    }
    consumer = Consumer(settings)
    try:
        return sorted(_to_the_end(consumer, topic), key=lambda message: (message.partition, message.offset))
    finally:
        consumer.close()


def _to_the_end(consumer: Consumer, topic: str) -> list[Received]:
    going = set(consumer.list_topics(topic, timeout=60).topics[topic].partitions)
    consumer.assign([TopicPartition(topic, partition, OFFSET_BEGINNING) for partition in going])
    messages = []
    while going:
        polled = consumer.poll(60)
        if polled is None:
            raise TimeoutError(f"{topic}: no message and no end of partitions {sorted(going)} within 60 s")
        error = polled.error()
        if error is None:
            messages.append(_received(polled))
        elif error.code() == KafkaError._PARTITION_EOF:
            going.discard(polled.partition())
        elif not error.retriable():
            raise KafkaException(error)
    return messages


def _received(message: Polled) -> Received:
    return Received(
        message.partition(),
        message.offset(),
        message.key(),
        message.value(),
        tuple(message.headers() or ()),
        message.timestamp()[1],
    )


def _leaders(client: AdminClient, topic: str) -> int:
    found = client.list_topics(topic, timeout=60).topics[topic]
    return sum(partition.leader >= 0 for partition in found.partitions.values())


def _dotted(config: dict[str, object]) -> dict[str, Any]:
    return {name.replace("_", "."): value for name, value in config.items()}
