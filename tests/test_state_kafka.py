"""States larger than a message, through a real broker: cut, restored, compacted."""

import random
import time
from contextlib import closing

import orjson
from rich.console import Console

from consumers.kafka import programs
from consumers.kafka.clients import connect
from consumers.kafka.restoring import Restorer
from tests.application import Application, Oracle
from tests.broker import Message, make_topic, read_all, until

CLASSES, COLUMNS, WORDS = 20, 50_000, 25
READ = {"until": "end", "commit_records": 500}
COMPACTED = {  # soon, and all of it but what is being written
    "cleanup_policy": "compact",
    "segment_bytes": 1 << 20,
    "min_cleanable_dirty_ratio": 0.01,
    "delete_retention_ms": 0,
    "max_compaction_lag_ms": 1,
}


def events(count, seed):
    """Return events that meet every column, each under every class before long."""
    generator = random.Random(seed)
    words = [f"word-{number}" for number in range(COLUMNS)]
    generator.shuffle(words)
    for place in range(count):
        start = place * WORDS % COLUMNS
        event = {"words": words[start : start + WORDS], "label": f"class-{generator.randrange(CLASSES)}"}
        yield Message(orjson.dumps(event), partition=0)


def test_a_state_of_many_messages_is_restored_and_compaction_changes_nothing(kafka, tmp_path):
    topic = {"state": make_topic(kafka.address, **COMPACTED), "max_message_bytes": 1_000_000}
    with Application(kafka.address, tmp_path, 1, {**topic, **READ}, snapshot_records=700, model="naive") as application:
        config = application.config
        application.write(list(events(3_000, 1)))
        programs.run(config, Console(quiet=True), emit=True)
        before = len(read_all(kafka.address, config.kafka.state))
        application.write(list(events(1_500, 2)))
        state = programs.run(config, Console(quiet=True), emit=True)
        expected = Oracle(config, application.events, 0, read_all(kafka.address, application.events)).take_to(4_500)
        assert len(expected) > 5_000_000
        assert state.model.learned == 4_500
        client = connect(config.kafka)
        with closing(client.admin()) as admin:
            finder = Restorer(client, admin, config.kafka, time.monotonic)
            stored = finder.find(0, 0)
            assert stored.data == expected
            assert stored.manifest.chunks > 5
            until(lambda: len(read_all(kafka.address, config.kafka.state)) < before, "the states are compacted")
            assert finder.find(0, 0) == stored
