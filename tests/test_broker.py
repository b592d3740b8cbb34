"""The Kafka that the other tests stand on is a real one: it keeps, hides and forgets as Kafka does."""

import pytest
from kafka import KafkaProducer

from tests.broker import Message, make_topic, read_all, write_all


def values(address, topic, **how):
    return [message.value for message in read_all(address, topic, **how)]


def test_messages_come_back_as_they_were_written(kafka):
    topic = make_topic(kafka.address, partitions=2)
    write_all(kafka.address, topic, [Message(b"a", b"k", 1, [("h", b"1")], 1234), Message(None, b"k", 0), b"c"])
    received = read_all(kafka.address, topic)
    assert [(m.partition, m.key, m.value) for m in received if m.value != b"c"] == [(0, b"k", None), (1, b"k", b"a")]
    (first,) = (m for m in received if m.value == b"a")
    assert (first.offset, first.headers, first.timestamp) == (0, (("h", b"1"),), 1234)
    assert values(kafka.address, topic).count(b"c") == 1


@pytest.mark.parametrize("codec", ["gzip", "snappy", "lz4", "zstd"])
def test_every_codec_of_kafka_is_read(kafka, codec):
    topic = make_topic(kafka.address)
    write_all(kafka.address, topic, [b"a" * 1000, b"b"], compression_type=codec)
    assert values(kafka.address, topic) == [b"a" * 1000, b"b"]


def test_of_an_aborted_transaction_nothing_is_seen_by_those_who_read_committed(kafka):
    topic = make_topic(kafka.address)
    producer = KafkaProducer(bootstrap_servers=kafka.address, transactional_id=topic)
    try:
        producer.init_transactions()
        for value, end in ((b"kept", producer.commit_transaction), (b"aborted", producer.abort_transaction)):
            producer.begin_transaction()
            producer.send(topic, value).get(60)
            end()
        producer.begin_transaction()
        producer.send(topic, b"open").get(60)
        assert values(kafka.address, topic) == [b"kept"]
        assert values(kafka.address, topic, committed=False) == [b"kept", b"aborted", b"open"]
        producer.commit_transaction()
    finally:
        producer.close()
    assert values(kafka.address, topic) == [b"kept", b"open"]


def test_a_frozen_broker_answers_again_when_it_thaws(broker):
    topic = make_topic(broker.address)
    broker.freeze()
    assert not broker.answers()
    broker.thaw()
    assert broker.answers(60)
    write_all(broker.address, topic, [b"a"])
    assert values(broker.address, topic) == [b"a"]


def test_a_killed_broker_keeps_what_it_had(broker):
    topic, address = make_topic(broker.address), broker.address
    write_all(address, topic, [b"a", b"b"])
    broker.kill()
    assert not broker.answers()
    broker.start()
    assert broker.address == address
    assert values(address, topic) == [b"a", b"b"]
