"""What the benchmark of Kafka reads and writes: a broker, topics, events, and processes to run things in.

Law: what one measurement has left behind, another does not meet: its topics are its own, and deleted after it.
"""

import contextlib
import multiprocessing
import os
import tempfile
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

import numpy as np
import orjson
from confluent_kafka import Producer
from confluent_kafka.admin import AdminClient

from tests.broker import Broker, jars, make_topic, write_all

T = TypeVar("T")


class Topics(NamedTuple):
    """The topics of one run."""

    events: str
    predictions: str
    dead_letters: str
    state: str


@contextlib.contextmanager
def running() -> Iterator[tuple[str, Broker | None]]:
    """Yield the address of a cluster, and the broker where it is one of our own."""
    if address := os.environ.get("STREAMNB_KAFKA"):
        yield address, None
        return
    with tempfile.TemporaryDirectory() as folder, Broker(jars.fetch(), Path(folder) / "broker") as broker:
        yield broker.address, broker


@contextlib.contextmanager
def outputs(address: str, events: str) -> Iterator[Topics]:
    """Yield the topics of a run that reads one, and delete what it has written."""
    predictions, dead_letters = (make_topic(address) for _ in range(2))
    state = make_topic(address, cleanup_policy="compact")
    try:
        yield Topics(events, predictions, dead_letters, state)
    finally:
        delete(address, predictions, dead_letters, state)


def delete(address: str, *topics: str) -> None:
    """Delete topics."""
    client = AdminClient({"bootstrap.servers": address})  # what is asked of it ends with it
    for future in client.delete_topics(list(topics)).values():
        future.result(60)


def events(count: int, seed: int = 1) -> Iterator[bytes]:
    """Yield events of 200 bytes or so: an id, six numbers, two categories and a label."""
    generator = np.random.default_rng(seed)
    chunk = 10_000
    for start in range(0, count, chunk):
        labels = generator.integers(2, size=chunk)
        numbers = generator.normal(size=(chunk, 6)) + labels[:, None] * np.linspace(0.2, 1.0, 6)
        colours, places = generator.integers(12, size=chunk), generator.integers(40, size=chunk) // (1 + labels)
        rows = zip(numbers.round(6).tolist(), colours.tolist(), places.tolist(), labels.tolist(), strict=True)
        for offset, (row, colour, place, label) in enumerate(rows):
            if start + offset == count:
                return
            event = {"id": f"event-{start + offset:08d}", **{f"number{at}": value for at, value in enumerate(row)}}
            event |= {"colour": f"colour-{colour}", "place": f"place-{place}", "label": "yes" if label else "no"}
            yield orjson.dumps(event)


def topic_of(address: str, values: Iterable[bytes], **config: object) -> str:
    """Return a new topic of one partition that holds these messages."""
    topic = make_topic(address, **config)
    write_all(address, topic, values, linger_ms=50)
    return topic


def feed(address: str, topic: str, count: int, rate: float) -> None:
    """Write events to a topic, so many a second, or at 0 as fast as it takes them; a message's time is when it was."""
    producer = _producer(address)
    begun = time.monotonic()
    for number, event in enumerate(events(count)):
        if rate:
            time.sleep(max(0.0, begun + number / rate - time.monotonic()))
        _write(producer, topic, event)
    producer.flush()


def feed_late(address: str, topic: str, labels: str, count: int, rate: float, late: float) -> None:
    """Write events without their labels, so many a second, and each label to a topic of its own, seconds later."""
    producer = _producer(address)
    begun = time.monotonic()
    waiting: deque[tuple[float, bytes]] = deque()
    for number, line in enumerate(events(count)):
        due = begun + number / rate
        time.sleep(max(0.0, due - time.monotonic()))
        event = orjson.loads(line)
        waiting.append((due + late, orjson.dumps({"id": event["id"], "label": event.pop("label")})))
        _write(producer, topic, orjson.dumps(event))
        while waiting[0][0] <= due:
            _write(producer, labels, waiting.popleft()[1])
    for due, label in waiting:
        time.sleep(max(0.0, due - time.monotonic()))
        _write(producer, labels, label)
    producer.flush()


def _producer(address: str) -> Producer:
    settings = {"bootstrap.servers": address, "linger.ms": 1, "queue.buffering.max.messages": 20_000}
    return Producer({**settings, "message.timeout.ms": 0})  # a broker may be away for as long as it likes


def _write(producer: Producer, topic: str, value: bytes) -> None:
    while True:
        try:
            return producer.produce(topic, value, partition=0)
        except BufferError:
            producer.poll(0.1)


@contextlib.contextmanager
def beside(work: Callable[..., Any], *arguments: Any) -> Iterator[multiprocessing.process.BaseProcess]:
    """Do some work in a process of its own; it is ended with the context."""
    process = multiprocessing.get_context("spawn").Process(target=work, args=arguments)
    process.start()
    try:
        yield process
    finally:
        process.kill()
        process.join()


def alone(work: Callable[..., T], *arguments: Any) -> T:
    """Return what some work returns, done in a process of its own."""
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        return pool.apply(work, arguments)
