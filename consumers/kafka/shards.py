"""What a worker does with the partitions that it owns: learning from them, or answering them.

Law: what is done with a partition depends on what was read of it, and on nothing that a fault could change.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Protocol

from consumers.errors import BrokerError
from consumers.kafka.client import Admin, Committed, GapError, Messages, Place, Writer
from consumers.kafka.settings import KafkaSettings
from consumers.shard import Outcome
from consumers.state import State

Say = Callable[[str], None]


class Shards(Protocol):
    """The shards of a worker, by the number of their partitions."""

    @property
    def fresh(self) -> bool:
        """Tell whether there is something to commit before anything is read."""
        ...

    def take_over(self, number: int, committed: Mapping[Place, Committed]) -> dict[Place, int]:
        """Make the shard of a number be as it was when these offsets were committed; return where to read on.

        Raises BrokerError, also for a state that is not there or cannot be read.
        """
        ...

    def take(self, messages: Messages) -> Outcome:
        """Take some messages of a shard all the way."""
        ...

    def finish(self, writer: Writer, *, all_states: bool = False) -> dict[Place, Committed]:
        """Send what is to be kept of the transaction; return the offsets to commit with it.

        Parameters
        ----------
        all_states
            Whether every state is saved that has changed, due or not.
        """
        ...

    def pass_over(self, gap: GapError) -> None:
        """Go on after messages that are no longer retained, if that is asked for; BrokerError if it is not."""
        ...

    def keep_only(self, numbers: set[int]) -> None:
        """Forget all shards but those of these numbers."""
        ...

    def states(self) -> Sequence[State]:
        """Return the state of each shard, by number."""
        ...


def first_offsets(admin: Admin, places: Sequence[Place], start: str) -> dict[Place, int]:
    """Return where partitions are read first that were never read: at their start or their end."""
    return admin.begins(places) if start == "earliest" else admin.ends(places)


def check_gap(gap: GapError, kafka: KafkaSettings, say: Say) -> None:
    """Raise BrokerError for messages that are no longer retained, unless the settings say to go on without them.

    Where offsets went back there is nothing to go on with: these are other messages than those that were read.
    """
    if gap.first < gap.wanted:
        raise BrokerError(
            f"{gap.place.topic}, partition {gap.place.partition}: offset {gap.wanted:,} was to be read next, and it "
            "ends before that: the topic was made anew or cut short; begin anew under another application "
            "(--application)"
        )
    what = (
        f"{gap.place.topic}, partition {gap.place.partition}: offset {gap.wanted:,} was to be read next, and the first "
        f"that is still there is {gap.first:,}"
    )
    if kafka.on_gap == "stop":
        raise BrokerError(f"{what}: retain events for longer; --on-gap go-on goes on without those that are gone")
    say(f"{what}: going on without them")
