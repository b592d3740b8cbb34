"""The programs behind the commands: settings to a loop with its source, sinks and store, and what comes out.

Law: what can be found wrong is found before anything is touched.
"""

import gc
import sys
import time
from collections.abc import Collection, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from functools import partial
from typing import Any

import msgspec
from rich.console import Console

from consumers.alarms import Alarms
from consumers.config import FIELD_SETTINGS, Config
from consumers.errors import ConfigError, FileError
from consumers.fields import Fields, take
from consumers.files import STANDARD, is_device, is_same
from consumers.formats import parse_one
from consumers.inputs import FileSource
from consumers.interrupts import Interrupts
from consumers.kafka.settings import KafkaSettings
from consumers.kafka.states import read_states
from consumers.kafka.topics import SCHEME
from consumers.loop import Loop, Sinks, SnapshotPolicy
from consumers.models import check_same, configure, given_scoring, new_model
from consumers.named import decision_rule, named_label
from consumers.outputs import FileSink, StandardSink, check_output
from consumers.records import Batch, Position, Sink
from consumers.report import Watch, tell_alarm
from consumers.shard import Shard
from consumers.snapshots import SnapshotFolder, read_snapshot
from consumers.state import State
from streamnb.classifier import Classifier
from streamnb.explain import Explanation


def run(config: Config, console: Console, *, emit: bool, keep: bool) -> State:
    """Read the inputs to their end, predicting and learning; return what is known then.

    Parameters
    ----------
    emit
        Whether predictions are written.
    keep
        Whether dead letters and drifts are written and snapshots are kept; with a snapshot there, go on from it.

    Raises FileError or ConfigError, before anything is touched.
    """
    state: State | None = None
    lengths: dict[str, int] = {}
    with ExitStack() as stack:
        store = SnapshotFolder(config.snapshots, config.keep_snapshots) if keep else None
        if store is not None:
            stack.callback(store.close)
            store.check()
            store.lock()
            found = store.newest(State.from_bytes, console.print)
            if found is not None:
                state, recorded, lengths = found
                what = f"the snapshots in {config.snapshots}"
                check_same(config, recorded, what=what, other="folder for snapshots")
        state = state or State(new_model(config))
        _loop(config, state, console, lengths, learn=True, emit=emit, bury=keep, store=store)
    return state


def predict(config: Config, console: Console, path: str, given: set[str]) -> State:
    """Predict the inputs with the model of a snapshot, learning nothing; return what is known then.

    Parameters
    ----------
    given
        The settings that go before those of the snapshot.

    Raises FileError, before anything is touched.
    """
    loaded, recorded, _ = read_known(path, config.kafka, console)
    state = State(loaded.model)
    config = with_recorded(config, recorded, given)
    configure(state.model, given_scoring(config, given))
    _loop(config, state, console, {}, learn=False, emit=True, bury=True, store=None)
    return state


def explain(
    path: str, kafka: KafkaSettings, text: str, label: str | None, against: str | None, console: Console
) -> Explanation:
    """Return why the model of a snapshot gives an event, as JSON or "-" for standard input, its class.

    Raises FileError or ConfigError for what cannot be explained.
    """
    loaded, recorded, _ = read_known(path, kafka, console)
    record = _standard_input() if text == STANDARD else text.encode(errors="surrogateescape")
    event = parse_one(record, max(len(record), 1))
    if not isinstance(event, dict):
        raise ConfigError(f"EVENT is {event[0]}: {event[1]}")
    batch = Batch(Position("", 0, 0), [event], [0], [record])
    take(fields_of(with_recorded(Config(), recorded, ()), loaded.model), batch)
    try:
        classes = [None if each is None else named_label(each) for each in (label, against)]
        explanation = loaded.model.explain_one(event, *classes)
    except ValueError as error:
        raise ConfigError(str(error)) from error
    if explanation is None:
        raise FileError(f"snapshot {path} has learned nothing yet: there is nothing to explain")
    return explanation


def read_known(path: str, kafka: KafkaSettings, console: Console) -> tuple[State, Mapping[str, Any], Mapping[str, int]]:
    """Return the state, the settings and the lengths of outputs that a snapshot holds; of a topic, those of its states.

    Parameters
    ----------
    path
        A file, a folder of them, or kafka://HOST:PORT/TOPIC.
    kafka
        The application whose states those of a topic are, and how to reach it.

    Raises FileError; ConfigError and BrokerError for topics.
    """
    if path.startswith(SCHEME):
        fold = read_states(path, kafka)
        return fold.state, fold.settings, {}
    return read_snapshot(path, State.from_bytes, console.print)


def _standard_input() -> bytes:
    return sys.stdin.buffer.read() if sys.stdin else b""


def with_recorded(config: Config, recorded: Mapping[str, Any], given: Collection[str]) -> Config:
    """Return settings with the keys that a snapshot was made with, where they are not given."""
    known = {name: recorded[name] for name in FIELD_SETTINGS if name in recorded and name not in given}
    return msgspec.structs.replace(config, **known)


def _loop(
    config: Config,
    state: State,
    console: Console,
    lengths: dict[str, int],
    *,
    learn: bool,
    emit: bool,
    bury: bool,
    store: SnapshotFolder | None,
) -> None:
    """Open the outputs, run a loop over the inputs, and close what was opened."""
    alarms = bury and config.drift != ""
    late = bool(config.labels)
    shard = new_shard(config, state, learn=learn, emit=emit, alarms=alarms, late=late)
    source = FileSource(config.inputs, config.format, config.max_record_bytes, config.labels)
    source.check(state.positions)
    wanted = ((config.output, emit), (config.dead_letters, bury), (config.drift, alarms))
    check_outputs(config, [path for path, used in wanted if used], lengths)
    if state.tally.records:
        console.print(f"going on from the snapshot at record {state.tally.records:,} in {config.snapshots}")
    if STANDARD in (*config.inputs, *config.labels) and sys.stdin and sys.stdin.isatty():
        console.print("reading standard input; Ctrl-D ends it")
    with ExitStack() as stack:
        stack.enter_context(few_collections())
        if store is not None:
            store.make()
        predictions, dead_letters, drift = (
            open_output(stack, path, lengths) if used else None for path, used in wanted
        )
        if store is not None:
            stack.callback(store.wait)  # before the outputs close that its snapshots account for
        Loop(
            shard,
            Sinks(predictions, dead_letters, drift),
            store=store,
            settings=config.state_settings(),
            policy=SnapshotPolicy(config.snapshot_records, config.snapshot_seconds),
            clock=time.monotonic,
            tell=partial(tell_alarm, console),
            watch=stack.enter_context(Watch(console, lambda: [state], time.monotonic)),
            interrupts=stack.enter_context(Interrupts()),
        ).run(source)


def new_shard(config: Config, state: State, *, learn: bool, emit: bool, alarms: bool, late: bool = False) -> Shard:
    """Return what takes batches, with a state to bring forward; ConfigError for decisions that cannot be.

    Parameters
    ----------
    late
        Whether labels may come later than their events, which then wait for them.
    """
    of = "longest memory" if learn and len(state.model.memory_shares()) > 1 else "predictions"
    return Shard(
        state,
        fields_of(config, state.model),
        learn=learn,
        emit=emit,
        explain=config.explain if emit else 0,
        alarms=Alarms(of) if alarms else None,
        rule=decision_rule(config),
        waiting=config.max_waiting if late else 0,
        tell_unmatched=config.tell_unmatched,
    )


def fields_of(config: Config, model: Classifier) -> Fields:
    """Return the keys of events that are no features."""
    return Fields(config.label, config.id, config.weight, config.time, config.ignore, model.settings.shortest)


def check_outputs(config: Config, paths: list[str], lengths: dict[str, int]) -> None:
    """Raise FileError unless each output can be written, and none is another or an input."""
    for path in paths:
        if path != STANDARD:
            check_output(path, lengths.get(path))
    files = [path for path in (*config.inputs, *config.labels, *paths) if path != STANDARD and not is_device(path)]
    if config.snapshots in paths:
        raise FileError(f"{config.snapshots} is to hold snapshots: give each output a file of its own")
    for place, path in enumerate(files):
        for other in files[:place]:
            if is_same(path, other):
                raise FileError(f"{path} and {other} are one file: give each input and output a file of its own")


@contextmanager
def few_collections(objects: int = 100_000) -> Iterator[None]:
    """Keep Python's collector from going through all that lives, again and again, for events that hold no cycles.

    Left alone it takes a third of the time of a run, most of it for the modules that were imported. It collects when
    there are so many objects more than after the last time.
    """
    thresholds = gc.get_threshold()
    gc.freeze()
    gc.set_threshold(objects, *thresholds[1:])
    try:
        yield
    finally:
        gc.set_threshold(*thresholds)
        gc.unfreeze()


def open_output(stack: ExitStack, path: str, lengths: dict[str, int]) -> Sink:
    """Return a file, or standard output, that is closed with the stack."""
    sink = StandardSink() if path == STANDARD else FileSink(path, lengths.get(path))
    stack.callback(sink.close)
    return sink
