"""Alarms: a run finds that predictions have become worse than they were.

Law: an alarm is raised at the same event, and says the same, wherever batches are cut.
"""

from collections.abc import Iterator, Sequence
from itertools import islice

from consumers.fields import Taken, part_of
from consumers.records import Alarm, Batch
from consumers.state import State
from streamnb.arrays import Floats

_MOST = 5  # features that an alarm names


class Alarms:
    """Looks for drift in the losses of a run.

    Parameters
    ----------
    of
        Whose losses they are, as an `Alarm` tells it.
    """

    def __init__(self, of: str = "predictions") -> None:
        self._of = of

    def parts(self, batch: Batch, taken: Taken, state: State) -> Iterator[tuple[Batch, Taken]]:
        """Cut a batch after each event at which drift may be found, so that the model is not yet past it then."""
        size, start = len(batch.events), 0
        while True:
            stop = _after(taken.labels, start, state.drift.room)
            yield part_of(batch, taken, start, stop)
            if stop >= size:
                return
            start = stop

    def look(self, losses: Floats, batch: Batch, state: State) -> list[Alarm]:
        """Look for drift in the losses of a part that has been measured and learned; return an alarm if there is."""
        drift = state.drift.update(losses)
        if drift is None:
            return []
        state.tally.drifts += 1
        alarm = Alarm(
            self._of,
            batch.position.stream,
            batch.position.partition,
            batch.offsets[-1],
            state.measures.measured,
            drift.since,
            drift.wrong_before,
            drift.wrong_after,
            drift.loss_before,
            drift.loss_after,
            [(feature, bits) for feature, bits in state.model.shifted_features()[:_MOST] if bits > 0.0],
        )
        return [alarm]


def _after(labels: Sequence[object], start: int, count: int) -> int:
    """Return the place after so many labels from a place on, or the end."""
    stop = min(start + count, len(labels))
    if stop == len(labels) or None not in labels:
        return stop
    labelled = (place for place in range(start, len(labels)) if labels[place] is not None)
    return 1 + next(islice(labelled, count - 1, None), len(labels) - 1)
