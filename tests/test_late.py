"""Late labels: what becomes of each label and each event, told as stories and against a model of plain lists."""

import json
import math
import tracemalloc
from collections.abc import Iterator
from itertools import chain, groupby
from typing import Any, NamedTuple

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from consumers.alarms import Alarms
from consumers.fields import Fields
from consumers.formats import alarm_line, dead_letter_line, parse, prediction_lines
from consumers.late import key_of
from consumers.records import Batch, Position
from consumers.report import summary
from consumers.shard import Outcome, Shard
from consumers.state import State
from streamnb import AdaptiveBayes, DecisionRule, Measures, NaiveBayes, drift, save, snapshot
from tests.command import json_lines, predictions, streamnb

EVENT, LABEL = "events", "labels"
FIELDS = Fields("label", "id", "w", "t")

Step = tuple[str, dict[str, Any]]


def event(id_: Any = None, **features: Any) -> Step:
    """Return an event, with its label among the features if it carries one."""
    return EVENT, {**({} if id_ is None else {"id": id_}), **features}


def label(id_: Any, label: Any) -> Step:
    """Return a late label."""
    return LABEL, {"id": id_, "label": label}


class Played(NamedTuple):
    """What came of steps: the state, and the bytes of predictions, dead letters and drifts."""

    state: State
    predictions: bytes
    dead: bytes
    drifts: bytes

    @property
    def late(self) -> dict[str, int]:
        """What became of the late labels, as the report has it; what is 0 left out."""
        return {name: count for name, count in summary(self.state)["late_labels"].items() if count}

    @property
    def letters(self) -> list[tuple[str, int, str, str]]:
        """The stream, offset, reason and text of each dead letter."""
        lines = map(json.loads, self.dead.splitlines())
        return [(line["stream"], line["offset"], line["reason"], line["text"]) for line in lines]


def batches(steps: list[Step], sizes: list[int]) -> Iterator[Batch]:
    """Yield steps as batches of at most these sizes, one after another, then of any; kinds are never mixed."""
    offsets = {EVENT: 0, LABEL: 0}
    left = iter(sizes)
    for kind, group in groupby(steps, key=lambda step: step[0]):
        records = [json.dumps(record).encode() for _, record in group]
        while records:
            size = next(left, len(records))
            some, records = records[:size], records[size:]
            start = offsets[kind]
            offsets[kind] = stop = start + len(some)
            read = parse(some, list(range(start, stop)), 1 << 20)
            yield Batch(Position(kind, 0, stop), *read, late=kind == LABEL)


def play(
    steps: list[Step],
    sizes: list[int] = [],  # noqa: B006 - never changed
    *,
    state: State | None = None,
    model: type = NaiveBayes,
    waiting: int = 100,
    tell: bool = True,
    learn: bool = True,
    rule: DecisionRule | None = None,
    reload: bool = False,
    **names: Any,
) -> Played:
    """Take steps all the way; where it is to be reloaded, from a snapshot after each batch."""
    state = state or State(model())
    lines: tuple[list[bytes], ...] = ([], [], [])

    def shard(state: State) -> Shard:
        fields = Fields(**{"label": "label", "id": "id", "weight": "w", **names})
        more = {"waiting": waiting, "tell_unmatched": tell}
        return Shard(state, fields, learn=learn, emit=True, alarms=Alarms(), rule=rule, **more)

    taker = shard(state)
    for batch in batches(steps, sizes):
        outcome: Outcome = taker.take(batch)
        lines[0].append(prediction_lines(outcome.predictions))
        lines[1].extend(dead_letter_line(batch.position, letter) for letter in outcome.dead)
        lines[2].extend(map(alarm_line, outcome.alarms))
        if reload:
            taker = shard(State.from_bytes(taker.state.to_bytes({}, {}))[0])
    return Played(taker.state, *map(b"".join, lines))


def learned(steps: list[Step], model: type = NaiveBayes) -> bytes:
    """Return the bytes of a model that learned events that all carry their label, in this order."""
    return save(play(steps, model=model).state.model)


FRUIT = [event(n=1.0, label="apple"), event(n=5.0, label="melon"), event(n=1.5, label="apple")]


def test_labels_that_come_out_of_order_each_join_their_own_event():
    steps = [*FRUIT, event("x", n=1.1), event("y", n=5.1), event("z", n=1.2)]
    played = play([*steps, label("z", "apple"), label("x", "melon"), label("y", "melon")])
    assert played.late == {"labels": 3, "joined": 3, "events": 3}
    order = [event(n=1.2, label="apple"), event(n=1.1, label="melon"), event(n=5.1, label="melon")]
    assert save(played.state.model) == learned([*FRUIT, *order])
    assert played.state.measures.measured + played.state.measures.unanswered == 6


def test_the_prediction_made_at_the_time_is_the_one_that_is_measured():
    """Later the model would be sure of the other class; by then it is too late."""
    turn = [event(n=1.0, label="melon") for _ in range(50)]
    played = play([*FRUIT, event("x", n=1.0), *turn, event("y", n=1.0), label("x", "apple"), label("y", "apple")])
    before = play([*FRUIT, *turn]).state.measures
    right = played.state.measures.confusion.trace() - before.confusion.trace()
    assert (right, played.state.measures.measured - before.measured) == (1, 2)
    lines = [json.loads(line) for line in played.predictions.splitlines()]
    then = {line["id"]: dict(line["probabilities"])["apple"] for line in lines if line["id"]}
    assert then["x"] > 0.9
    assert then["y"] < 0.1
    losses = played.state.measures.log_loss * played.state.measures.measured - before.log_loss * before.measured
    assert losses == pytest.approx(-math.log(then["x"]) - math.log(then["y"]), rel=1e-9)


def test_a_label_that_comes_before_its_event_is_learned_with_it():
    late = play([*FRUIT, label("x", "melon"), event("x", n=4.0)])
    own = play([*FRUIT, event("x", n=4.0, label="melon")])
    assert late.late == {"labels": 1, "joined": 1, "events": 1}
    assert (late.predictions, save(late.state.model)) == (own.predictions, save(own.state.model))
    assert late.state.measures.to_state()[1]["sums"].tolist() == own.state.measures.to_state()[1]["sums"].tolist()


def test_of_several_labels_of_an_id_the_first_counts():
    """Whether the others come before or after the event, agree or not."""
    first = [event("x", n=1.0), label("x", "apple"), label("x", "apple"), label("x", "melon")]
    assert play(first).late == {"labels": 3, "joined": 1, "duplicate_labels": 2, "events": 1}
    before = [label("x", "apple"), label("x", "melon"), event("x", n=1.0)]
    played = play(before)
    assert played.late == {"labels": 2, "joined": 1, "duplicate_labels": 1, "events": 1}
    assert played.state.model.classes == ["apple"]


def test_a_label_of_an_event_that_carries_its_own_is_a_duplicate():
    for steps in ([event("x", n=1.0, label="a"), label("x", "b")], [label("x", "b"), event("x", n=1.0, label="a")]):
        played = play(steps)
        assert played.late == {"labels": 1, "duplicate_labels": 1}
        assert (played.state.model.classes, played.state.model.learned) == (["a"], 1)


def test_an_event_whose_id_waits_or_had_its_label_is_predicted_but_does_not_wait():
    played = play([event("x", n=1.0), event("x", n=9.0), label("x", "a"), event("x", n=9.0), label("x", "a")])
    assert played.late == {"labels": 2, "joined": 1, "duplicate_labels": 1, "events": 3, "duplicate_events": 2}
    assert len(played.predictions.splitlines()) == 3
    assert save(played.state.model) == learned([event(n=1.0, label="a")])


def test_an_event_with_its_own_label_leaves_an_older_one_of_its_id_waiting():
    played = play([event("x", n=1.0), event("x", n=2.0, label="a"), label("x", "b")])
    assert played.late == {"labels": 1, "joined": 1, "events": 1}
    assert save(played.state.model) == learned([event(n=2.0, label="a"), event(n=1.0, label="b")])


def test_what_has_waited_too_long_is_given_up_and_told_where_it_was_read():
    steps = [event(n, n=n) for n in range(4)] + [label(n, "a") for n in (9, 8, 7, 0, 3)]
    played = play(steps, waiting=2)
    assert played.late == {
        "labels": 5,
        "joined": 1,
        "labels_given_up": 2,
        "labels_waiting": 2,
        "events": 4,
        "events_given_up": 2,
        "events_waiting": 1,
    }
    assert played.letters == [
        ("events", 0, "its label did not come", '{"id": 0, "n": 0}'),
        ("events", 1, "its label did not come", '{"id": 1, "n": 1}'),
        ("labels", 0, "its event did not come", '{"id": 9, "label": "a"}'),
        ("labels", 1, "its event did not come", '{"id": 8, "label": "a"}'),
    ]
    assert played.state.tally.dead.total() == 0
    silent = play(steps, waiting=2, tell=False)
    assert (silent.late, silent.dead) == (played.late, b"")


def test_dead_letters_stand_where_they_were_found_not_where_what_waited_was_read():
    steps = [event(0, n=0), (EVENT, {"id": 5, "label": [1]}), event(1, n=1), (EVENT, {"id": 6, "label": [2]})]
    assert [offset for _, offset, *_ in play(steps, waiting=1).letters] == [1, 0, 3]


def test_a_snapshot_keeps_what_waits_and_is_gone_on_from():
    steps = [*FRUIT, event("x", n=0.1), label("later", "melon"), event(True, n=0.1 + 0.2), event(1, n=5)]
    more = [label("x", "apple"), event("later", n=4), label(1, "melon"), label(True, "new")]
    rule = DecisionRule(abstain=0.01)
    first = play(steps, rule=rule)
    assert (first.late["events_waiting"], first.late["labels_waiting"]) == (3, 1)
    state, *_ = State.from_bytes(first.state.to_bytes({}, {}))
    assert state.to_bytes({}, {}) == first.state.to_bytes({}, {})
    whole, rest = play([*steps, *more], rule=rule), play(more, state=state, rule=rule)
    assert whole.late == rest.late == {"labels": 4, "joined": 4, "events": 4}
    assert save(whole.state.model) == save(rest.state.model)
    assert whole.state.measures.log_loss == rest.state.measures.log_loss
    assert whole.state.decisions.to_state() == rest.state.decisions.to_state()


def test_ids_are_strings_numbers_and_booleans_and_stay_apart():
    ids = [1, "1", True, 0, False, 0.5, "0.5", "true", ""]
    played = play([event(id_, n=place) for place, id_ in enumerate(ids)], reload=True)
    assert played.late == {"events": 9, "events_waiting": 9}
    again = play([label(id_, repr(id_)) for id_ in ids[::-1]], state=played.state)
    assert again.state.model.classes == [repr(id_) for id_ in ids[::-1]]
    assert key_of(1) == key_of(1.0)  # a number is one by its value, whoever wrote it


@pytest.mark.parametrize("id_", [None, [1], {"a": 1}, math.nan, math.inf])
def test_an_event_without_an_id_is_predicted_and_waits_for_nothing(id_):
    assert play([*FRUIT, (EVENT, {"id": id_, "n": 1.0})]).late == {}


def test_a_late_label_that_is_none_is_a_dead_letter():
    records = [{"label": "a"}, {"id": [1], "label": "a"}, {"id": 1}, {"id": 1, "label": None}, {"id": 1, "label": [1]}]
    played = play([event(1, n=1), *((LABEL, record) for record in records), label(1, "a")])
    no_id, none, no_class = "it has no id", "it has no label", "its label cannot be a class"
    assert [reason for _, _, reason, _ in played.letters] == [no_id, no_id, none, none, no_class]
    assert played.state.tally.dead == {no_id: 2, none: 2, no_class: 1}
    assert played.late == {"labels": 1, "joined": 1, "events": 1}
    report = summary(played.state)
    assert report["records"] == 7
    assert report["unpredicted"] == 1


def test_an_event_is_learned_with_its_own_weight_and_time():
    times = {"time": "t", "model": AdaptiveBayes}
    late = play([event("x", n=1, w=2.5, t=10), event("y", n=9, t=20), label("y", "b"), label("x", "a")], **times)
    own = play([event("y", n=9, t=20, label="b"), event("x", n=1, w=2.5, t=10, label="a")], **times)
    assert save(late.state.model) == save(own.state.model)
    other = play([event("y", n=9, t=20, label="b"), event("x", n=1, t=10, label="a")], **times)
    assert save(late.state.model) != save(other.state.model)


def test_an_event_of_weight_0_is_measured_and_not_learned():
    played = play([*FRUIT, event("x", n=1, w=0), label("x", "apple")])
    assert (played.state.measures.measured, played.state.model.learned) == (3, 3)


def test_without_learning_late_labels_are_measured_only():
    state = State(play(FRUIT).state.model)
    before = save(state.model)
    played = play([event("x", n=1), label("x", "apple"), label("y", "new"), event("y", n=1)], state=state, learn=False)
    assert save(played.state.model) == before
    assert played.state.measures.measured == 2
    assert played.state.measures.classes == ["apple", "melon", "new"]


def test_a_decision_costs_what_the_one_made_at_the_time_costs():
    rule = DecisionRule({("melon", "apple"): 7.0})
    turn = [event(n=1.0, label="melon", w=50.0)]
    played = play([*FRUIT, event("x", n=1.0), *turn, label("x", "melon")], rule=rule)
    before = play([*FRUIT, *turn], rule=rule)
    decided, was = played.state.decisions, before.state.decisions
    assert decided.measured == was.measured + 1
    made = [json.loads(line)["decision"] for line in played.predictions.splitlines() if json.loads(line)["id"]]
    cost = rule.cost("melon", *made)
    assert decided.mean_cost * decided.measured == pytest.approx(was.mean_cost * was.measured + cost)
    assert sum(times for _, times in decided.decisions) + decided.abstained == 4


def test_decisions_are_measured_only_where_they_were_made():
    undecided = play([*FRUIT, event("x", n=1.0)], reload=True).state
    played = play([event("y", n=1.0), label("x", "apple"), label("y", "apple")], state=undecided, rule=DecisionRule())
    assert played.state.decisions.measured == 1


def test_as_many_ids_that_had_their_label_are_remembered_as_may_wait():
    steps = [event(n, n=n, label="a") for n in range(4)]
    assert play([*steps, label(3, "a"), label(2, "a"), label(1, "a")], waiting=2).late == {
        "labels": 3,
        "duplicate_labels": 2,
        "labels_waiting": 1,
    }


def test_without_late_labels_nothing_waits_and_the_snapshot_is_as_it_was():
    played = play([*FRUIT, event("x", n=1.0)], waiting=0)
    assert played.state.waiting is None
    assert "late_labels" not in summary(played.state)
    plain, _ = snapshot.unpack(played.state.to_bytes({}, {}))
    assert "waiting" not in plain
    assert State.from_bytes(played.state.to_bytes({}, {}))[0].waiting is None


def test_a_run_on_which_late_labels_are_turned_off_keeps_what_waits():
    state = play([event("x", n=1.0), label("y", "a")]).state
    off = play([event("y", n=1.0), event("z", n=1.0)], state=state, waiting=0)
    assert off.late == {"labels": 1, "labels_waiting": 1, "events": 1, "events_waiting": 1}


def test_a_smaller_bound_is_kept_from_the_next_on():
    state = play([event(n, n=n) for n in range(9)]).state
    assert play([event(9, n=9)], state=state, waiting=2).late == {
        "events": 10,
        "events_given_up": 8,
        "events_waiting": 2,
    }


def test_classes_that_are_unlearned_meanwhile_are_still_those_that_were_predicted():
    state = play([event(n=1.0, label="gone"), *FRUIT, event("x", n=1.0)]).state
    state.model.unlearn_one({"n": 1.0}, "gone")
    assert state.model.classes == ["apple", "melon"]
    before = state.measures.confusion.copy()
    played = play([event("y", n=1.0), label("x", "gone"), label("y", "melon")], state=state, reload=True)
    assert [json.loads(line)["label"] for line in played.predictions.splitlines()] == ["apple"]
    assert played.state.measures.classes == ["gone", "apple", "melon"]
    assert (played.state.measures.confusion - before).tolist() == [[0, 1, 0], [0, 0, 0], [0, 1, 0]]


def test_ever_new_ids_leave_memory_and_snapshots_flat():
    shard = Shard(State(NaiveBayes()), FIELDS, learn=True, emit=False, waiting=50)

    def feed(start: int) -> None:
        offsets = list(range(start, start + 500))
        waiting, late = ([{"id": id_, "n": 1.0} for id_ in offsets], [{"id": -id_, "label": "a"} for id_ in offsets])
        for records in (waiting, late):
            read = parse([json.dumps(record).encode() for record in records], offsets, 1 << 20)
            shard.take(Batch(Position("s", 0, 0), *read, late=records is late))
        own = [{"id": f"own {id_}", "n": 1.0, "label": "a"} for id_ in offsets]
        shard.take(Batch(Position("own", 0, 0), own, offsets, [b""] * 500))

    feed(1_000_000)
    tracemalloc.start()
    feed(1_001_000)
    size, held = len(shard.state.to_bytes({}, {})), tracemalloc.get_traced_memory()[0]
    for start in range(1_002_000, 1_042_000, 1_000):
        feed(start)
    grown, more = len(shard.state.to_bytes({}, {})), tracemalloc.get_traced_memory()[0]
    tracemalloc.stop()
    assert abs(grown - size) < 2_000  # counts have more digits
    assert more - held < 100_000


# What follows is held for every stream of events and labels.

ids = st.one_of(st.integers(0, 3), st.sampled_from(["0", "1", True, 1.0, False, None, [1]]))
labels_of = st.sampled_from(["a", "b", "c", 1, "1", True])
an_event = st.fixed_dictionaries(
    {"n": st.floats(0, 3), "id": ids, "label": st.one_of(st.none(), st.none(), labels_of, st.just([1]))},
    optional={"w": st.sampled_from([0, 2])},
)
a_label = st.fixed_dictionaries({"id": ids, "label": st.one_of(labels_of, labels_of, st.just([1]), st.none())})
runs = st.one_of(
    st.lists(st.tuples(st.just(EVENT), an_event), max_size=15),
    st.lists(st.tuples(st.just(LABEL), a_label), max_size=15),
)
steps = st.lists(runs, max_size=8).map(lambda parts: list(chain.from_iterable(parts)))
sizes = st.lists(st.integers(1, 6), max_size=12)


class Naive:
    """What late labels are, one record at a time, over plain lists that are searched from end to end."""

    def __init__(self, bound: int) -> None:
        self.bound = bound
        self.model, self.measures = NaiveBayes(), Measures()
        self.events: list[tuple[Any, dict, np.ndarray, list, int]] = []
        self.labels: list[tuple[Any, Any, int]] = []
        self.labelled: list[Any] = []
        self.counts = dict.fromkeys(summary(play([], waiting=1).state)["late_labels"], 0)
        self.given_up: list[tuple[str, int]] = []

    def _place(self, where: list, id_: Any) -> int | None:
        same = [place for place, each in enumerate(where) if type(each[0]) is type(id_) and each[0] == id_]
        return same[0] if same else None

    def _remember(self, id_: Any) -> None:
        if self._place(self.labelled, id_) is None:
            self.labelled.append((id_,))
            del self.labelled[: -self.bound]

    def _predict(self, record: dict) -> tuple[np.ndarray, list]:
        rows = self.model.test_then_train([{"n": record["n"]}], [None])
        return rows, self.model.classes

    def _settle(self, record: dict, rows: np.ndarray, classes: list, label: Any) -> None:
        """Measure and learn."""
        self.measures.update(rows, classes, [label])
        if record.get("w", 1):
            self.model.learn_one({"n": record["n"]}, label, w=record.get("w", 1.0))

    def event(self, record: dict, offset: int) -> None:
        id_, own = record.get("id"), record.get("label")
        if own == [1]:
            return
        id_ = float(id_) if type(id_) is int else None if id_ == [1] else id_
        rows, classes = self._predict(record)
        if id_ is None and own is None:
            return
        waiting = self._place(self.labels, id_)
        if own is not None:
            self._settle(record, rows, classes, own)
            if id_ is not None:
                self._remember(id_)
                if waiting is not None:
                    del self.labels[waiting]
                    self.counts["duplicate_labels"] += 1
            return
        self.counts["events"] += 1
        if waiting is not None:
            self._settle(record, rows, classes, self.labels.pop(waiting)[1])
            self._remember(id_)
            self.counts["joined"] += 1
        elif self._place(self.events, id_) is not None or self._place(self.labelled, id_) is not None:
            self.counts["duplicate_events"] += 1
        else:
            self.events.append((id_, record, rows, classes, offset))
            if len(self.events) > self.bound:
                self.given_up.append((EVENT, self.events.pop(0)[-1]))
                self.counts["events_given_up"] += 1

    def label(self, record: dict, offset: int) -> None:
        id_, label = record.get("id"), record.get("label")
        id_ = float(id_) if type(id_) is int else id_
        if id_ in (None, [1]) or label in (None, [1]):
            return
        self.counts["labels"] += 1
        waiting = self._place(self.events, id_)
        if waiting is not None:
            _, event, rows, classes, _ = self.events.pop(waiting)
            self._settle(event, rows, classes, label)
            self._remember(id_)
            self.counts["joined"] += 1
        elif self._place(self.labels, id_) is not None or self._place(self.labelled, id_) is not None:
            self.counts["duplicate_labels"] += 1
        else:
            self.labels.append((id_, label, offset))
            if len(self.labels) > self.bound:
                self.given_up.append((LABEL, self.labels.pop(0)[-1]))
                self.counts["labels_given_up"] += 1


@given(steps, sizes, st.integers(1, 5))
def test_counts_model_and_measures_are_those_of_plain_lists_one_record_at_a_time(steps, sizes, bound):
    naive, offsets = Naive(bound), {EVENT: 0, LABEL: 0}
    for kind, record in steps:
        (naive.event if kind == EVENT else naive.label)(record, offsets[kind])
        offsets[kind] += 1
    naive.counts |= {"events_waiting": len(naive.events), "labels_waiting": len(naive.labels)}
    played = play(steps, sizes, waiting=bound)
    assert summary(played.state)["late_labels"] == naive.counts
    assert save(played.state.model) == save(naive.model)
    mine, theirs = (measures.to_state()[1] for measures in (played.state.measures, naive.measures))
    assert {key: array.tolist() for key, array in mine.items()} == {key: a.tolist() for key, a in theirs.items()}
    told = [(stream, offset) for stream, offset, reason, _ in played.letters if reason.endswith("did not come")]
    assert told == naive.given_up


@given(steps, sizes, st.integers(1, 5))
def test_every_label_and_every_event_without_one_is_in_exactly_one_count(steps, sizes, bound):
    report = summary(play(steps, sizes, waiting=bound).state)
    late = report["late_labels"]
    joined = late["joined"]
    assert late["labels"] == joined + late["duplicate_labels"] + late["labels_given_up"] + late["labels_waiting"]
    assert late["events"] == joined + late["duplicate_events"] + late["events_given_up"] + late["events_waiting"]
    dead = sum(each["records"] for each in report["dead_letters"])
    assert report["records"] == len(steps) == report["predicted"] + report["unpredicted"] + dead + late["labels"]
    assert max(late["events_waiting"], late["labels_waiting"]) <= bound
    without = [r for kind, r in steps if kind == EVENT and r.get("label") is None and r.get("id") not in (None, [1])]
    assert late["events"] == len(without)


@pytest.mark.parametrize("model", [NaiveBayes, AdaptiveBayes])
@settings(max_examples=40)
@given(steps=steps, sizes=sizes, bound=st.integers(1, 5))
def test_neither_cuts_nor_snapshots_show_in_any_byte(model, steps, sizes, bound):
    """Nor do both together; with decisions, dead letters and alarms, for which four losses are looked at once here."""
    how = {"waiting": bound, "model": model, "rule": DecisionRule({("a", "b"): 3.0}, abstain=0.6)}
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(drift, "MEAN_OF", 2)
        patch.setattr(drift, "MEANS", 2)
        whole, cut = play(steps, **how), play(steps, sizes, **how)
        reloaded = play(steps, sizes, reload=True, **how)
        one_by_one = play(steps, [1] * len(steps), reload=True, **how)
    for other in (cut, reloaded, one_by_one):
        assert other[1:] == whole[1:]
        assert other.state.to_bytes({}, {}) == whole.state.to_bytes({}, {})


def test_a_batch_of_nothing_shows_in_no_byte():
    """As where standard input is waited for, or a file ends with blank lines."""
    taker = Shard(play([*FRUIT, event("x", n=1), label("x", "new")]).state, FIELDS, learn=True, emit=True, waiting=9)
    before = taker.state.to_bytes({}, {})
    for kind, late in ((EVENT, False), (LABEL, True)):
        taker.take(Batch(Position(kind, 0, taker.state.positions[kind, 0]), [], [], [], late=late))
    assert taker.state.to_bytes({}, {}) == before


@pytest.mark.parametrize("model", [NaiveBayes, AdaptiveBayes])
def test_a_drift_that_late_labels_show_is_told_at_the_label_at_which_it_was_found(model):
    """At the same one wherever batches are cut."""
    steady = [event(n, n=n % 8) for n in range(3000)]
    truth = [label(n, "ab"[(n % 8 > 3) ^ (n >= 1500)]) for n in range(3000)]
    turned = [each for n in range(0, 3000, 100) for each in (*steady[n : n + 100], *truth[n : n + 100])]
    whole, cut = play(turned, model=model), play(turned, [7] * 900, model=model)
    assert whole.drifts == cut.drifts != b""
    found = json.loads(whole.drifts.splitlines()[0])
    assert (found["stream"], found["measured"]) == (
        LABEL,
        found["offset"] + 1 - play(turned, model=model).state.measures.unanswered,
    )
    assert 1500 <= found["offset"] < 2500


def _damage(plain: dict) -> Iterator[dict]:
    """Yield the state of what waits, wrong in one way each."""
    for path, value in (
        (("events", "ids"), [1, 1]),
        (("events", "ids"), [[1], 2]),
        (("events", "texts"), ["{", "{}"]),
        (("events", "texts"), ["{}"]),
        (("events", "origins"), [7, 7]),
        (("events", "probabilities"), [[2.0], [0.5]]),
        (("events", "probabilities"), [[0.5]]),
        (("events", "decisions"), [[[1]], []]),
        (("labels", "labels"), [[1]]),
        (("classes",), [None]),
        (("labelled",), ["x", "x"]),
        (("tally",), {"unknown": 1}),
        (("tally",), [1]),
    ):
        changed = json.loads(json.dumps(plain))
        where = changed
        for key in path[:-1]:
            where = where[key]
        where[path[-1]] = value
        yield changed


def test_a_snapshot_in_which_nothing_of_the_kind_can_wait_is_refused():
    state = play([event(n=1.0, label="a"), event(1, n=1.0), event(2, n=1.0), label("x", "b")]).state
    plain, parts = snapshot.unpack(state.to_bytes({}, {}))
    State.from_bytes(snapshot.pack(plain, parts))
    for changed in _damage(plain["waiting"]):
        with pytest.raises(snapshot.DamagedSnapshotError):
            State.from_bytes(snapshot.pack({**plain, "waiting": changed}, parts))


# The command.

EVENTS = """{"id": 1, "n": 1.0, "label": "a"}
{"id": 2, "n": 5.0, "label": "b"}
{"id": 3, "n": 1.1}
{"id": 4, "n": 5.1}
"""


@pytest.fixture
def command(tmp_path, capfd, monkeypatch):
    """Run the command in a folder with events."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "events.jsonl").write_text(EVENTS)
    (tmp_path / "labels.jsonl").write_text(
        '{"id": 4, "label": "b"}\n{"id": 7, "label": "a"}\n{"id": 4, "label": "a"}\n'
    )
    return lambda *arguments: streamnb(capfd, monkeypatch, *arguments)


def test_a_run_takes_late_labels_after_its_inputs_and_goes_on_where_it_stopped(command, tmp_path):
    run = ("run", "events.jsonl", "--labels", "labels.jsonl")
    first = command(*run)
    assert first.status == 0, first.err
    assert "late labels: 3: 1 joined their events, 1 came again, 0 given up, 1 waiting" in first.err
    assert "events without label, by id: 2: 1 joined by their labels, 0 came again, 0 given up, 1 waiting" in first.err
    with (tmp_path / "events.jsonl").open("a") as file:
        file.write('{"id": 7, "n": 1.2}\n')
    with (tmp_path / "labels.jsonl").open("a") as file:
        file.write('{"id": 3, "label": "a"}\n')
    assert command(*run).status == 0
    shown = json.loads(command("inspect", "snapshots", "--json").out)
    joined = {"labels": 4, "joined": 3, "duplicate_labels": 1, "events": 3}
    assert {name: count for name, count in shown["report"]["late_labels"].items() if count} == joined
    assert shown["report"]["learned"] == 5
    assert len(predictions(tmp_path / "predictions.jsonl")) == 5
    assert [place["stream"] for place in shown["positions"]] == ["events.jsonl", "labels.jsonl"]
    text = command("inspect", "snapshots").out
    assert "late labels: 4: 3 joined" in text


def test_train_and_evaluate_learn_late_labels_and_predict_measures_them(command):
    assert command("train", "events.jsonl", "--labels", "labels.jsonl").status == 0
    report = json.loads(command("evaluate", "events.jsonl", "--labels", "labels.jsonl", "--json").out)
    assert (report["learned"], report["late_labels"]["joined"]) == (3, 1)
    outcome = command("predict", "snapshots", "events.jsonl", "--labels", "labels.jsonl", "--output", "p.jsonl")
    assert outcome.status == 0, outcome.err
    assert "measured over 3 labelled events" in outcome.err


def test_rows_of_csv_wait_as_they_are_and_are_read_again(command, tmp_path):
    """With quotes, line ends and empty cells; ids and labels are strings, and what is told of a row is its bytes."""
    rows = ["id,note,n,label", "1,x,1,a", '2,"of ""two""\nlines, quoted",5,', "3,y,,", "4,x,1,b"]
    (tmp_path / "rows.csv").write_text("\n".join(rows))
    (tmp_path / "labels.csv").write_text("when,label,id\n5,b,2\n")
    flags = ("rows.csv", "--labels", "labels.csv", "--categorical", "note", "--tell-unmatched", "true")
    assert command("run", *flags, "--max-waiting", "1").status == 0
    assert [(line["offset"], line["text"]) for line in json_lines(tmp_path / "dead-letters.jsonl")] == [
        (24, '2,"of ""two""\nlines, quoted",5,')
    ]
    for name in ("predictions.jsonl", "dead-letters.jsonl"):
        (tmp_path / name).unlink()
    assert command("run", *flags, "--snapshots", "other").status == 0
    model = json.loads(command("inspect", "other", "--json").out)["model"]
    (note,), (n,) = model["categorical"], model["numeric"]
    assert [(each["class"], each["mean"]) for each in n["classes"]] == [("a", 1.0), ("b", 3.0)]
    assert 'of "two"\nlines, quoted' in [each["value"] for each in note["values"]]
    assert json_lines(tmp_path / "dead-letters.jsonl") == []


def test_a_file_is_either_events_or_labels_and_no_output(command, tmp_path):
    twice = command("run", "events.jsonl", "--labels", "./events.jsonl")
    assert (twice.status, "inputs and labels name ./events.jsonl twice" in twice.err) == (2, True)
    (tmp_path / "empty.jsonl").touch()
    taken = command("run", "events.jsonl", "--labels", "empty.jsonl", "--output", "empty.jsonl")
    assert (taken.status, "are one file" in taken.err) == (2, True)
    gone = command("run", "events.jsonl", "--labels", "gone.jsonl")
    assert (gone.status, "gone.jsonl cannot be read" in gone.err) == (2, True)


def test_merging_adds_the_counts_and_leaves_in_the_parts_what_waits(command):
    for name in ("one", "two"):
        outputs = ("--snapshots", name, "--dead-letters", f"{name}.dead")
        assert command("train", "events.jsonl", "--labels", "labels.jsonl", *outputs).status == 0
    assert command("merge", "one", "two", "-o", "both").status == 0
    late = json.loads(command("inspect", "both", "--json").out)["report"]["late_labels"]
    expected = {"labels": 6, "joined": 2, "duplicate_labels": 2, "labels_waiting": 2, "events": 4, "events_waiting": 2}
    assert {name: count for name, count in late.items() if count} == expected


def test_unlearning_leaves_what_waits(command, tmp_path):
    assert command("train", "events.jsonl", "--labels", "labels.jsonl", "--model", "naive").status == 0
    (tmp_path / "erase.jsonl").write_text('{"id": 2, "n": 5.0, "label": "b"}\n')
    assert command("unlearn", "snapshots", "erase.jsonl").status == 0
    late = json.loads(command("inspect", "snapshots", "--json").out)["report"]["late_labels"]
    assert (late["events_waiting"], late["labels_waiting"]) == (1, 1)
