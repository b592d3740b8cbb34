"""Snapshots changed: several merged into one, and events taken back out of one.

Law: a snapshot is replaced as a whole or not at all; of an event that was taken back, none is left that holds it.
"""

from collections import Counter
from collections.abc import Sequence
from contextlib import ExitStack
from typing import Any

import numpy as np
from rich.console import Console

from consumers.config import Config
from consumers.errors import FileError
from consumers.fields import Taken, bad_labels, bury, take
from consumers.formats import dead_letter_line
from consumers.inputs import FileSource
from consumers.kafka.settings import KafkaSettings
from consumers.kafka.topics import SCHEME
from consumers.programs import check_outputs, fields_of, open_output, read_known, with_recorded
from consumers.records import NO_LABEL, NOT_A_TIME, NOT_LEARNED, Batch, DeadLetter
from consumers.snapshots import check_new_snapshot, held_snapshot, write_snapshot
from consumers.state import State
from streamnb.classifier import Classifier


def merge(paths: Sequence[str], output: str, kafka: KafkaSettings, console: Console) -> State:
    """Merge the models and the measures of snapshots, as `read_known` reads them, in their order; write them to a file.

    What the runs had read is not merged: a merged snapshot is no run to go on with, and what waits stays in its part.

    Raises FileError for snapshots that do not go together, and for an output that is there already.
    """
    check_new_snapshot(output)
    states = [read_known(path, kafka, console) for path in paths]
    first, recorded, _ = states[0]
    merged = State(first.model)
    merged.merge_counts(first)
    for path, (state, *_) in zip(paths[1:], states[1:], strict=True):
        try:
            merged.model = merged.model.merge([merged.model, state.model])
        except ValueError as error:
            raise FileError(f"{path} cannot be merged with {paths[0]}: {error}") from error
        merged.merge_counts(state)
    write_snapshot(output, merged.to_bytes(recorded, {}))
    return merged


def unlearn(path: str, config: Config, console: Console, given: set[str]) -> tuple[int, Counter[str]]:
    """Take the events of the inputs back out of a snapshot, a file or the newest of a folder.

    Those that cannot be go to the dead letters. In a folder, older snapshots, which still hold the events, are removed.

    Returns how many events were taken back, and how many not, by reason. Raises FileError, before anything is touched.
    """
    if path.startswith(SCHEME):
        raise FileError(f"{path} is a topic, whose states are replaced by what learns: nothing can be unlearned there")
    taken_back, reasons = 0, Counter[str]()
    with ExitStack() as stack:
        held, replace = stack.enter_context(held_snapshot(path, State.from_bytes, console.print))
        state, recorded, lengths = held
        config = with_recorded(config, recorded, given)
        if state.model.settings.decays and not config.time:
            raise FileError(
                f"{path} forgets by the count of events: give each event its number among those learned, "
                "the first being 0, under a key of its own (--time)"
            )
        source = FileSource(config.inputs, config.format, config.max_record_bytes)
        source.check({})
        check_outputs(config, [config.dead_letters], {})
        sink = open_output(stack, config.dead_letters, {})
        for batch in source.batches([]):
            taken = _learned(state.model, batch, take(fields_of(config, state.model), batch))
            taken_back += _unlearn(state.model, batch, taken)
            reasons.update(letter.reason for letter in batch.dead)
            sink.write(b"".join(dead_letter_line(batch.position, letter) for letter in batch.dead))
        sink.sync()
        if taken_back:
            replace(state.to_bytes(recorded, lengths))
    return taken_back, reasons


def _learned(model: Classifier, batch: Batch, taken: Taken) -> Taken:
    """Leave out events that were never learned, or of which it cannot be told what is left."""
    problems: dict[int, tuple[str, str]] = {}
    if taken.times is not None and model.settings.decays:
        for place in np.flatnonzero(np.isnan(taken.times)).tolist():
            problems[place] = NOT_A_TIME, "it has none, so what is left of it cannot be told"
    if taken.weights is not None:
        for place in np.flatnonzero(taken.weights == 0.0).tolist():
            problems[place] = NOT_LEARNED, "its weight is 0"
    for place, label in enumerate(taken.labels):
        if label is None:
            problems[place] = NO_LABEL, "so it was never learned"
    return bury(batch, taken, {**problems, **bad_labels(taken.labels)})


def _unlearn(model: Classifier, batch: Batch, taken: Taken) -> int:
    """Take back the events of a batch, and bury those that cannot be; return how many were taken back."""
    count = 0
    for place, (event, label) in enumerate(zip(batch.events, taken.labels, strict=True)):
        given: dict[str, Any] = {}
        if taken.weights is not None:
            given["w"] = float(taken.weights[place])
        if taken.times is not None:
            given["t"] = float(taken.times[place])
        try:
            model.unlearn_one(event, label, **given, cells=batch.cells)
            count += 1
        except ValueError as error:
            batch.dead.append(DeadLetter(batch.offsets[place], batch.raw[place], NOT_LEARNED, str(error)))
    batch.dead.sort()
    return count
