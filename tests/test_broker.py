"""The Kafka that the other tests stand on is a real one: it keeps, hides and forgets as Kafka does."""

from concurrent.futures import ThreadPoolExecutor

import pytest
from confluent_kafka import KafkaError, Producer
from confluent_kafka.admin import AdminClient
from kafka import KafkaProducer

from tests.broker import Broker, BrokerError, Message, jars, make_topic, read_all, until, until_marked, write_all
from tests.broker.clusters import unavailable
from tests.broker.secure import MECHANISMS


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


def test_a_transaction_that_is_open_is_waited_for(broker):
    address, topic = broker.address, make_topic(broker.address)
    producer = Producer({"bootstrap.servers": address, "transactional.id": "open"})
    producer.init_transactions(60)
    producer.begin_transaction()
    producer.produce(topic, b"a")
    producer.flush(60)
    with ThreadPoolExecutor(1) as pool:
        marked = pool.submit(until_marked, address)
        until(lambda: marked.running() and read_all(address, topic, committed=False), "the message is there")
        assert not marked.done()
        producer.commit_transaction(60)
        marked.result(60)
    assert values(address, topic) == [b"a"]


def test_a_topic_is_compacted_while_a_test_waits(kafka):
    topic = make_topic(kafka.address, cleanup_policy="compact", min_cleanable_dirty_ratio=0.01, segment_ms=100)
    write_all(kafka.address, topic, [Message(value, b"k") for value in (b"old", b"new")])

    def compacted():
        write_all(kafka.address, topic, [Message(b"", b"to begin another segment")])
        return b"old" not in values(kafka.address, topic)

    until(compacted, "the old message of a key goes")
    assert b"new" in values(kafka.address, topic)


def test_a_broker_that_does_not_come_up_says_why(kafka_jars, tmp_path):
    with pytest.raises(BrokerError, match="nonsense"):
        Broker(kafka_jars, tmp_path, {"process.roles": "nonsense"}).start()


def test_a_broker_that_ends_as_it_starts_says_why(secure_broker, tmp_path):
    taken = {"listeners": f"PLAINTEXT://{secure_broker.address},CONTROLLER://{secure_broker.mutual_address}"}
    with pytest.raises(BrokerError, match="Address already in use"):
        Broker(secure_broker.jars, tmp_path, taken).start()


def login(broker, mechanism, password):
    return {
        "security.protocol": "SASL_SSL",
        "sasl.mechanism": mechanism,
        "sasl.username": broker.user,
        "sasl.password": password,
        "ssl.ca.location": str(broker.authority),
    }


def mutual(broker):
    return {"security.protocol": "SSL", "ssl.ca.location": str(broker.authority)}


def certified(broker):
    return {"ssl.certificate.location": str(broker.certificate), "ssl.key.location": str(broker.key)}


def assert_refused(code, address, settings):
    codes = []
    settings = {"bootstrap.servers": address, "log_level": 0, "error_cb": lambda e: codes.append(e.code()), **settings}
    client = AdminClient(settings)
    until(lambda: client.poll(0.1) or code in codes, f"refused for {code}")


@pytest.mark.parametrize("mechanism", MECHANISMS)
def test_who_knows_the_password_is_let_in(secure_broker, mechanism):
    topic = make_topic(secure_broker.address)
    write_all(secure_broker.password_address, topic, [b"a"], **login(secure_broker, mechanism, secure_broker.password))
    assert values(secure_broker.address, topic) == [b"a"]


@pytest.mark.parametrize("mechanism", MECHANISMS)
def test_who_does_not_know_the_password_is_refused(secure_broker, mechanism):
    settings = login(secure_broker, mechanism, "guessed")
    assert_refused(KafkaError._AUTHENTICATION, secure_broker.password_address, settings)


def test_who_has_a_certificate_is_let_in_and_who_has_none_is_refused(secure_broker):
    topic, address = make_topic(secure_broker.address), secure_broker.mutual_address
    write_all(address, topic, [b"a"], **mutual(secure_broker), **certified(secure_broker))
    assert values(secure_broker.address, topic) == [b"a"]
    assert_refused(KafkaError._SSL, address, mutual(secure_broker))


def test_who_does_not_trust_the_authority_does_not_connect(secure_broker):
    settings = {
        **login(secure_broker, "PLAIN", secure_broker.password),
        "ssl.ca.location": str(secure_broker.certificate),
    }
    assert_refused(KafkaError._SSL, secure_broker.password_address, settings)


def test_without_java_it_is_said_what_to_install(monkeypatch, tmp_path):
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(jars.UnavailableError, match="install Java 17 or later and Maven"):
        jars.fetch()


@pytest.mark.parametrize(("required", "outcome"), [("0", pytest.skip.Exception), ("1", pytest.fail.Exception)])
def test_without_kafka_tests_skip_and_where_it_is_required_they_fail(monkeypatch, required, outcome):
    monkeypatch.setenv("STREAMNB_REQUIRE_KAFKA", required)
    with pytest.raises(outcome, match="install"):
        unavailable("install Java")
