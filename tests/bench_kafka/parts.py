"""What an event takes, wall clock and processor, and of the latter each part of the work.

Law: the parts add up to the processor time of the main thread: a moment is charged to the innermost part it is in.
"""

import time
from collections import defaultdict
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import wraps
from typing import Any, NamedTuple

WARM_UP = 2  # transactions that are left out: processes start, connections are made, kernels are compiled


class Run(NamedTuple):
    """What one event took of a run in its steady state, in seconds; `parts` are of the main thread's processor time."""

    events: int
    wall: float
    processor: float
    parts: dict[str, float]

    @property
    def others(self) -> float:
        """The processor time of the client's own threads."""
        return self.processor - sum(self.parts.values())


@dataclass
class Spent:
    """Processor time of the main thread by the part of the work that it went to, the innermost one that is watched."""

    seconds: dict[str, float] = field(default_factory=lambda: defaultdict(float))
    marks: list[tuple[int, float, float, dict[str, float]]] = field(default_factory=list)
    _stack: list[str] = field(default_factory=lambda: ["rest"])
    _since: float = 0.0

    def turn(self) -> None:
        """Charge what went by to the part that it was spent in."""
        now = time.thread_time()
        self.seconds[self._stack[-1]] += now - self._since
        self._since = now

    def watched(self, part: str, work: Callable[..., Any]) -> Callable[..., Any]:
        """Return the same work, whose time is a part's."""

        @wraps(work)
        def watching(*arguments: Any, **named: Any) -> Any:
            self.turn()
            self._stack.append(part)
            try:
                return work(*arguments, **named)
            finally:
                self.turn()
                self._stack.pop()

        return watching

    def yielding(self, part: str, work: Callable[..., Iterator[Any]]) -> Callable[..., Iterator[Any]]:
        """Return the same generator, whose time is a part's."""

        @wraps(work)
        def watching(*arguments: Any, **named: Any) -> Iterator[Any]:
            step = self.watched(part, work(*arguments, **named).__next__)
            while True:
                try:
                    yield step()
                except StopIteration:
                    return

        return watching

    def mark(self, events: int) -> None:
        """Note where a run is when a transaction is over that held some events."""
        if events:
            self.turn()
            read = self.marks[-1][0] if self.marks else 0
            self.marks.append((read + events, time.perf_counter(), time.process_time(), dict(self.seconds)))

    def run(self) -> Run:
        """Return what an event took from the end of the warm-up to the last transaction."""
        first, last = self.marks[min(WARM_UP, len(self.marks) - 1) - 1], self.marks[-1]
        events = last[0] - first[0]
        parts = {part: (seconds - first[3].get(part, 0.0)) / events for part, seconds in last[3].items()}
        return Run(events, (last[1] - first[1]) / events, (last[2] - first[2]) / events, parts)
