"""Faults without end, and nothing lost or done twice: `python -m tests.chaos`.

A broker of its own; workers that learn from it and answer; while events come, workers are killed at random and at every
step that counts, and the broker is stopped, killed and frozen. Then each state, each prediction and each dead letter is
compared with those of shards that never met a fault. It prints what was done and what differs; exit status 1 if
anything does. With `--control` the workers promise no more than at least once, and the comparison has to notice.
"""

import argparse
import random
import signal
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Self

from tests.application import LIMIT, Application, Difference, Worker, events
from tests.broker import Broker, jars, until
from tests.chaos_worker import STEPS

COUNTS = {"between chunks of a state": (2, 6), "between state and replay": (1, 2), "in a replay": (1, 3)}
FORGOTTEN = "these partitions are likely deleted already and hence can be skipped"  # what the broker says of marks
AHEAD = 1_000  # events that are written and not read, at most
PORTION = 250  # events that are written at once
PASSED = (
    1_000  # events that are read without a worker's coming to the step at which it is to die, which then tries again
)


@dataclass(frozen=True)
class Plan:
    """What is to be done: how many of everything, and what is drawn from the seed."""

    events: int = 100_000
    partitions: int = 4
    workers: int = 2
    kills: int = 25
    steps: tuple[str, ...] = STEPS
    restarts: int = 2
    freezes: int = 1
    freeze_seconds: float = 20.0
    session_seconds: float = 6.0
    snapshot_records: int = 150
    seed: int = 1
    client: str = "kafka-python"
    control: bool = False


@dataclass
class Outcome:
    """What was done, and what differs at the end from a run without faults."""

    done: Counter[str] = field(default_factory=Counter)
    differences: list[Difference] = field(default_factory=list)
    forgotten: int = 0  # marks of transactions that the broker says it has dropped


class Feeder:
    """Writes events in a thread of its own, so far ahead of what is read that workers are never done.

    It writes those of the plan, and more until it is told that these are enough.
    """

    def __init__(self, plan: Plan, application: Application) -> None:
        self._plan = plan
        self._application = application
        self._wanted = plan.events
        self._enough = threading.Event()
        self._error: Exception | None = None
        self._thread = threading.Thread(target=self._feed, name="feeder")

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._wanted = 0
        self._enough.set()
        self._thread.join()

    def finish(self) -> None:
        """Return when all of the plan is written; raises what went wrong."""
        self._enough.set()
        self._thread.join()
        self.check()

    def check(self) -> None:
        """Raise what went wrong."""
        if self._error is not None:
            raise self._error

    def _feed(self) -> None:
        written, plan = 0, self._plan
        try:
            while written < self._wanted or not self._enough.is_set():
                if written - self._application.total_read() < AHEAD:
                    self._application.write(list(events(PORTION, plan.partitions, plan.seed, first=written)))
                    written += PORTION
                time.sleep(0.02)
        except Exception as error:  # noqa: BLE001 - raised where it is asked whether all is written
            self._error = error


class Chaos:
    """Workers, a broker, and what befalls them.

    Parameters
    ----------
    plan
        What is to be done.
    broker
        One of its own.
    application
        Whose workers these are.
    """

    def __init__(self, plan: Plan, broker: Broker, application: Application) -> None:
        self._plan = plan
        self._broker = broker
        self._application = application
        self._feeder = Feeder(plan, application)
        self._random = random.Random(plan.seed)
        self._names = [f"w{number}" for number in range(1, plan.workers + 1)]
        self._workers: dict[str, Worker] = {}
        self.done: Counter[str] = Counter()

    def run(self) -> None:
        """Let everything happen, in an order drawn, at places drawn, and everything be read."""
        plan = self._plan
        faults: list[Callable[[], None]] = [
            *[self._kill] * plan.kills,
            *(partial(self._die, step) for step in plan.steps),
            *([self._crash, self._restart] * plan.restarts)[: plan.restarts],
            *[self._freeze] * plan.freezes,
        ]
        self._random.shuffle(faults)
        for name in self._names:
            self._start(name)
        share = plan.events / (len(faults) + 1)
        with self._feeder:
            for number, fault in enumerate(faults):
                wanted = int((number + self._random.uniform(0.5, 1.0)) * share)
                self._until(lambda wanted=wanted: self._application.total_read() >= wanted, f"{wanted} events are read")
                fault()
                self._until_all_move()
            self._feeder.finish()
        self._application.until_read()
        self._stop()

    def _stop(self) -> None:
        for name, worker in self._workers.items():
            worker.until_said("shard")
            if (status := worker.stop()) != 128 + signal.SIGTERM:
                raise AssertionError(f"{name} ended with {status}:\n{worker.said[-3000:]}")

    def _start(self, name: str, *faults: str) -> Worker:
        """Start a worker, once more where there was one."""
        control = ["--at-least-once"] if self._plan.control else []
        faults = ("--client", self._plan.client, *control, *faults)
        self._workers[name] = self._application.worker(name, "--client", self._plan.client, faults=faults)
        return self._workers[name]

    def _until(self, condition: Callable[[], bool], what: str) -> None:
        """Wait for a condition; fails with the ends of the logs, also when a worker has ended by itself."""

        def holds() -> bool:
            for name, worker in self._workers.items():
                if worker.process.poll() not in {None, -signal.SIGKILL}:
                    raise AssertionError(f"{name} ended by itself:\n{worker.said[-3000:]}")
            self._feeder.check()
            return condition()

        try:
            until(holds, what, LIMIT)
        except TimeoutError as error:
            raise AssertionError(f"{error}:\n{self._application.ends_of_logs()}") from None

    def _until_all_move(self) -> None:
        """Wait until something more of each partition is read: no worker is stuck."""
        before = self._application.committed()
        while not before:
            before = self._application.committed()

        def moved() -> bool:
            held = self._application.committed()
            return bool(held) and all(held[place] > before[place] for place in before)

        self._until(moved, f"each partition is read beyond {before}")

    def _kill(self) -> None:
        """Kill a worker; sometimes leave its partitions to the others before it comes back."""
        name = self._random.choice(self._names)
        self._workers[name].kill()
        self.done["killed at random"] += 1
        if self._random.random() < 0.2 and len(self._names) > 1:
            self._until_all_move()
            self.done["of these, others took over"] += 1
        self._start(name)

    def _die(self, step: str) -> None:
        """Let a worker kill itself at a step."""
        for _ in range(10):
            name = self._random.choice(self._names)
            self._workers[name].kill()
            count = self._random.randint(*COUNTS.get(step, (1, 5)))
            worker = self._start(name, "--kill", step, "--count", str(count))
            self._until(partial(_ended_or, worker, lambda worker=worker: "shard" in worker.said), f"{name} begins")
            wanted = self._application.total_read() + PASSED
            self._until(
                partial(_ended_or, worker, lambda wanted=wanted: self._application.total_read() >= wanted),
                f"{name} comes to the step {step}",
            )
            died = worker.process.poll() == -signal.SIGKILL
            worker.kill()
            self._start(name)
            if died:
                self.done[f"killed {step}"] += 1
                return
        raise AssertionError(f"no worker came to the step {step}:\n{self._application.ends_of_logs()}")

    def _restart(self) -> None:
        """Stop the broker as an operator would, and start it again."""
        self._broker.stop()
        self._broker.start()
        self.done["broker stopped"] += 1

    def _crash(self) -> None:
        """Kill the broker, and start it again."""
        self._broker.kill()
        self._broker.start()
        self.done["broker killed"] += 1

    def _freeze(self) -> None:
        """Freeze the broker for a while."""
        self._broker.freeze()
        time.sleep(self._plan.freeze_seconds)  # what befalls them is the time itself
        self._broker.thaw()
        self.done["broker frozen"] += 1


def _ended_or(worker: Worker, condition: Callable[[], bool]) -> bool:
    return worker.process.poll() is not None or condition()


def wreak(plan: Plan, folder: Path) -> Outcome:
    """Let everything of a plan happen in a folder; return what was done, and what differs."""
    with Broker(jars.fetch(), folder / "broker") as broker:
        kafka = {"connect_seconds": 60.0, "session_seconds": plan.session_seconds}
        with Application(
            broker.address, folder, plan.partitions, kafka, snapshot_records=plan.snapshot_records
        ) as application:
            chaos = Chaos(plan, broker, application)
            chaos.run()
            outcome = Outcome(chaos.done, application.differences(to_the_end=True))
            logs = [log.read_text(errors="replace") for log in folder.glob("w*.log")]
            for text in ("restored from state", "a transaction was lost"):
                outcome.done[f"workers said: {text}"] = sum(log.count(text) for log in logs)
            outcome.done["events written"] = sum(application.fed.values())
            outcome.forgotten = broker.log.read_text(errors="replace").count(FORGOTTEN)
            return outcome


def main() -> None:
    """Run a plan, and tell what came of it."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    for name in ("events", "partitions", "workers", "kills", "restarts", "freezes", "seed"):
        parser.add_argument(f"--{name}", type=int, default=getattr(Plan, name))
    for name in ("freeze_seconds", "session_seconds"):
        parser.add_argument(f"--{name.replace('_', '-')}", type=float, default=getattr(Plan, name))
    parser.add_argument("--client", default=Plan.client, choices=["kafka-python", "confluent"])
    parser.add_argument("--control", action="store_true", help="promise no more than at least once")
    parser.add_argument("--folder", help="keep the broker's data and the logs here")
    options = vars(parser.parse_args())
    folder, plan = options.pop("folder"), Plan(**options)
    begun = time.monotonic()
    with tempfile.TemporaryDirectory() as temporary:
        place = Path(folder or temporary)
        place.mkdir(parents=True, exist_ok=True)
        outcome = wreak(plan, place)
    for what, count in sorted(outcome.done.items()):
        print(f"{what:45} {count:8,}")
    print(f"{'seconds':45} {time.monotonic() - begun:8,.0f}")
    if outcome.forgotten:
        print(f"the broker dropped {outcome.forgotten} marks of transactions: what differs may be its own doing")
    for difference in outcome.differences[:50]:
        print(f"{difference.where}: {difference.what}")
    print(f"{len(outcome.differences)} differences" if outcome.differences else "OK")
    sys.exit(bool(outcome.differences))


if __name__ == "__main__":
    main()
