"""Notes that go with committed offsets: who committed, and which state is the newest by then.

Law: a note and the state it tells of are of one transaction, so neither is ever there without the other.
"""

from collections.abc import Iterable

import msgspec

from consumers.kafka.client import Committed


class Note(msgspec.Struct, frozen=True):
    """Who committed an offset, and where and when the shard's last state was saved.

    `number` is that of the state, -1 where there is none; `offset` is where to begin to look for it in the topic of
    states; `saved` is in seconds since 1970.
    """

    worker: str = ""
    number: int = -1
    offset: int = 0
    saved: float = 0.0

    def written(self) -> str:
        """Return the note as text."""
        return msgspec.json.encode(self).decode()


def newest_note(committed: Iterable[Committed]) -> Note:
    """Return the newest of the notes with some offsets; what other programs noted is passed over."""
    return max(map(read_note, committed), key=lambda note: note.number, default=Note())


def read_note(committed: Committed) -> Note:
    """Return the note with an offset; an empty one where another program committed it."""
    try:
        return msgspec.json.decode(committed.note, type=Note)
    except msgspec.DecodeError:
        return Note()
