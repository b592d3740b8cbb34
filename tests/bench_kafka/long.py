"""The benchmark of Kafka over time: memory while a broker stands still, and latency at a steady rate.

Law: what is measured is the command itself, in a process of its own, fed by another.
"""

import contextlib
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import NamedTuple
from uuid import uuid4

import numpy as np
from confluent_kafka import OFFSET_BEGINNING, Consumer, TopicPartition

from consumers.kafka.client import Place
from consumers.kafka.clients import connect
from consumers.kafka.settings import KafkaSettings
from tests.bench_kafka.topics import Topics, beside, delete, feed, feed_late, outputs
from tests.broker import Broker, make_topic, until

FROZEN_SECONDS = 10.0
LATE_SECONDS = 5.0
PERCENTILES = 50, 99, 100


@contextlib.contextmanager
def command(address: str, topics: Topics, application: str, *flags: str) -> Iterator[subprocess.Popen[bytes]]:
    """Let `streamnb run` read topics for as long as the context lasts; it has to end well."""
    places = {"output": topics.predictions, "dead-letters": topics.dead_letters, "snapshots": topics.state}
    named = [f"--{flag}=kafka:///{topic}" for flag, topic in places.items()]
    arguments = ["run", f"kafka://{address}/{topics.events}", "--application", application, *named, *flags]
    process = subprocess.Popen([sys.executable, "-m", "consumers.cli", *arguments], stderr=subprocess.PIPE)
    try:
        yield process
        process.send_signal(signal.SIGTERM)
    except BaseException:
        process.kill()
        raise
    finally:
        _, said = process.communicate()
    if process.returncode != 128 + signal.SIGTERM:
        raise SystemExit(f"streamnb run ended with status {process.returncode}:\n{said.decode()}")


class Usage(NamedTuple):
    """What a process holds, in MB, and the processor time that it has taken, in seconds."""

    memory: float
    processor: float


def usage(process: subprocess.Popen[bytes]) -> Usage:
    """Return what a process uses, as Linux tells it."""
    folder = Path(f"/proc/{process.pid}")
    pages = int((folder / "statm").read_text().split()[1])
    ticks = sum(map(int, (folder / "stat").read_text().rpartition(")")[2].split()[11:13]))
    return Usage(pages * os.sysconf("SC_PAGE_SIZE") / 1e6, ticks / os.sysconf("SC_CLK_TCK"))


class Progress:
    """How far a group has read a topic, and how far it could."""

    def __init__(self, address: str, topic: str, application: str) -> None:
        self._admin = connect(KafkaSettings(brokers=(address,))).admin()
        self._place = Place(topic, 0)
        self._application = application

    def begun(self) -> bool:
        """Tell whether there is a worker that reads."""
        return bool(self._admin.committed(self._application, [self._place]))

    def read(self) -> int:
        """Return how many events have been taken."""
        return self._admin.committed(self._application, [self._place])[self._place].offset

    def lag(self) -> int:
        """Return how many events wait."""
        return self._admin.ends([self._place])[self._place] - self.read()


def memory(address: str, broker: Broker | None, count: int, client: str = "kafka-python") -> None:
    """Print the memory of `streamnb run` while it is fed faster than it reads, and its broker stands still once."""
    topic, application = make_topic(address), f"bench-{uuid4().hex[:8]}"
    progress = Progress(address, topic, application)
    samples: list[tuple[int, float]] = []
    with (
        outputs(address, topic) as topics,
        command(address, topics, application, "--client", client) as process,
        beside(feed, address, topic, count, 0.0),
    ):
        until(progress.begun, "streamnb run reads")
        frozen = broker is None
        while not samples or samples[-1][0] < count:
            time.sleep(0.5)
            samples.append((progress.read(), usage(process).memory))
            if broker is not None and not frozen and samples[-1][0] > count // 2:
                frozen = True
                broker.freeze()
                time.sleep(FROZEN_SECONDS)
                broker.thaw()
                samples.append((progress.read(), usage(process).memory))
    delete(address, topic)
    print(
        f"memory of streamnb run, {client}, {count:,} events, the broker frozen for {FROZEN_SECONDS:.0f} s on the way"
    )
    for part in (0.1, 0.25, 0.5, 0.75, 1.0):
        read, megabytes = next(sample for sample in samples if sample[0] >= part * count)
        print(f"  after {read:12,} events{megabytes:10.1f} MB")
    print(f"  at the most {max(megabytes for _, megabytes in samples):24.1f} MB")


@dataclass
class Minute:
    """What was seen in a minute: latencies in milliseconds, events that waited, and what the process used."""

    latencies: list[float] = field(default_factory=list)
    lags: list[int] = field(default_factory=list)
    usage: list[Usage] = field(default_factory=list)

    def row(self, name: str) -> str:
        """Return it as a row of the table."""
        if not self.latencies or not self.lags:
            return f"  {name:>8s}  nothing"
        numbers = [*np.percentile(self.latencies, PERCENTILES), *np.percentile(self.lags, (50, 100))]
        shown = "".join(f"{number:10,.0f}" for number in numbers)
        share = (self.usage[-1].processor - self.usage[0].processor) / max(len(self.usage) - 1, 1)
        return f"  {name:>8s}{len(self.latencies):10,}{shown}{self.usage[-1].memory:10.1f}{100 * share:11.1f}%"


def steady(address: str, minutes: float, rate: float, client: str, seconds: float, *, late: bool) -> None:
    """Print the latency from events to predictions at a steady rate, with one worker, minute by minute.

    Parameters
    ----------
    rate
        Events a second.
    client
        The client library.
    seconds
        The setting commit_seconds.
    late
        Whether labels come on a topic of their own, seconds after their events.
    """
    application, count = f"bench-{uuid4().hex[:8]}", round(60 * minutes * rate)
    topic, labels = make_topic(address), make_topic(address)
    flags = ["--client", client, "--commit-seconds", str(seconds), *([f"--labels=kafka:///{labels}"] if late else [])]
    told = f"labels {LATE_SECONDS:.0f} s late" if late else "labels at once"
    print(
        f"{rate:,.0f} events a second, {told}, {client}, commit_seconds {seconds:g}: latency in ms, lag in events, MB"
    )
    columns = ("minute", "events", "p50", "p99", "max", "lag p50", "lag max", "memory")
    print(f"  {columns[0]:>8s}" + "".join(f"{column:>10s}" for column in columns[1:]) + "   processor")
    progress = Progress(address, topic, application)
    with outputs(address, topic) as topics, command(address, topics, application, *flags) as process:
        until(progress.begun, "streamnb run reads")
        places = (address, topic, labels) if late else (address, topic)
        with beside(feed_late if late else feed, *places, count, rate, *([LATE_SECONDS] if late else [])):
            seen = _watch(address, topics, progress, process, count)
    delete(address, topic, labels)
    settled = seen[1:-1] or seen  # the last minute is not whole
    whole = Minute(*([item for each in settled for item in getattr(each, column.name)] for column in fields(Minute)))
    print(whole.row("settled" if settled is not seen else "all"))


def _watch(
    address: str, topics: Topics, progress: Progress, process: subprocess.Popen[bytes], count: int
) -> list[Minute]:
    """Read predictions until there is one for each event; return what was seen, minute by minute."""
    seen, over = [Minute()], threading.Event()

    def look() -> None:
        while not over.wait(1):
            seen[-1].lags.append(progress.lag())
            seen[-1].usage.append(usage(process))

    looking = threading.Thread(target=look)
    looking.start()
    settings = {"bootstrap.servers": address, "group.id": "bench", "enable.auto.commit": False}
    consumer = Consumer({**settings, "isolation.level": "read_committed", "fetch.wait.max.ms": 20})
    try:
        consumer.assign([TopicPartition(topics.predictions, 0, OFFSET_BEGINNING)])
        begun, read = time.monotonic(), 0
        while read < count:
            message = consumer.poll(1)
            if message is not None and message.error() is None:
                seen[-1].latencies.append(1e3 * time.time() - message.timestamp()[1])
                read += 1
            elif process.poll() is not None:
                break
            if time.monotonic() - begun > 60 * len(seen):
                print(seen[-1].row(str(len(seen))), flush=True)
                seen.append(Minute())
    finally:
        over.set()
        looking.join()
        consumer.close()
    return seen
