"""Shards that learn: restored when they are taken over, saved with the transactions that they are part of.

Law: a shard is, bit for bit, what reading its partitions once, in the order that was committed, makes of it.
"""

from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial

from consumers.errors import BrokerError
from consumers.kafka.client import Admin, Client, Committed, GapError, Messages, Place, Writer
from consumers.kafka.messages import batch_of
from consumers.kafka.notes import Note, newest_note
from consumers.kafka.restoring import Restorer
from consumers.kafka.settings import KafkaSettings
from consumers.kafka.shards import Say, check_gap, first_offsets
from consumers.kafka.state_topic import Manifest, Stored, journal_record, records_of
from consumers.loop import SnapshotPolicy
from consumers.shard import Outcome, Shard
from consumers.state import State
from streamnb.snapshot import SnapshotError


@dataclass
class _Kept:
    """A shard and what is known of its last saved state, by number of records and clock; None before the first."""

    shard: Shard
    manifest: Manifest | None = None
    note: Note = field(default_factory=Note)
    transactions: int = 0
    records: int = 0
    at: float = 0.0
    runs: list[tuple[str, int]] = field(default_factory=list)


class Learning:
    """The shards of a worker that learns.

    Parameters
    ----------
    client, admin, kafka
        Kafka, and its settings.
    make
        Makes a shard of a state, or of none.
    limit
        How large a record may be, in bytes.
    settings
        What a state depends on, and is saved with it.
    policy
        When a state is due to be saved.
    clock, now
        Seconds, from any start and since 1970.
    worker
        What this worker calls itself in notes.
    say
        Told, in a sentence, of what is worth knowing.
    """

    def __init__(
        self,
        client: Client,
        admin: Admin,
        kafka: KafkaSettings,
        *,
        make: Callable[[State | None], Shard],
        check: Callable[[Mapping[str, object]], None],
        limit: int,
        settings: Mapping[str, object],
        policy: SnapshotPolicy,
        clock: Callable[[], float],
        now: Callable[[], float],
        worker: str,
        say: Say,
    ) -> None:
        self._admin = admin
        self._kafka = kafka
        self._make = make
        self._check = check
        self._limit = limit
        self._settings = settings
        self._policy = policy
        self._clock = clock
        self._now = now
        self._worker = worker
        self._say = say
        self._topics = (*kafka.events, *kafka.labels)
        self._restorer = Restorer(client, admin, kafka, clock)
        self._kept: dict[int, _Kept] = {}
        self._touched: set[int] = set()

    @property
    def fresh(self) -> bool:
        """Tell whether there is a shard whose first state is not saved."""
        return any(kept.manifest is None for kept in self._kept.values())

    def take_over(self, number: int, committed: Mapping[Place, Committed]) -> dict[Place, int]:
        """Make a shard be as it was when these offsets were committed; return where to read on. Raises BrokerError."""
        offsets = {place: held.offset for place, held in committed.items()}
        kept = self._kept.get(number)
        newest = newest_note(committed.values()).number
        if kept is None or kept.note.number != newest or self._positions(kept.shard, number) != offsets:
            self._admin.extend(self._kafka.state, number + 1)
            begun, stored = self._clock(), self._stored(number, committed)
            kept = self._new(number) if stored is None else self._restored(number, committed, stored, begun)
            self._kept[number] = kept
        return self._positions(kept.shard, number)

    def take(self, messages: Messages) -> Outcome:
        """Take some messages of a shard all the way."""
        kept = self._kept[messages.place.partition]
        self._touched.add(messages.place.partition)
        kept.runs.append((messages.place.topic, messages.end))
        return self._take(kept.shard, messages)

    def finish(self, writer: Writer, *, all_states: bool = False) -> dict[Place, Committed]:
        """Send states that are due, and the order of what was read; return the offsets to commit."""
        for number in self._due(all_states=all_states):
            self._save(number, writer)
        positions: dict[Place, Committed] = {}
        for number in sorted(self._touched):
            kept = self._kept[number]
            if kept.runs and len(self._topics) > 1:
                key, value = journal_record(self._kafka.application, kept.transactions, kept.note.number, kept.runs)
                writer.send(Place(self._kafka.state, number), [value], [key])
                kept.transactions += 1
            kept.runs = []
            note = kept.note.written()
            for place, offset in self._positions(kept.shard, number).items():
                positions[place] = Committed(offset, note)
        self._touched.clear()
        return positions

    def pass_over(self, gap: GapError) -> None:
        """Go on after messages that are no longer retained, if that is asked for; BrokerError if it is not."""
        self._pass_over(gap, self._kept[gap.place.partition].shard)
        self._touched.add(gap.place.partition)

    def keep_only(self, numbers: set[int]) -> None:
        """Forget all shards but those of these numbers."""
        self._kept = {number: kept for number, kept in self._kept.items() if number in numbers}
        self._touched &= numbers

    def states(self) -> Sequence[State]:
        """Return the state of each shard, by number."""
        return [kept.shard.state for _, kept in sorted(self._kept.items())]

    def _take(self, shard: Shard, messages: Messages) -> Outcome:
        batch = batch_of(messages, self._limit)
        batch.late = messages.place.topic in self._kafka.labels
        return shard.take(batch)

    def _places(self, number: int) -> list[Place]:
        return [Place(topic, number) for topic in self._topics]

    def _positions(self, shard: Shard, number: int) -> dict[Place, int]:
        """Return where to read on in each partition of a shard."""
        positions = shard.state.positions
        return {place: positions[place] for place in self._places(number)}

    def _new(self, number: int) -> _Kept:
        """Return a shard that has read nothing."""
        shard = self._make(None)
        first = first_offsets(self._admin, self._places(number), self._kafka.start)
        for place in self._places(number):  # in this order, which shows in the bytes of the state
            shard.state.positions[place] = first[place]
        self._touched.add(number)
        self._say(f"shard {number}: new")
        return _Kept(shard, at=self._clock())

    def _stored(self, number: int, committed: Mapping[Place, Committed]) -> Stored | None:
        """Return the newest state of a shard; None where there is none, and no offset is committed either."""
        note = newest_note(committed.values())
        stored = self._restorer.find(number, note.offset)
        if note.offset and (stored is None or stored.manifest.number < note.number):
            stored = self._restorer.find(number, 0)
        if stored is None and committed:
            offsets = ", ".join(f"{held.offset:,} of {place.topic}" for place, held in sorted(committed.items()))
            raise BrokerError(
                f"shard {number} has been read up to offset {offsets}, and {self._kafka.state} holds no state of it: "
                "the topic was deleted or emptied; begin anew under another application (--application)"
            )
        return stored

    def _restored(self, number: int, committed: Mapping[Place, Committed], stored: Stored, begun: float) -> _Kept:
        """Return a shard as it was when these offsets were committed; what it takes is told since it was begun."""
        try:
            state, recorded, _ = State.from_bytes(stored.data)
        except SnapshotError as error:
            what = f"state {stored.manifest.number} of shard {number} in {self._kafka.state}"
            raise BrokerError(f"{what}: {error}") from error
        self._check(recorded)
        note = newest_note(committed.values())
        if not committed:
            self._check_ends(state, number)
            note = Note(self._worker, stored.manifest.number, 0, self._now())
            self._say(f"shard {number}: no offset is committed any more; what came after its last state is read again")
            self._touched.add(number)
        before = state.tally.records
        kept = _Kept(self._make(state), stored.manifest, note, len(stored.journal), before, self._clock())
        self._replay(kept.shard, number, committed, stored)
        self._say(
            f"shard {number}: restored from state {stored.manifest.number}, {state.tally.records - before:,} records "
            f"after it taken again, in {self._clock() - begun:.1f} s"
        )
        return kept

    def _replay(self, shard: Shard, number: int, committed: Mapping[Place, Committed], stored: Stored) -> None:
        """Take again what was read after a state, up to the committed offsets."""
        positions = shard.state.positions
        missing = [place for place in self._places(number) if place not in positions]
        for place, offset in first_offsets(self._admin, missing, self._kafka.start).items():
            positions[place] = offset
        runs = [(Place(topic, number), end) for runs in stored.journal for topic, end in runs]
        told = defaultdict(int, runs)
        rest = [
            (place, held.offset)
            for place, held in committed.items()
            if max(told[place], positions[place]) < held.offset
        ]
        if rest and len(self._topics) > 1:
            self._say(f"shard {number}: the order in which its topics were read is not known any more; it is made anew")
        runs += rest
        while any(positions[place] < end for place, end in runs):
            begin = {place: positions[place] for place in self._places(number)}
            try:
                self._restorer.replay(begin, runs, partial(self._take, shard))
            except GapError as gap:
                self._pass_over(gap, shard)

    def _check_ends(self, state: State, number: int) -> None:
        """Raise BrokerError where a state is of messages that a topic has not had: it is another one by now."""
        places = [place for place in self._places(number) if place in state.positions]
        for place, end in self._admin.ends(places).items():
            if end < state.positions[place]:
                check_gap(GapError(place, state.positions[place], end), self._kafka, self._say)

    def _pass_over(self, gap: GapError, shard: Shard) -> None:
        check_gap(gap, self._kafka, self._say)
        shard.state.positions[gap.place] = gap.first
        shard.state.tally.lost += gap.first - gap.wanted

    def _due(self, *, all_states: bool) -> list[int]:
        """Return the shards to save: those that never were, and of those that are due the one that was saved first."""
        never = [number for number, kept in self._kept.items() if kept.manifest is None]
        if all_states:
            return sorted({*never, *(number for number, kept in self._kept.items() if self._records(kept))})
        due = [
            (kept.at, number)
            for number, kept in self._kept.items()
            if kept.manifest is not None and self._policy.due(self._records(kept), self._clock() - kept.at)
        ]
        return sorted({*never, *(number for _, number in sorted(due)[:1])})

    def _records(self, kept: _Kept) -> int:
        return kept.shard.state.tally.records - kept.records

    def _save(self, number: int, writer: Writer) -> None:
        """Send the state of a shard."""
        kept, place = self._kept[number], Place(self._kafka.state, number)
        offset = self._admin.ends([place])[place]
        data = kept.shard.state.to_bytes(self._settings, {})
        manifest, records = records_of(self._kafka.application, data, kept.manifest, self._kafka.max_message_bytes)
        for key, value in records:
            writer.send(place, [value], [key])
        kept.manifest, kept.transactions, kept.runs = manifest, 0, []
        kept.note = Note(self._worker, manifest.number, offset, self._now())
        kept.records, kept.at = kept.shard.state.tally.records, self._clock()
        self._touched.add(number)
