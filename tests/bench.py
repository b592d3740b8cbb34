"""The benchmark: streamnb beside its peers, in one run, as ratios of medians.

    python -m tests.bench                      # on the stream that river ships
    python -m tests.bench --csv elec.csv.gz    # on a file whose last column is the label
    python -m tests.bench kafka                # on topics of a broker of its own, or of the one STREAMNB_KAFKA names
    python -m tests.bench kafka-steady         # at a steady rate, for --minutes
    python -m tests.bench kafka-latency        # the same for a minute each, by client and commit_seconds

Each figure is the median of several rounds, in each of which the peers take turns.
"""

import argparse
import csv
import gc
import gzip
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import orjson
from river import datasets
from river.naive_bayes import GaussianNB

from streamnb import AdaptiveBayes, NaiveBayes
from tests import bench_kafka
from tests.compare import FOREST, logistic_regression

Stream = tuple[list[dict[str, Any]], list[Any]]

BATCH = 8_192
SLICE = 5_000  # events that the slow ones are timed on
FEW = 3_000  # events that the slowest is timed on
EVENTS = 200_000  # at the least, for the whole process: start-up is taken off, and should be a small part


def whole_stream(path: str | None) -> Stream:
    """Return the events and labels of a CSV file, or of the stream that river ships; a category is text."""
    if path is None:
        events, labels = zip(*datasets.Shuttle(), strict=True)
        return list(events), list(labels)
    data = Path(path).read_bytes()
    text = (gzip.decompress(data) if path.endswith(".gz") else data).decode()
    header, *rows = csv.reader(text.splitlines())
    columns = [_column([row[place] for row in rows]) for place in range(len(header) - 1)]
    return [dict(zip(header, row, strict=False)) for row in zip(*columns, strict=True)], [row[-1] for row in rows]


def numeric_stream(stream: Stream) -> Stream:
    """Return the events of a stream without their categories."""
    events, labels = stream
    numeric = [name for name, value in events[0].items() if not isinstance(value, str)]
    return [{name: event[name] for name in numeric} for event in events], labels


def _column(cells: list[str]) -> list[Any]:
    """Return a column as numbers or, where it is a category, as it is: a few whole numbers are codes, such as days."""
    numeric = all(map(_is_number, cells)) and len(set(cells)) > 10
    return list(map(float, cells)) if numeric else cells


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


def seconds(work: Callable[[], object]) -> float:
    """Return the seconds of processor time that some work takes."""
    start = time.process_time()
    work()
    return time.process_time() - start


def medians(rounds: int, *works: Callable[[], object]) -> list[float]:
    """Return the median seconds of each of some works, which take turns."""
    taken = [[seconds(work) for work in works] for _ in range(rounds)]
    return [statistics.median(column) for column in zip(*taken, strict=True)]


def one_by_one(make: Callable[[], Any], stream: Stream, size: int = SLICE) -> Callable[[], None]:
    """Return the work of predicting and learning the first events of a stream one at a time."""

    def work() -> None:
        model = make()
        for event, label in zip(stream[0][:size], stream[1][:size], strict=True):
            model.predict_proba_one(event)
            model.learn_one(event, label)

    return work


def in_one_call(make: Callable[[], Any], stream: Stream, size: int = SLICE) -> Callable[[], None]:
    """Return the work of predicting and learning the first events of a stream one at a time, in one call for each."""

    def work() -> None:
        model = make()
        for event, label in zip(stream[0][:size], stream[1][:size], strict=True):
            model.test_then_train_one(event, label)

    return work


def in_batches(make: Callable[[], Any], events: Any, labels: Any) -> Callable[[], None]:
    """Return the work of predicting and learning events batch by batch."""

    def work() -> None:
        model = make()
        for start in range(0, len(labels), BATCH):
            model.test_then_train(events[start : start + BATCH], labels[start : start + BATCH])

    return work


def as_arrays(stream: Stream) -> tuple[Any, Any]:
    """Return a stream of numbers as an array [event, feature] and one of labels."""
    events, labels = stream
    return np.array([list(event.values()) for event in events]), np.unique(labels, return_inverse=True)[1]


def say_stream(stream: Stream) -> None:
    """Print what a stream is."""
    kinds = [isinstance(value, str) for value in stream[0][0].values()]
    features = f"{kinds.count(False)} numeric and {kinds.count(True)} categorical features"
    print(f"test-then-train, {features}, {len(set(stream[1]))} classes")


def test_then_train(stream: Stream, rounds: int) -> None:
    """Print events a second, test-then-train, as multiples of river's GaussianNB."""
    size = len(stream[0])
    works = [
        one_by_one(GaussianNB, stream),
        one_by_one(NaiveBayes, stream),
        in_batches(NaiveBayes, *stream),
        in_batches(NaiveBayes, *as_arrays(stream)),
    ]
    works[1]()  # compiles
    taken = medians(rounds, *works)
    per_event = [seconds / events for seconds, events in zip(taken, (SLICE, SLICE, size, size), strict=True)]
    say_stream(stream)
    names = ["river GaussianNB", "streamnb, one event at a time", "streamnb, dicts in batches", "streamnb, arrays"]
    for name, each in zip(names, per_event, strict=True):
        print(f"  {name:32s}{each * 1e6:9.2f} µs an event   x {per_event[0] / each:6.1f}")


def adaptive(stream: Stream, rounds: int) -> None:
    """Print events a second of `AdaptiveBayes`, test-then-train, beside river's best known and `NaiveBayes`."""
    classes, size = len(set(stream[1])), len(stream[0])
    stream = stream[0], np.unique(stream[1], return_inverse=True)[1].tolist()  # river's takes no text for a label
    works: dict[str, tuple[Callable[[], None], int]] = {
        "river logistic regression": (one_by_one(lambda: logistic_regression(classes), stream), SLICE)
    }
    for name, make in FOREST.items():
        works[f"river {name}"] = one_by_one(lambda make=make: make(classes), stream, FEW), FEW
    ways = {"one event at a time": SLICE, "in one call": SLICE, "dicts in batches": size}
    if not any(isinstance(value, str) for value in stream[0][0].values()):
        ways["arrays"] = size
    for model in (NaiveBayes, AdaptiveBayes):
        singly = one_by_one(model, stream), in_one_call(model, stream)
        each = *singly, in_batches(model, *stream), in_batches(model, *as_arrays(stream))
        works |= {f"{model.__name__}, {way}": (work, ways[way]) for way, work in zip(ways, each, strict=False)}
        each[0]()  # compiles
    gc.freeze()  # what was made is not the peers' to collect
    taken = medians(rounds, *(work for work, _ in works.values()))
    per_event = {name: seconds / events for (name, (_, events)), seconds in zip(works.items(), taken, strict=True)}
    regression, trees = list(per_event.values())[:2]
    say_stream(stream)
    print(
        f"  {'':38s}{'µs an event':>12s}{'events a second':>18s}{'x regression':>14s}{'x ARF':>8s}{'x NaiveBayes':>14s}"
    )
    for name, each in per_event.items():
        plain = per_event.get(name.replace("AdaptiveBayes", "NaiveBayes")) if name.startswith("Adaptive") else None
        cost = f"{each / plain:14.2f}" if plain else ""
        print(f"  {name:38s}{each * 1e6:12.2f}{1 / each:18,.0f}{regression / each:14.2f}{trees / each:8.1f}{cost}")


PARTS = ("learner", "adaptive", "lines", "algebra", "growth", "start")
MODELS = ("naive", "adaptive")

BARE_LOOP = """
import sys, orjson
prediction = orjson.loads(sys.argv[3])
with open(sys.argv[1], "rb") as lines, open(sys.argv[2], "wb") as output:
    for line in lines:
        orjson.loads(line)
        output.write(orjson.dumps(prediction) + b"\\n")
"""


def json_lines(stream: Stream, rounds: int) -> None:
    """Print the processor time of `streamnb run`, by model, as a multiple of a loop that only reads and writes."""
    events, labels = stream
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        lines = [
            orjson.dumps({"id": place, **event, "label": label}) + b"\n"
            for place, (event, label) in enumerate(zip(events, labels, strict=True))
        ] * (1 + EVENTS // len(events))
        (folder / "events.jsonl").write_bytes(b"".join(lines))
        (folder / "few.jsonl").write_bytes(b"".join(lines[:10]))  # enough to load all that a run needs

        def run(events: str, model: str) -> None:
            for old in (folder / "predictions.jsonl", folder / "dead-letters.jsonl"):
                old.unlink(missing_ok=True)
            for old in (folder / "snapshots").glob("*"):
                old.unlink()
            command = [sys.executable, "-m", "consumers.cli", "run", events, "--model", model]
            subprocess.run(command, cwd=folder, check=True, capture_output=True)

        def bare(events: str, prediction: bytes) -> None:
            subprocess.run([sys.executable, "-c", BARE_LOOP, events, "bare.jsonl", prediction], cwd=folder, check=True)

        for model in MODELS:
            run("events.jsonl", model)  # compiles
        prediction = (folder / "predictions.jsonl").read_bytes().splitlines()[-1]
        works = {
            "bare orjson loop": lambda events: bare(events, prediction),
            **{f"streamnb run, {model}": partial(run, model=model) for model in MODELS},
        }
        taken = [
            [child_seconds(partial(work, name)) for work in works.values() for name in ("events.jsonl", "few.jsonl")]
            for _ in range(rounds)
        ]
    print(f"JSON Lines to JSON Lines, {len(lines):,} events, processor time less start-up")
    columns = list(zip(*taken, strict=True))
    each = [
        statistics.median(whole - start for whole, start in zip(*columns[place : place + 2], strict=True))
        / (len(lines) - 10)
        for place in range(0, len(columns), 2)
    ]
    for name, cost, start in zip(works, each, columns[1::2], strict=True):
        multiple = f"{cost * 1e6:9.2f} µs an event   x {cost / each[0]:6.2f}"
        print(f"  {name:32s}{multiple}   start-up {statistics.median(start):.2f} s")


def child_seconds(work: Callable[[], None]) -> float:
    """Return the processor time that the processes take that some work starts and waits for."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    work()
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def growth(rounds: int) -> None:
    """Print what it costs to learn and to predict an event, by features and classes."""
    print("growth, µs an event in batches of arrays: learn, predict, predict by feature and class (ns)")
    generator = np.random.default_rng(1)
    for features in (10, 100, 1_000):
        for classes in (2, 10, 100):
            size = max(200_000 // features, 500)
            values = generator.normal(size=(size, features))
            labels = generator.integers(classes, size=size)
            model = NaiveBayes()
            model.learn_many(values, labels)
            learn, predict = medians(
                rounds,
                lambda model=model, values=values, labels=labels: model.learn_many(values, labels),
                lambda model=model, values=values: model._predict_many(values),
            )
            each = predict / size / features / classes * 1e9
            print(
                f"  {features:5,} features {classes:4} classes  {learn / size * 1e6:8.2f} {predict / size * 1e6:10.2f}"
                f" {each:8.2f}"
            )


def algebra(stream: Stream, rounds: int) -> None:
    """Print what weights, forgetting and explaining cost beside learning and predicting, and what merging takes."""
    events, labels = (column[:SLICE] for column in stream)

    def learn(weight: float, half_life: float | None) -> Callable[[], None]:
        def work() -> None:
            model = NaiveBayes(half_life=half_life)
            for event, label in zip(events, labels, strict=True):
                model.learn_one(event, label, weight)

        return work

    model = NaiveBayes()
    model.learn_many(list(events), labels)
    columns = 1_000_000
    one, other = NaiveBayes(), NaiveBayes()
    for part, models in enumerate((one, other)):
        words = [{"word": f"{part if place % 2 else ''}{place}"} for place in range(columns)]
        models.learn_many(words, np.arange(columns) % 2)
    works = [
        learn(1.0, None),
        learn(2.0, None),
        learn(1.0, 1_000.0),
        lambda: [model.predict_proba_one(event) for event in events],
        lambda: [model.explain_one(event) for event in events],
        lambda: one + other,
    ]
    for work in works[2:5]:
        work()  # compiles
    gc.freeze()  # what was made is not the peers' to collect
    plain, weighted, forgetting, predicted, explained, merged = medians(rounds, *works)
    print(f"one event at a time, {len(events[0])} numeric features, {len(set(labels))} classes")
    for name, taken, base in (
        ("learn", plain, plain),
        ("learn with a weight", weighted, plain),
        ("learn and forget", forgetting, plain),
        ("predict", predicted, predicted),
        ("explain", explained, predicted),
    ):
        print(f"  {name:32s}{taken / len(events) * 1e6:9.2f} µs an event   x {taken / base:6.2f}")
    print(f"merge of two models of {columns:,} columns each: {merged:.2f} s")


def start_up(rounds: int) -> None:
    """Print what it takes to start."""
    first = "from streamnb import NaiveBayes as N; m = N(); m.learn_one({'a': 1.0}, 1); m.predict_proba_one({'a': 1.0})"
    commands: Sequence[tuple[str, list[str]]] = [
        ("streamnb --help", [sys.executable, "-m", "consumers.cli", "--help"]),
        ("python to the first prediction", [sys.executable, "-c", first]),
    ]
    print("start-up, processor time")
    for name, command in commands:

        def work(command: list[str] = command) -> None:
            subprocess.run(command, check=True, capture_output=True)

        work()
        print(f"  {name:32s}{statistics.median(child_seconds(work) for _ in range(rounds)):9.2f} s")


def main() -> None:
    """Run the parts that are asked for."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--csv", help="a file whose last column is the label")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--minutes", type=float, default=10.0, help="how long kafka-steady takes")
    parser.add_argument("parts", nargs="*", default=PARTS)
    arguments = parser.parse_args()
    for part, work in {
        "kafka": lambda: bench_kafka.full(arguments.rounds),
        "kafka-steady": lambda: bench_kafka.at_rest(arguments.minutes),
        "kafka-latency": bench_kafka.by_commits,
    }.items():
        if part in arguments.parts:
            work()
    if set(PARTS) & set(arguments.parts):
        on_a_stream(arguments.csv, arguments.parts, arguments.rounds)


def on_a_stream(path: str | None, parts: Sequence[str], rounds: int) -> None:
    """Run the parts that are about a stream, and not about Kafka."""
    whole = whole_stream(path)
    stream = numeric_stream(whole)
    gc.freeze()  # the stream is not the peers' to collect
    if "learner" in parts:
        test_then_train(stream, rounds)
    if "adaptive" in parts:
        for some in [whole] if whole == stream else [whole, stream]:
            adaptive(some, rounds)
    if "lines" in parts:
        json_lines(stream, rounds)
    if "algebra" in parts:
        algebra(stream, rounds)
    if "growth" in parts:
        growth(rounds)
    if "start" in parts:
        start_up(rounds)


if __name__ == "__main__":
    main()
