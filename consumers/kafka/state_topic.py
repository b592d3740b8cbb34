"""States in a compacted topic: cut into chunks, told whole by a manifest, found again.

Law: a state is used only if every chunk of it is there as it was written; the one before it stays until the next but
one is whole. A shard's states are in the partition of its number.

    key                             value
    APPLICATION/chunk/SLOT/PLACE    the number of the state, eight bytes, and a piece of its bytes
    APPLICATION/manifest/SLOT       JSON: a Manifest, after the chunks that it tells of
    APPLICATION/journal/PLACE       JSON: Runs, what a transaction after a state has read, in order

States are numbered from 0 and take turns in two slots, so that compaction never takes a piece of the last whole one.
"""

import hashlib
from typing import NamedTuple

import msgspec

from consumers.kafka.client import OVERHEAD_BYTES, Messages

_SLOTS = 2
_NUMBER = 8  # bytes

Record = tuple[bytes, bytes | None]


class Manifest(msgspec.Struct, frozen=True):
    """What a state is made of: its number, how many chunks it and the one before it have, the BLAKE2b of its bytes."""

    number: int
    chunks: int
    before: int
    digest: str


class Runs(msgspec.Struct, frozen=True):
    """What one transaction read after the state of a number: pairs of a topic and the offset it was read up to."""

    after: int
    runs: list[tuple[str, int]]


class Stored(NamedTuple):
    """A state that was found: its manifest, its bytes, and the runs of each transaction after it."""

    manifest: Manifest
    data: bytes
    journal: list[list[tuple[str, int]]]


def records_of(application: str, data: bytes, last: Manifest | None, limit: int) -> tuple[Manifest, list[Record]]:
    """Return the manifest of a state, and the messages that hold both.

    Parameters
    ----------
    last
        The manifest of the state before it; None for the first. Chunks of the one before that, whose slot this one
        takes, are deleted where they are not overwritten.
    limit
        How large a message may be, in bytes.
    """
    number = 0 if last is None else last.number + 1
    slot, stamp, size = number % _SLOTS, number.to_bytes(_NUMBER, "big"), limit - OVERHEAD_BYTES - _NUMBER
    pieces = [data[start : start + size] for start in range(0, len(data), size)]
    records: list[Record] = [
        (_key(application, "chunk", slot, place), stamp + piece) for place, piece in enumerate(pieces)
    ]
    unused = range(len(pieces), 0 if last is None else last.before)
    records += [(_key(application, "chunk", slot, place), None) for place in unused]
    manifest = Manifest(number, len(pieces), 0 if last is None else last.chunks, _digest(data))
    records.append((_key(application, "manifest", slot), msgspec.json.encode(manifest)))
    return manifest, records


def journal_record(application: str, place: int, after: int, runs: list[tuple[str, int]]) -> Record:
    """Return the message that tells what the place-th transaction after a state has read."""
    return _key(application, "journal", place), msgspec.json.encode(Runs(after, runs))


class Assembler:
    """Puts together the states of one partition from its messages, in order; those of other applications pass by.

    `torn` is how many manifests told of a state that was not whole.
    """

    def __init__(self, application: str) -> None:
        self._prefix = application.encode() + b"/"
        self._chunks: dict[tuple[bytes, bytes], bytes] = {}
        self._whole: dict[bytes, tuple[Manifest, bytes]] = {}
        self._journal: dict[int, Runs] = {}
        self.torn = 0

    def feed(self, messages: Messages) -> None:
        """Take in some messages."""
        for key, value in zip(messages.keys, messages.values, strict=True):
            if key is not None and value is not None and key.startswith(self._prefix):
                self._take(key[len(self._prefix) :].split(b"/"), value)

    def newest(self) -> Stored | None:
        """Return the newest whole state; None where there is none."""
        if not self._whole:
            return None
        manifest, data = max(self._whole.values(), key=lambda whole: whole[0].number)
        journal: list[list[tuple[str, int]]] = []
        while (runs := self._journal.get(len(journal))) is not None and runs.after == manifest.number:
            journal.append(runs.runs)
        return Stored(manifest, data, journal)

    def _take(self, parts: list[bytes], value: bytes) -> None:
        match parts:
            case [b"chunk", slot, place]:
                self._chunks[slot, place] = value
            case [b"manifest", slot]:
                self._join(slot, value)
            case [b"journal", place]:
                self._journal[int(place)] = msgspec.json.decode(value, type=Runs)

    def _join(self, slot: bytes, value: bytes) -> None:
        """Put a state together, if its chunks are there; they are the last of their slot either way."""
        manifest = msgspec.json.decode(value, type=Manifest)
        stamp = manifest.number.to_bytes(_NUMBER, "big")
        pieces = [self._chunks.get((slot, b"%d" % place), b"") for place in range(manifest.chunks)]
        self._chunks = {key: piece for key, piece in self._chunks.items() if key[0] != slot}
        data = b"".join(piece.removeprefix(stamp) for piece in pieces)
        if all(piece.startswith(stamp) for piece in pieces) and _digest(data) == manifest.digest:
            self._whole[slot] = manifest, data
        else:
            self.torn += 1


def _key(application: str, *parts: object) -> bytes:
    return "/".join([application, *map(str, parts)]).encode()


def _digest(data: bytes) -> str:
    return hashlib.blake2b(data, digest_size=16).hexdigest()
