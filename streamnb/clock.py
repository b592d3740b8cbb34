"""Forward decay: what an event weighs, when events fade by half in every half-life.

Law: an event at time t weighs 2^(t / half-life - landmark), whatever came before it; so the order of events does not
matter, and parts of a stream add up. The landmark is a whole number of half-lives: to move it is to divide all that is
stored by a power of two, which rounds nothing.
"""

import math

import numpy as np
from numpy.typing import NDArray

from streamnb.arrays import AMOUNT, FADED, FARTHEST, LABEL, UNIT_THEN, Floats, compiled

_LANDMARK, _NEWEST, _UNIT = range(3)
LATEST = 1e300
"""Times are less than so many half-lives from 0; from 2^50 on they have no room for fractions of one."""


class Clock:
    """The time of a model that forgets.

    Parameters
    ----------
    half_life
        In the unit of the times of events, or in events.

    References
    ----------
    Cormode, G., Shkapenyuk, V., Srivastava, D. and Xu, B. (2009). Forward decay: a practical time decay model for
    streaming systems. ICDE.

    Examples
    --------
    >>> clock = Clock(half_life=10.0)
    >>> lessons = np.array([[0.0, 0.0, 0.0], [1.0, 1.0, 1.0], [1.0, 1.0, 1.0]])  # labels, weights, units
    >>> clock.weigh(np.array([0.0, 10.0, 20.0]), 0, lessons)
    3
    >>> lessons[AMOUNT].tolist(), clock.unit
    ([1.0, 2.0, 4.0], 4.0)
    """

    def __init__(self, half_life: float) -> None:
        self.half_life = float(half_life)
        self._state: Floats = np.array((0.0, -np.inf, 1.0))

    @property
    def landmark(self) -> float:
        """The time, in half-lives, at which an event weighs 1."""
        return float(self._state[_LANDMARK])

    @property
    def newest(self) -> float:
        """The time of the newest event learned, -inf before any."""
        return float(self._state[_NEWEST])

    @property
    def unit(self) -> float:
        """What an event weighs at the newest time; 1 before any."""
        return float(self._state[_UNIT])

    def keep_in(self, place: Floats) -> None:
        """Keep landmark, newest time and unit in an array from now on, where a kernel may move them."""
        place[:] = self._state
        self._state = place

    def weight(self, time: float) -> float:
        """Return what an event at a time weighs."""
        exponent = time / self.half_life - self.landmark
        return math.pow(2.0, max(exponent, -1e4))

    def following(self) -> float:
        """Return the time of an event that has none of its own: one after the newest."""
        return 0.0 if math.isinf(self.newest) else self.newest + 1.0

    def times(self, times: Floats, learned: NDArray[np.bool_]) -> Floats:
        """Return the times of events of which some are learned, for a NaN that of the newest one learned before.

        Raises ValueError for a time too far off to tell half-lives apart.
        """
        far = np.flatnonzero(is_far(times, self.half_life))
        if len(far):
            raise ValueError(f"event {far[0]}: {self._too_far(float(times[far[0]]))}")
        known = np.where(learned, times, -np.inf)
        first = np.flatnonzero(learned)[:1]
        if math.isinf(self.newest):
            known[first] = np.nan_to_num(known[first])  # the time of a first event that has none is 0
        newest = np.fmax.accumulate(np.concatenate(([self.newest], known)))[:-1]
        return np.where(np.isnan(times), np.where(np.isinf(newest), 0.0, newest), times)

    def time(self, time: float) -> float:
        """Return the time of one event, that of the newest event for NaN; ValueError as in `times`."""
        if not abs(time) < LATEST * self.half_life:
            if not math.isnan(time):
                raise ValueError(self._too_far(time))
            return 0.0 if math.isinf(self.newest) else self.newest
        return time

    def _too_far(self, time: float) -> str:
        return f"the time {time!r} is not a number within {LATEST} half-lives ({self.half_life!r}) of 0"

    def weigh(self, times: Floats, start: int, lessons: Floats) -> int:
        """Turn the weights of lessons [row, event], from some event on, into what they are stored with; set the units.

        Returns where the landmark has to move before the next event is learned (see `move`), or else how many events
        there are; the clock has gone on to there. Events that are not learned do not move it.
        """
        return int(_weigh(times, self.half_life, self._state, start, lessons))

    def move(self, landmark: float) -> float:
        """Move the landmark to a whole number of half-lives; return the factor for all that is stored."""
        factor = math.pow(2.0, max(self.landmark - landmark, -1e4))
        self.restore(landmark, self.newest)
        return factor

    def age(self, time: float) -> float:
        """Return the whole half-lives before a time: where the landmark goes to."""
        return float(math.floor(time / self.half_life))

    def restore(self, landmark: float, newest: float) -> None:
        """Set landmark and newest time, as they were."""
        if landmark != math.floor(landmark) or math.isnan(newest):
            raise ValueError(f"a clock with the landmark {landmark} and the newest time {newest}")
        self._state[:2] = landmark, newest
        self._state[_UNIT] = _unit(self.half_life, landmark, newest)


def is_far(times: Floats, half_life: float) -> NDArray[np.bool_]:
    """Tell of each time whether it is too far from 0 to tell half-lives apart; a NaN is not."""
    return ~(np.abs(times) < LATEST * half_life) & ~np.isnan(times)


@compiled
def _weigh(times: Floats, half_life: float, state: Floats, start: int, lessons: Floats) -> int:
    landmark, newest = state[_LANDMARK], state[_NEWEST]
    unit = state[_UNIT]
    stop = start
    while stop < len(times):
        lessons[UNIT_THEN, stop] = unit
        if lessons[LABEL, stop] >= 0.0:
            age = times[stop] / half_life
            if newest == -math.inf:
                landmark = np.floor(age)  # a float, which math.floor in machine code is not
            elif age - landmark > FARTHEST:
                break
            power = 2.0 ** (age - landmark)
            lessons[AMOUNT, stop] *= power if power >= FADED else 0.0
            if times[stop] > newest:
                newest = times[stop]
                unit = power
        stop += 1
    state[_LANDMARK], state[_NEWEST], state[_UNIT] = landmark, newest, unit
    return stop


@compiled
def _unit(half_life: float, landmark: float, newest: float) -> float:
    """Return what `_weigh` would have an event weigh at the newest time: the same to the last bit."""
    return 2.0 ** (newest / half_life - landmark) if newest > -math.inf else 1.0
