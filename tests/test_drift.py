"""Drift: found soon and only where it is, the same however losses are handed over, saved and loaded."""

import itertools

import numpy as np
import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st
from river.datasets import synth
from river.drift import ADWIN

from consumers.state import State
from streamnb import NaiveBayes, drift
from streamnb.drift import DriftDetector
from streamnb.snapshot import DamagedSnapshotError, pack, unpack
from tests.test_loop import Cut, Kept, run

SIZE = drift.MEAN_OF * drift.MEANS


def found(detector, losses, sizes=()):
    """Hand losses to a detector in parts of some sizes, cut where there is no room; return drifts by their place."""
    drifts, start, left = {}, 0, [*sizes]
    while start < len(losses):
        size = min(left.pop() if left else len(losses), detector.room)
        told = detector.update(losses[start : start + size])
        start += size
        if told is not None:
            drifts[min(start, len(losses))] = told
    return drifts


def losses_of(stream):
    """Return the log losses of a model that learns a stream of (event, label), in batches."""
    model, losses, events = NaiveBayes(), [], iter(stream)
    while part := list(itertools.islice(events, 1_000)):
        probabilities = model.test_then_train([event for event, _ in part], [label for _, label in part])
        chosen = [model.classes.index(label) for _, label in part]
        losses.append(-np.log(np.clip(probabilities[np.arange(len(part)), chosen], 1e-15, 1 - 1e-15)))
    return np.concatenate(losses)


def calibrated(seed, size, spread=3.0, sure=1.0):
    """Return losses of answers that are right as often as they say or, where they are too sure, less often."""
    chance = np.random.default_rng(seed)
    odds = spread * chance.normal(size=size)
    right = chance.random(size) < 1 / (1 + np.exp(-odds))
    return np.minimum(np.logaddexp(0.0, np.where(right, -sure * odds, sure * odds)), 34.5)


STREAMS = {
    "led": (
        synth.LED(seed=1, noise_percentage=0.1, irrelevant_features=True),
        synth.LEDDrift(seed=2, noise_percentage=0.1, irrelevant_features=True, n_drift_features=7),
    ),
    "agrawal": (synth.Agrawal(0, seed=1, perturbation=0.05), synth.Agrawal(2, seed=2, perturbation=0.05)),
    "sea": (synth.SEA(0, seed=1, noise=0.1), synth.SEA(3, seed=2, noise=0.1)),
}


@pytest.mark.parametrize(("name", "within"), [("led", 500), ("agrawal", 500), ("sea", 10_000)])
def test_a_drift_is_found_once_and_soon_and_nothing_before_it(name, within):
    before, after = STREAMS[name]
    drifts = found(DriftDetector(), losses_of(itertools.chain(before.take(25_000), after.take(25_000))))
    assert len(drifts) == 1
    (place, told), *_ = drifts.items()
    assert 25_000 < place <= 25_000 + within
    assert place - told.since == pytest.approx(25_000, abs=1_000)
    assert told.wrong_after > told.wrong_before
    assert told.loss_after > told.loss_before


@pytest.mark.parametrize("sure", [1.0, 5.0])
def test_nothing_is_found_in_a_long_stream_that_stays_as_it_is(sure):
    """Though losses have heavy tails: of answers five times too sure, the largest are a hundred times the median."""
    assert found(DriftDetector(), calibrated(3, 300_000, sure=sure)) == {}


def test_a_fall_of_the_losses_is_not_told_and_a_rise_to_where_they_were_is():
    losses = np.concatenate([calibrated(seed, 10_000, spread) for seed, spread in ((1, 1.0), (2, 6.0), (3, 1.0))])
    (place, told), *others = found(DriftDetector(), losses).items()
    assert others == []
    assert 20_000 < place <= 20_500
    assert told.since == pytest.approx(place - 20_000, abs=50)


def test_it_changes_its_mind_where_rivers_adwin_does():
    losses = losses_of(itertools.chain(*(stream.take(5_000) for stream in STREAMS["agrawal"])))
    adwin, place = ADWIN(delta=1e-4, clock=1), 0
    for mean in (1 - np.exp(-losses)).reshape(-1, drift.MEAN_OF).mean(axis=1):
        adwin.update(mean * 10 * drift.MEAN_OF**0.5)
        place += drift.MEAN_OF
        if adwin.drift_detected:
            break
    assert list(found(DriftDetector(), losses)) == [-(-place // SIZE) * SIZE]


rises = st.tuples(st.integers(0, 2**32), st.lists(st.sampled_from([0.5, 2.0, 6.0]), min_size=1, max_size=4))


@given(rises, st.lists(st.integers(1, 3_000), max_size=12), st.integers(0, 12_000))
def test_parts_and_saving_show_in_no_bit(rise, sizes, saved):
    """Also where means are dropped for their number, and where a detector is saved with one that was just found."""
    seed, spreads = rise
    losses = np.concatenate([calibrated(seed + place, 3_210, spread) for place, spread in enumerate(spreads)])
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(drift, "KEPT", 40)
        whole, first = DriftDetector(), DriftDetector()
        expected = found(whole, losses)
        told = found(first, losses[:saved], sizes)
        second = DriftDetector.from_state(*first.to_state())
        rest = found(second, losses[saved:], sizes)
        assert {**told, **{saved + place: each for place, each in rest.items()}} == expected
        assert pack({}, {"drift": second}) == pack({}, {"drift": whole})
        assert whole.to_state()[1]["means"].shape[1] < 80


def test_a_change_that_is_left_among_the_means_is_the_same_after_saving():
    means = np.repeat([[0.1, 0.5], [0.1, 0.7]], 30, axis=1)
    first = DriftDetector.from_state({}, {"losses": np.zeros(0), "means": means})
    assert found(first, np.full(SIZE, 0.7)) == {}
    second = DriftDetector.from_state(*first.to_state())
    risen = np.full(SIZE, 3.0)
    assert found(first, risen) == found(second, risen) != {}


def test_what_was_not_measured_does_not_count():
    losses = np.concatenate((calibrated(1, 5_000, 6.0), calibrated(2, 2_000, 0.5)))
    gaps = np.insert(losses, range(0, len(losses), 7), np.nan)
    assert list(found(DriftDetector(), gaps).values()) == list(found(DriftDetector(), losses).values())


def test_more_losses_than_there_is_room_for_are_refused():
    detector = DriftDetector()
    with pytest.raises(ValueError, match="room for 500"):
        detector.update(np.zeros(501))


GOOD = {"losses": np.full(3, 0.5), "means": np.full((2, 4), 0.5)}


@pytest.mark.parametrize(
    "bad",
    [
        {"losses": np.full(SIZE, 0.5)},
        {"losses": np.full((1, 3), 0.5)},
        {"losses": np.array([np.nan])},
        {"losses": np.array([-0.1])},
        {"losses": np.array([36.0])},
        {"losses": np.ones(3, dtype=np.int64)},
        {"means": np.full(4, 0.5)},
        {"means": np.full((3, 4), 0.5)},
        {"means": np.full((2, 2 * drift.KEPT), 0.5)},
        {"means": np.array([[1.5], [1.5]])},
        {"means": np.array([[0.5], [np.inf]])},
    ],
)
def test_a_state_that_cannot_be_is_a_damaged_snapshot(bad):
    class Forged(DriftDetector):
        def to_state(self):
            return {}, {**GOOD, **bad}

    with pytest.raises(DamagedSnapshotError):
        unpack(pack({}, {"drift": Forged()}))


def test_a_state_that_can_be_is_read():
    DriftDetector.from_state({}, GOOD)


class Counting(NaiveBayes):
    """A model that says, for a feature that shifted, how many events it has learned."""

    def shifted_features(self):
        return [("n", float(self.learned)), ("m", 1.0), ("none", 0.0)]


def alarms_of(stream, sizes, **changes):
    """Run a stream that is cut into batches of these sizes; return the state, the lines of alarms, the alarms told."""
    sink, told = Kept(), []
    sink.path = "alarms"
    state, _ = run(Cut(stream, sizes), state=State(Counting()), drift=sink, tell=told.append, **changes)
    return state, sink.lines, told


@given(
    st.integers(0, 2**32),
    st.lists(st.sampled_from([None, None, "b", [1]]), max_size=30),
    st.lists(st.integers(1, 200), max_size=8),
    st.booleans(),
)
def test_alarms_are_the_same_bytes_wherever_batches_are_cut_and_the_model_is_as_it_was_then(seed, odd, sizes, explain):
    chance = np.random.default_rng(seed)
    labels = ["ab"[place % 2] for place in range(300)]
    for place, label in zip(chance.integers(0, 300, len(odd)).tolist(), odd, strict=True):
        labels[place] = label
    stream = [
        {"n": float(chance.normal() + 9 * ((label == "a") ^ (place > 150))), "label": label}
        for place, label in enumerate(labels)
    ]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(drift, "MEAN_OF", 2)
        patch.setattr(drift, "MEANS", 5)
        whole, lines, told = alarms_of(stream, [], explain=2 * explain)
        parts, *others = alarms_of(stream, sizes, explain=2 * explain)
    assert [lines, told] == others
    assert whole.tally == parts.tally
    assert whole.to_bytes({}, {}) == parts.to_bytes({}, {})
    assert len(told) == whole.tally.drifts >= 1
    for alarm, line in zip(told, map(orjson.loads, lines.splitlines()), strict=True):
        learned = sum(label in ("a", "b") for label in labels[: alarm.offset + 1])
        assert alarm.changed == [("n", learned), ("m", 1.0)]
        assert line["changed"] == [["n", learned], ["m", 1.0]]
        assert alarm.measured % 10 == 0
        assert (line["stream"], line["partition"], line["offset"]) == ("events", 0, alarm.offset)


def test_without_labels_or_without_looking_there_is_no_alarm():
    stream = [{"n": 1.0}] * 2_000
    assert alarms_of(stream, [])[1:] == (b"", [])
    state, _ = run(Cut([{"n": 1.0, "label": "ab"[place // 800]} for place in range(1_600)], []))
    assert state.drift.room == SIZE
