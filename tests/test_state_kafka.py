"""States larger than a message, through a real broker: cut, restored, compacted."""

import random
import time

import orjson
from rich.console import Console

from consumers.kafka import programs
from consumers.kafka.client import Messages, Place
from consumers.kafka.clients import connect
from consumers.kafka.messages import batch_of
from consumers.kafka.restoring import Restorer
from consumers.kafka.settings import KafkaSettings
from consumers.models import new_model
from consumers.programs import new_shard
from consumers.settings import check
from consumers.state import State
from tests.broker.topics import make_topic, read_all, write_all
from tests.broker.waiting import until

CLASSES, COLUMNS, WORDS = 20, 50_000, 25
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
        yield orjson.dumps({"words": words[start : start + WORDS], "label": f"class-{generator.randrange(CLASSES)}"})


def config_of(address, topics, **changes):
    return check(
        {
            "inputs": [f"kafka://{address}/{topics['events']}"],
            "output": f"kafka:///{topics['predictions']}",
            "dead_letters": f"kafka:///{topics['dead']}",
            "snapshots": f"kafka:///{topics['state']}",
            "snapshot_records": 700,
            "model": "naive",
            "kafka": {"application": topics["events"], "until": "end", "commit_records": 500},
            **changes,
        }
    )


def oracle(config, values):
    """Return the state of a shard that reads the values once."""
    shard = new_shard(config, State(new_model(config)), learn=True, emit=True, alarms=False)
    place = Place(config.kafka.events[0] if config.kafka.events else config.inputs[0].rpartition("/")[2], 0)
    nothing = [None] * len(values)
    shard.take(batch_of(Messages(place, list(range(len(values))), values, nothing, [], [], len(values)), 1 << 20))
    return shard.state


def restorer(kafka, config):
    settings = KafkaSettings(
        brokers=(kafka.address,),
        application=config.kafka.application,
        state=config.snapshots.rpartition("/")[2],
    )
    client = connect(settings)
    admin = client.admin()
    return Restorer(client, admin, settings, time.monotonic), admin


def test_a_state_of_many_messages_is_restored_and_compaction_changes_nothing(kafka):
    topics = {name: make_topic(kafka.address) for name in ("events", "predictions", "dead")}
    topics["state"] = make_topic(kafka.address, **COMPACTED)
    config = config_of(kafka.address, topics)
    first, second = list(events(3_000, 1)), list(events(1_500, 2))
    write_all(kafka.address, topics["events"], first)
    programs.run(config, Console(quiet=True), emit=True)
    before = len(read_all(kafka.address, topics["state"]))
    write_all(kafka.address, topics["events"], second)
    state = programs.run(config, Console(quiet=True), emit=True)
    expected = oracle(config, first + second).to_bytes(config.state_settings(), {})
    assert len(expected) > 5_000_000
    assert state.model.learned == len(first + second)
    finder, admin = restorer(kafka, config)
    try:
        stored = finder.find(0, 0)
        assert stored.data == expected
        assert stored.manifest.chunks > 5
        until(lambda: len(read_all(kafka.address, topics["state"])) < before, "the states are compacted")
        assert finder.find(0, 0) == stored
    finally:
        admin.close()
