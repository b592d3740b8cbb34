"""How far a group has read its topics, who reads them, and which states it has saved.

Law: what is told is what is committed, not what a worker believes.
"""

from collections.abc import Sequence

import msgspec

from consumers.kafka.client import Admin, Place, partitions_of
from consumers.kafka.notes import read_note


class Progress(msgspec.Struct, frozen=True):
    """How far a partition has been read; None for what is not known.

    `position` is the next offset to read, `lag` how many offsets are left, of all there are where none was committed;
    `owner` and `host` are of the member that reads it now; `worker` committed last, and by then `state` was the number
    of the newest saved state, which is `age` seconds old.
    """

    topic: str
    partition: int
    position: int | None
    end: int
    lag: int
    owner: str | None
    host: str | None
    worker: str | None
    state: int | None
    age: float | None


def progress_of(admin: Admin, group: str, topics: Sequence[str], now: float) -> list[Progress]:
    """Return how far a group has read each partition of some topics.

    Parameters
    ----------
    now
        Seconds since 1970.

    Raises BrokerError.
    """
    places = [Place(topic, number) for topic in topics for number in range(partitions_of(admin, topic))]
    committed, begins = admin.committed(group, places), admin.begins(places)
    ends = admin.ends(places)  # asked last: so nothing seems to have been read before it was there
    owners = {place: member for member in admin.group(group).members for place in member.places}
    found = []
    for place in places:
        held, owner = committed.get(place), owners.get(place)
        note = None if held is None else read_note(held)
        saved = note is not None and note.number >= 0
        found.append(
            Progress(
                *place,
                position=None if held is None else held.offset,
                end=ends[place],
                lag=max(0, ends[place] - (begins[place] if held is None else max(held.offset, begins[place]))),
                owner=None if owner is None else owner.name,
                host=None if owner is None else owner.host,
                worker=(note.worker or None) if note is not None else None,
                state=note.number if note is not None and saved else None,
                age=max(0.0, now - note.saved) if note is not None and saved else None,
            )
        )
    return found


def lines_of(group: str, progress: Sequence[Progress]) -> list[str]:
    """Return progress as lines for people: a table of columns, or what its absence means.

    >>> lines_of("fruit", [Progress("events", 0, None, 7, 7, None, None, None, None, None)])[0]
    'the group fruit has no member and has committed nothing: is it right (--application, --group)?'
    """
    rows = [["TOPIC", "PARTITION", "POSITION", "END", "LAG", "OWNER", "COMMITTED BY", "STATE", "STATE AGE"]]
    for each in progress:
        owner = None if each.owner is None else f"{each.owner} ({each.host})"
        age = None if each.age is None else f"{each.age:.0f} s"
        values = (each.position, each.end, each.lag, owner, each.worker, each.state, age)
        rows.append([each.topic, str(each.partition), *("-" if value is None else _shown(value) for value in values)])
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    lines = ["  ".join(map(str.ljust, row, widths)).rstrip() for row in rows]
    lines.append(f"{group}: {sum(each.lag for each in progress):,} to read in {len(progress)} partitions")
    if all(each.position is None and each.owner is None for each in progress):
        lines.insert(
            0, f"the group {group} has no member and has committed nothing: is it right (--application, --group)?"
        )
    return lines


def _shown(value: int | str) -> str:
    return f"{value:,}" if isinstance(value, int) else value
