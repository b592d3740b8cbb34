"""Which partitions a member of a group owns, how a group shares them out, and the notes with its offsets.

Law: partitions given and taken are told once, in order; one given and taken again unseen is not told at all.
"""

from collections.abc import Iterable
from threading import Lock

from consumers.errors import ConfigError
from consumers.kafka.client import Place
from consumers.kafka.settings import KafkaSettings

NOTE_END = "\n"

RESTORE_SECONDS = 900.0
"""How long a member may not poll, since it restores shards, before it is taken for hung."""


class Ownership:
    """What a member of a group has been given and what was taken from it since it was last asked.

    Notes may come from another thread than the one that asks.

    >>> ownership, place = Ownership(), Place("events", 0)
    >>> ownership.give([place]), ownership.changes()
    (None, ({Place(topic='events', partition=0)}, set()))
    >>> ownership.take([place]), ownership.give([place])
    (None, None)
    >>> given, taken = ownership.changes()
    >>> given == taken == {place}
    True
    """

    def __init__(self) -> None:
        self._lock = Lock()
        self._owned: set[Place] = set()
        self._told: set[Place] = set()  # what whoever asks believes to be owned
        self._taken: set[Place] = set()

    def give(self, places: Iterable[Place]) -> None:
        """Note partitions that were given."""
        with self._lock:
            self._owned.update(places)

    def take(self, places: Iterable[Place]) -> None:
        """Note partitions that were taken."""
        with self._lock:
            gone = set(places)
            self._owned -= gone
            self._taken |= gone & self._told

    def take_all(self) -> None:
        """Note that all that is owned was taken."""
        self.take(self._owned)

    def changes(self) -> tuple[set[Place], set[Place]]:
        """Return what was given and what was taken since the last call; what is in both was taken first."""
        with self._lock:
            taken = self._taken
            given = self._owned - (self._told - taken)
            self._told, self._taken = set(self._owned), set()
            return given, taken

    def pending(self) -> bool:
        """Return whether there is anything to tell."""
        with self._lock:
            return bool(self._taken) or self._owned != self._told


def assignor(settings: KafkaSettings, topics: int) -> str:
    """Return how partitions of so many topics are shared out, "range" or "cooperative-sticky".

    Partitions of one number must go to one worker where there are several topics, and only range does that. Raises
    ConfigError where another one was asked for.

    >>> assignor(KafkaSettings(), 1), assignor(KafkaSettings(), 2)
    ('cooperative-sticky', 'range')
    """
    if settings.assignor == "auto":
        return "range" if topics > 1 else "cooperative-sticky"
    if settings.assignor == "cooperative-sticky" and topics > 1:
        raise ConfigError(
            f"kafka.assignor = cooperative-sticky takes one topic, {topics} are read: range is what gives a worker "
            "the partitions of one number of them all"
        )
    return settings.assignor


def noted(note: str) -> str:
    """Return a note as it is committed, with its end marked: confluent-kafka reads past it.

    >>> note_of(noted("a note") + "what lay behind it in memory")
    'a note'
    """
    return note + NOTE_END


def note_of(held: str) -> str:
    """Return the note in what was committed."""
    return held.partition(NOTE_END)[0]
