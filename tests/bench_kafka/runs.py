"""What the benchmark of Kafka runs of the product, in a process of its own: `streamnb run`, watched from outside.

Law: the product has no hook for it; what is watched is replaced in this process alone.
"""

import io
import time
from collections.abc import Callable
from functools import wraps
from typing import Any, NamedTuple
from uuid import uuid4

from rich.console import Console

import consumers.fields
import consumers.kafka.messages
import consumers.kafka.programs
import consumers.shard
from consumers.config import Config
from consumers.kafka.client import Client
from consumers.kafka.clients import connect
from consumers.kafka.learning import Learning
from consumers.kafka.settings import KafkaSettings
from consumers.kafka.worker import Worker
from consumers.shard import Shard
from consumers.state import State
from streamnb import AdaptiveBayes, Measures, NaiveBayes
from streamnb.encoder import Encoder
from tests.bench_kafka.parts import Run, Spent
from tests.bench_kafka.topics import Topics


class StateCosts(NamedTuple):
    """What a run took to restore the state that was there, to write its own, in seconds, and its size in bytes."""

    restoring: float
    writing: float
    size: int


def product(address: str, topics: Topics, model: str, client: str) -> Run:
    """Let `streamnb run` read a topic to its end."""
    spent = Spent()
    _watch_work(spent)
    consumers.kafka.programs.connect = lambda settings: _watched_client(connect(settings), spent)
    _run(address, topics, model, client, f"bench-{uuid4().hex[:8]}")
    return spent.run()


def state_costs(address: str, topics: Topics, model: str, client: str, application: str) -> StateCosts:
    """Let `streamnb run` go on to the end of a topic, and save its state there."""
    seconds, sizes = {"restoring": 0.0, "writing": 0.0}, [0]

    def timed(part: str, work: Callable[..., Any]) -> Callable[..., Any]:
        @wraps(work)
        def timing(*arguments: Any, **named: Any) -> Any:
            begun = time.perf_counter()
            try:
                return work(*arguments, **named)
            finally:
                seconds[part] += time.perf_counter() - begun

        return timing

    to_bytes = State.to_bytes

    def measured(*arguments: Any) -> bytes:
        data = to_bytes(*arguments)
        sizes.append(len(data))
        return data

    State.to_bytes = measured
    Worker._save = timed("writing", Worker._save)
    Learning.take_over = timed("restoring", Learning.take_over)
    _run(address, topics, model, client, application)
    return StateCosts(seconds["restoring"], seconds["writing"], sizes[-1])


def _run(address: str, topics: Topics, model: str, client: str, application: str) -> None:
    config = Config(
        inputs=(f"kafka://{address}/{topics.events}",),
        output=f"kafka:///{topics.predictions}",
        dead_letters=f"kafka:///{topics.dead_letters}",
        snapshots=f"kafka:///{topics.state}",
        model=model,
        kafka=KafkaSettings(application=application, until="end", client=client),
    )
    consumers.kafka.programs.run(config, Console(file=io.StringIO()), emit=True)


def _watch_work(spent: Spent) -> None:
    """Watch what the product does between a poll and a commit."""
    for module, name, part in (
        (consumers.kafka.messages, "parse", "parse"),
        (consumers.kafka.messages, "prediction_lines", "serialise"),
        (consumers.shard, "take", "take keys"),
        (Measures, "update", "measure"),
        (Shard, "take", "make predictions"),
        (NaiveBayes, "_learn", "kernel"),
        (AdaptiveBayes, "_learn", "kernel"),
        (Learning, "finish", "states"),
    ):
        setattr(module, name, spent.watched(part, getattr(module, name)))
    Encoder.encode = spent.yielding("encode", Encoder.encode)


def _watched_client(client: Client, spent: Spent) -> Client:
    """Return a client whose readers and writers are watched."""
    events = [0]
    make_reader, make_writer = client.reader, client.writer

    def reader(*arguments: Any, **named: Any) -> Any:
        made = make_reader(*arguments, **named)
        poll = spent.watched("poll", made.poll)

        def polled(seconds: float) -> Any:
            found = poll(seconds)
            events[0] = sum(len(messages.offsets) for messages in found.messages)
            return found

        made.poll = polled
        return made

    def writer(*arguments: Any, **named: Any) -> Any:
        made = make_writer(*arguments, **named)
        commit = spent.watched("commit", made.commit)

        def committed(*arguments: Any, **named: Any) -> None:
            commit(*arguments, **named)
            spent.mark(events[0])
            events[0] = 0

        made.begin, made.commit = spent.watched("commit", made.begin), committed
        made.send, made.settle = spent.watched("send", made.send), spent.watched("commit", made.settle)
        return made

    client.reader, client.writer = reader, writer
    return client
