"""Late labels from a topic of their own: joined by id, each in one count, whatever order they come in."""

import random
import subprocess
import sys
from pathlib import Path

import orjson
from rich.console import Console

from consumers.kafka import programs
from consumers.kafka.client import Messages, Place
from consumers.kafka.messages import batch_of
from consumers.kafka.state_topic import Assembler
from consumers.models import new_model
from consumers.programs import new_shard
from consumers.report import summary
from consumers.settings import check
from consumers.state import State
from tests.broker.topics import Message, make_topic, read_all, write_all
from tests.broker.waiting import until

ROOT = Path(__file__).resolve().parents[1]


class Topics:
    """The topics of one application, and its settings."""

    def __init__(self, address, **changes):
        self.address = address
        self.events, self.labels, self.predictions, self.dead = (make_topic(address) for _ in range(4))
        self.state = make_topic(address, cleanup_policy="compact")
        self.changes = {
            "inputs": [f"kafka://{address}/{self.events}"],
            "labels": [f"kafka:///{self.labels}"],
            "output": f"kafka:///{self.predictions}",
            "dead_letters": f"kafka:///{self.dead}",
            "snapshots": f"kafka:///{self.state}",
            **changes,
        }

    def config(self, **kafka):
        return check({**self.changes, "kafka": {"application": self.events, "until": "end", **kafka}})

    def send(self, events=(), labels=()):
        for topic, records in ((self.events, events), (self.labels, labels)):
            write_all(
                self.address, topic, [Message(orjson.dumps(each), str(each.get("id")).encode()) for each in records]
            )

    def run(self, **kafka):
        return programs.run(self.config(**kafka), Console(quiet=True), emit=True)


def event(number):
    return {"id": number, "n": number % 7, "k": "xyz"[number % 3]}


def label(number, name=None):
    return {"id": number, "label": name or "ab"[number % 7 > 3]}


def late(state):
    return summary(state)["late_labels"]


def test_labels_out_of_order_twice_and_for_nobody_are_each_in_their_count(kafka):
    topics = Topics(kafka.address)
    numbers = list(range(1_000))
    random.Random(1).shuffle(numbers)
    again, unknown = numbers[:50], range(2_000, 2_030)
    topics.send(map(event, range(1_000)), map(label, [*numbers[:800], *again, *unknown]))
    state = topics.run()
    assert (state.model.learned, state.measures.measured + state.measures.unanswered) == (800, 800)
    assert late(state) == {
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
    assert len(read_all(kafka.address, topics.predictions)) == 1_000


def test_what_waits_outlives_the_run_and_what_is_given_up_is_told(kafka):
    topics = Topics(kafka.address, max_waiting=100, tell_unmatched=True)
    topics.send(map(event, range(250)))
    assert late(topics.run())["events_waiting"] == 100
    topics.send(labels=map(label, range(250)))
    state = topics.run()
    counts = late(state)
    assert state.model.learned == counts["joined"] == 100
    assert counts["events_given_up"] == counts["labels_waiting"] + counts["labels_given_up"] == 150
    dead = [orjson.loads(each.value) for each in read_all(kafka.address, topics.dead)]
    assert [each["offset"] for each in dead if each["stream"] == topics.events] == list(range(150))
    assert sum(each["stream"] == topics.labels for each in dead) == counts["labels_given_up"]


def test_a_worker_that_is_killed_takes_again_what_it_read_in_the_order_that_was_committed(kafka, tmp_path):
    """Two topics are read in turns that only the broker knows; what was answered by then must not change after it."""
    topics = Topics(kafka.address, snapshot_records=10**9, snapshot_seconds=1e9)
    arguments = [
        *(f"kafka://{kafka.address}/{topics.events}", "--labels", f"kafka:///{topics.labels}"),
        *("--output", f"kafka:///{topics.predictions}", "--dead-letters", f"kafka:///{topics.dead}"),
        *("--snapshots", f"kafka:///{topics.state}", "--application", topics.events, "--worker", "w"),
        *("--commit-records", "20", "--snapshot-records", str(10**9), "--snapshot-seconds", "1e9"),
    ]
    for part in range(4):
        numbers = range(500 * part, 500 * part + 500)
        shuffled = random.Random(part).sample(numbers, 400)
        before = len(read_all(kafka.address, topics.predictions))
        command = [sys.executable, "-m", "consumers.cli", "run", *arguments]
        with (tmp_path / "log").open("ab") as log:
            worker = subprocess.Popen(command, cwd=ROOT, stdout=log, stderr=log)
        topics.send(map(event, numbers[:250]), map(label, shuffled[:200]))
        topics.send(map(event, numbers[250:]), map(label, shuffled[200:]))
        until(lambda: len(read_all(kafka.address, topics.predictions)) > before + 100, "some are answered")  # noqa: B023
        worker.kill()
        worker.wait()
    state = topics.run(worker="w")
    assert (late(state)["joined"], state.tally.records) == (1_600, 3_600)
    answered = [orjson.loads(each.value)["offset"] for each in read_all(kafka.address, topics.predictions)]
    assert answered == list(range(2_000))
    config = topics.config()
    shard = new_shard(config, State(new_model(config)), learn=True, emit=True, alarms=False, late=True)
    shard.state.positions.update({(topics.events, 0): 0, (topics.labels, 0): 0})
    for topic, first, end in runs_of(topics):
        take(shard, topics, topic, first, end)
    assert shard.state.to_bytes({}, {}) == newest_state(topics).to_bytes({}, {})


def runs_of(topics):
    """Yield the runs that were committed, in their order: topic, first offset, end."""
    at = {topics.events: 0, topics.labels: 0}
    for record in read_all(topics.address, topics.state):
        if b"/journal/" in record.key:
            for topic, end in orjson.loads(record.value)["runs"]:
                yield topic, at[topic], end
                at[topic] = end


def newest_state(topics):
    """Return the newest state there is."""
    records = read_all(topics.address, topics.state)
    keys, values = [record.key for record in records], [record.value for record in records]
    assembler = Assembler(topics.events)
    assembler.feed(Messages(Place(topics.state, 0), [], values, keys, [], [], 0))
    return State.from_bytes(assembler.newest().data)[0]


def take(shard, topics, topic, first, end):
    some = [each for each in read_all(topics.address, topic) if first <= each.offset < end]
    offsets, values, nothing = [each.offset for each in some], [each.value for each in some], [None] * len(some)
    batch = batch_of(Messages(Place(topic, 0), offsets, values, nothing, [], [], end), 1 << 20)
    batch.late = topic == topics.labels
    shard.take(batch)
