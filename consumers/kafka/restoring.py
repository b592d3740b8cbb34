"""A shard's state found again, and brought to where its offsets were committed.

Law: what was read between the state and the committed offsets is taken again, in the same order, and goes nowhere.
"""

from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing

from consumers.errors import BrokerError
from consumers.kafka.client import Admin, Client, Messages, Place, Tail
from consumers.kafka.messages import up_to
from consumers.kafka.settings import KafkaSettings
from consumers.kafka.state_topic import Assembler, Stored

_PATIENCE = 0.5  # seconds that one read waits


class Restorer:
    """Finds states, and reads again what came after them.

    Parameters
    ----------
    client, admin
        Kafka.
    kafka
        The application and its topic of states; a read that gets nowhere for twice as long as transactions may take is
        given up.
    clock
        Seconds, from any start.
    """

    def __init__(self, client: Client, admin: Admin, kafka: KafkaSettings, clock: Callable[[], float]) -> None:
        self._client = client
        self._admin = admin
        self._kafka = kafka
        self._clock = clock

    def find(self, number: int, begin: int) -> Stored | None:
        """Return the newest whole state of a shard, looking from an offset on; None where there is none.

        Raises BrokerError.
        """
        place = Place(self._kafka.state, number)
        first, end = self._admin.begins([place])[place], self._admin.ends([place])[place]
        assembler = Assembler(self._kafka.application)
        if first < end:
            with closing(self._client.tail({place: max(first, begin)})) as tail:
                for messages in self._read(tail, place, end):
                    assembler.feed(messages)
        return assembler.newest()

    def replay(
        self, begin: Mapping[Place, int], runs: Sequence[tuple[Place, int]], take: Callable[[Messages], object]
    ) -> None:
        """Hand on again what was read of partitions, run by run.

        Parameters
        ----------
        begin
            Where each partition is read from.
        runs
            Pairs of a partition and the offset that it was read up to.

        Raises BrokerError; GapError for messages that are no longer there.
        """
        waiting: dict[Place, list[Messages]] = defaultdict(list)  # of other partitions, until their turn
        with closing(self._client.tail(begin)) as tail:
            for place, end in runs:
                held, waiting[place] = waiting[place], []
                for messages in held:
                    _cut(messages, end, take, waiting[place])
                for messages in self._read(tail, place, end):
                    if messages.place == place:
                        _cut(messages, end, take, waiting[place])
                    else:
                        waiting[messages.place].append(messages)

    def _read(self, tail: Tail, place: Place, end: int) -> Iterator[Messages]:
        """Yield what a tail reads until one of its partitions has been read up to an offset."""
        position, since = -1, self._clock()
        while (now := tail.position(place)) < end:
            if now > position:
                position, since = now, self._clock()
            elif self._clock() - since > 2 * self._kafka.transaction_seconds:
                raise BrokerError(
                    f"{place.topic}, partition {place.partition}, cannot be read beyond offset {now:,} of {end:,}: "
                    "a transaction in it does not end (kafka-transactions.sh finds and aborts it)"
                )
            yield from tail.read(_PATIENCE)


def _cut(messages: Messages, end: int, take: Callable[[Messages], object], rest: list[Messages]) -> None:
    """Hand on what comes before an offset, and keep what comes after it."""
    before, after = up_to(messages, end)
    take(before)
    if after is not None:
        rest.append(after)
