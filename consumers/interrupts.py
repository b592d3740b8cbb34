"""SIGINT and SIGTERM, kept from cutting a batch in two.

Law: a signal is heeded between two batches, of which there is one now and then also while nothing comes; a second one
at once, for which nothing is saved, and what was saved before holds.
"""

import signal
from collections.abc import Callable
from types import FrameType
from typing import Self

from consumers.errors import InterruptedRunError

_NAP_SECONDS = 0.1


class Interrupts:
    """While it is entered, takes the first SIGINT and SIGTERM and keeps them until they are asked for."""

    def __init__(self) -> None:
        self._pending: int | None = None

    def __enter__(self) -> Self:
        self._before = {number: signal.signal(number, self._take) for number in (signal.SIGINT, signal.SIGTERM)}
        return self

    def __exit__(self, *_: object) -> None:
        for number, handler in self._before.items():
            signal.signal(number, handler)

    def check(self) -> None:
        """Raise InterruptedRunError if a signal has come."""
        if self._pending is not None:
            raise InterruptedRunError(self._pending, signal.Signals(self._pending).name)

    def pause(self, seconds: float, sleep: Callable[[float], object]) -> None:
        """Sleep for so many seconds, in naps, and raise InterruptedRunError once a signal has come."""
        self.check()
        while seconds > 0.0:
            sleep(min(seconds, _NAP_SECONDS))
            seconds -= _NAP_SECONDS
            self.check()

    def _take(self, number: int, _: FrameType | None) -> None:
        self._pending = number
        signal.signal(number, self._before[signal.Signals(number)])
