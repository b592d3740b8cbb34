"""The keys of an event that are no features: label, id, weight, time, and what is to be ignored.

Law: an event whose label, weight or time cannot be one is a dead letter, and changes nothing else.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from operator import methodcaller
from typing import Any, NamedTuple

import numpy as np

from consumers.records import NOT_A_LABEL, NOT_A_TIME, NOT_A_WEIGHT, Batch, DeadLetter
from streamnb.arrays import Floats
from streamnb.batch import as_weight as weight_of
from streamnb.clock import is_far
from streamnb.labels import as_label
from streamnb.values import as_number, is_missing, is_nan

_STRUCTURES = {dict, list}  # no id


@dataclass(frozen=True)
class Fields:
    """Which keys of an event are its label, id, weight and time ("" for none), and which are to be left out.

    `half_life` is that of the model, in seconds, which tells how far from 0 a time may be.
    """

    label: str
    id: str
    weight: str = ""
    time: str = ""
    ignore: tuple[str, ...] = ()
    half_life: float = math.inf


class Taken(NamedTuple):
    """What was taken out of the events of a batch, one of each for every event; None for weights that are all 1."""

    ids: list[Any]
    labels: list[Any]
    weights: Floats | None
    times: Floats | None


def take(fields: Fields, batch: Batch) -> Taken:
    """Take out of each event what is no feature; events whose weight or time cannot be one join the dead letters."""
    ids = _pop(batch.events, fields.id)
    if not _STRUCTURES.isdisjoint(map(type, ids)):
        ids = [None if type(id_) in _STRUCTURES else id_ for id_ in ids]
    labels = _pop(batch.events, fields.label)
    if float in set(map(type, labels)):
        labels = [None if is_nan(label) else label for label in labels]
    problems: dict[int, tuple[str, str]] = {}
    weights = times = None
    if fields.weight:
        weights = _numbers(_pop(batch.events, fields.weight), as_weight, NOT_A_WEIGHT, problems)
    if fields.time:
        times = _numbers(_pop(batch.events, fields.time), as_time, NOT_A_TIME, problems)
        for place in np.flatnonzero(is_far(times, fields.half_life)).tolist():
            problems[place] = NOT_A_TIME, f"{times[place]} is too far from 0 for this half-life"
    for name in fields.ignore:
        _pop(batch.events, name)
    taken = Taken(ids, labels, weights, times)
    return bury(batch, taken, problems) if problems else taken


def bad_labels(labels: Sequence[Any]) -> dict[int, tuple[str, str]]:
    """Return for each place of a label that cannot be a class the reason and the detail."""
    problems = {}
    for place, label in enumerate(labels):
        try:
            if label is not None:
                as_label(label)
        except ValueError as error:
            problems[place] = NOT_A_LABEL, str(error)
    return problems


def bury(batch: Batch, taken: Taken, problems: Mapping[int, tuple[str, str]]) -> Taken:
    """Move events to the dead letters, each with its reason and detail; return what was taken out of the others."""
    batch.dead += [DeadLetter(batch.offsets[place], batch.raw[place], *problem) for place, problem in problems.items()]
    batch.dead.sort()
    good = [place for place in range(len(batch.events)) if place not in problems]
    batch.events, batch.offsets = ([column[place] for place in good] for column in (batch.events, batch.offsets))  # type: ignore[assignment]
    batch.raw = [batch.raw[place] for place in good]
    ids, labels = ([column[place] for place in good] for column in (taken.ids, taken.labels))
    weights, times = (None if column is None else column[good] for column in (taken.weights, taken.times))
    return Taken(ids, labels, weights, times)


def part_of(batch: Batch, taken: Taken, start: int, stop: int) -> tuple[Batch, Taken]:
    """Return some of the events of a batch, and what was taken out of them; all of it is the batch itself."""
    if start == 0 and stop >= len(batch.events):
        return batch, taken
    some = slice(start, stop)
    part = Batch(batch.position, batch.events[some], batch.offsets[some], batch.raw[some], cells=batch.cells)
    weights, times = (None if column is None else column[some] for column in (taken.weights, taken.times))
    return part, Taken(taken.ids[some], taken.labels[some], weights, times)


def as_weight(value: Any) -> float:
    """Return the weight that a value stands for, 1 where it is missing; ValueError if it stands for none.

    >>> as_weight("0.5"), as_weight(None)
    (0.5, 1.0)
    """
    if is_missing(value):
        return 1.0
    return weight_of(_number(value))


def as_time(value: Any) -> float:
    """Return the time that a value stands for, in seconds, NaN where it is missing; ValueError if it stands for none.

    A number, or a date and time as ISO 8601 has it, in UTC where it does not say otherwise.

    >>> as_time("2026-01-01T00:00:00Z"), as_time(12)
    (1767225600.0, 12.0)
    """
    if is_missing(value):
        return math.nan
    try:
        time = _number(value)
    except ValueError:
        if not isinstance(value, str):
            raise
        try:
            moment = datetime.fromisoformat(value)
        except ValueError as error:
            raise ValueError(f"{value!r:.80} is neither a number nor a time as ISO 8601 has it") from error
        time = (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp()
    if math.isinf(time):
        raise ValueError(f"{value!r:.80} is no time")
    return time


def _number(value: Any) -> float:
    if isinstance(value, bool | list | dict):
        raise ValueError(f"{value!r:.80} is not a number")  # noqa: TRY004 - as every other value that is none
    try:
        return as_number(value) if isinstance(value, str) else float(value)
    except (OverflowError, ValueError) as error:
        raise ValueError(f"{value!r:.80} is not a number") from error


def _numbers(
    values: Sequence[Any], read: Callable[[Any], float], reason: str, problems: dict[int, tuple[str, str]]
) -> Floats:
    """Return what values stand for; note those that stand for nothing, with the reason."""
    numbers = np.ones(len(values))
    for place, value in enumerate(values):
        try:
            numbers[place] = read(value)
        except ValueError as error:
            problems[place] = reason, str(error)
    return numbers


def _pop(events: Sequence[dict[str, Any]], name: str) -> list[Any]:
    """Take the value of a name out of each event, None where there is none; dots lead into nested objects."""
    if "." not in name:
        return list(map(methodcaller("pop", name, None), events))
    return [_pop_nested(event, name) for event in events]


def _pop_nested(event: dict[str, Any], name: str) -> Any:
    if name in event:
        return event.pop(name)
    head, dot, rest = name.partition(".")
    inner = event.get(head) if dot else None
    return _pop_nested(inner, rest) if isinstance(inner, dict) else None
