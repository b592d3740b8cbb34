"""The loop against what its parts give alone: river's evaluation, one event at a time, any cut between batches."""

import json
import signal
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st
from river import datasets, dummy, evaluate, metrics

from consumers.alarms import Alarms
from consumers.errors import FileError, InterruptedRunError
from consumers.fields import Fields
from consumers.interrupts import Interrupts
from consumers.loop import Loop, Sinks, SnapshotPolicy
from consumers.records import Alarm, Batch, Position, Prediction
from consumers.shard import Shard
from consumers.state import State
from streamnb import AdaptiveBayes, NaiveBayes, save
from tests.command import streamnb
from tests.streams import needs_streams, read


class Kept:
    """A sink that keeps what is written, and a store that keeps snapshots."""

    path = "kept"

    def __init__(self) -> None:
        self.lines = b""
        self.snapshots: list[tuple[int, bytes]] = []

    def write(self, lines: bytes) -> None:
        self.lines += lines

    def flush(self) -> int:
        return len(self.lines)

    def sync(self) -> None:
        pass

    def close(self) -> None:
        pass

    def save(self, number: int, data: bytes, sinks: Sequence[Any]) -> None:
        del sinks
        self.snapshots.append((number, data))

    def wait(self) -> None:
        pass


class Cut:
    """A source of events that are cut into batches of given sizes."""

    def __init__(self, events: list[dict], sizes: list[int]) -> None:
        self._events = events
        self._sizes = sizes

    def batches(self, positions: Sequence[Position]) -> Iterator[Batch]:
        start = positions[0].offset if positions else 0
        for size in [*self._sizes, len(self._events)]:
            part = [dict(event) for event in self._events[start : start + size]]
            offsets = list(range(start, start + len(part)))
            start += len(part)
            if part:
                yield Batch(Position("events", 0, start), part, offsets, [b"raw"] * len(part))


def run(
    source: Cut,
    *,
    learn: bool = True,
    explain: int = 0,
    policy: SnapshotPolicy | None = None,
    kept: Kept | None = None,
    state: State | None = None,
    drift: Kept | None = None,
    tell: Callable[[Alarm], None] = lambda _: None,
) -> tuple[State, Kept]:
    """Run a source to its end."""
    state, kept, buried = state or State(NaiveBayes()), kept or Kept(), Kept()
    buried.path = "buried"
    shard = Shard(
        state,
        Fields("label", "id", ignore=("left out",)),
        learn=learn,
        emit=True,
        explain=explain,
        alarms=Alarms() if drift else None,
    )
    with Interrupts() as interrupts:
        Loop(
            shard,
            Sinks(kept, buried, drift),
            store=kept,
            settings={},
            policy=policy or SnapshotPolicy(1_000_000, 1e9),
            clock=lambda: 0.0,
            tell=tell,
            watch=lambda: None,
            interrupts=interrupts,
        ).run(source)
    return state, kept


events = st.lists(
    st.fixed_dictionaries(
        {},
        optional={
            "id": st.integers(0, 9),
            "n": st.one_of(st.floats(-1e6, 1e6), st.none(), st.just("odd")),
            "k": st.one_of(st.sampled_from("xyz"), st.booleans()),
            "label": st.one_of(st.sampled_from(["a", "b", 1, "1", True]), st.none(), st.just([1]), st.just(2**70)),
            "left out": st.integers(),
        },
    ),
    max_size=60,
)


@given(events, st.lists(st.integers(1, 30), max_size=8))
def test_where_batches_are_cut_shows_in_no_byte_of_predictions_and_state(stream, sizes):
    whole, _ = first = run(Cut(stream, []))
    parts, _ = second = run(Cut(stream, sizes))
    assert first[1].lines == second[1].lines
    assert first[1].snapshots[-1] == second[1].snapshots[-1]
    assert whole.tally == parts.tally


@given(events)
def test_each_line_is_what_the_model_would_have_said_one_event_at_a_time(stream):
    _, kept = run(Cut(stream, [7]))
    model, lines = NaiveBayes(), [orjson.loads(line) for line in kept.lines.splitlines()]
    used = [event for event in stream if event.get("label") not in ([1], 2**70)]
    assert len(lines) == len(used)
    for event, line in zip(used, lines, strict=True):
        features = {key: value for key, value in event.items() if key in {"n", "k"}}
        assert line["label"] == model.predict_one(features)
        assert line["id"] == event.get("id")
        assert line["learned"] == model.learned
        assert [label for label, _ in line["probabilities"]] == model.classes
        if event.get("label") is not None:
            model.learn_one(features, event["label"])


@given(events)
def test_without_learning_nothing_is_learned_and_dead_letters_are_the_same(stream):
    learned, _ = run(Cut(stream, [5]))
    state, _ = run(Cut(stream, [5]), learn=False)
    assert save(state.model) == save(NaiveBayes())
    assert (state.tally.records, state.tally.dead) == (learned.tally.records, learned.tally.dead)


def test_a_snapshot_is_saved_at_the_start_when_due_and_at_the_end():
    _, kept = run(Cut([{"label": "a"}] * 100, [10] * 10), policy=SnapshotPolicy(25, 1e9))
    assert [number for number, _ in kept.snapshots] == [0, 30, 60, 90, 100]


def test_a_snapshot_that_goes_on_says_where():
    _, kept = run(Cut([{"label": "a"}] * 10, []))
    state, settings, lengths = State.from_bytes(kept.snapshots[-1][1])
    assert state.positions == {("events", 0): 10}
    assert (settings, lengths) == ({}, {"kept": len(kept.lines), "buried": 0})


def test_an_input_that_fails_in_the_middle_finds_all_before_it_saved():
    class Failing(Cut):
        def batches(self, positions):
            yield from super().batches(positions)
            raise FileError("gone")

    kept = Kept()
    with pytest.raises(FileError, match="gone"):
        run(Failing([{"label": "a"}] * 10, []), kept=kept)
    assert kept.snapshots[-1][0] == 10


def test_a_prediction_has_the_keys_that_are_told():
    assert Prediction.__struct_fields__ == (
        "id",
        "label",
        "probabilities",
        "stream",
        "partition",
        "offset",
        "learned",
        "reasons",
        "decision",
        "states",
    )


def _evaluated(tmp_path, capfd, monkeypatch, stream, model="naive") -> dict:
    """Return what `streamnb evaluate` says of a stream of (event, label)."""
    monkeypatch.chdir(tmp_path)
    lines = (orjson.dumps({**event, "label": label}) + b"\n" for event, label in stream)
    (tmp_path / "events.jsonl").write_bytes(b"".join(lines))
    outcome = streamnb(capfd, monkeypatch, "evaluate", "--model", model, "events.jsonl", "--json")
    assert outcome.status == 0, outcome.err
    return json.loads(outcome.out)


@pytest.mark.parametrize("model", [NaiveBayes, AdaptiveBayes])
@pytest.mark.parametrize("name", ["Phishing", "Shuttle"])
def test_evaluate_gives_the_accuracies_and_log_loss_of_rivers_own_evaluation(tmp_path, capfd, monkeypatch, name, model):
    """To 12 digits; from where both classes are known, for before that river's log loss is of another kind."""
    stream = [(event, bool(label)) for event, label in getattr(datasets, name)()]
    report = _evaluated(tmp_path, capfd, monkeypatch, stream, "naive" if model is NaiveBayes else "adaptive")
    metric = metrics.Accuracy() + metrics.CrossEntropy() + metrics.ConfusionMatrix()
    evaluate.progressive_val_score(stream, model(), metric)
    accuracy, cross_entropy, confusion = metric
    # River counts a label that the model has not seen yet as a loss of 0, and streamnb as -log 1e-15.
    unseen = sum(label not in [seen for _, seen in stream[:place]] for place, (_, label) in enumerate(stream[:200])) - 1
    assert report["accuracy"] == pytest.approx(accuracy.get(), rel=1e-12)
    loss = cross_entropy.get() + unseen * 34.538776394910684 / report["measured"]
    assert report["log_loss"] == pytest.approx(loss, rel=1e-12)
    assert report["measured"] == confusion.n_samples
    unchanged = evaluate.progressive_val_score(stream, dummy.NoChangeClassifier(), metrics.Accuracy()).get()
    assert report["no_change_accuracy"] == pytest.approx(unchanged, rel=1e-12)
    assert report["kappa_temporal"] == pytest.approx((accuracy.get() - unchanged) / (1 - unchanged), rel=1e-9)
    assert report["compared"] == report["binned"] == confusion.n_samples


@needs_streams
def test_evaluate_on_elec_gives_what_rivers_own_evaluation_gives(tmp_path, capfd, monkeypatch):
    stream = [(event, label == "UP") for event, label in read("elec")]
    report = _evaluated(tmp_path, capfd, monkeypatch, stream)
    metric = metrics.Accuracy() + metrics.CrossEntropy()
    evaluate.progressive_val_score(stream, NaiveBayes(), metric)
    assert report["accuracy"] == pytest.approx(metric[0].get(), rel=1e-12)
    loss = metric[1].get() + 34.538776394910684 / report["measured"]
    assert report["log_loss"] == pytest.approx(loss, rel=1e-12)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_waits_for_the_end_of_a_batch_and_a_second_one_does_not(number):
    def hurry(*_: object) -> None:
        raise TimeoutError("at once")

    before = signal.signal(number, hurry)
    try:
        with Interrupts() as interrupts:
            signal.raise_signal(number)
            with pytest.raises(InterruptedRunError):
                interrupts.check()
            with pytest.raises(TimeoutError, match="at once"):
                signal.raise_signal(number)
        assert signal.getsignal(number) is hurry
    finally:
        signal.signal(number, before)
