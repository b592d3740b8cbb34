"""Decisions against exact expected costs, their laws, and the stories of those who ask the command for them."""

import itertools
import json
import math
from fractions import Fraction

import msgspec
import numpy as np
import orjson
import pytest
from hypothesis import assume, example, given
from hypothesis import strategies as st
from river import linear_model

from consumers.named import decision_rule
from consumers.settings import check
from streamnb import DecisionMeasures, DecisionRule, NaiveBayes, snapshot
from streamnb.labels import Labels
from tests.command import json_lines, predictions, streamnb
from tests.crash import config as crash_config
from tests.strategies import cuts, parts, streams

CLASSES = ["a", 1, "1", True, "d"]
LABELS = [*CLASSES, "no class"]

eighths = st.integers(-40, 40).map(lambda eighths: eighths / 8)
pairs = st.tuples(st.sampled_from(LABELS), st.sampled_from(LABELS))
costs = st.lists(st.tuples(pairs, eighths), max_size=12, unique_by=lambda entry: repr(entry[0]))
thresholds = st.lists(
    st.tuples(st.sampled_from(LABELS), st.integers(0, 64).map(lambda part: part / 64)),
    max_size=4,
    unique_by=lambda entry: repr(entry[0]),
)
abstains = st.one_of(st.none(), eighths)
answers = st.lists(st.integers(0, 64), min_size=len(CLASSES) - 1, max_size=len(CLASSES) - 1).map(
    lambda cuts_: [(stop - start) / 64 for start, stop in itertools.pairwise([0, *sorted(cuts_), 64])]
)
rows = st.one_of(answers, st.just([0.0] * len(CLASSES)))
batches = st.lists(rows, min_size=1, max_size=8)
floats = st.lists(st.floats(0, 1), min_size=3, max_size=3).filter(any).map(lambda row: [x / sum(row) for x in row])


def _told(decisions):
    """Return decisions so that 1, "1" and True differ."""
    return list(map(repr, decisions))


def _full(chance):
    """Return a whole table of costs, by [truth, decision], as pairs."""
    return [((truth, decision), chance(truth, decision)) for truth in CLASSES for decision in CLASSES]


tables = st.lists(eighths, min_size=25, max_size=25).map(
    lambda drawn: _full(lambda truth, decision: drawn[5 * CLASSES.index(truth) + CLASSES.index(decision)])
)


def _by_the_book(row, costs, thresholds, abstain):
    """Decide with exact fractions, option by option, as the definition has it."""
    named = {repr(pair): Fraction(cost) for pair, cost in costs}
    least = {repr(label): Fraction(threshold) for label, threshold in thresholds}
    shares = {repr(label): Fraction(share) for label, share in zip(CLASSES, row, strict=True)}
    if not any(shares.values()):
        return None
    met = [label for label in CLASSES if shares[repr(label)]]
    later = [decision for (_, decision), _ in costs if repr(decision) not in map(repr, met)]
    found = None
    for option in [*met, *later]:
        if shares.get(repr(option), 0) < least.get(repr(option), 0):
            continue
        expected = sum(
            shares[repr(truth)] * named.get(repr((truth, option)), Fraction(repr(truth) != repr(option)))
            for truth in CLASSES
        )
        if found is None or expected < found[0]:
            found = expected, option
    if found is None or (abstain is not None and found[0] > abstain):
        return None
    return found[1]


@given(batches, costs, thresholds, abstains)
def test_a_decision_is_that_of_least_exact_expected_cost(batch, costs, thresholds, abstain):
    decided = DecisionRule(costs, thresholds, abstain).decide(batch, CLASSES)
    assert _told(decided) == _told(_by_the_book(row, costs, thresholds, abstain) for row in batch)


def test_decisions_by_hand():
    """Deciding good costs 0.1 times 10 where fraud costs 0.9; at 0.05 it costs 0.5 against 0.95."""
    rule = DecisionRule({("fraud", "good"): 10})
    assert rule.decide([[0.9, 0.1], [0.95, 0.05], [0.0, 1.0]], ["good", "fraud"]) == ["fraud", "good", "fraud"]
    gains = DecisionRule({("buys", "call"): -20, ("leaves", "call"): 2, ("buys", "wait"): 0, ("leaves", "wait"): 0})
    assert gains.decide([[0.08, 0.92], [0.1, 0.9]], ["buys", "leaves"]) == ["wait", "call"]
    third = DecisionRule({("good", "look"): 0.2, ("fraud", "look"): 0.2})
    assert third.decide([[0.7, 0.3], [0.9, 0.1], [0.1, 0.9]], ["good", "fraud"]) == ["look", "good", "fraud"]


@pytest.mark.parametrize("ratio", [1, 3, 10, 1e6])
def test_elkans_threshold_divides_two_classes(ratio):
    """Deciding for the class whose oversight costs c, and whose false alarm 1, pays from 1 / (1 + c) on: his eq. 2."""
    rule, at = DecisionRule({("yes", "no"): ratio}), 1 / (1 + ratio)
    below, above = at * (1 - 1e-6), at * (1 + 1e-6)
    assert rule.decide([[1 - below, below], [1 - above, above]], ["no", "yes"]) == ["no", "yes"]


@given(floats, st.sampled_from([0.0, 0.1, 0.3, 0.5]))
def test_chows_rule_rejects_where_no_class_is_probable_enough(row, reject):
    assume(abs(1 - max(row) - reject) > 1e-9)
    decided = DecisionRule(abstain=reject).decide([row], ["x", "y", "z"])
    assert (decided == [None]) == (1 - max(row) > reject)


@given(st.lists(floats, min_size=1, max_size=8), st.sampled_from([(), [(("x", "y"), 1)], [(("z", "z"), 0)]]))
@example([[0.3, 0.1 + 0.2, 1 - 0.3 - (0.1 + 0.2)], [np.nextafter(0.5, 0), 0.5, 0.0]], ())
def test_costs_of_zero_and_one_choose_the_most_probable_to_the_last_bit(batch, named):
    expected = ["xyz"[int(np.argmax(row))] for row in batch]
    assert DecisionRule(named).decide(batch, ["x", "y", "z"]) == expected


@given(batches, tables, thresholds, abstains, st.sampled_from([2.0**-40, 0.5, 4.0, 2.0**60]))
def test_scaling_all_costs_changes_nothing(batch, table, thresholds, abstain, factor):
    scaled = [(pair, cost * factor) for pair, cost in table]
    one = DecisionRule(table, thresholds, abstain)
    other = DecisionRule(scaled, thresholds, None if abstain is None else abstain * factor)
    assert _told(one.decide(batch, CLASSES)) == _told(other.decide(batch, CLASSES))


@given(batches, tables, thresholds, st.sampled_from(CLASSES), eighths)
def test_what_a_true_class_costs_whatever_is_decided_changes_no_decision(batch, table, thresholds, row, amount):
    raised = [((t, d), cost + amount * (repr(t) == repr(row))) for (t, d), cost in table]
    one, other = (DecisionRule(costs, thresholds) for costs in (table, raised))
    assert _told(one.decide(batch, CLASSES)) == _told(other.decide(batch, CLASSES))


@given(batches, costs, thresholds, abstains)
def test_a_threshold_of_0_and_costs_of_what_never_comes_change_nothing(batch, costs, thresholds, abstain):
    more = [(label, 0.0) for label in LABELS if repr(label) not in [repr(each) for each, _ in thresholds]]
    given_pairs = [repr(pair) for pair, _ in costs]
    named = [(decision,) for (_, decision), _ in costs]
    never = [(("never", *decision), 9.0) for decision in named if repr(("never", *decision)) not in given_pairs]
    never = list({repr(pair): (pair, cost) for pair, cost in never}.values())
    one = DecisionRule(costs, thresholds, abstain)
    other = DecisionRule([*costs, *never], [*thresholds, *more], abstain)
    assert _told(one.decide(batch, CLASSES)) == _told(other.decide(batch, CLASSES))


@given(st.lists(floats, min_size=1, max_size=8), costs, thresholds, abstains, st.integers(0, 3))
def test_a_batch_is_decided_as_its_events_one_by_one_and_as_before_later_classes_came(
    batch, costs, thresholds, abstain, more
):
    """With other classes, which are then those not met when the event came, at the end of its row."""
    rule = DecisionRule(costs, thresholds, abstain)
    padded = np.pad(batch, ((0, 0), (0, more)))
    later = [*CLASSES[3:], "no class"][:more]
    whole = _told(rule.decide(padded, [*CLASSES[:3], *later]))
    assert whole == _told(rule.decide([row], CLASSES[:3])[0] for row in batch)
    named = [rule.decide_one(dict(zip(["a", "b", "c"], row, strict=True))) for row in batch]
    assert named == rule.decide(batch, ["a", "b", "c"])


@given(st.integers(0, 2**32), st.integers(1, 30), st.integers(1, 30))
def test_no_bit_of_an_expected_cost_tells_how_many_classes_came_later(seed, known, more):
    chance = np.random.default_rng(seed)
    rule = DecisionRule([((truth, 0), chance.normal()) for truth in range(1, 40)])
    row = chance.dirichlet(np.ones(known), size=1)
    columns = [*range(known), -1]  # the classes, and the decision that costs name
    _, alone, _ = rule._expected(row, Labels(range(known)))
    _, padded, _ = rule._expected(np.pad(row, ((0, 0), (0, more))), Labels(range(known + more)))
    assert alone[:, columns].tobytes() == padded[:, columns].tobytes()


@given(streams, cuts, costs, thresholds, abstains)
def test_decisions_on_a_model_do_not_tell_where_batches_were_cut(stream, at, costs, thresholds, abstain):
    rule = DecisionRule(costs, thresholds, abstain)
    results = []
    for places in (at, range(1, len(stream))):
        model, measures, decided = NaiveBayes(), DecisionMeasures(), []
        for part in parts(stream, places):
            labels = [label for _, label in part]
            probabilities = model.test_then_train([event for event, _ in part], labels)
            some = rule.decide(probabilities, model.classes)
            found = [model.classes[int(row.argmax())] if row.any() else None for row in probabilities]
            measures.update(rule, some, found, labels)
            decided += some
        results.append((_told(decided), orjson.dumps(measures.to_state())))
    assert results[0] == results[1]


def test_costs_that_rounding_alone_tells_apart_are_equal_and_the_class_seen_first_wins():
    """0.1 times 3 is 0.30000000000000004 for a float, and 0.9 / 3 is less."""
    rule = DecisionRule({("y", "x"): 3, ("x", "y"): 1 / 3, ("z", "x"): 0, ("z", "y"): 0})
    assert rule.decide([[0.9, 0.1, 0.0]], ["x", "y", "z"]) == ["x"]
    assert rule.decide([[0.1, 0.9, 0.0]], ["y", "x", "z"]) == ["y"]
    assert DecisionRule(abstain=0.3).decide([[0.7, 0.1, 0.2]], ["x", "y", "z"]) == ["x"]  # at 0.30000000000000004
    assert DecisionRule(abstain=0.29).decide([[0.7, 0.1, 0.2]], ["x", "y", "z"]) == [None]


def test_a_large_cost_of_one_decision_hides_no_difference_between_others():
    rule = DecisionRule({("x", "z"): 1e90, ("y", "z"): 1e90})
    assert rule.decide([[0.4, 0.5, 0.1]], ["x", "y", "z"]) == ["y"]


def test_small_costs_tell_as_well_as_large_ones():
    rule = DecisionRule({("x", "y"): 1e-30, ("y", "x"): 3e-30})
    assert rule.decide([[0.7, 0.3], [0.8, 0.2]], ["x", "y"]) == ["y", "x"]


def test_a_threshold_leaves_the_next_best_or_none():
    rule = DecisionRule(thresholds={"x": 0.8, "y": 0.2})
    assert rule.decide([[0.8, 0.2, 0.0], [0.79, 0.21, 0.0], [0.75, 0.1, 0.15]], ["x", "y", "z"]) == ["x", "y", "z"]
    assert DecisionRule(thresholds={"x": 0.8, "y": 0.8}).decide([[0.5, 0.5]], ["x", "y"]) == [None]


def test_before_any_answer_there_is_nothing_to_decide():
    rule = DecisionRule({("x", "y"): -1}, abstain=0)
    assert rule.decide(np.zeros((2, 0)), []) == [None, None]
    assert rule.decide(np.zeros((1, 2)), ["x", "y"]) == [None]
    assert rule.decide(np.zeros((0, 2)), ["x", "y"]) == []
    assert rule.decide_one({}) is None
    assert DecisionRule().decide(np.zeros((2, 0)), []) == [None, None]


def test_a_rule_decides_on_the_probabilities_of_rivers_models():
    model, rule = linear_model.LogisticRegression(), DecisionRule({(True, False): 50})
    for place in range(1_000):
        model.learn_one({"n": place % 5 - 2}, place % 5 > 2)
    assert model.predict_one({"n": -1}) is False
    assert rule.decide_one(model.predict_proba_one({"n": -1})) is True


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ({"costs": {("a", "b"): math.nan}}, "nan is no cost"),
        ({"costs": {("a", "b"): -math.inf}}, "-inf is no cost"),
        ({"costs": {("a", "b"): 1e101}}, "is no cost"),
        ({"costs": {("a", "b"): 10**400}}, "is no cost"),
        ({"costs": {("a", "b"): None}}, "None is no cost"),
        ({"costs": {("a", None): 1}}, "None cannot be a class"),
        ({"costs": [(("a", "b"), 1), (("a", "b"), 2)]}, "'b' where the truth is 'a' is given twice"),
        ({"thresholds": {"a": -0.1}}, "the threshold of 'a' is -0.1: it must be a probability, from 0 to 1"),
        ({"thresholds": {"a": 1.1}}, "it must be a probability"),
        ({"thresholds": {"a": math.nan}}, "it must be a probability"),
        ({"thresholds": {"a": "much"}}, "it must be a probability"),
        ({"thresholds": [("a", 0.1), ("a", 0.1)]}, "the threshold of 'a' is given twice"),
        ({"abstain": math.nan}, "nan is no cost"),
    ],
)
def test_a_rule_that_cannot_be_is_refused(arguments, said):
    with pytest.raises(ValueError, match=said):
        DecisionRule(**arguments)


@pytest.mark.parametrize("row", [[math.nan, 1.0], [-0.5, 1.5], [math.inf, 0.0], [0.3, 0.3], [3.0, 5.0]])
def test_what_are_no_probabilities_is_refused_by_place(row):
    with pytest.raises(ValueError, match=r"event 1: .* are no probabilities"):
        DecisionRule().decide([[0.5, 0.5], row], ["a", "b"])


@pytest.mark.parametrize("shape", [(2,), (1, 3), (1, 1)])
def test_probabilities_of_another_shape_are_refused(shape):
    with pytest.raises(ValueError, match="of the shape"):
        DecisionRule().decide(np.ones(shape), ["a", "b"])


def test_a_rule_cannot_be_changed():
    with pytest.raises(AttributeError):
        DecisionRule().abstain = 1.0


outcomes = st.lists(
    st.tuples(
        st.sampled_from([*LABELS, None]), st.sampled_from([*CLASSES, None]), st.sampled_from([*LABELS, "new", None])
    ),
    max_size=20,
)


def _measured(rule, triples):
    measures = DecisionMeasures()
    measures.update(rule, *([triple[column] for triple in triples] for column in range(3)))
    return measures


@given(costs, abstains, outcomes)
def test_the_mean_costs_are_those_of_the_events_with_answer_and_label(costs, abstain, triples):
    rule = DecisionRule(costs, abstain=abstain)
    named = {repr(pair): cost for pair, cost in costs}
    measures = _measured(rule, triples)
    answered = [triple for triple in triples if triple[1] is not None]

    def cost(truth, decision):
        if decision is None:
            return 1.0 if abstain is None else abstain
        return named.get(repr((truth, decision)), float(repr(truth) != repr(decision)))

    assert measures.abstained == sum(decision is None for decision, _, _ in answered)
    made = _told(decision for decision, _, _ in answered if decision is not None)
    assert {repr(decision): times for decision, times in measures.decisions} == {
        each: made.count(each) for each in made
    }
    known = [triple for triple in answered if triple[2] is not None]
    assert measures.measured == len(known)
    if known:
        assert measures.mean_cost == sum(cost(label, decision) for decision, _, label in known) / len(known)
        assert measures.most_probable_cost == sum(cost(label, answer) for _, answer, label in known) / len(known)
    else:
        assert math.isnan(measures.mean_cost)
        assert math.isnan(measures.most_probable_cost)


@given(costs, abstains, outcomes)
def test_costs_that_become_known_later_come_to_what_they_would_have_at_once(costs, abstain, triples):
    rule = DecisionRule(costs, abstain=abstain)
    later = _measured(rule, [(decision, answer, None) for decision, answer, _ in triples])
    later.measure(rule, *([triple[column] for triple in triples] for column in range(3)))
    assert later.to_state() == _measured(rule, triples).to_state()


@given(costs, abstains, outcomes, outcomes)
def test_measures_of_decisions_add_up_and_go_on_from_their_state(costs, abstain, first, second):
    rule = DecisionRule(costs, abstain=abstain)
    whole, left, right = _measured(rule, first + second), _measured(rule, first), _measured(rule, second)
    restored = DecisionMeasures.from_state(orjson.loads(orjson.dumps(left.to_state())))
    assert repr(restored.to_state()) == repr(left.to_state())
    restored.update(rule, *([triple[column] for triple in second] for column in range(3)))
    assert repr(restored.to_state()) == repr(whole.to_state())
    before = repr(right.to_state())
    left.merge(right)
    assert repr(left.to_state()) == repr(whole.to_state())  # eighths: no sum is rounded
    assert repr(right.to_state()) == before


def test_what_cannot_be_measured_leaves_the_measures_as_they_were():
    rule = DecisionRule()
    measures = _measured(rule, [("a", "a", "a")])
    before = measures.to_state()
    for columns in ((["a"], ["a", "a"], ["a"]), (["a", "b"], ["a", "a"], ["a", ["b"]])):
        with pytest.raises(ValueError, match=r"longer|shorter|cannot be a class"):
            measures.update(rule, *columns)
        assert measures.to_state() == before


# The command
EVENTS = [{"id": n, "size": n % 5 + 3 * (n % 3 == 0), "label": "fraud" if n % 3 == 0 else "ok"} for n in range(60)]
ASKED = ("--costs", "fraud:ok=20", "--thresholds", "fraud=0.01", "--abstain", "0.6")


@pytest.fixture
def command(tmp_path, capfd, monkeypatch):
    """Return the command, in a folder that holds events.jsonl."""
    monkeypatch.chdir(tmp_path)
    write(tmp_path / "events.jsonl", EVENTS)
    return lambda *arguments: streamnb(capfd, monkeypatch, *arguments)


def write(path, events):
    path.write_bytes(b"".join(orjson.dumps(event) + b"\n" for event in events))


def last_snapshot(folder):
    return max(folder.iterdir()).read_bytes()


@pytest.mark.parametrize("flags", [(), ("--explain", "1")])
def test_each_prediction_carries_the_decision_on_its_probabilities(command, tmp_path, flags):
    rule = DecisionRule({("fraud", "ok"): 20}, {"fraud": 0.01}, 0.6)
    assert command("run", "events.jsonl", *ASKED, *flags).status == 0
    made = predictions(tmp_path / "predictions.jsonl")
    assert [each.decision for each in made] == [rule.decide_one(dict(each.probabilities)) for each in made]
    assert {each.decision for each in made} == {"ok", "fraud", None}
    assert any(each.decision is None and each.label is not None for each in made)  # abstained
    assert (made[0].label, made[0].decision) == (None, None)  # nothing to decide on
    assert all((each.reasons is msgspec.UNSET) == (not flags) for each in made)


def test_where_no_decisions_are_asked_for_nothing_tells_of_them(command, tmp_path):
    outcome = command("run", "events.jsonl")
    assert b"decision" not in (tmp_path / "predictions.jsonl").read_bytes()
    assert b"decision" not in last_snapshot(tmp_path / "snapshots")
    assert "decision" not in outcome.err
    assert "decisions" not in json.loads(command("evaluate", "events.jsonl", "--json").out)


def test_the_report_tells_how_often_each_decision_was_made_and_its_mean_cost(command, tmp_path):
    outcome = command("run", "events.jsonl", *ASKED)
    for said in ("decisions", "'fraud'", "'ok'", "abstained", "mean cost of the decisions on 59 labelled events"):
        assert said in outcome.err
    made = predictions(tmp_path / "predictions.jsonl")[1:]
    truths = [event["label"] for event in EVENTS[1:]]

    def mean(decisions):
        table = {("fraud", "ok"): 20.0, ("ok", "fraud"): 1.0, ("ok", None): 0.6, ("fraud", None): 0.6}
        return sum(table.get(pair, 0.0) for pair in zip(truths, decisions, strict=True)) / len(truths)

    told = json.loads(command("evaluate", "events.jsonl", "--json", *ASKED).out)["decisions"]
    decisions = [each.decision for each in made]
    assert {each["decision"]: each["events"] for each in told["made"]} == {
        decision: decisions.count(decision) for decision in ("ok", "fraud")
    }
    assert (told["abstained"], told["measured"]) == (decisions.count(None), 59)
    assert told["mean_cost"] == pytest.approx(mean(decisions), rel=1e-12)
    assert told["most_probable_cost"] == pytest.approx(mean([each.label for each in made]), rel=1e-12)
    assert told["mean_cost"] < told["most_probable_cost"]
    assert json.loads(command("inspect", "snapshots", "--json").out)["report"]["decisions"] == told


def test_costs_are_no_part_of_what_is_learned_and_may_change_from_run_to_run(command, tmp_path):
    command("run", "events.jsonl", *ASKED)
    write(tmp_path / "events.jsonl", EVENTS + EVENTS)
    assert command("run", "events.jsonl", "--costs", "ok:fraud=1000000").status == 0
    made = predictions(tmp_path / "predictions.jsonl")
    assert {each.decision for each in made[60:]} == {"ok"}
    assert "decision" in command("inspect", "snapshots").out
    outcome = command("run", "events.jsonl")  # and what was decided is told of where no more is
    assert outcome.status == 0
    assert "mean cost of the decisions on 119 labelled events" in outcome.err


def test_a_run_of_before_there_were_decisions_goes_on_with_them(command, tmp_path):
    command("run", "events.jsonl")
    write(tmp_path / "events.jsonl", EVENTS + EVENTS)
    outcome = command("run", "events.jsonl", *ASKED)
    assert "mean cost of the decisions on 60 labelled events" in outcome.err


def test_a_model_is_asked_for_decisions_after_it_was_learned(command, tmp_path):
    command("train", "events.jsonl")
    (tmp_path / "dead-letters.jsonl").unlink()
    outcome = command("predict", "snapshots", "events.jsonl", *ASKED)
    assert outcome.status == 0
    assert "mean cost of the decisions on 60 labelled events" in outcome.err
    assert {each.decision for each in predictions(tmp_path / "predictions.jsonl")} >= {"ok", "fraud"}


def test_training_and_running_end_in_one_state_with_decisions_too(command, tmp_path):
    command("train", "events.jsonl", "--snapshots", "trained", *ASKED)
    (tmp_path / "dead-letters.jsonl").unlink()
    command("run", "events.jsonl", *ASKED)
    states = [snapshot.unpack(last_snapshot(tmp_path / name))[0]["decisions"] for name in ("trained", "snapshots")]
    assert states[0] == states[1]


def test_decisions_of_merged_snapshots_add_up(command, tmp_path):
    for name, flags in (("one", ASKED), ("two", ASKED), ("three", ())):
        command("train", "events.jsonl", "--snapshots", name, *flags)
        (tmp_path / "dead-letters.jsonl").unlink()
    for name, order in (("both", ("one", "two", "three")), ("late", ("three", "one", "two"))):
        assert command("merge", *order, "-o", name).status == 0
        told = json.loads(command("inspect", name, "--json").out)["report"]["decisions"]
        once = json.loads(command("inspect", "one", "--json").out)["report"]["decisions"]
        assert (told["measured"], told["abstained"]) == (2 * once["measured"], 2 * once["abstained"])
        assert told["mean_cost"] == pytest.approx(once["mean_cost"], rel=1e-12)


@pytest.mark.parametrize(
    ("flags", "said"),
    [
        (["--costs", "fraud=50"], "costs has 'fraud=50': each is TRUTH:DECISION=COST"),
        (["--costs", "fraud:ok"], "each is TRUTH:DECISION=COST"),
        (["--costs", "fraud:ok=much"], "each is TRUTH:DECISION=COST"),
        (["--costs", "fraud:ok=nan"], "nan is no cost"),
        (["--costs", "null:ok=nul"], "each is TRUTH:DECISION=COST"),
        (["--costs", "a:b=1", "--costs", "a:b=2"], "'b' where the truth is 'a' is given twice"),
        (["--thresholds", "fraud"], "thresholds has 'fraud': each is LABEL=PROBABILITY"),
        (["--thresholds", "fraud=-0.1"], "the threshold of 'fraud' is -0.1: it must be a probability, from 0 to 1"),
        (["--thresholds", "fraud=1.1"], "the threshold of 'fraud' is 1.1: it must be a probability, from 0 to 1"),
        (["--abstain", "-1"], "abstain is -1.0: it must be a number"),
        (["--abstain", "inf"], "abstain is inf: it must be a number"),
        (["--costs", "caf\udce9:ok=1"], "each is TRUTH:DECISION=COST"),
    ],
)
@pytest.mark.parametrize("name", ["run", "evaluate", "predict"])
def test_a_rule_that_cannot_be_is_one_sentence_and_touches_nothing(command, tmp_path, name, flags, said):
    if name == "predict":
        command("train", "events.jsonl")
    before = {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()}
    outcome = command(name, *(["snapshots"] if name == "predict" else []), "events.jsonl", *flags)
    assert (outcome.status, len(outcome.err.splitlines())) == (2, 1)
    assert said in outcome.err
    assert {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()} == before


def test_a_cost_and_a_threshold_of_a_class_never_met_change_nothing(command, tmp_path):
    command("run", "events.jsonl", "--costs", "never:ok=9", "--costs", "ok:never=9", "--thresholds", "never=0.5")
    made = predictions(tmp_path / "predictions.jsonl")
    assert [each.decision for each in made] == [each.label for each in made]


def test_settings_of_decisions_come_from_a_file_as_well(command, tmp_path):
    (tmp_path / "some.toml").write_text('costs = ["fraud:ok=20"]\nthresholds = ["fraud=0.01"]\nabstain = 0.6\n')
    told = [
        json.loads(command("evaluate", "events.jsonl", "--json", *flags).out)["decisions"]
        for flags in (ASKED, ("--config", "some.toml"))
    ]
    assert told[0] == told[1]


@pytest.mark.parametrize(
    ("text", "truth", "decision", "cost"),
    [
        ("fraud:ok=50", "fraud", "ok", 50.0),
        ("1:true=-2.5", 1, True, -2.5),
        ('"1":"true"=1e3', "1", "true", 1000.0),
        ('"a:b":c:d=1', "a:b", "c:d", 1.0),
        ('a:"b:c"=1', "a", "b:c", 1.0),
        ("a=b:c=d=1", "a=b", "c=d", 1.0),
        ('"open:c=1', '"open', "c", 1.0),
        ('"":x=1', "", "x", 1.0),
    ],
)
def test_labels_of_costs_are_json_where_they_can_be(text, truth, decision, cost):
    rule = decision_rule(check({"costs": (text,)}))
    ((pair, given_cost),) = rule.costs
    assert (_told(pair), given_cost) == (_told((truth, decision)), cost)


def test_labels_that_python_takes_for_equal_are_decided_apart(command, tmp_path):
    write(tmp_path / "events.jsonl", [{"n": n % 2, "label": [1, "1"][n % 2]} for n in range(20)])
    command("run", "events.jsonl", "--costs", '"1":1=0', "--costs", "1:1=-1")
    assert _told({each.decision for each in predictions(tmp_path / "predictions.jsonl")[2:]}) == ["1"]


def test_decisions_in_a_snapshot_from_a_stranger_are_refused_where_they_cannot_be(command, tmp_path):
    command("run", "events.jsonl", *ASKED)
    plain, held = snapshot.unpack(last_snapshot(tmp_path / "snapshots"))
    good = plain["decisions"]
    twice = {**good, "decisions": [["ok", 1], ["ok", 1]]}
    for odd in (7, {}, twice, {**good, "costs": [1]}, {**good, "decisions": [[[], 1]]}, {**good, "abstained": "q"}):
        (tmp_path / "odd.snapshot").write_bytes(snapshot.pack({**plain, "decisions": odd}, held))
        outcome = command("inspect", "odd.snapshot")
        assert outcome.status == 2
        assert "its content is not that of a run" in outcome.err


def test_the_runs_that_are_killed_decide_too():
    """So that test_recovery.py holds for decisions: the same bytes after any kill."""
    rule = decision_rule(crash_config())
    assert rule is not None
    assert rule.costs
    assert rule.abstain


def test_decisions_of_a_run_are_among_what_is_compared_after_a_kill(command, tmp_path):
    command("run", "events.jsonl", *ASKED)
    assert all("decision" in line for line in json_lines(tmp_path / "predictions.jsonl"))
    assert b'"decisions":' in last_snapshot(tmp_path / "snapshots")
