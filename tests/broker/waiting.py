"""Waiting for a condition, never for a time.

Law: the limit is generous, since only a failure ever takes as long.
"""

import time
from collections.abc import Callable
from typing import TypeVar

T = TypeVar("T")


def until(condition: Callable[[], T], what: str, seconds: float = 60) -> T:
    """Return the first true answer of a condition.

    Parameters
    ----------
    condition
        Asked again and again, some 50 times a second at most.
    what
        What is waited for, as the error is to name it.
    seconds
        How long at most.

    Raises
    ------
    TimeoutError
        When the condition has not become true.
    """
    end = time.monotonic() + seconds
    while not (answer := condition()):
        if time.monotonic() > end:
            raise TimeoutError(f"{what}: not within {seconds} s")
        time.sleep(0.02)
    return answer
