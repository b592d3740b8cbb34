"""What the programs need of a Kafka client, whichever it is: the words, the protocols, the errors.

Law: two clients behave alike; what differs between them stays in the package about each.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol

from consumers.errors import BrokerError

Headers = Sequence[tuple[str, bytes]]

OVERHEAD_BYTES = 1024
"""Bytes of a message that are not its value, at most: key, headers, batch."""


class Place(NamedTuple):
    """A partition of a topic."""

    topic: str
    partition: int


@dataclass
class Messages:
    """Messages of one partition, in order: one of each column for every message.

    `timestamps` are milliseconds since 1970, -1 for none; `end` is the next offset to read after them, which may be
    beyond the last of `offsets`, since transactions leave marks of their own. `headers` may be empty where they were
    not asked for.
    """

    place: Place
    offsets: list[int]
    values: list[bytes | None]
    keys: list[bytes | None]
    timestamps: list[int]
    headers: list[Headers]
    end: int


class Committed(NamedTuple):
    """The offset that a group has committed for a partition, the next to read, and what was noted with it."""

    offset: int
    note: str


class Polled(NamedTuple):
    """What a poll brought: messages, the partitions newly given to this member, and those taken from it.

    A partition that is in both was taken first, and given back.
    """

    messages: list[Messages]
    given: set[Place]
    taken: set[Place]


class Member(NamedTuple):
    """A member of a group: its name for people (static id or client id), its host, and the partitions it owns."""

    name: str
    host: str
    places: tuple[Place, ...]


class Group(NamedTuple):
    """A group: whether it has shared out what it reads, before which nobody owns anything, and its members."""

    settled: bool
    members: list[Member]


class TransactionLostError(Exception):
    """A transaction that is not, and will not be, committed; whoever made it must forget what it was to account for."""


class FencedError(TransactionLostError):
    """Another producer, or another member, has taken over the name that this one had."""


class GapError(Exception):
    """A partition no longer holds the offset that is to be read next; `first` is the first that it holds."""

    def __init__(self, place: Place, wanted: int, first: int) -> None:
        super().__init__(f"{place.topic}, partition {place.partition}: offset {wanted} is gone, the first is {first}")
        self.place = place
        self.wanted = wanted
        self.first = first


class UnreachableError(BrokerError):
    """No broker answers; it may later."""


class TopicMissingError(BrokerError):
    """A topic that is not there."""

    def __init__(self, topic: str) -> None:
        super().__init__(f"there is no topic {topic}: make it (streamnb topics create), or name another")
        self.topic = topic


class NotAllowedError(BrokerError):
    """The broker does not let this user do something; the message names what."""


class TooLargeError(BrokerError):
    """A message that is larger than the client or the topic takes; `size` is its value's, in bytes."""

    def __init__(self, topic: str, size: int) -> None:
        super().__init__(
            f"a message of {size:,} bytes is too large for {topic}: raise max.message.bytes of the topic and "
            "max_message_bytes here, or make the message smaller"
        )
        self.topic = topic
        self.size = size


class Reader(Protocol):
    """A member of a consumer group."""

    def poll(self, seconds: float) -> Polled:
        """Return what came, waiting no longer than so many seconds for something to come.

        A partition that is newly given is not read before `start` says from where; after it is taken, no message of it
        is returned. Must be called often, or else the member is taken for dead.

        Raises GapError for an offset that is gone, FencedError when another member took over this one's static name,
        NotAllowedError, TopicMissingError.
        """
        ...

    def start(self, positions: Mapping[Place, int]) -> None:
        """Read partitions, which must have been given, from an offset each; also those that were being read already."""
        ...

    def committed(self, places: Sequence[Place]) -> dict[Place, Committed]:
        """Return what the group has committed; partitions without a committed offset are left out.

        Law: an offset that an open transaction is about to commit is waited for. Raises BrokerError where that takes
        longer than transactions may.
        """
        ...

    def position(self, place: Place) -> int:
        """Return the next offset to be read of a partition; marks of transactions are passed over."""
        ...

    def membership(self) -> Any:
        """Return what tells the broker which member this is, as of the last poll: it goes with a commit."""
        ...

    def rejoin(self) -> None:
        """Have the group share out anew what there is; what is owned may be taken first, and is then given again."""
        ...

    def close(self) -> None:
        """Leave the group (a member with a static name only goes silent), and close."""
        ...


class Writer(Protocol):
    """A transactional producer. Making one ends what an earlier one of the same name had left open.

    Law: after TransactionLostError it is of no more use: `close` it and make another.
    """

    def begin(self) -> None:
        """Begin a transaction."""
        ...

    def send(
        self,
        place: Place,
        values: Sequence[bytes | None],
        keys: Sequence[bytes | None],
        timestamps: Sequence[int] | None = None,
        headers: Sequence[Headers] | None = None,
    ) -> None:
        """Send messages to a partition, one of each column for every message; a value of None deletes its key.

        What is in flight is bounded: more waits. Raises TransactionLostError, TooLargeError, NotAllowedError.
        """
        ...

    def commit(self, positions: Mapping[Place, Committed], membership: Any) -> None:
        """Begin to commit all that was sent, with the offsets that a group has read up to, and a note with each.

        It is committed when `settle` returns, before which nothing else may be asked of this writer.
        """
        ...

    def settle(self) -> None:
        """Wait for the end of the transaction that is being committed, if one is.

        Raises TransactionLostError, FencedError if the member or the producer has been replaced, TooLargeError,
        TopicMissingError, NotAllowedError.
        """
        ...

    def close(self) -> None:
        """Close; what was not committed is aborted."""
        ...


class Tail(Protocol):
    """Reads partitions from offsets, in no group, only what was committed."""

    def read(self, seconds: float) -> list[Messages]:
        """Return what came, waiting no longer than so many seconds for something to come; `end` tells how far it is."""
        ...

    def position(self, place: Place) -> int:
        """Return the next offset to be read of a partition; marks of transactions are passed over."""
        ...

    def close(self) -> None:
        """Close."""
        ...


class Admin(Protocol):
    """Looks after topics and groups."""

    def partitions(self, topic: str) -> int:
        """Return how many partitions a topic has, 0 where there is no such topic."""
        ...

    def create(self, topic: str, partitions: int, replication: int, settings: Mapping[str, str]) -> None:
        """Make a topic; replication -1 is the cluster's own. One that is there already is left as it is."""
        ...

    def extend(self, topic: str, partitions: int) -> None:
        """Give a topic more partitions; one that has as many is left as it is."""
        ...

    def settings(self, topic: str) -> dict[str, str]:
        """Return the settings of a topic."""
        ...

    def ends(self, places: Sequence[Place]) -> dict[Place, int]:
        """Return the offset after the last message of each partition, whether it was committed or not."""
        ...

    def begins(self, places: Sequence[Place]) -> dict[Place, int]:
        """Return the first offset that each partition still holds, or the end where it holds none."""
        ...

    def committed(self, group: str, places: Sequence[Place]) -> dict[Place, Committed]:
        """Return what a group has committed; partitions without a committed offset are left out."""
        ...

    def group(self, name: str) -> Group:
        """Return a group: its members and what they own; one that is not there has none."""
        ...

    def close(self) -> None:
        """Close."""
        ...


class Client(Protocol):
    """Makes readers, writers and the rest, all with the same connection settings.

    Each raises BrokerError, naming the address, where no broker answers for as long as `connect_seconds`, having
    retried with backoff; NotAllowedError for a wrong password or a missing right.
    """

    def reader(self, group: str, topics: Sequence[str], name: str, headers: bool) -> Reader:
        """Return a member of a group that reads topics; `name` is its static name, "" for none."""
        ...

    def writer(self, name: str) -> Writer:
        """Return a transactional producer of that name (its transactional id).

        With "" for none, messages are there as soon as they are taken, each once, and in no transaction: `begin` begins
        nothing, and `commit`, which takes no offsets, returns when all were taken.
        """
        ...

    def tail(self, positions: Mapping[Place, int]) -> Tail:
        """Return a reader of partitions from an offset each."""
        ...

    def admin(self) -> Admin:
        """Return what looks after topics and groups."""
        ...


def partitions_of(admin: Admin, topic: str) -> int:
    """Return how many partitions a topic has. Raises TopicMissingError where it is not there."""
    count = admin.partitions(topic)
    if not count:
        raise TopicMissingError(topic)
    return count
