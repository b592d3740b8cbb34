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
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

from tests.application import LIMIT, Application, Difference, Worker, events
from tests.broker import Broker, jars, until
from tests.chaos_worker import STEPS

COUNTS = {"between chunks of a state": (2, 6), "between state and replay": (1, 2), "in a replay": (1, 3)}
MORE = 400  # events, where a worker has not come to the step at which it is to die


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
    seed: int = 1
    client: str = "kafka-python"
    control: bool = False


@dataclass
class Outcome:
    """What was done, and what differs at the end from a run without faults."""

    done: Counter[str] = field(default_factory=Counter)
    differences: list[Difference] = field(default_factory=list)


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
        self._random = random.Random(plan.seed)
        self._names = [f"w{number}" for number in range(1, plan.workers + 1)]
        self._workers: dict[str, Worker] = {}
        self._written = 0
        self.done: Counter[str] = Counter()

    def run(self) -> None:
        """Let everything happen, in an order drawn, and everything be read."""
        plan = self._plan
        faults: list[Callable[[], None]] = [
            *[self._kill] * plan.kills,
            *(partial(self._die, step) for step in plan.steps),
            *([self._crash, self._restart] * plan.restarts)[: plan.restarts],
            *[self._freeze] * plan.freezes,
        ]
        self._random.shuffle(faults)
        portion = plan.events // (len(faults) + 1)
        for name in self._names:
            self._start(name)
        for fault in faults:
            before = dict(self._application.fed)
            self._write(portion)
            fault()
            self._application.until_read(before)  # no worker is stuck, and none ever has nothing to do
        self._write(plan.events - self._written)
        self._application.until_read()
        for name, worker in self._workers.items():
            worker.until_said("shard")
            if (status := worker.stop()) != 128 + signal.SIGTERM:
                raise AssertionError(f"{name} ended with {status}:\n{worker.said[-3000:]}")

    def _write(self, count: int) -> None:
        """Write so many more events."""
        if count > 0:
            some = list(events(count, self._plan.partitions, self._plan.seed, first=self._written))
            self._written += count
            self._application.write(some)

    def _start(self, name: str, *faults: str) -> Worker:
        """Start a worker, once more where there was one."""
        control = ["--at-least-once"] if self._plan.control else []
        faults = ("--client", self._plan.client, *control, *faults)
        self._workers[name] = self._application.worker(name, "--client", self._plan.client, faults=faults)
        return self._workers[name]

    def _in_the_midst(self) -> str:
        """Return the name of a worker, when some of what was written last is read."""
        name, share = self._random.choice(self._names), self._random.random()
        fed, read = sum(self._application.fed.values()), sum(self._application.committed().values())
        wanted = read + int(share * (fed - read))
        self._check_alive()
        try:
            until(lambda: sum(self._application.committed().values()) >= wanted, f"{wanted} are read", LIMIT)
        except TimeoutError as error:
            raise AssertionError(f"{error}:\n{self._application.ends_of_logs()}") from None
        return name

    def _kill(self) -> None:
        """Kill a worker; sometimes leave its partitions to the others before it comes back."""
        name = self._in_the_midst()
        self._workers[name].kill()
        self.done["killed at random"] += 1
        if self._random.random() < 0.2 and len(self._names) > 1:
            self._application.until_read()
            self.done["of these, others took over"] += 1
        self._start(name)

    def _die(self, step: str) -> None:
        """Let a worker kill itself at a step."""
        for _ in range(10):
            name = self._in_the_midst()
            self._workers[name].kill()
            count = self._random.randint(*COUNTS.get(step, (1, 8)))
            worker = self._start(name, "--kill", step, "--count", str(count))
            self._write(MORE)
            self._until_dead_or_done(worker)
            died = worker.process.poll() == -signal.SIGKILL
            worker.kill()
            self._start(name)
            if died:
                self.done[f"killed {step}"] += 1
                return
        raise AssertionError(f"no worker came to the step {step}:\n{self._application.ends_of_logs()}")

    def _until_dead_or_done(self, worker: Worker) -> None:
        def is_so() -> bool:
            return worker.process.poll() is not None or self._application.has_read(self._application.fed)

        try:
            until(is_so, f"{worker.log.name} dies, or all is read", LIMIT)
        except TimeoutError as error:
            raise AssertionError(f"{error}:\n{self._application.ends_of_logs()}") from None

    def _restart(self) -> None:
        """Stop the broker as an operator would, and start it again."""
        self._in_the_midst()
        self._broker.stop()
        self._broker.start()
        self.done["broker stopped"] += 1

    def _crash(self) -> None:
        """Kill the broker, and start it again."""
        self._in_the_midst()
        self._broker.kill()
        self._broker.start()
        self.done["broker killed"] += 1

    def _freeze(self) -> None:
        """Freeze the broker for a while."""
        self._in_the_midst()
        self._broker.freeze()
        time.sleep(self._plan.freeze_seconds)  # what befalls them is the time itself
        self._broker.thaw()
        self.done["broker frozen"] += 1

    def _check_alive(self) -> None:
        for name, worker in self._workers.items():
            if worker.process.poll() is not None:
                raise AssertionError(f"{name} ended with {worker.process.poll()}:\n{worker.said[-3000:]}")


def wreak(plan: Plan, folder: Path) -> Outcome:
    """Let everything of a plan happen in a folder; return what was done, and what differs."""
    with Broker(jars.fetch(), folder / "broker") as broker:
        kafka = {"connect_seconds": 60.0, "session_seconds": plan.session_seconds}
        with Application(broker.address, folder, plan.partitions, kafka, snapshot_records=150) as application:
            chaos = Chaos(plan, broker, application)
            chaos.run()
            outcome = Outcome(chaos.done, application.differences(to_the_end=True))
            logs = [log.read_text(errors="replace") for log in folder.glob("w*.log")]
            for text in ("restored from state", "a transaction was lost"):
                outcome.done[f"workers said: {text}"] = sum(log.count(text) for log in logs)
            outcome.done["events written"] = sum(application.fed.values())
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
    for difference in outcome.differences[:50]:
        print(f"{difference.where}: {difference.what}")
    print(f"{len(outcome.differences)} differences" if outcome.differences else "OK")
    sys.exit(bool(outcome.differences))


if __name__ == "__main__":
    main()
