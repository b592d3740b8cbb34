"""An application under test: its topics, its workers as processes of their own, and what they must come to.

Law: what is there is read by another client than the workers', and compared with shards that never met a fault.
"""

import hashlib
import json
import os
import random
import signal
import subprocess
import sys
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, NamedTuple, Self

import orjson
from confluent_kafka import Consumer, KafkaException, TopicPartition
from confluent_kafka.admin import AdminClient, NewPartitions

from consumers.config import Config
from consumers.formats import dead_letter_line, prediction_lines
from consumers.kafka.client import Messages, Place
from consumers.kafka.messages import batch_of
from consumers.models import new_model
from consumers.programs import new_shard
from consumers.records import Position
from consumers.settings import check
from consumers.state import State
from tests.broker import Message, Received, make_topic, read_all, until, write_all

ROOT = Path(__file__).resolve().parents[1]
LIMIT = 120.0  # seconds for anything that a worker is to come to
FIRST_TIME = 1_700_000_000_000
LARGEST = 2_000  # bytes of a record
SETTINGS: dict[str, Any] = {"max_record_bytes": LARGEST, "snapshot_records": 500}
KAFKA: dict[str, Any] = {
    "session_seconds": 6.0,
    "transaction_seconds": 10.0,
    "commit_records": 50,
    "commit_seconds": 0.05,
    "max_message_bytes": 8_192,
}
POISON = (
    b"{oops",
    b"[1]",
    b"",
    b" \n",
    b'{"n": "' + b"x" * LARGEST + b'"}',
    b'{"n": 1, "label": [1]}',
    b"\xff\xfe\x80",
    None,
)


def events(count: int, partitions: int, seed: int, *, poison: float = 0.001, first: int = 0) -> Iterator[Message]:
    """Yield messages of events that have something to learn, with some of every kind that is none among them.

    Parameters
    ----------
    poison
        The share of each kind of those.
    first
        The number of the first event.
    """
    generator = random.Random(f"{seed} {first}")
    kinds = len(POISON)
    for number in range(first, first + count):
        label = generator.choice(["a", "b", "c"] if number > 500 else ["a", "b"])
        event: dict[str, Any] = {
            "id": f"e{number}",
            "n": generator.gauss(ord(label) - 97, 1),
            "k": generator.choice("xyz" + 4 * label),
            "words": generator.sample(["some", "more", "words", label], 2),
            "label": label,
        }
        if number % 7 == 0:
            del event["label"]
        if number % 101 == 0:
            event["n"] = "no number"
        drawn = generator.random()
        value = POISON[int(drawn / poison)] if drawn < kinds * poison else orjson.dumps(event)
        key = f"k{number % 50}".encode()
        yield Message(value, key, generator.randrange(partitions), timestamp=FIRST_TIME + number)


class Worker:
    """A worker in a process of its own; what it says is kept.

    Parameters
    ----------
    log
        Where it is kept.
    command
        The arguments of streamnb.
    faults
        Options of `tests.chaos_worker`.
    """

    def __init__(self, log: Path, command: Sequence[str], faults: Sequence[str] = ()) -> None:
        self.log = log
        self._begin = log.stat().st_size if log.exists() else 0
        with log.open("ab") as file:
            self.process = subprocess.Popen(
                [sys.executable, "-m", "tests.chaos_worker", *faults, *command],
                cwd=ROOT,
                stdout=file,
                stderr=file,
                env={**os.environ, "PYTHONPATH": str(ROOT), "PYTHONUNBUFFERED": "1"},
            )

    @property
    def said(self) -> str:
        """What it has said."""
        with self.log.open("rb") as file:
            file.seek(self._begin)
            return file.read().decode(errors="replace")

    def signal(self, number: int) -> None:
        """Send it a signal."""
        self.process.send_signal(number)

    def ended(self, seconds: float = LIMIT) -> int:
        """Return its exit status, having waited for it."""
        until(lambda: self.process.poll() is not None, f"{self.log.name} ends; it said:\n{self.said[-3000:]}", seconds)
        return int(self.process.returncode)

    def is_halted(self) -> bool:
        """Tell whether it stands still."""
        return os.waitid(os.P_PID, self.process.pid, os.WSTOPPED | os.WNOHANG | os.WNOWAIT) is not None

    def kill(self) -> None:
        """End it as a crash would."""
        self.process.kill()
        self.process.wait()

    def stop(self) -> int:
        """End it as an operator would; return its exit status."""
        self.signal(signal.SIGTERM)
        return self.ended()

    def until_said(self, text: str, seconds: float = LIMIT) -> None:
        """Wait until it has said something."""
        with suppress(TimeoutError):
            until(lambda: text in self.said or self.process.poll() is not None, text, seconds)
        if text not in self.said:
            raise AssertionError(f"{self.log.name} did not say {text!r}; it said:\n{self.said[-3000:]}")


class Difference(NamedTuple):
    """Something that is not as it must be."""

    what: str
    where: str


class Application:
    """Topics of events and of all that comes of them, with workers.

    Parameters
    ----------
    address
        "host:port" of the cluster.
    folder
        For settings and logs.
    partitions
        How many of each topic.
    kafka, settings
        Settings besides those of this module.
    """

    def __init__(
        self, address: str, folder: Path, partitions: int, kafka: dict[str, Any] | None = None, **settings: Any
    ) -> None:
        kept = {"retention_ms": -1}  # events are as old as they say
        self.address = address
        self.partitions = partitions
        self.events = make_topic(address, partitions, **kept)
        self.name = f"app-{self.events}"
        self._folder = folder
        topics = {
            "events": [self.events],
            "predictions": make_topic(address, partitions, **kept),
            "dead_letters": make_topic(address, partitions, **kept),
            "state": make_topic(address, partitions, cleanup_policy="compact"),
        }
        self._values: dict[str, Any] = {
            **SETTINGS,
            **settings,
            "kafka": {**KAFKA, **topics, "brokers": [address], "application": self.name, **(kafka or {})},
        }
        self.fed: Counter[Place] = Counter()
        self.workers: list[Worker] = []
        self._consumers: dict[str, Consumer] = {}

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        for worker in self.workers:
            if worker.process.poll() is None:
                worker.signal(signal.SIGCONT)
                worker.kill()
        for consumer in self._consumers.values():
            consumer.close()

    @property
    def config(self) -> Config:
        """Its settings."""
        return check(
            {**self._values, "kafka": {**self._values["kafka"], "events": tuple(self._values["kafka"]["events"])}}
        )

    def use(self, **kafka: Any) -> None:
        """Change settings of Kafka."""
        self._values["kafka"].update(kafka)

    def write(self, messages: Sequence[Message], topic: str = "") -> None:
        """Write events, each to its partition, to the first topic or another."""
        topic = topic or self.events
        self.fed.update(Place(topic, message.partition) for message in messages)
        write_all(self.address, topic, messages, message_timeout_ms=300_000, enable_idempotence=True)

    def worker(
        self,
        name: str,
        *arguments: str,
        faults: Sequence[str] = (),
        command: Sequence[str] = ("run",),
        log: str = "",
    ) -> Worker:
        """Start a worker of this name, "" for none; its log is called as it is, where it is not given a name."""
        named = ("--worker", name) if name else ()
        worker = Worker(
            self._folder / f"{log or name}.log",
            [*command, "--config", str(self.file()), *named, *arguments],
            faults,
        )
        self.workers.append(worker)
        return worker

    def committed(self, group: str = "") -> dict[Place, int]:
        """Return how far each partition was read, as was committed; nothing while no broker answers.

        Parameters
        ----------
        group
            The consumer group; "" is that of the workers that learn.
        """
        asked = [TopicPartition(*place) for place in self._places()]
        try:
            found = self._consumer(group or self.name).committed(asked, timeout=5)
            return {Place(held.topic, held.partition): max(0, held.offset) for held in found}
        except KafkaException:
            return {}

    def total_read(self) -> int:
        """Return how much of all partitions was read; 0 while no broker answers."""
        return sum(self.committed().values())

    def has_read(self, fed: Mapping[Place, int], group: str = "") -> bool:
        """Tell whether so much of each partition has been read."""
        held = self.committed(group)
        return all(held.get(place, 0) >= count for place, count in fed.items())

    def until_read(self, fed: Mapping[Place, int] | int | None = None, group: str = "") -> None:
        """Wait until what was fed has been read; fails with the ends of the logs.

        Parameters
        ----------
        fed
            How much of each partition, where it is not all; a number is of partition 0.
        group
            The consumer group; "" is that of the workers that learn.
        """
        wanted = {Place(self.events, 0): fed} if isinstance(fed, int) else dict(self.fed if fed is None else fed)
        try:
            until(lambda: self.has_read(wanted, group), f"{wanted} are read", LIMIT)
        except TimeoutError as error:
            raise AssertionError(f"{error}; committed are {self.committed(group)}\n{self.ends_of_logs()}") from None

    def extend(self, partitions: int) -> None:
        """Give the topic of events more partitions."""
        admin = AdminClient({"bootstrap.servers": self.address})
        for future in admin.create_partitions([NewPartitions(self.events, partitions)]).values():
            future.result(60)
        self.partitions = partitions
        until(
            lambda: len(admin.list_topics(self.events, timeout=60).topics[self.events].partitions) == partitions,
            f"{self.events} has {partitions} partitions",
        )

    def _places(self) -> list[Place]:
        topics = [*self._values["kafka"]["events"], *self._values["kafka"].get("labels", ())]
        return [Place(topic, partition) for topic in topics for partition in range(self.partitions)]

    def _consumer(self, group: str) -> Consumer:
        """Return what tells the offsets of a group; it never joins it."""
        if group not in self._consumers:
            settings = {"bootstrap.servers": self.address, "group.id": group, "enable.auto.commit": False}
            self._consumers[group] = Consumer({**settings, "log_level": 0})
        return self._consumers[group]

    def ends_of_logs(self) -> str:
        """Return what each worker said last."""
        logs = sorted({worker.log for worker in self.workers})
        return "\n".join(f"{log.name}:\n{log.read_text(errors='replace')[-2500:]}" for log in logs)

    def differences(self, *, to_the_end: bool) -> list[Difference]:
        """Return all that is not as shards without faults would have made it.

        Parameters
        ----------
        to_the_end
            Whether the newest states must be those at the ends of their partitions.
        """
        kafka = self.config.kafka
        received = by_partition(read_all(self.address, self.events))
        written = {
            "predictions": by_source(read_all(self.address, kafka.predictions)),
            "dead letters": by_source(read_all(self.address, kafka.dead_letters)),
        }
        states = by_partition(read_all(self.address, kafka.state))
        found: list[Difference] = []
        for partition in range(self.partitions):
            oracle = Oracle(self.config, self.events, partition, received[partition])
            whole = whole_states(self.name, states[partition])
            found += _compare_states(oracle, whole, f"partition {partition}", to_the_end=to_the_end)
            oracle.take_to(oracle.end)
            for what, expected in (("predictions", oracle.predictions), ("dead letters", oracle.dead)):
                found += _compare_outputs(what, f"partition {partition}", oracle, expected, written[what][partition])
        return found

    def file(self) -> Path:
        """Return the TOML file of its settings."""
        file = self._folder / f"{self.name}.toml"
        kafka = self._values["kafka"]
        lines = [f"{name} = {json.dumps(value)}" for name, value in self._values.items() if name != "kafka"]
        file.write_text(
            "\n".join([*lines, "[kafka]", *(f"{name} = {json.dumps(value)}" for name, value in kafka.items())])
        )
        return file


class Oracle:
    """One shard, fed with a partition's messages in order and without faults.

    `predictions` and `dead` are what came of each offset so far, as bytes.
    """

    def __init__(self, config: Config, topic: str, partition: int, received: Sequence[Received]) -> None:
        state = State(new_model(config))
        state.positions[topic, partition] = 0
        self._config = config
        self._shard = new_shard(config, state, learn=True, emit=True, alarms=False)
        self._place = Place(topic, partition)
        self._received = received
        self._taken = 0
        self.end = received[-1].offset + 1 if received else 0
        self.by_offset = {message.offset: message for message in received}
        self.predictions: dict[int, bytes] = {}
        self.dead: dict[int, bytes] = {}

    def take_to(self, end: int) -> bytes:
        """Return the bytes of the state by an offset, which may be after marks of transactions; offsets only grow."""
        while self._taken < len(self._received) and self._received[self._taken].offset < end:
            some = [m for m in self._received[self._taken : self._taken + 777] if m.offset < end]
            self._taken += len(some)
            self._take(some)
        self._shard.state.positions[tuple(self._place)] = end
        return self._shard.state.to_bytes(self._config.state_settings(), {})

    def _take(self, some: Sequence[Received]) -> None:
        end = some[-1].offset + 1
        columns = zip(*((m.offset, m.value, m.key, m.timestamp) for m in some), strict=True)
        offsets, values, keys, timestamps = map(list, columns)
        outcome = self._shard.take(batch_of(Messages(self._place, offsets, values, keys, timestamps, [], end), LARGEST))
        lines = prediction_lines(outcome.predictions).splitlines()
        self.predictions.update(zip((p.offset for p in outcome.predictions), lines, strict=True))
        position = Position(*self._place, end)
        self.dead.update({letter.offset: dead_letter_line(position, letter).rstrip() for letter in outcome.dead})


def by_partition(received: Sequence[Received]) -> dict[int, list[Received]]:
    """Return messages by the number of their partition."""
    found: dict[int, list[Received]] = defaultdict(list)
    for message in received:
        found[message.partition].append(message)
    return found


def by_source(received: Sequence[Received]) -> dict[int, list[Received]]:
    """Return outputs by the number of the partition that they tell of."""
    found: dict[int, list[Received]] = defaultdict(list)
    for message in received:
        found[orjson.loads(message.value or b"{}").get("partition", -1)].append(message)
    return found


def whole_states(application: str, received: Sequence[Received]) -> dict[int, bytes]:
    """Return the bytes of every state that messages of one partition hold whole, by number."""
    held: dict[bytes, bytes | None] = {}
    found: dict[int, bytes] = {}
    for message in received:
        key = message.key or b""
        held[key] = message.value
        if key.startswith(f"{application}/manifest/".encode()) and message.value:
            manifest, slot = orjson.loads(message.value), key.rpartition(b"/")[2]
            chunks = [held.get(b"%s/chunk/%s/%d" % (application.encode(), slot, i)) for i in range(manifest["chunks"])]
            data = b"".join((chunk or b"")[8:] for chunk in chunks)
            if hashlib.blake2b(data, digest_size=16).hexdigest() == manifest["digest"]:
                found[manifest["number"]] = data
    return found


def _compare_states(oracle: Oracle, whole: dict[int, bytes], where: str, *, to_the_end: bool) -> Iterator[Difference]:
    """Yield how states differ from those of an oracle at the same positions, and numbers that are not in order."""
    if not whole:
        yield Difference("no state", where)
        return
    position = -1
    for number, data in sorted(whole.items()):
        before, position = position, next(iter(State.from_bytes(data)[0].positions.values()))
        if position < before:
            yield Difference(f"state {number} is of offset {position}, and the one before of {before}", where)
        elif oracle.take_to(position) != data:
            yield Difference(f"state {number}, of offset {position}, has other bytes", where)
    if to_the_end and position < oracle.end:
        yield Difference(f"the last state is of offset {position}, and not of {oracle.end}", where)


def _compare_outputs(
    what: str, where: str, oracle: Oracle, expected: dict[int, bytes], received: Sequence[Received]
) -> Iterator[Difference]:
    """Yield how outputs differ from those that are expected of each offset."""
    seen: Counter[int] = Counter()
    for message in received:
        offset = orjson.loads(message.value or b"{}").get("offset", -1)
        seen[offset] += 1
        event = oracle.by_offset.get(offset)
        if message.value != expected.get(offset):
            yield Difference(f"{what}: that of offset {offset} is {message.value!r}", where)
        elif event is None or (event.key, event.timestamp) != (message.key, message.timestamp):
            yield Difference(f"{what}: that of offset {offset} has another key or time", where)
    if twice := [offset for offset, count in seen.items() if count > 1]:
        yield Difference(f"{what}: {len(twice)} more than once, such as that of offset {twice[0]}", where)
    if missing := sorted(expected.keys() - seen.keys()):
        yield Difference(f"{what}: {len(missing)} missing, such as that of offset {missing[0]}", where)
