"""A worker: reads what it owns, takes it, and commits it, transaction by transaction.

Law: what a transaction writes, and the offsets that it read up to, are there together or not at all. After a
transaction that was lost nothing of it is left in memory either: shards are restored from what was committed.
"""

from collections.abc import Callable, Iterable
from contextlib import ExitStack

from consumers.errors import BrokerError, InterruptedRunError
from consumers.interrupts import Interrupts
from consumers.kafka.client import (
    Admin,
    Client,
    FencedError,
    GapError,
    Messages,
    Place,
    Polled,
    Reader,
    TopicMissingError,
    TransactionLostError,
    UnreachableError,
    Writer,
    partitions_of,
)
from consumers.kafka.messages import Outputs
from consumers.kafka.settings import KafkaSettings
from consumers.kafka.shards import Say, Shards

LOOK_SECONDS = 30.0
_PAUSE_SECONDS = 0.5


class Worker:
    """A member of the group of an application.

    Parameters
    ----------
    client, admin, kafka
        Kafka, and its settings.
    group
        The consumer group.
    name
        The name of the worker in its transactions; unlike every other.
    topics
        What it reads; the partitions of one number, of all of them, make a shard.
    shards
        What it does with them.
    outputs
        Where it sends what comes of them.
    interrupts
        Where signals wait for the end of a transaction.
    clock, sleep
        Seconds, from any start; waits for some.
    watch
        Called after each transaction, and now and then while nothing comes.
    say
        Told, in a sentence, of what is worth knowing.
    """

    def __init__(
        self,
        client: Client,
        admin: Admin,
        kafka: KafkaSettings,
        *,
        group: str,
        name: str,
        topics: tuple[str, ...],
        shards: Shards,
        outputs: Outputs,
        interrupts: Interrupts,
        clock: Callable[[], float],
        sleep: Callable[[float], None],
        watch: Callable[[], None],
        say: Say,
    ) -> None:
        self._client = client
        self._admin = admin
        self._kafka = kafka
        self._group = group
        self._name = name
        self._topics = topics
        self._shards = shards
        self._outputs = outputs
        self._interrupts = interrupts
        self._clock = clock
        self._sleep = sleep
        self._watch = watch
        self._say = say
        self._owned: set[Place] = set()
        self._ends: dict[Place, int] = {}
        self._looked = clock()
        self._unowned_before: set[Place] = set()  # when it looked last
        self._missing: float | None = None  # since when a topic has been
        self._reader: Reader
        self._writer: Writer

    def run(self) -> None:
        """Work until a signal, or to the end if the settings say so; what was read is saved then.

        Raises InterruptedRunError, and BrokerError for what only people can mend.
        """
        with ExitStack() as stack:
            self._writer = self._first_writer()
            stack.callback(self._close_writer)
            self._reader = self._client.reader(self._group, self._topics, self._kafka.worker, self._kafka.headers)
            stack.callback(self._reader.close)
            self._work()

    def _first_writer(self) -> Writer:
        try:
            return self._client.writer(self._name)
        except TransactionLostError as lost:
            raise BrokerError(f"worker {self._name} cannot begin: {lost}") from lost

    def _close_writer(self) -> None:
        self._writer.close()  # whichever it is by then

    def _work(self) -> None:
        try:
            while not self._finished():
                self._interrupts.check()
                self._round()
                self._watch()
            self._save()
        except InterruptedRunError:
            self._save()
            raise

    def _round(self) -> None:
        """Poll once, and take in one transaction what that brings."""
        try:
            polled = self._polled()
            self._change(polled)
            self._transact(polled.messages)
            if self._finished():
                self._writer.settle()
            self._look_around()
        except (TransactionLostError, UnreachableError) as lost:
            self._start_over(lost)
        except TopicMissingError as missing:
            self._doubt(missing)
            self._start_over(missing)

    def _polled(self) -> Polled:
        try:
            return self._reader.poll(self._kafka.commit_seconds)
        except GapError as gap:
            self._shards.pass_over(gap)
            self._reader.start({gap.place: gap.first})
            return Polled([], set(), set())
        except FencedError as fenced:
            raise BrokerError(self._who_fenced()) from fenced

    def _look_around(self) -> None:
        """Look, now and then, whether what is read is still there, and whether all of it is read by somebody.

        What a leader of the group overlooked before it died would be nobody's for ever, since a member that comes back
        by its static name gets what it had, and does not learn that it leads.
        """
        if self._clock() - self._looked <= LOOK_SECONDS:
            return
        self._looked = self._clock()
        try:
            unowned = self._unowned()
        except UnreachableError as error:
            self._say(f"{error}; trying on")
            return
        left = sorted(unowned & self._unowned_before)
        self._unowned_before = unowned - set(left)
        if left:
            self._say(f"nobody reads partition {left[0].partition} of {left[0].topic}: sharing out anew")
            self._writer.settle()  # as the member that this worker still is
            self._reader.rejoin()

    def _unowned(self) -> set[Place]:
        """Return the partitions that nobody owns, though the group has shared out what there is."""
        group = self._admin.group(self._group)
        there = {Place(topic, number) for topic in self._topics for number in range(partitions_of(self._admin, topic))}
        return there.difference(*(member.places for member in group.members)) if group.settled else set()

    def _change(self, polled: Polled) -> None:
        """Give up what was taken from this worker, and take over what was given to it."""
        self._owned -= polled.taken
        self._owned |= polled.given
        if polled.given:
            self._writer.settle()
            self._keep_owned()
            self._take_over(polled.given)

    def _keep_owned(self) -> None:
        """Forget the shards of partitions that were taken and have not come back."""
        self._shards.keep_only({place.partition for place in self._owned})

    def _take_over(self, places: Iterable[Place]) -> None:
        """Take over the shards that some partitions belong to, and read on in them."""
        for number in sorted({place.partition for place in places}):
            whole = [Place(topic, number) for topic in self._topics]
            if missing := [place for place in whole if place not in self._owned]:
                raise BrokerError(
                    f"partition {number} of {missing[0].topic} is not there, or went to another worker: topics that "
                    f"are read together ({', '.join(self._topics)}) need as many partitions each "
                    "(streamnb topics create)"
                )
            positions = self._shards.take_over(number, self._reader.committed(whole))
            if self._kafka.until == "end":
                self._ends.update(
                    {place: end for place, end in self._admin.ends(whole).items() if place not in self._ends}
                )
            self._reader.start(positions)

    def _transact(self, polled: list[Messages], *, all_states: bool = False) -> None:
        """Take messages of shards that are owned while the transaction before ends; then commit what comes of them."""
        self._keep_owned()
        taken = [(messages, self._shards.take(messages)) for messages in polled]
        self._writer.settle()
        if not (taken or self._shards.fresh or all_states):
            return
        self._writer.begin()
        for messages, outcome in taken:
            self._outputs.send(self._writer, messages, outcome)
        positions = self._shards.finish(self._writer, all_states=all_states)
        self._writer.commit(positions, self._reader.membership())
        self._missing = None

    def _start_over(self, lost: Exception) -> None:
        """Forget all that was not committed, and restore what is owned from what was; while no broker answers, wait."""
        self._say(f"a transaction was lost ({lost}): restoring what was committed")
        while True:
            self._shards.keep_only(set())
            self._writer.close()
            try:
                self._check_topics()
                self._writer = self._client.writer(self._name)
                self._take_over(set(self._owned))
            except (UnreachableError, TransactionLostError) as error:
                self._say(f"{error}; trying again")
                self._missing = None
                self._interrupts.pause(_PAUSE_SECONDS, self._sleep)
            except TopicMissingError as missing:
                self._doubt(missing)
            else:
                return

    def _doubt(self, missing: TopicMissingError) -> None:
        """Raise that a topic is missing, if one has been for a while: a broker that has just come back knows few."""
        now = self._clock()
        self._missing = now if self._missing is None else self._missing
        if now - self._missing > self._kafka.connect_seconds:
            raise missing
        self._interrupts.pause(_PAUSE_SECONDS, self._sleep)

    def _check_topics(self) -> None:
        """Raise TopicMissingError where a topic is not there that is read."""
        for topic in self._topics:
            partitions_of(self._admin, topic)

    def _finished(self) -> bool:
        """Tell whether all that is owned has been read up to the end that it had when it was taken over."""
        if self._kafka.until == "forever" or not self._owned or self._shards.fresh:
            return False
        return all(self._reader.position(place) >= self._ends[place] for place in self._owned)

    def _save(self) -> None:
        """Save the states of all shards, so that whoever takes them over has nothing to take again."""
        if self._shards.states():
            try:
                self._transact([], all_states=True)
                self._writer.settle()
            except (TransactionLostError, UnreachableError) as lost:
                self._say(f"not all could be saved ({lost}): what is missing is read again at the next start")

    def _who_fenced(self) -> str:
        """Say who has taken over the name of this worker."""
        members = [member for member in self._admin.group(self._group).members if member.name == self._kafka.worker]
        by = f"another process at {members[0].host}" if members else "another process"
        return (
            f"worker {self._kafka.worker} of {self._group} has been taken over by {by}, which has the same name: "
            "stop one of them, or give each a --worker of its own"
        )
