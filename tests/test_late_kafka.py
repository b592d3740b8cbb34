"""Late labels from a topic of their own: joined by id, each in one count, whatever order they come in."""

import random
from contextlib import ExitStack

import orjson
import pytest
from rich.console import Console

from consumers.kafka import programs
from consumers.kafka.client import Messages, Place
from consumers.kafka.messages import batch_of
from consumers.models import new_model
from consumers.programs import new_shard
from consumers.report import summary
from consumers.state import State
from tests.application import Application, whole_states
from tests.broker import Message, make_topic, read_all, until


class Late(Application):
    """An application of one partition, with a topic of late labels, which is read to its end."""

    def __init__(self, address, folder, **settings):
        self.labels = make_topic(address)
        kafka = {"labels": [self.labels], "until": "end", "commit_seconds": 0.1, "commit_records": 20}
        super().__init__(address, folder, 1, kafka, **{"snapshot_records": 100_000, **settings})

    def send(self, events=(), labels=()):
        for topic, records in ((self.events, events), (self.labels, labels)):
            self.write([Message(orjson.dumps(each), str(each["id"]).encode(), 0) for each in records], topic)

    def run(self):
        return programs.run(self.config, Console(quiet=True), emit=True)

    def answered(self):
        return [orjson.loads(each.value)["offset"] for each in read_all(self.address, self.config.kafka.predictions)]

    def buried(self):
        return [orjson.loads(each.value) for each in read_all(self.address, self.config.kafka.dead_letters)]


@pytest.fixture
def late(kafka, tmp_path):
    """Return a function that makes such an application."""
    with ExitStack() as stack:
        yield lambda **settings: stack.enter_context(Late(kafka.address, tmp_path, **settings))


def event(number):
    return {"id": number, "n": number % 7, "k": "xyz"[number % 3]}


def label(number, name=None):
    return {"id": number, "label": name or "ab"[number % 7 > 3]}


def counts_of(state):
    return summary(state)["late_labels"]


def test_labels_out_of_order_twice_and_for_nobody_are_each_in_their_count(late):
    application = late()
    numbers = list(range(1_000))
    random.Random(1).shuffle(numbers)
    again, unknown = numbers[:50], range(2_000, 2_030)
    application.send(map(event, range(1_000)), map(label, [*numbers[:800], *again, *unknown]))
    state = application.run()
    assert (state.model.learned, state.measures.measured + state.measures.unanswered) == (800, 800)
    assert counts_of(state) == {
        "labels": 880,
        "events": 1_000,
        "joined": 800,
        "duplicate_labels": 50,
        "duplicate_events": 0,
        "labels_given_up": 0,
        "events_given_up": 0,
        "labels_waiting": 30,
        "events_waiting": 200,
    }
    assert application.answered() == list(range(1_000))


def test_what_waits_outlives_the_run_and_what_is_given_up_is_told(late):
    application = late(max_waiting=100, tell_unmatched=True)
    application.send(map(event, range(250)))
    assert counts_of(application.run())["events_waiting"] == 100
    application.send(labels=map(label, range(250)))
    state = application.run()
    counts = counts_of(state)
    assert state.model.learned == counts["joined"] == 100
    assert counts["events_given_up"] == counts["labels_waiting"] + counts["labels_given_up"] == 150
    dead = application.buried()
    assert [each["offset"] for each in dead if each["stream"] == application.events] == list(range(150))
    assert sum(each["stream"] == application.labels for each in dead) == counts["labels_given_up"]


def test_a_worker_that_is_killed_takes_again_what_it_read_in_the_order_that_was_committed(late):
    """Two topics are read in turns that only the broker knows; what was answered by then must not change after it."""
    application = late(snapshot_records=10**9, snapshot_seconds=1e9)
    for part in range(4):
        numbers = range(500 * part, 500 * part + 500)
        shuffled = random.Random(part).sample(numbers, 400)
        wanted = len(application.answered()) + 100
        worker = application.worker("w", "--until", "forever")
        application.send(map(event, numbers[:250]), map(label, shuffled[:200]))
        application.send(map(event, numbers[250:]), map(label, shuffled[200:]))
        until(lambda: len(application.answered()) > wanted, "some are answered")  # noqa: B023 - asked in this round
        worker.kill()
    application.use(worker="w")
    state = application.run()
    assert (counts_of(state)["joined"], state.tally.records) == (1_600, 3_600)
    assert application.answered() == list(range(2_000))
    config = application.config
    shard = new_shard(config, State(new_model(config)), learn=True, emit=True, alarms=False, late=True)
    shard.state.positions.update({(application.events, 0): 0, (application.labels, 0): 0})
    written = read_all(application.address, config.kafka.state)
    for topic, first, end in runs_of(application, written):
        take(shard, application, topic, first, end)
    newest = max(whole_states(application.name, written).items())[1]
    assert shard.state.to_bytes({}, {}) == State.from_bytes(newest)[0].to_bytes({}, {})


def runs_of(application, written):
    """Yield the runs that were committed, in their order: topic, first offset, end."""
    at = {application.events: 0, application.labels: 0}
    for record in written:
        if b"/journal/" in record.key:
            for topic, end in orjson.loads(record.value)["runs"]:
                yield topic, at[topic], end
                at[topic] = end


def take(shard, application, topic, first, end):
    some = [each for each in read_all(application.address, topic) if first <= each.offset < end]
    offsets, values, nothing = [each.offset for each in some], [each.value for each in some], [None] * len(some)
    batch = batch_of(Messages(Place(topic, 0), offsets, values, nothing, [], [], end), 1 << 20)
    batch.late = topic == application.labels
    shard.take(batch)
