"""A worker that kills itself at a named step: `python -m tests.chaos_worker --kill STEP --count N COMMAND...`.

COMMAND is one of streamnb, without the word itself. With `--halt STEP` it stops there, until it is told to continue.
With `--at-least-once` outputs are committed before the offsets that they come from, as by a worker that promises no
more than that.
"""

import argparse
import os
import signal
import sys
from collections.abc import Callable
from typing import Any

from consumers.cli import main
from consumers.kafka import confluent, messages, restoring, worker
from consumers.kafka.confluent.writer import ConfluentWriter
from consumers.kafka.kafka_python import library
from consumers.kafka.kafka_python.writer import KafkaPythonWriter

STEPS = (
    "before send",
    "after send",
    "after offsets",
    "after commit",
    "between chunks of a state",
    "between state and replay",
    "in a replay",
)


def strike_at(step: str, count: int, number: int, writer: Any, producer: Any) -> None:
    """Arrange for the process to send itself a signal when it comes to a step for the count-th time.

    Parameters
    ----------
    number
        The signal.
    writer
        The class of the client's writers.
    producer
        The class that offsets are added to transactions with, and the name of the method that does.
    """
    left = [count]

    def strike(*_: Any) -> None:
        left[0] -= 1
        if left[0] == 0:
            os.kill(os.getpid(), number)

    def strike_sent(self: Any, *_: Any) -> None:
        if left[0] == 1:
            self._producer.flush(10)  # what was sent is in the topic by then, and is never committed
        strike()

    def chunk_sent(self: Any, _: Any, arguments: tuple[Any, ...]) -> None:
        if b"/chunk/" in (arguments[2][0] or b""):
            strike_sent(self)

    def found(_: Any, stored: Any, __: Any) -> None:
        if stored is not None:
            strike()

    def replay(self: Any, begin: Any, runs: Any, take: Callable[[Any], object]) -> None:
        def taken(messages: Any) -> None:
            take(messages)
            strike()

        replayed(self, begin, runs, taken)

    replayed = restoring.Restorer.replay
    arrange: dict[str, Callable[[], object]] = {
        "before send": lambda: _before(writer, "send", strike),
        "after send": lambda: _after(writer, "send", strike_sent),
        "after offsets": lambda: _after_both((messages.Outputs, "send"), producer, strike),  # not of states alone
        "after commit": lambda: _after_both((writer, "commit"), (writer, "settle"), strike),
        "between chunks of a state": lambda: _after(writer, "send", chunk_sent),
        "between state and replay": lambda: _after(restoring.Restorer, "find", found),
        "in a replay": lambda: setattr(restoring.Restorer, "replay", replay),
    }
    arrange[step]()


def commit_at_least_once(writer: Any) -> None:
    """Make writers commit what was sent first, and then, in another transaction, what it came from."""
    commit = writer.commit

    def replacement(self: Any, positions: Any, membership: Any) -> None:
        commit(self, {}, membership)
        self.settle()
        self.begin()
        commit(self, positions, membership)

    writer.commit = replacement


def _before(owner: Any, name: str, do: Callable[..., object]) -> None:
    original = getattr(owner, name)

    def replacement(*arguments: Any, **named: Any) -> Any:
        do()
        return original(*arguments, **named)

    setattr(owner, name, replacement)


def _after(owner: Any, name: str, do: Callable[..., object]) -> None:
    original = getattr(owner, name)

    def replacement(self: Any, *arguments: Any, **named: Any) -> Any:
        result = original(self, *arguments, **named)
        do(self, result, arguments)
        return result

    setattr(owner, name, replacement)


def _after_both(first: tuple[Any, str], then: tuple[Any, str], do: Callable[[], object]) -> None:
    """Do something after the second method of two, if the first has been called since the last time."""
    called: list[None] = []

    def done(*_: Any) -> None:
        if called:
            called.clear()
            do()

    _after(*first, lambda *_: called.append(None))
    _after(*then, done)


def client_classes(client: str) -> tuple[Any, Any]:
    """Return the class of a client's writers, and what adds offsets to a transaction: a class and its method."""
    if client == "kafka-python":
        return KafkaPythonWriter, (library.Producer, "add_offsets")

    class Producer(confluent.Producer):
        """One whose methods can be replaced: the library's own is written in C."""

    confluent.Producer = Producer
    return ConfluentWriter, (Producer, "send_offsets_to_transaction")


def run() -> None:
    """Run the command, with what is to go wrong in it."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--kill", choices=STEPS)
    parser.add_argument("--halt", choices=STEPS)
    parser.add_argument("--count", type=int, default=1)
    parser.add_argument("--at-least-once", action="store_true")
    parser.add_argument("--look", type=float, default=worker.LOOK_SECONDS, help="seconds between looks around")
    parser.add_argument("--client", default="kafka-python")
    parser.add_argument("command", nargs=argparse.REMAINDER)
    options = parser.parse_args()
    worker.LOOK_SECONDS = options.look
    writer, producer = client_classes(options.client)
    if options.at_least_once:
        commit_at_least_once(writer)
    for step, number in ((options.kill, signal.SIGKILL), (options.halt, signal.SIGSTOP)):
        if step:
            strike_at(step, options.count, number, writer, producer)
    sys.argv = ["streamnb", *options.command]
    main()


if __name__ == "__main__":
    run()
