"""What every Kafka client keeps to, told by one set of laws on a real broker, and held by each of them."""

import contextlib
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, closing
from uuid import uuid4

import msgspec
import pytest
from confluent_kafka import Producer, TopicPartition
from confluent_kafka.admin import AdminClient
from kafka import KafkaProducer
from kafka.structs import OffsetAndMetadata
from kafka.structs import TopicPartition as KafkaPartition

from consumers.errors import BrokerError, ConfigError
from consumers.kafka.client import (
    Committed,
    FencedError,
    GapError,
    Group,
    NotAllowedError,
    Place,
    TooLargeError,
    TopicMissingError,
    TransactionLostError,
    UnreachableError,
)
from consumers.kafka.clients import connect
from consumers.kafka.confluent.reader import committed_of
from consumers.kafka.confluent.writer import ConfluentWriter
from consumers.kafka.groups import noted
from consumers.kafka.settings import KafkaSettings
from tests.broker import Message, make_topic, read_all, until, until_marked, write_all
from tests.broker.network import free_port

CLIENTS = ["kafka-python", "confluent"]


class Clients:
    """A client whose readers, writers and the rest are closed when the test is over."""

    def __init__(self, stack, settings):
        self.settings = settings
        self._stack = stack
        self._client = connect(settings)

    def reader(self, group, *topics, name="", headers=True):
        return self._closing(self._client.reader(group, topics, name, headers))

    def writer(self, name=None):
        return self._closing(self._client.writer(unique() if name is None else name))

    def tail(self, positions):
        return self._closing(self._client.tail(positions))

    def admin(self):
        return self._closing(self._client.admin())

    def but(self, **settings):
        return Clients(self._stack, msgspec.structs.replace(self.settings, **settings))

    def _closing(self, made):
        return self._stack.enter_context(closing(made))


def makes(client):
    """Yield a function that connects to an address with a client."""
    with ExitStack() as stack:

        def make(address, **settings):
            usual = {"commit_seconds": 0.02, "session_seconds": 1.5, "transaction_seconds": 20.0}
            return Clients(stack, KafkaSettings(brokers=(address,), client=client, **{**usual, **settings}))

        yield make


@pytest.fixture(params=CLIENTS)
def make_clients(request):
    """Yield a function that connects to an address with the client that is on trial."""
    yield from makes(request.param)


@pytest.fixture
def make_confluent():
    """Yield a function that connects to an address with the client made of confluent-kafka."""
    yield from makes("confluent")


@pytest.fixture
def clients(kafka, make_clients):
    return make_clients(kafka.address)


def unique():
    return f"name-{uuid4().hex[:12]}"


def share(readers, enough, owned=None):
    """Poll members of a group until what each owns, from what it owned before, is enough; return what each owns."""
    owned = owned or [set() for _ in readers]

    def polled():
        for number, reader in enumerate(readers):
            got = reader.poll(0.05)
            owned[number] = owned[number] - got.taken | got.given
        return enough(owned)

    until(polled, "the group has shared its partitions out")
    return owned


def given(reader, count=1):
    """Poll a member until it has been given so many partitions."""
    (owned,) = share([reader], lambda owned: len(owned[0]) == count)
    return owned


def read_to(read, ends):
    """Return, by partition, the messages of reads until each partition has been read up to its end."""
    messages, reached = {}, {}

    def done():
        for part in read():
            reached[part.place] = part.end
            rows = zip(part.offsets, part.keys, part.values, strict=True)
            messages.setdefault(part.place, []).extend(rows)
        return all(reached.get(place, 0) >= end for place, end in ends.items())

    until(done, f"partitions are read up to {ends}")
    return messages


def values(messages, place):
    return [value for _, _, value in messages.get(place, ())]


def send(writer, place, *values, positions=None, membership=None):
    writer.begin()
    writer.send(place, values, [b"key"] * len(values))
    commit(writer, {at: Committed(offset, "note") for at, offset in (positions or {}).items()}, membership)


def commit(writer, positions=None, membership=None):
    """Commit, and wait for the end of the transaction."""
    writer.commit(positions or {}, membership)
    writer.settle()


def is_seen(address, topic, values):
    """Wait until these are the committed messages of a topic; the mark of a commit may come a moment after it."""
    until(lambda: [message.value for message in read_all(address, topic)] == values, f"{topic} holds what it should")


# Reading and writing


def test_messages_come_back_as_they_were_sent(kafka, clients):
    place = Place(make_topic(kafka.address, retention_ms=-1), 0)  # retention goes by the time that messages tell
    writer = clients.writer()
    writer.begin()
    writer.send(place, [b"a", None, b""], [b"1", b"2", None], [1000, 2000, 3000], [[("h", b"x")], [], [("h", b"")]])
    commit(writer)
    reader = clients.reader(unique(), place.topic)
    reader.start(dict.fromkeys(given(reader), 0))
    (part,) = until(lambda: reader.poll(1).messages, "messages come")
    assert (part.offsets, part.values, part.keys) == ([0, 1, 2], [b"a", None, b""], [b"1", b"2", None])
    assert part.timestamps == [1000, 2000, 3000]
    assert [list(headers) for headers in part.headers] == [[("h", b"x")], [], [("h", b"")]]


def test_headers_are_left_out_where_they_are_not_asked_for(kafka, clients):
    place = Place(make_topic(kafka.address), 0)
    write_all(kafka.address, place.topic, [Message(b"a", headers=[("h", b"x")])])
    reader = clients.reader(unique(), place.topic, headers=False)
    reader.start(dict.fromkeys(given(reader), 0))
    (part,) = until(lambda: reader.poll(1).messages, "messages come")
    assert (part.values, part.headers) == ([b"a"], [])


def test_every_codec_is_read(kafka, clients):
    topic = make_topic(kafka.address)
    codecs = [b"none", b"gzip", b"snappy", b"lz4", b"zstd"]
    for codec in codecs:
        write_all(kafka.address, topic, [codec, codec * 1000], compression_type=codec.decode())
    tail, place = clients.tail({Place(topic, 0): 0}), Place(topic, 0)
    assert values(read_to(lambda: tail.read(1), {place: 10}), place) == [
        value for codec in codecs for value in (codec, codec * 1000)
    ]


def test_more_than_may_be_in_flight_is_sent_in_one_transaction(kafka, clients):
    place = Place(make_topic(kafka.address), 0)
    send(clients.writer(), place, *[bytes([number]) * 100_000 for number in range(200)])
    is_seen(kafka.address, place.topic, [bytes([number]) * 100_000 for number in range(200)])


def test_nothing_is_read_before_it_is_started_and_then_from_the_very_offset(kafka, clients):
    topic = make_topic(kafka.address, 2)
    write_all(kafka.address, topic, [Message(b"%d" % n, partition=p) for n in range(10) for p in (0, 1)])
    reader, zero, one = clients.reader(unique(), topic), Place(topic, 0), Place(topic, 1)
    assert given(reader, 2) == {zero, one}
    reader.start({one: 7})
    messages = read_to(lambda: reader.poll(1).messages, {one: 10})
    assert list(messages) == [one]
    assert [offset for offset, _, _ in messages[one]] == [7, 8, 9]
    reader.start({zero: 9, one: 3})  # one goes back
    messages = read_to(lambda: reader.poll(1).messages, {zero: 10, one: 10})
    assert {place: [offset for offset, _, _ in rows] for place, rows in messages.items()} == {
        zero: [9],
        one: [3, 4, 5, 6, 7, 8, 9],
    }


def test_what_is_started_as_soon_as_it_is_given_is_read_from_the_very_offset(kafka, clients):
    """Whatever the library had begun to look up of it by then, and comes to know later."""
    topic = make_topic(kafka.address, 20)
    places = [Place(topic, number) for number in range(20)]
    write_all(kafka.address, topic, [Message(b"a", None, number) for number in 3 * list(range(20))])
    reader = clients.reader(unique(), topic)
    reader.start(dict.fromkeys(given(reader, 20), 1))
    messages = read_to(lambda: reader.poll(0.1).messages, dict.fromkeys(places, 3))
    assert {place: [offset for offset, _, _ in part] for place, part in messages.items()} == {
        place: [1, 2] for place in places
    }


def test_an_offset_that_is_gone_is_a_gap_and_reading_goes_on_where_there_is_something(kafka, clients):
    topic = make_topic(kafka.address)
    write_all(kafka.address, topic, [b"%d" % n for n in range(10)])
    admin = AdminClient({"bootstrap.servers": kafka.address})
    for future in admin.delete_records([TopicPartition(topic, 0, 6)]).values():
        future.result(60)
    reader, tail, place = clients.reader(unique(), topic), clients.tail({Place(topic, 0): 2}), Place(topic, 0)
    assert clients.admin().begins([place]) == {place: 6}
    reader.start(dict.fromkeys(given(reader), 4))
    with pytest.raises(GapError) as gap:
        until(lambda: reader.poll(1) and False, "the gap is found")
    assert (gap.value.place, gap.value.wanted, gap.value.first) == (place, 4, 6)
    reader.start({place: gap.value.first})
    assert values(read_to(lambda: reader.poll(1).messages, {place: 10}), place) == [b"6", b"7", b"8", b"9"]
    with pytest.raises(GapError, match="offset 2 is gone, the first is 6"):
        until(lambda: tail.read(1), "the gap is found")


# Groups


def test_a_group_of_two_shares_partitions_out_and_the_last_one_gets_them_all(kafka, clients):
    topic, group = make_topic(kafka.address, 4), unique()
    first = clients.reader(group, topic)
    assert len(given(first, 4)) == 4
    with closing(clients.but(worker="second").reader(group, topic)) as second:
        taken = set()

        def polled():
            taken.update(first.poll(0.05).taken)
            return found.done()

        with ThreadPoolExecutor(1) as pool:  # the second one blocks in its poll while the group makes up its mind
            found = pool.submit(given, second, 2)
            until(polled, "the second one is given two")
            assert found.result() == taken
        settled, members = clients.admin().group(group)
        assert settled
        assert sorted(len(member.places) for member in members) == [2, 2]
        assert {place.topic for member in members for place in member.places} == {topic}
    share([first], lambda owned: owned[0] == taken)


def test_partitions_of_one_number_of_several_topics_go_to_one_member(kafka, clients):
    topics, group = [make_topic(kafka.address, 3) for _ in range(2)], unique()
    readers = [clients.reader(group, *topics) for _ in range(2)]
    owned = share(readers, lambda owned: all(owned) and len(set.union(*owned)) == 6 == sum(map(len, owned)))
    for places in owned:
        assert {place.partition for place in places if place.topic == topics[0]} == {
            place.partition for place in places if place.topic == topics[1]
        }


def test_partitions_that_are_added_are_given_in_seconds(kafka, clients):
    topic = make_topic(kafka.address, 1)
    reader = clients.reader(unique(), topic)
    given(reader)
    clients.admin().extend(topic, 3)
    assert given(reader, 2) == {Place(topic, 1), Place(topic, 2)}


@pytest.mark.parametrize("topics", [1, 2], ids=["cooperative-sticky", "range"])
def test_what_was_added_while_a_named_member_was_away_is_given_when_it_joins_once_more(kafka, clients, topics):
    """Not before: a broker gives a name that comes back what it had, and a group that is settled asks nobody."""
    names, group = [make_topic(kafka.address, 1) for _ in range(topics)], unique()
    clients = clients.but(session_seconds=30.0)
    with closing(clients.reader(group, *names, name="worker-1")) as first:
        given(first, topics)
    admin = clients.admin()
    for name in names:
        admin.extend(name, 3)
    second = clients.reader(group, *names, name="worker-1")
    owned = given(second, topics)
    assert admin.group(group).settled
    second.rejoin()
    there = {Place(name, number) for name in names for number in range(3)}
    share([second], lambda now: now[0] == there, [owned])


@pytest.mark.parametrize("when", ["members", "settled"])
def test_a_member_that_dies_as_soon_as_it_has_joined_leaves_what_it_read_to_its_name(kafka, clients, when):
    """A leader that had yet to learn of the topic would leave its group with nothing to read."""
    topic, group = make_topic(kafka.address, 1), unique()
    clients, admin = clients.but(session_seconds=30.0), clients.admin()
    with closing(clients.reader(group, topic, name="worker-1")) as first:
        looks = (first.poll(0.001) and getattr(admin.group(group), when) for _ in range(10_000))
        assert any(looks)
    given(clients.reader(group, topic, name="worker-1"))


def test_what_is_taken_and_given_back_is_read_only_when_it_is_started_again(kafka, clients):
    topics, group = [make_topic(kafka.address, 2) for _ in range(2)], unique()  # by range: all is taken each time
    write_all(kafka.address, topics[0], [Message(b"%d" % n, partition=0) for n in range(5)])
    first = clients.reader(group, *topics)
    first.start(dict.fromkeys(given(first, 4), 0))
    read_to(lambda: first.poll(1).messages, {Place(topics[0], 0): 5})
    second = clients.reader(group, *topics)
    seen = {"given": set(), "taken": set()}

    def polled():
        for reader in (first, second):
            got = reader.poll(0.05)
            assert not got.messages
            if reader is first:
                seen["given"] |= got.given
                seen["taken"] |= got.taken
        return len(seen["given"]) == 2

    until(polled, "half of it is given back")
    assert len(seen["taken"]) == 4
    assert seen["given"] < seen["taken"]


def test_offsets_are_committed_with_a_note(kafka, clients):
    topic, group = make_topic(kafka.address, 2), unique()
    reader, zero, one = clients.reader(group, topic), Place(topic, 0), Place(topic, 1)
    given(reader, 2)
    assert reader.committed([zero, one]) == {}
    send(clients.writer(), zero, b"a", positions={one: 42}, membership=reader.membership())
    expected = {one: Committed(42, "note")}
    assert reader.committed([zero, one]) == expected
    assert clients.admin().committed(group, [zero, one]) == expected


def test_a_note_is_read_whatever_lies_behind_it_in_memory():
    """confluent-kafka reads past the end of what an admin is told, into bytes that are now and then no text."""

    class Told:
        topic, partition, offset = "events", 0, 42

        @property
        def metadata(self):
            return (noted("note").encode() + b"\xba").decode()

    assert committed_of([Told()]) == {Place("events", 0): Committed(42, "note")}


def test_offsets_that_an_open_transaction_is_about_to_commit_are_waited_for(kafka, clients):
    topic, group = make_topic(kafka.address), unique()
    place = Place(topic, 0)
    reader = clients.reader(group, topic)
    given(reader)
    producer = KafkaProducer(bootstrap_servers=kafka.address, transactional_id=unique())
    with closing(producer), ThreadPoolExecutor(1) as pool:
        producer.init_transactions()
        producer.begin_transaction()
        producer.send_offsets_to_transaction({KafkaPartition(topic, 0): OffsetAndMetadata(7, "late\n", -1)}, group)
        asked = pool.submit(reader.committed, [place])
        with pytest.raises(TimeoutError):
            asked.result(0.5)
        producer.commit_transaction()
        assert asked.result(60) == {place: Committed(7, "late")}


def test_a_member_that_is_none_any_more_cannot_commit_and_what_it_sent_is_not_seen(kafka, clients):
    topic, group = make_topic(kafka.address), unique()
    place = Place(topic, 0)
    lost = clients.reader(group, topic)
    given(lost)
    membership = lost.membership()
    lost.close()
    reader = clients.reader(group, topic)
    given(reader)
    with pytest.raises(TransactionLostError) as raised:
        send(clients.writer(), place, b"zombie", positions={place: 1}, membership=membership)
    assert not isinstance(raised.value, FencedError)
    send(clients.writer(), place, b"owner", positions={place: 2}, membership=reader.membership())
    assert reader.committed([place]) == {place: Committed(2, "note")}
    is_seen(kafka.address, topic, [b"owner"])


def test_a_static_name_that_is_taken_over_fences_the_member_that_had_it(kafka, clients):
    topic, group = make_topic(kafka.address), unique()
    place = Place(topic, 0)
    first = clients.reader(group, topic, name="worker-1")
    given(first)
    membership = first.membership()
    second = clients.reader(group, topic, name="worker-1")
    given(second)
    with pytest.raises(FencedError):
        send(clients.writer(), place, b"a", positions={place: 1}, membership=membership)
    with pytest.raises(FencedError, match="goes by the name"):
        until(lambda: first.poll(0.1) and False, "the first one learns of it")
    assert [member.name for member in clients.admin().group(group).members] == ["worker-1"]


def test_a_member_that_its_own_late_join_may_have_fenced_joins_anew_once(broker, make_confluent):
    """The broker cannot tell it from another of the same name, which stands for it here: the next one ends it."""
    topic, group = make_topic(broker.address), unique()
    clients = make_confluent(broker.address, session_seconds=5.0)
    reader = clients.reader(group, topic, name="worker-1")
    owned = given(reader)
    broker.freeze()
    until(lambda: reader.poll(0.1).taken == owned, "the session has run out")
    broker.thaw()
    given(reader)
    late = clients.reader(group, topic, name="worker-1")
    given(late)
    changes = set()

    def is_back():
        polled = reader.poll(0.1)
        changes.update(("taken", place) for place in polled.taken)
        return polled.given == owned

    until(is_back, "the member has joined anew")
    assert changes == {("taken", place) for place in owned}
    send(clients.writer(), *owned, b"a", positions=dict.fromkeys(owned, 1), membership=reader.membership())
    with pytest.raises(FencedError, match="goes by the name"):
        late.poll(1)
    given(clients.reader(group, topic, name="worker-1"))
    with pytest.raises(FencedError, match="goes by the name"):
        until(lambda: reader.poll(0.1) and False, "it learns of the other process")


# Transactions


def test_messages_of_a_transaction_are_seen_when_it_is_committed_and_never_when_it_is_aborted(kafka, clients):
    place = Place(make_topic(kafka.address), 0)
    writer, tail = clients.writer(), clients.tail({place: 0})
    send(writer, place, b"kept")
    with closing(clients.writer()) as other:
        other.begin()
        other.send(place, [b"aborted"], [None])
        until(lambda: clients.admin().ends([place])[place] == 3, "what will be aborted is there")
        send(writer, place, b"behind")
        assert values(read_to(lambda: tail.read(1), {place: 2}), place) == [b"kept"]
    until(lambda: clients.admin().ends([place]) == {place: 6}, "both transactions have their marks")
    messages = read_to(lambda: tail.read(1), {place: 6})
    assert values(messages, place) == [b"behind"]


def test_messages_of_a_writer_without_a_name_are_there_before_it_has_made_sure_of_them(kafka, clients):
    """In no transaction: no mark of one follows them, and those that were not made sure of stay as well."""
    topic = make_topic(kafka.address)
    writer = clients.writer("")
    writer.begin()
    writer.send(Place(topic, 0), [b"a", b"b"], [b"k", None])
    until(lambda: len(read_all(kafka.address, topic)) == 2, "the messages are there")
    commit(writer)
    writer.send(Place(topic, 0), [b"c"], [None])
    commit(writer)
    assert [(message.offset, message.value) for message in read_all(kafka.address, topic)] == [
        (0, b"a"),
        (1, b"b"),
        (2, b"c"),
    ]
    assert clients.admin().ends([Place(topic, 0)]) == {Place(topic, 0): 3}


def test_a_writer_without_a_name_tells_what_was_not_taken(broker, make_clients):
    topic = make_topic(broker.address, max_message_bytes=2000)
    clients = make_clients(broker.address, transaction_seconds=2.0)
    refused = clients.writer("")
    refused.send(Place(topic, 0), [b"x" * 5000], [None])
    with pytest.raises(TooLargeError):
        commit(refused)
    left = clients.writer("")
    left.send(Place(topic, 0), [b"a"], [None])
    commit(left)
    broker.freeze()
    left.send(Place(topic, 0), [b"b"], [None])
    with pytest.raises(TransactionLostError):
        commit(left)
    broker.thaw()


def test_positions_pass_over_the_marks_of_transactions(kafka, clients):
    """Also where such a mark, or an aborted transaction, is the last thing there is."""
    place = Place(make_topic(kafka.address), 0)
    writer, tail, reader = clients.writer(), clients.tail({place: 0}), clients.reader(unique(), place.topic)
    reader.start(dict.fromkeys(given(reader), 0))
    send(writer, place, b"a", b"b")
    until(lambda: clients.admin().ends([place]) == {place: 3}, "the transaction has its mark")
    read_to(lambda: tail.read(1), {place: 3})
    read_to(lambda: reader.poll(1).messages, {place: 3})
    assert tail.position(place) == reader.position(place) == 3
    writer.begin()
    writer.send(place, [b"c"], [None])
    until(lambda: clients.admin().ends([place])[place] == 4, "what will be aborted is there")
    writer.close()
    end = until(lambda: clients.admin().ends([place])[place] == 5 and 5, "the transaction is aborted")
    until(lambda: tail.read(0.1) and tail.position(place) == end, "the tail is at the end")
    assert values(read_to(lambda: reader.poll(1).messages, {place: end}), place) == []


def test_a_second_writer_of_a_name_fences_the_first_and_ends_what_it_left_open(kafka, clients):
    place, name = Place(make_topic(kafka.address), 0), unique()
    first = clients.writer(name)
    first.begin()
    first.send(place, [b"first"], [None])
    second = clients.writer(name)
    with pytest.raises(FencedError):
        commit(first)
    send(second, place, b"second")
    is_seen(kafka.address, place.topic, [b"second"])


def test_a_writer_goes_on_after_a_transaction_without_messages(kafka, clients):
    place, group = Place(make_topic(kafka.address), 0), unique()
    reader, writer = clients.reader(group, place.topic), clients.writer()
    given(reader)
    writer.begin()
    commit(writer)
    writer.begin()
    commit(writer, {place: Committed(3, "")}, reader.membership())
    send(writer, place, b"a")
    assert reader.committed([place]) == {place: Committed(3, "")}
    is_seen(kafka.address, place.topic, [b"a"])


def test_a_transaction_that_the_broker_does_not_answer_is_lost_in_time(broker, make_clients):
    clients = make_clients(broker.address, transaction_seconds=2.0)
    place = Place(make_topic(broker.address), 0)
    writer = clients.writer()
    send(writer, place, b"a")
    writer.begin()
    broker.freeze()
    with contextlib.suppress(TransactionLostError):  # which may well say so at once
        writer.send(place, [b"b"], [None])
    with pytest.raises(TransactionLostError):
        commit(writer)
    broker.thaw()
    writer.close()
    send(clients.writer(), place, b"c")
    is_seen(broker.address, place.topic, [b"a", b"c"])


def test_a_broker_that_does_not_tell_what_is_committed_may_do_so_later(broker, make_clients):
    clients = make_clients(broker.address, transaction_seconds=1.0)
    topic = make_topic(broker.address)
    reader = clients.reader(unique(), topic)
    owned = given(reader)
    broker.freeze()
    with pytest.raises(UnreachableError):
        reader.committed(owned)
    broker.thaw()
    assert reader.committed(owned) == {}


def test_an_end_is_looked_up_of_a_leader_that_was_taken_for_dead_and_came_back(broker, make_clients):
    """Under the same address, over the same connection, and newer than whoever asked before knew it."""
    clients = make_clients(broker.address, connect_seconds=10.0)
    place, admin = Place(make_topic(broker.address), 0), clients.admin()
    assert admin.ends([place]) == {place: 0}
    broker.freeze()
    time.sleep(4)  # twice as long as it may be silent
    broker.thaw()
    send(clients.writer(), place, b"a")
    assert admin.ends([place])[place] >= 1


def test_offsets_are_committed_by_a_writer_that_waited_while_the_broker_was_killed_and_came_back(broker, make_clients):
    clients = make_clients(broker.address, session_seconds=30.0)
    place = Place(make_topic(broker.address), 0)
    reader, writer = clients.reader(unique(), place.topic), clients.writer()
    given(reader)
    send(writer, place, b"a", positions={place: 1}, membership=reader.membership())
    until_marked(broker.address)
    broker.kill()
    broker.start()
    reader.poll(0.1)
    send(writer, place, b"b", positions={place: 2}, membership=reader.membership())
    assert reader.committed([place]) == {place: Committed(2, "note")}
    is_seen(broker.address, place.topic, [b"a", b"b"])


def test_offsets_whose_coordinator_the_library_awaits_for_ever_are_lost_in_time(broker, make_confluent):
    """It awaits a broker that it has forgotten; the next writer of the name ends what the transaction left open."""
    clients, name = make_confluent(broker.address, session_seconds=30.0, transaction_seconds=5.0), unique()
    place = Place(make_topic(broker.address), 0)
    options = {
        "bootstrap.servers": broker.address,
        "transactional.id": name,
        "metadata.recovery.strategy": "rebootstrap",  # forgets all brokers while none answers
        "log_level": 0,
    }
    writer = ConfluentWriter(clients.settings, lambda refused: Producer({**options, "on_delivery": refused}), name)
    writer.take_over()
    reader = clients.reader(unique(), place.topic)
    given(reader)
    send(writer, place, b"a", positions={place: 1}, membership=reader.membership())
    until_marked(broker.address)
    broker.kill()
    broker.start()
    with pytest.raises(TransactionLostError, match="no answer for 5 s"):
        send(writer, place, b"b", positions={place: 2}, membership=reader.membership())
    writer.close()
    send(clients.writer(name), place, b"c", positions={place: 3}, membership=reader.membership())
    assert reader.committed([place]) == {place: Committed(3, "note")}
    is_seen(broker.address, place.topic, [b"a", b"c"])


# What cannot be


@pytest.mark.parametrize("size", [20_000, 200_000])
def test_a_message_that_is_too_large_for_the_topic_or_the_client_is_told_with_its_size(kafka, clients, size):
    topic = make_topic(kafka.address, max_message_bytes=10_000)
    clients = clients.but(max_message_bytes=100_000)
    with pytest.raises(TooLargeError) as raised:
        send(clients.writer(), Place(topic, 0), b"fits", b"x" * size)
    assert (raised.value.topic, raised.value.size) == (topic, size)
    assert read_all(kafka.address, topic) == []


def test_a_topic_that_is_not_there_is_named(clients):
    for use in (
        lambda: clients.reader(unique(), "not-there"),
        lambda: send(clients.writer(), Place("not-there", 0), b"a"),
        lambda: clients.admin().ends([Place("not-there", 0)]),
        lambda: clients.admin().extend("not-there", 2),
        lambda: clients.admin().settings("not-there"),
    ):
        with pytest.raises(TopicMissingError, match="there is no topic not-there"):
            use()
    assert clients.admin().partitions("not-there") == 0


def test_an_address_where_nobody_answers_is_named(make_clients):
    address = f"127.0.0.1:{free_port()}"
    clients = make_clients(address, connect_seconds=0.5)
    for use in (
        clients.admin,
        clients.writer,
        lambda: clients.reader(unique(), "events"),
        lambda: clients.tail({Place("events", 0): 0}),
    ):
        with pytest.raises(BrokerError, match=f"no broker answered at {address} for 0.5 s .*(?i:refused)"):
            use()


def test_a_broker_that_comes_up_late_is_waited_for(broker, make_clients):
    broker.kill()
    with ThreadPoolExecutor(1) as pool:
        asked = pool.submit(make_clients(broker.address, connect_seconds=60.0).admin)
        broker.start()
        assert asked.result(60).partitions("none") == 0


def test_several_topics_are_shared_out_by_range_alone(clients):
    with pytest.raises(ConfigError, match=r"kafka\.assignor = cooperative-sticky takes one topic, 2 are read"):
        clients.but(assignor="cooperative-sticky").reader(unique(), "a", "b")


# Topics


def test_topics_are_made_once_looked_at_and_extended(clients):
    admin, topic = clients.admin(), unique()
    admin.create(topic, 2, -1, {"cleanup.policy": "compact", "max.message.bytes": "12345"})
    admin.create(topic, 5, 1, {})
    assert admin.partitions(topic) == 2
    settings = admin.settings(topic)
    assert (settings["cleanup.policy"], settings["max.message.bytes"]) == ("compact", "12345")
    admin.extend(topic, 3)
    admin.extend(topic, 2)
    assert admin.partitions(topic) == 3
    places = [Place(topic, number) for number in range(3)]
    send(clients.writer(), places[2], b"a", b"b")
    until(lambda: admin.ends(places) == {places[0]: 0, places[1]: 0, places[2]: 3}, "the transaction has its mark")
    assert admin.begins(places) == dict.fromkeys(places, 0)
    assert admin.group(unique()) == Group(settled=False, members=[])


# Who may log in


def may_log_in(broker, **settings):
    return {
        "security_protocol": "SASL_SSL",
        "username": broker.user,
        "password": broker.password,
        "ssl_ca": str(broker.authority),
        **settings,
    }


def by_certificate(broker, **settings):
    return {
        "security_protocol": "SSL",
        "ssl_ca": str(broker.authority),
        "ssl_certificate": str(broker.certificate),
        "ssl_key": str(broker.key),
        **settings,
    }


@pytest.mark.parametrize("mechanism", ["SCRAM-SHA-256", "SCRAM-SHA-512", "PLAIN"])
def test_who_knows_the_password_is_let_in_and_who_does_not_is_told_at_once(secure_broker, make_clients, mechanism):
    address, settings = secure_broker.password_address, may_log_in(secure_broker, sasl_mechanism=mechanism)
    place = Place(make_topic(secure_broker.address), 0)
    clients = make_clients(address, **settings)
    send(clients.writer(), place, b"a")
    tail = clients.tail({place: 0})
    assert values(read_to(lambda: tail.read(1), {place: 2}), place) == [b"a"]
    stranger = make_clients(address, connect_seconds=20.0, **{**settings, "password": "not-the-one"})
    for use in (stranger.admin, stranger.writer):
        with pytest.raises(NotAllowedError, match="user 'alice' may not log in") as raised:
            use()
        assert "not-the-one" not in str(raised.value)


def test_who_has_a_certificate_is_let_in_and_who_has_none_is_not(secure_broker, make_clients):
    address = secure_broker.mutual_address
    assert make_clients(address, **by_certificate(secure_broker)).admin().partitions("none") == 0
    stranger = by_certificate(secure_broker, ssl_certificate="", ssl_key="")
    with pytest.raises(BrokerError, match="no broker answered"):
        make_clients(address, connect_seconds=1.0, **stranger).admin()


def test_a_broker_whose_authority_is_not_trusted_is_not_spoken_to(secure_broker, make_clients):
    settings = by_certificate(secure_broker, ssl_ca=str(secure_broker.certificate))
    with pytest.raises(BrokerError, match=r"no broker answered .*(?i:certificate)"):
        make_clients(secure_broker.mutual_address, connect_seconds=1.0, **settings).admin()
