"""The benchmark of Kafka: `streamnb run` beside bare loops, what an event costs, and what a state takes.

    python -m tests.bench kafka           # on a broker of its own, or on the one that STREAMNB_KAFKA names

Each figure is the median of several rounds, in which the peers take turns, each in a process of its own.
"""

import statistics
from collections.abc import Callable, Iterator, Sequence
from typing import Any
from uuid import uuid4

import orjson

from consumers.kafka.settings import KafkaSettings
from tests.bench_kafka.bare import bare_confluent, bare_kafka_python
from tests.bench_kafka.long import memory, steady
from tests.bench_kafka.parts import Run
from tests.bench_kafka.runs import StateCosts, product, state_costs
from tests.bench_kafka.topics import alone, events, outputs, running, topic_of

CLIENTS = ("kafka-python", "confluent")
MODELS = ("naive", "adaptive")
BARE: dict[str, Callable[..., Run]] = {"kafka-python": bare_kafka_python, "confluent": bare_confluent}
EVENTS = 300_000
COLUMNS = 1_000_000
TOKENS = 1_000  # of one event
LONG = 2_000_000
RATE = 2_000.0  # events a second
COMMIT_SECONDS = (0.02, 0.05, 0.1)
DEFAULTS = KafkaSettings()


def full(rounds: int, count: int = EVENTS, columns: int = COLUMNS, long: int = LONG) -> None:
    """Print all that is measured on topics that are full; each count is of events, `columns` those of a state."""
    with running() as (address, broker):
        speed(address, rounds, count)
        states(address, rounds, columns)
        memory(address, broker, long)


def at_rest(minutes: float) -> None:
    """Print how a worker keeps up with a steady rate, on its defaults, with labels that come late."""
    with running() as (address, _):
        steady(address, minutes, RATE, DEFAULTS.client, DEFAULTS.commit_seconds, late=True)


def by_commits(minutes: float = 1.0) -> None:
    """Print the latency at the same rate by client and commit_seconds."""
    with running() as (address, _):
        for client in CLIENTS:
            for seconds in COMMIT_SECONDS:
                steady(address, minutes, RATE, client, seconds, late=False)


def speed(
    address: str, rounds: int, count: int, clients: Sequence[str] = CLIENTS, models: Sequence[str] = MODELS
) -> None:
    """Print what an event takes of `streamnb run` and of a bare loop, by client library, and where the time goes."""
    topic = topic_of(address, events(count))
    peers: dict[tuple[str, str], tuple[Callable[..., Run], tuple[Any, ...]]] = {}
    for client in clients:
        peers[client, "bare loop"] = BARE[client], (count,)
        peers |= {(client, f"streamnb run, {model}"): (product, (model, client)) for model in models}
    taken: dict[tuple[str, str], list[Run]] = {peer: [] for peer in peers}
    for _ in range(rounds):
        for peer, (work, arguments) in peers.items():
            with outputs(address, topic) as topics:
                taken[peer].append(alone(work, address, topics, *arguments))
    print(f"one partition, {count:,} events of 200 bytes, exactly once, µs an event without start-up")
    heads = f"{'x bare wall':>13s}{'processor':>11s}{'x ' + clients[0] + ' wall':>20s}{'processor':>11s}"
    print(f"  {'':38s}{'wall':>8s}{'processor':>11s}{heads}")
    for (client, name), runs in taken.items():
        wall, processor = _median(runs, "wall"), _median(runs, "processor")
        bare, slow = taken[client, "bare loop"], taken[clients[0], name]
        ratios = [_ratio(peers, runs, what) for peers in (bare, slow) for what in ("wall", "processor")]
        print(
            f"  {client + ', ' + name:38s}{wall * 1e6:8.2f}{processor * 1e6:11.2f}"
            f"{ratios[0]:13.2f}{ratios[1]:11.2f}{ratios[2]:20.2f}{ratios[3]:11.2f}"
        )
    _breakdown(taken)


def _breakdown(taken: dict[tuple[str, str], list[Run]]) -> None:
    """Print the processor time of an event by the parts of the work, in µs."""
    print("processor time of an event by parts, µs")
    parts = dict.fromkeys(part for runs in taken.values() for part in runs[0].parts if part != "rest")
    print(f"  {'':20s}" + "".join(f"{client + ', ' + name.split()[-1]:>24s}" for client, name in taken))
    rows: dict[str, Callable[[Run], float]] = {
        part: lambda run, part=part: run.parts.get(part, 0.0) for part in [*sorted(parts), "rest"]
    }
    for part, cost in {**rows, "client's own threads": lambda run: run.others}.items():
        each = [statistics.median(map(cost, runs)) for runs in taken.values()]
        print(f"  {part:20s}" + "".join(f"{seconds * 1e6:24.2f}" for seconds in each))


def _median(runs: list[Run], what: str) -> float:
    return statistics.median(getattr(run, what) for run in runs)


def _ratio(peers: list[Run], runs: list[Run], what: str) -> float:
    """Return how many times the events a second of a peer a run has, as the median over the rounds."""
    return statistics.median(getattr(peer, what) / getattr(run, what) for peer, run in zip(peers, runs, strict=True))


def states(
    address: str, rounds: int, columns: int, clients: Sequence[str] = CLIENTS, models: Sequence[str] = MODELS
) -> None:
    """Print what it takes to write a large state to its topic, and to restore it."""
    topic = topic_of(address, _wide(columns))
    print(f"a state of {columns:,} columns in its topic")
    for client in clients:
        for model in models:
            costs = [_written_and_restored(address, topic, model, client) for _ in range(rounds)]
            restoring, writing = (
                statistics.median(getattr(cost, what) for cost in costs) for what in ("restoring", "writing")
            )
            print(
                f"  {client + ', ' + model:32s}{costs[0].size / 1e6:8.0f} MB"
                f"   written in {writing:6.2f} s, in which events wait   restored in {restoring:6.2f} s"
            )


def _wide(columns: int) -> Iterator[bytes]:
    """Yield events whose tokens, all of them new, bring so many columns, and of two classes."""
    for number, start in enumerate(range(0, columns, TOKENS)):
        words = [f"word-{word}" for word in range(start, start + TOKENS)]
        yield orjson.dumps({"id": number, "words": words, "label": number % 2})


def _written_and_restored(address: str, topic: str, model: str, client: str) -> StateCosts:
    with outputs(address, topic) as topics:
        arguments = address, topics, model, client, f"bench-{uuid4().hex[:8]}"
        written = alone(state_costs, *arguments)
        return written._replace(restoring=alone(state_costs, *arguments).restoring)
