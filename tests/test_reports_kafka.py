"""Faults that users of other systems met with Kafka, each numbered as in a list of them: what holds here instead.

Beside a case stands a law for its whole kind, or the name of the test that holds that law already.
"""

from contextlib import ExitStack

import orjson
import pytest
from confluent_kafka import ConsumerGroupTopicPartitions, TopicPartition
from confluent_kafka.admin import AdminClient
from rich.console import Console

from consumers.kafka import programs
from consumers.kafka.client import Place
from consumers.shard import Shard
from tests.application import Application
from tests.broker import Message, read_all


class BoomError(Exception):
    """Something that nobody thought of."""


@pytest.fixture
def application(kafka, tmp_path):
    """Return an application of one partition that is read to its end, a few events at a time."""
    with ExitStack() as stack:
        yield stack.enter_context(Application(kafka.address, tmp_path, 1, {"until": "end", "commit_records": 3}))


def write(application, *values):
    application.write([Message(value, b"k", 0) for value in values])


def run(application):
    return programs.run(application.config, Console(quiet=True), emit=True)


def answered(application):
    return [
        orjson.loads(each.value)["offset"]
        for each in read_all(application.address, application.config.kafka.predictions)
    ]


def committed(application):
    return application.committed()[Place(application.events, 0)]


EVENTS = [orjson.dumps({"v": place, "label": "ab"[place % 2]}) for place in range(10)]


# Killed at any step: test_chaos.py.
def test_71_an_offset_is_committed_only_with_what_came_of_its_event(application, monkeypatch):
    write(application, *EVENTS)
    taken = []

    def failing(shard, batch):
        taken.append(len(batch.events))
        if sum(taken) > 5:
            raise BoomError
        return take(shard, batch)

    take = Shard.take
    with monkeypatch.context() as patch:
        patch.setattr(Shard, "take", failing)
        with pytest.raises(BoomError):
            run(application)
    assert committed(application) <= 5
    assert len(answered(application)) == committed(application)
    assert run(application).model.learned == 10
    assert answered(application) == list(range(10))


# Every kind of poison: test_kafka_run.py and test_chaos.py.
def test_73_what_is_not_json_is_a_dead_letter_and_the_stream_goes_on(application):
    write(application, b'{"v":1,"label":"a"}', b"{oops", b'{"v":2,"label":"b"}')
    state = run(application)
    (dead,) = (
        orjson.loads(each.value) for each in read_all(application.address, application.config.kafka.dead_letters)
    )
    assert state.model.learned == 2
    assert [dead[name] for name in ("stream", "partition", "offset", "reason", "text")] == [
        *(application.events, 0, 1),
        *("not JSON", "{oops"),
    ]
    assert committed(application) == 3


# 75, a deletion is a true null: test_state_topic.py::test_what_is_deleted_is_a_true_null, and through either client
# test_clients.py::test_messages_come_back_as_they_were_sent.


# While partitions move: test_rebalance.py.
def test_76_events_that_come_again_are_not_learned_twice(application):
    """Somebody sets the group's offsets back: the state knows what it has read."""
    write(application, *EVENTS[:6])
    run(application)
    back = ConsumerGroupTopicPartitions(application.name, [TopicPartition(application.events, 0, 3)])
    admin = AdminClient({"bootstrap.servers": application.address})
    for future in admin.alter_consumer_group_offsets([back]).values():
        future.result(60)
    assert committed(application) == 3
    write(application, *EVENTS[6:])
    assert run(application).model.learned == 10
    assert answered(application) == list(range(10))


# 78, only what is without gaps is committed: a partition is read in order, and the offset is that of the transaction in
# which all before it was taken. After a rebalance: test_rebalance.py; after any fault: test_chaos.py.
def test_78_the_committed_offset_is_that_of_the_state(application):
    write(application, *EVENTS)
    state = run(application)
    assert committed(application) == state.tally.records == 10
