"""The loop over inputs that end: read, take each batch all the way, write, now and then a snapshot.

Law: nothing about the result tells where a run was killed and started again.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

from consumers.errors import FileError, InterruptedRunError
from consumers.formats import alarm_line, dead_letter_line, prediction_lines
from consumers.interrupts import Interrupts
from consumers.records import Alarm, Batch, Position, Sink, Source, Store
from consumers.shard import Shard


@dataclass(frozen=True)
class SnapshotPolicy:
    """When a snapshot is due: after so many records or so many seconds, whichever comes first."""

    records: int
    seconds: float

    def due(self, records: int, seconds: float) -> bool:
        """Tell whether a snapshot is due so many records and seconds after the last."""
        return records >= self.records or (records > 0 and seconds >= self.seconds)


class Sinks(NamedTuple):
    """Where predictions, dead letters and drifts go; None for nowhere."""

    predictions: Sink | None = None
    dead_letters: Sink | None = None
    drift: Sink | None = None


class Loop:
    """Reads a source to its end, and keeps what the shard learns.

    Parameters
    ----------
    shard
        What predicts and learns.
    sinks
        Where lines go.
    store, settings, policy
        Where snapshots are kept (None: nowhere), the settings that they depend on, and when one is due.
    clock
        Seconds, from any start.
    tell
        Called with each drift that was found.
    watch
        Called after each batch.
    interrupts
        Where signals wait for the end of a batch.
    """

    def __init__(
        self,
        shard: Shard,
        sinks: Sinks,
        *,
        store: Store | None,
        settings: Mapping[str, Any],
        policy: SnapshotPolicy,
        clock: Callable[[], float],
        tell: Callable[[Alarm], None],
        watch: Callable[[], None],
        interrupts: Interrupts,
    ) -> None:
        self._shard = shard
        self._sinks = sinks
        self._store = store
        self._settings = settings
        self._policy = policy
        self._clock = clock
        self._tell = tell
        self._watch = watch
        self._interrupts = interrupts

    def run(self, source: Source) -> None:
        """Read the source to its end, or to a signal; save at the start, when due, and at the end.

        Raises InterruptedRunError if a signal asked to stop, FileError for an input that fails, both with all saved.
        """
        state = self._shard.state
        batches = source.batches([Position(*place, offset) for place, offset in state.positions.items()])
        self._save()
        if self._store is not None:
            self._store.wait()  # before the first output, for which a snapshot must account
        saved, at = state.tally.records, self._clock()
        while (batch := self._next(batches)) is not None:
            self._step(batch)
            self._watch()
            if self._policy.due(state.tally.records - saved, self._clock() - at):
                self._save()
                saved, at = state.tally.records, self._clock()
        self._save()

    def _next(self, batches: Iterator[Batch]) -> Batch | None:
        """Return the next batch; what ends the wait for it, a signal or an input that fails, finds all saved."""
        try:
            self._interrupts.check()
            batch = next(batches, None)
            if batch is None:
                self._interrupts.check()
        except (InterruptedRunError, FileError):
            self._save()
            raise
        return batch

    def _step(self, batch: Batch) -> None:
        """Take a batch all the way, and write what comes of it."""
        outcome = self._shard.take(batch)
        if self._sinks.predictions is not None:
            self._sinks.predictions.write(prediction_lines(outcome.predictions))
        if self._sinks.dead_letters is not None:
            self._sinks.dead_letters.write(
                b"".join(dead_letter_line(batch.position, letter) for letter in outcome.dead)
            )
        for alarm in outcome.alarms:
            if self._sinks.drift is not None:
                self._sinks.drift.write(alarm_line(alarm))
            self._tell(alarm)

    def _save(self) -> None:
        """Hand a snapshot of this moment to the store; the sinks hold by then all that it accounts for."""
        if self._store is not None:
            sinks = [sink for sink in self._sinks if sink is not None]
            lengths = {sink.path: sink.flush() for sink in sinks}
            data = self._shard.state.to_bytes(self._settings, lengths)
            self._store.save(self._shard.state.tally.records, data, sinks)
