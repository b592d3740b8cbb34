"""Bare loops that the benchmark of Kafka compares with: read, copy each value, commit.

Law: a bare loop reads, sends and commits as the product does with the same library: as many records a poll, the same
settings, the same transactions with their offsets; and does nothing else, not even while a transaction ends.
"""

from typing import Any
from uuid import uuid4

from confluent_kafka import Consumer, Producer
from kafka import KafkaConsumer, KafkaProducer, TopicPartition
from kafka.structs import OffsetAndMetadata

from consumers.kafka import confluent
from consumers.kafka.kafka_python import BATCH_BYTES, GATHERED_BYTES, READING
from consumers.kafka.settings import KafkaSettings
from tests.bench_kafka.parts import Run, Spent
from tests.bench_kafka.topics import Topics

DEFAULTS = KafkaSettings()


def bare_kafka_python(address: str, topics: Topics, events: int) -> Run:
    """Copy a topic with kafka-python."""
    spent, name = Spent(), f"bench-{uuid4().hex[:8]}"
    consumer = KafkaConsumer(
        topics.events,
        bootstrap_servers=address,
        group_id=name,
        fetch_max_wait_ms=round(1000 * DEFAULTS.commit_seconds),
        fetch_min_bytes=GATHERED_BYTES,
        max_poll_records=DEFAULTS.commit_records,
        **{**READING, "auto_offset_reset": "earliest"},
    )
    producer = KafkaProducer(
        bootstrap_servers=address,
        transactional_id=name,
        linger_ms=5,
        batch_size=BATCH_BYTES,
        retry_backoff_ms=10,
        metrics_enabled=False,
    )
    producer.init_transactions()
    poll, send = spent.watched("poll", consumer.poll), producer.send
    commit = spent.watched("commit", producer.commit_transaction)

    def copy(records: list[Any]) -> None:
        for record in records:
            send(topics.predictions, record.value, record.key, None, 0, record.timestamp)

    copy = spent.watched("send", copy)
    read = 0
    while read < events:
        polled = poll(timeout_ms=100)
        if not polled:
            continue
        producer.begin_transaction()
        for partition, records in polled.items():
            copy(records)
            end = {TopicPartition(*partition): OffsetAndMetadata(records[-1].offset + 1, "", -1)}
            producer.send_offsets_to_transaction(end, consumer.group_metadata())
        commit()
        got = sum(map(len, polled.values()))
        read += got
        spent.mark(got)
    consumer.close()
    producer.close()
    return spent.run()


def bare_confluent(address: str, topics: Topics, events: int) -> Run:
    """Copy a topic with confluent-kafka."""
    spent, name = Spent(), f"bench-{uuid4().hex[:8]}"
    consumer = Consumer(
        {
            "bootstrap.servers": address,
            "group.id": name,
            **confluent.READING,
            "enable.partition.eof": False,
            "auto.offset.reset": "earliest",
        }
    )
    settings = {"linger.ms": 5, "retry.backoff.ms": 10}
    producer = Producer({"bootstrap.servers": address, "transactional.id": name, **settings})
    producer.init_transactions()
    consumer.subscribe([topics.events])
    consume, produce = spent.watched("poll", consumer.consume), producer.produce
    commit = spent.watched("commit", producer.commit_transaction)

    def copy(messages: list[Any]) -> None:
        for message in messages:
            produce(topics.predictions, message.value(), message.key(), 0, timestamp=message.timestamp()[1])

    copy = spent.watched("send", copy)
    read = 0
    while read < events:
        messages = consume(DEFAULTS.commit_records, DEFAULTS.commit_seconds)
        if not messages:
            continue
        producer.begin_transaction()
        copy(messages)
        producer.send_offsets_to_transaction(
            consumer.position(consumer.assignment()), consumer.consumer_group_metadata()
        )
        commit()
        read += len(messages)
        spent.mark(len(messages))
    consumer.close()
    return spent.run()
