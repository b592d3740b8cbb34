"""SIGINT and SIGTERM, kept from cutting a batch in two.

Law: a signal is heeded between two batches, or while waiting for one; never in the middle.
"""

import signal
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Self

from consumers.errors import InterruptedRunError


class Interrupts:
    """While it is entered, takes SIGINT and SIGTERM and raises them where they are allowed."""

    def __init__(self) -> None:
        self._pending: int | None = None
        self._allowed = False

    def __enter__(self) -> Self:
        self._before = {number: signal.signal(number, self._take) for number in (signal.SIGINT, signal.SIGTERM)}
        return self

    def __exit__(self, *_: object) -> None:
        for number, handler in self._before.items():
            signal.signal(number, handler)

    @contextmanager
    def allowed(self) -> Iterator[None]:
        """Raise InterruptedRunError here for a signal that has come or comes."""
        self._allowed = True
        try:
            if self._pending is not None:
                raise _interrupted(self._pending)
            yield
        finally:
            self._allowed = False

    def _take(self, number: int, _: FrameType | None) -> None:
        self._pending = number
        if self._allowed:
            self._allowed = False
            raise _interrupted(number)


def _interrupted(number: int) -> InterruptedRunError:
    return InterruptedRunError(number, signal.Signals(number).name)
