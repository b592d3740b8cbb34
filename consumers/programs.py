"""The programs behind the commands: settings to a loop with its source, sinks and store, and what comes out.

Law: what can be found wrong is found before anything is touched.
"""

import gc
import sys
import time
from collections.abc import Collection, Iterator
from contextlib import ExitStack, contextmanager
from typing import Any

import msgspec
from rich.console import Console

from consumers.config import Config
from consumers.errors import ConfigError, FileError
from consumers.files import STANDARD, is_device, is_same
from consumers.inputs import FileSource
from consumers.interrupts import Interrupts
from consumers.loop import Fields, Loop, SnapshotPolicy
from consumers.outputs import FileSink, StandardSink, check_output
from consumers.records import Sink
from consumers.report import Watch
from consumers.snapshots import SnapshotFolder, read_snapshot
from consumers.state import State
from streamnb.naive_bayes import NaiveBayes


def run(config: Config, console: Console, *, emit: bool, keep: bool) -> State:
    """Read the inputs to their end, predicting and learning; return what is known then.

    Parameters
    ----------
    emit
        Whether predictions are written.
    keep
        Whether dead letters are written and snapshots are kept; with a snapshot there, go on from it.

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
                _check_same(config, recorded)
        state = state or State(new_model(config))
        _loop(config, state, console, lengths, learn=True, emit=emit, bury=keep, store=store)
    return state


def predict(config: Config, console: Console, path: str, given: Collection[str]) -> State:
    """Predict the inputs with the model of a snapshot, learning nothing; return what is known then.

    Parameters
    ----------
    given
        The settings that go before those of the snapshot.

    Raises FileError, before anything is touched.
    """
    loaded, recorded, _ = read_snapshot(path, State.from_bytes, console.print)
    state = State(loaded.model)
    known = {name: recorded[name] for name in ("label", "id", "ignore") if name in recorded and name not in given}
    config = msgspec.structs.replace(config, **known)
    _loop(config, state, console, {}, learn=False, emit=True, bury=True, store=None)
    return state


def new_model(config: Config) -> NaiveBayes:
    """Return the model that the settings ask for."""
    try:
        return NaiveBayes(
            smoothing=config.smoothing,
            variance_prior=config.variance_prior,
            unbiased=config.unbiased,
            prior_smoothing=config.prior_smoothing,
            kinds=config.kinds(),
        )
    except ValueError as error:
        raise ConfigError(str(error)) from error


def _check_same(config: Config, recorded: dict[str, Any]) -> None:
    """Raise ConfigError where a snapshot was made under other settings."""
    for name, value in config.state_settings().items():
        was = recorded.get(name)
        now = list(value) if isinstance(value, tuple) else value
        if was != now:
            raise ConfigError(
                f"{name} is {now!r}, and the snapshots in {config.snapshots} were made with {was!r}: "
                "give the same, or another folder for snapshots"
            )


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
    source = FileSource(config.inputs, config.format, config.max_record_bytes)
    source.check(state.positions)
    wanted = ((config.output, emit), (config.dead_letters, bury))
    _check_outputs(config, [path for path, used in wanted if used], lengths)
    if state.tally.records:
        console.print(f"going on from the snapshot at record {state.tally.records:,} in {config.snapshots}")
    if STANDARD in config.inputs and sys.stdin and sys.stdin.isatty():
        console.print("reading standard input; Ctrl-D ends it")
    with ExitStack() as stack:
        stack.enter_context(_few_collections())
        if store is not None:
            store.make()
        predictions, dead_letters = (_open(stack, path, lengths) if used else None for path, used in wanted)
        if store is not None:
            stack.callback(store.wait)  # before the outputs close that its snapshots account for
        Loop(
            state,
            Fields(config.label, config.id, config.ignore),
            learn=learn,
            predictions=predictions,
            dead_letters=dead_letters,
            store=store,
            settings=config.state_settings(),
            policy=SnapshotPolicy(config.snapshot_records, config.snapshot_seconds),
            clock=time.monotonic,
            watch=stack.enter_context(Watch(console, state, time.monotonic)),
            interrupts=stack.enter_context(Interrupts()),
        ).run(source)


def _check_outputs(config: Config, paths: list[str], lengths: dict[str, int]) -> None:
    """Raise FileError unless each output can be written, and none is another or an input."""
    for path in paths:
        if path != STANDARD:
            check_output(path, lengths.get(path))
    files = [path for path in (*config.inputs, *paths) if path != STANDARD and not is_device(path)]
    if config.snapshots in paths:
        raise FileError(f"{config.snapshots} is to hold snapshots: give each output a file of its own")
    for place, path in enumerate(files):
        for other in files[:place]:
            if is_same(path, other):
                raise FileError(f"{path} and {other} are one file: give each input and output a file of its own")


@contextmanager
def _few_collections() -> Iterator[None]:
    """Keep Python's collector from going through all that lives, again and again, for events that hold no cycles.

    Left alone it takes a third of the time of a run, most of it for the modules that were imported.
    """
    thresholds = gc.get_threshold()
    gc.freeze()
    gc.set_threshold(100_000, *thresholds[1:])
    try:
        yield
    finally:
        gc.set_threshold(*thresholds)
        gc.unfreeze()


def _open(stack: ExitStack, path: str, lengths: dict[str, int]) -> Sink:
    sink = StandardSink() if path == STANDARD else FileSink(path, lengths.get(path))
    stack.callback(sink.close)
    return sink
