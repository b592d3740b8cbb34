"""Shards that answer with what others learn: the fold of all shards, followed as their states are saved.

Law: a new state takes effect between two transactions, and each prediction tells which states it was made with.
"""

import threading
from collections.abc import Callable, Mapping, Sequence
from contextlib import closing
from typing import Any, NamedTuple

from consumers.errors import BrokerError
from consumers.kafka.client import Admin, Client, Committed, GapError, Messages, Place, Writer
from consumers.kafka.messages import batch_of
from consumers.kafka.notes import Note
from consumers.kafka.settings import KafkaSettings
from consumers.kafka.shards import Say, check_gap, first_offsets
from consumers.kafka.state_topic import Assembler
from consumers.shard import Outcome, Shard
from consumers.state import State, folded
from streamnb.classifier import Classifier
from streamnb.snapshot import SnapshotError

_PATIENCE = 0.5  # seconds that one read waits
_LOOK = 30.0  # seconds after which more partitions of states are looked for


class Fold(NamedTuple):
    """The states of all shards in one, the settings they were made with, and which they are: SHARD:NUMBER, by shard."""

    state: State
    settings: Mapping[str, Any]
    stamp: str


def fold_of(states: Mapping[int, tuple[int, State, Mapping[str, Any]]]) -> Fold:
    """Return the fold of states: of each shard, by its number, the number of its state, the state and its settings."""
    shards = sorted(states.items())
    return Fold(
        folded([state for _, (_, state, _) in shards]),
        shards[0][1][2],
        " ".join(f"{shard}:{number}" for shard, (number, _, _) in shards),
    )


class Follower:
    """Reads the topic of states and folds the newest of each shard, in a thread of its own.

    Parameters
    ----------
    client, admin, kafka
        Kafka, and its settings.
    clock
        Seconds, from any start.
    """

    def __init__(self, client: Client, admin: Admin, kafka: KafkaSettings, clock: Callable[[], float]) -> None:
        self._client = client
        self._admin = admin
        self._kafka = kafka
        self._clock = clock
        self._assemblers: dict[int, Assembler] = {}
        self._states: dict[int, tuple[int, State, Mapping[str, Any]]] = {}
        self._fold: Fold | None = None
        self._error: Exception | None = None
        self._changed = threading.Condition()
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._follow, name="states", daemon=True)

    def start(self) -> None:
        """Begin to follow."""
        self._thread.start()

    def wait(self, seconds: float) -> Fold | None:
        """Return the newest fold, waiting no longer than so many seconds for the first; raises what went wrong."""
        with self._changed:
            self._changed.wait_for(lambda: self._fold or self._error, seconds)
            if self._error is not None:
                raise self._error
            return self._fold

    def close(self) -> None:
        """Stop following."""
        self._stop.set()
        if self._thread.is_alive():
            self._thread.join()

    def _follow(self) -> None:
        try:
            while not self._stop.is_set():
                self._read()
        except (SnapshotError, ValueError) as error:  # a later format; models of shards that do not go together
            self._fail(BrokerError(f"the states of {self._kafka.application} in {self._kafka.state}: {error}"))
        except Exception as error:  # noqa: BLE001 - raised where the fold is asked for
            self._fail(error)

    def _fail(self, error: Exception) -> None:
        with self._changed:
            self._error = error
            self._changed.notify_all()

    def _read(self) -> None:
        """Follow the partitions that there are, until there are more."""
        count = self._admin.partitions(self._kafka.state)
        places = [Place(self._kafka.state, number) for number in range(count)]
        self._assemblers = {place.partition: Assembler(self._kafka.application) for place in places}
        ends, looked = self._admin.ends(places), self._clock()
        with closing(self._client.tail(self._admin.begins(places))) as tail:
            while not self._stop.is_set():
                for messages in tail.read(_PATIENCE):
                    self._assemblers[messages.place.partition].feed(messages)
                if all(tail.position(place) >= end for place, end in ends.items()):
                    self._update()
                if self._clock() - looked > _LOOK:
                    looked = self._clock()
                    if self._admin.partitions(self._kafka.state) > count:
                        return

    def _update(self) -> None:
        """Fold anew, if a state is newer than it was."""
        newer = False
        for number, assembler in self._assemblers.items():
            stored = assembler.newest()
            if stored is not None and stored.manifest.number > self._states.get(number, (-1,))[0]:
                state, settings, _ = State.from_bytes(stored.data)
                self._states[number] = stored.manifest.number, state, settings
                newer = True
        if newer:
            fold = fold_of(self._states)
            with self._changed:
                self._fold = fold
                self._changed.notify_all()


class Following:
    """The shards of a worker that answers, and learns nothing.

    Parameters
    ----------
    shard
        What answers, for all partitions, with the first fold.
    follower
        Where newer folds come from.
    admin, kafka
        Kafka, and its settings.
    model_of
        Returns the model to answer with, given a fold.
    limit
        How large a record may be, in bytes.
    worker
        What this worker calls itself in notes.
    say
        Told, in a sentence, of what is worth knowing.
    """

    def __init__(
        self,
        shard: Shard,
        follower: Follower,
        admin: Admin,
        kafka: KafkaSettings,
        *,
        model_of: Callable[[Fold], Classifier],
        limit: int,
        worker: str,
        say: Say,
    ) -> None:
        self._shard = shard
        self._follower = follower
        self._admin = admin
        self._kafka = kafka
        self._model_of = model_of
        self._limit = limit
        self._note = Note(worker).written()
        self._say = say
        self._offsets: dict[Place, int] = {}
        self._touched: set[Place] = set()
        self._swap()

    @property
    def fresh(self) -> bool:
        """Tell whether there is a partition whose first offset is not committed."""
        return bool(self._touched)

    def take_over(self, number: int, committed: Mapping[Place, Committed]) -> dict[Place, int]:
        """Return where to read on."""
        offsets = {place: held.offset for place, held in committed.items()}
        places = [Place(topic, number) for topic in self._kafka.events]
        missing = [place for place in places if place not in offsets]
        positions = {**offsets, **first_offsets(self._admin, missing, self._kafka.start)}
        self._offsets.update(positions)
        self._touched.update(missing)  # or else the end, where that is the first, might be a later one next time
        return positions

    def take(self, messages: Messages) -> Outcome:
        """Answer some messages."""
        self._offsets[messages.place] = messages.end
        self._touched.add(messages.place)
        return self._shard.take(batch_of(messages, self._limit))

    def finish(self, writer: Writer, *, all_states: bool = False) -> dict[Place, Committed]:
        """Return the offsets to commit, and answer with the newest fold from now on."""
        del writer, all_states  # nothing is kept but offsets
        positions = {place: Committed(self._offsets[place], self._note) for place in self._touched}
        self._touched.clear()
        self._swap()
        return positions

    def pass_over(self, gap: GapError) -> None:
        """Go on after messages that are no longer retained, if that is asked for; BrokerError if it is not."""
        check_gap(gap, self._kafka, self._say)
        self._offsets[gap.place] = gap.first
        self._shard.state.tally.lost += gap.first - gap.wanted

    def keep_only(self, numbers: set[int]) -> None:
        """Forget how far all partitions were read but those of these numbers; the fold is the same for all."""
        self._touched = {place for place in self._touched if place.partition in numbers}

    def states(self) -> Sequence[State]:
        """Return what was answered with, and how well."""
        return [self._shard.state]

    def _swap(self) -> None:
        """Answer with the newest fold."""
        fold = self._follower.wait(0.0)
        if fold is not None and fold.stamp != self._shard.stamp:
            self._shard.state.model = self._model_of(fold)
            self._shard.stamp = fold.stamp
