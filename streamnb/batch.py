"""Events with their labels, weights and times, checked before anything is learned.

Law: a batch is right as a whole, or nothing of it is kept.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from streamnb import frames
from streamnb.arrays import AMOUNT, LABEL, Floats
from streamnb.clock import Clock
from streamnb.events import Columns, Event
from streamnb.labels import NO_LABEL, Labels
from streamnb.values import is_missing

LIGHTEST, HEAVIEST = 1e-9, 1e9
"""Weights of events lie within: as far apart as the products that the kernels form can bear."""


class Batch(NamedTuple):
    """Events, with the lessons [row, event] that they are (see arrays.py), and their times where these count."""

    events: Sequence[Event] | Columns
    lessons: Floats
    times: Floats | None


def as_batch(
    batch: Sequence[Event] | Columns,
    labels: Iterable[object],
    weights: Any,
    times: Any,
    classes: Labels,
    clock: Clock | None,
) -> Batch:
    """Return events with what goes with each; those of weight 0 lose their label.

    Raises ValueError for a label, a weight or a time that cannot be one; no class is added then.
    """
    labels = labels if isinstance(labels, np.ndarray) else list(labels)
    if len(labels) != len(batch):
        raise ValueError(f"{len(batch)} events came with {len(labels)} labels")
    given = None if weights is None else as_weights(weights, len(batch))
    if given is not None and not given.all():
        labels = _without(labels, given == 0.0)
    at = None
    if clock is not None and times is not None:
        learned = np.array([not is_missing(label) for label in labels], dtype=np.bool_)
        at = clock.times(to_numbers(times, "times", len(batch)), learned)
    lessons = np.ones((3, len(batch)))
    lessons[LABEL] = classes.encode(labels)
    if clock is not None and times is None:
        at = _counted(clock, lessons[LABEL] != NO_LABEL)
    if given is not None:
        lessons[AMOUNT] = given
    return Batch(batch, lessons, at)


def as_events(events: Any) -> Sequence[Event] | Columns:
    """Return dicts, a frame, or an array [event, feature] as events; TypeError for one that is not a dict."""
    if isinstance(events, tuple | Iterator):
        events = list(events)
    batch: Sequence[Event] | Columns = events if isinstance(events, list) else frames.columns(events)
    if isinstance(batch, list):
        for kind in set(map(type, batch)):
            if not issubclass(kind, Mapping):
                raise TypeError(f"an event is a dict of features, not {kind.__name__}")
    return batch


def as_weight(weight: Any) -> float:
    """Return the weight of one event; ValueError for what is none."""
    given = to_number(weight, "weight")
    if _is_weight(given):
        return given
    raise ValueError(f"the weight is {given!r}: it must be 0, or from {LIGHTEST} to {HEAVIEST}")


def as_weights(weights: Any, events: int) -> Floats:
    """Return the weights of events; ValueError for one that is none.

    >>> as_weights([1, 0, 0.5], 3)
    array([1. , 0. , 0.5])
    """
    given = to_numbers(weights, "weights", events)
    for bad in np.flatnonzero(~_is_weight(given)).tolist():
        try:
            as_weight(given[bad])
        except ValueError as error:
            raise ValueError(f"event {bad}: {error}") from error
    return given


def _is_weight(weights: Any) -> Any:
    """Tell of one weight, or of each of several, whether it is one."""
    return (weights == 0.0) | ((weights >= LIGHTEST) & (weights <= HEAVIEST))


def to_number(value: Any, name: str) -> float:
    """Return one number; ValueError for what is none."""
    try:
        return float(value)
    except (TypeError, ValueError, OverflowError) as error:
        raise ValueError(f"{name} is a number, not {value!r:.80}") from error


def to_numbers(values: Any, name: str, events: int) -> Floats:
    """Return a number for each event; ValueError for what is none."""
    try:
        column = np.array(values if isinstance(values, np.ndarray) else list(values), dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise ValueError(f"{name} are numbers, one for each event: {error}") from error
    if column.shape != (events,):
        raise ValueError(f"{events} events came with {name} of the shape {column.shape}")
    return column


def _counted(clock: Clock, learned: NDArray[np.bool_]) -> Floats:
    """Return the times of events that have none of their own: those that are learned are a unit of time apart."""
    times = np.zeros(len(learned))
    steps = np.ones(np.count_nonzero(learned))
    steps[:1] = clock.following()
    times[learned] = np.cumsum(steps)
    return times


def _without(labels: Iterable[object], where: NDArray[np.bool_]) -> list[object]:
    return [None if there else label for label, there in zip(labels, where.tolist(), strict=True)]
