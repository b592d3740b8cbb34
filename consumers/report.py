"""What a run tells people and programs: progress, the closing report, and the inside of a snapshot.

Law: nothing is skipped without its count and its reason standing here.
"""

import math
from collections.abc import Callable, Sequence
from typing import Any, Self

from rich.console import Console
from rich.progress import Progress, TextColumn
from rich.table import Table

from consumers.records import Alarm
from consumers.state import State
from consumers.waiting import Waiting
from streamnb.decision_measure import DecisionMeasures
from streamnb.explain import Explanation

_MEASURES = (
    ("accuracy", "accuracy", ".2%", "measured"),
    ("accuracy of no change", "no_change_accuracy", ".2%", "compared"),
    ("Kappa-Temporal", "kappa_temporal", ".4f", "compared"),
    ("Cohen's kappa", "kappa", ".4f", "measured"),
    ("log loss", "log_loss", ".4f", "measured"),
    ("Brier score", "brier_score", ".4f", "binned"),
    ("expected calibration error", "expected_calibration_error", ".4f", "binned"),
)
"""What people call a measure, its key in the report, its format, and the key of how many events it is of."""


def summary(state: State) -> dict[str, Any]:
    """Return the closing report as plain values; a measure without events is None."""
    measures, tally = state.measures, state.tally
    decided = {} if state.decisions is None else {"decisions": _decided(state.decisions)}
    late = {} if state.waiting is None else {"late_labels": _late(state.waiting)}
    labels = 0 if state.waiting is None else state.waiting.tally.labels
    return {
        "records": tally.records,
        "predicted": tally.predicted,
        "learned": state.model.learned,
        "measured": measures.measured,
        "unanswered": measures.unanswered,
        "unpredicted": tally.records - tally.tombstones - labels - tally.dead.total() - tally.predicted,
        "compared": measures.compared,
        "binned": measures.binned,
        "accuracy": _number(measures.accuracy),
        "no_change_accuracy": _number(measures.no_change_accuracy),
        "kappa_temporal": _number(measures.kappa_temporal),
        "kappa": _number(measures.kappa),
        "log_loss": _number(measures.log_loss),
        "brier_score": _number(measures.brier_score),
        "expected_calibration_error": _number(measures.expected_calibration_error),
        "reliability": [
            {"above": low, "to": high, "events": events, "probability": _number(mean), "right": _number(right)}
            for low, high, events, mean, right in measures.reliability()
        ],
        "classes": [
            {"class": label, "measured": support, "recall": _number(recall)}
            for label, support, recall in measures.recall()
        ],
        "confusion": measures.confusion.tolist(),
        "dead_letters": [{"reason": reason, "records": count} for reason, count in tally.dead.most_common()],
        "bad_values": [{"feature": name, "values": count} for name, count in tally.bad_values.most_common()],
        "drifts": tally.drifts,
        "tombstones": tally.tombstones,
        "lost": tally.lost,
        **late,
        **decided,
    }


def _late(waiting: Waiting) -> dict[str, int]:
    """Return what became of late labels, and of the events that came without one: two sums, each of its parts."""
    tally = waiting.tally
    return {
        "labels": tally.labels,
        "joined": tally.joined,
        "duplicate_labels": tally.duplicate_labels,
        "labels_given_up": tally.labels_given_up,
        "labels_waiting": waiting.labels,
        "events": tally.events,
        "duplicate_events": tally.duplicate_events,
        "events_given_up": tally.events_given_up,
        "events_waiting": waiting.events,
    }


def _decided(measures: DecisionMeasures) -> dict[str, Any]:
    """Return how often each decision was made, and their mean cost beside that of the most probable classes."""
    return {
        "made": [{"decision": decision, "events": times} for decision, times in measures.decisions],
        "abstained": measures.abstained,
        "measured": measures.measured,
        "mean_cost": _number(measures.mean_cost),
        "most_probable_cost": _number(measures.most_probable_cost),
    }


def reasons(explanation: Explanation) -> dict[str, Any]:
    """Return an explanation as plain values; an infinite share is None."""
    return {
        "label": explanation.label,
        "against": explanation.against,
        "score": _number(explanation.score),
        "prior": _number(explanation.prior),
        "shares": [[feature, value, _number(share)] for feature, value, share in explanation.shares],
        "weights": list(explanation.weights.items()),
        "memories": [[_number(half_life), share] for half_life, share in explanation.memories.items()],
    }


def _number(value: float) -> float | None:
    """Return a number if JSON has it, or else None."""
    return value if math.isfinite(value) else None


def printable(text: object) -> str:
    """Return a text as it is if a terminal can show it, or else with escapes."""
    shown = str(text)
    return shown if shown.isprintable() else ascii(shown)[1:-1]


def quoted(value: object) -> str:
    """Return a class or a category so that its type shows, and a terminal can show it."""
    return printable(repr(value))


def show_report(console: Console, report: dict[str, Any], label: str) -> None:
    """Print the closing report for people.

    Parameters
    ----------
    label
        The key of the label.
    """
    buried = sum(each["records"] for each in report["dead_letters"])
    console.print(
        f"in all: {report['records']:,} records read: {report['predicted']:,} predicted, "
        f"{report['unpredicted']:,} before anything was learned, {buried:,} dead letters; "
        f"{report['learned']:,} events learned"
    )
    if report["measured"]:
        _show_measures(console, report)
    if "decisions" in report:
        _show_decisions(console, report["decisions"])
    for each in report["dead_letters"]:
        console.print(f"dead letters, {each['reason']}: {each['records']:,}")
    for each in report["bad_values"]:
        console.print(f"bad values of {printable(each['feature'])}, left out: {each['values']:,}")
    if report["tombstones"]:
        console.print(f"messages without a value, passed over: {report['tombstones']:,}")
    if report["lost"]:
        console.print(f"offsets passed over, which were no longer retained: {report['lost']:,}")
    if "late_labels" in report:
        _show_late(console, report["late_labels"])
    if report["drifts"]:
        console.print(f"drifts, at which what was learned came to hold less well: {report['drifts']:,}")
    if report["records"] and buried == report["records"]:
        console.print("every record is a dead letter: is the format right (--format)?")
    elif report["records"] and not report["measured"] + report["unanswered"] and "late_labels" not in report:
        console.print(f"no event had a label under the key {printable(label)} (--label names it): nothing to measure")


def _show_measures(console: Console, report: dict[str, Any]) -> None:
    """Print how well the predictions did, and over how many events each measure is."""
    table = Table("measure", "value", "events", title=f"measured over {report['measured']:,} labelled events")
    for name, key, form, events in _MEASURES:
        table.add_row(name, _shown(report[key], form), f"{report[events]:,}")
    console.print(table)
    classes = Table("class", "measured", "recall")
    for each in report["classes"]:
        classes.add_row(quoted(each["class"]), f"{each['measured']:,}", _shown(each["recall"], ".2%"))
    console.print(classes)
    bins = Table("probability", "events", "mean", "right", title="reliability of the answers")
    for each in report["reliability"]:
        if each["events"]:
            shares = (_shown(each[key], ".2%") for key in ("probability", "right"))
            bins.add_row(f"{each['above']:.1f} - {each['to']:.1f}", f"{each['events']:,}", *shares)
    if bins.row_count:
        console.print(bins)


def _show_late(console: Console, late: dict[str, int]) -> None:
    """Print what became of late labels and of the events that they may be of."""
    console.print(
        f"late labels: {late['labels']:,}: {late['joined']:,} joined their events, {late['duplicate_labels']:,} came "
        f"again, {late['labels_given_up']:,} given up, {late['labels_waiting']:,} waiting"
    )
    console.print(
        f"events without label, by id: {late['events']:,}: {late['joined']:,} joined by their labels, "
        f"{late['duplicate_events']:,} came again, {late['events_given_up']:,} given up, "
        f"{late['events_waiting']:,} waiting"
    )


def _shown(value: float | None, form: str) -> str:
    """Return a number as people read it, a dash for none."""
    return "-" if value is None else format(value, form)


def _show_decisions(console: Console, decided: dict[str, Any]) -> None:
    """Print how often each decision was made, and what they cost."""
    table = Table("decision", "events", title="decisions")
    for each in decided["made"]:
        table.add_row(quoted(each["decision"]), f"{each['events']:,}")
    table.add_row("abstained", f"{decided['abstained']:,}")
    console.print(table)
    if decided["measured"]:
        console.print(
            f"mean cost of the decisions on {decided['measured']:,} labelled events: {decided['mean_cost']:.6g}; "
            f"of always taking the most probable class: {decided['most_probable_cost']:.6g}"
        )


def tell_alarm(console: Console, alarm: Alarm) -> None:
    """Print an alarm for people."""
    changed = ", ".join(f"{printable(name)} ({bits:.2f} bits)" for name, bits in alarm.changed)
    console.print(
        f"DRIFT: {alarm.of} became worse some {alarm.since:,} labelled events before offset {alarm.offset:,} of "
        f"{printable(alarm.stream)}: log loss {alarm.loss_before:.2f} before, {alarm.loss_after:.2f} since; "
        f"probability of wrong classes {alarm.wrong_before:.0%} before, {alarm.wrong_after:.0%} since"
        + (f"; changed most: {changed}" if changed else "")
    )


class Watch:
    """Shows how a run goes, on a terminal; silent elsewhere. Called after each batch.

    Parameters
    ----------
    states
        Returns what is known by now, of each part that is read.
    clock
        Seconds, from any start.
    """

    def __init__(self, console: Console, states: Callable[[], Sequence[State]], clock: Callable[[], float]) -> None:
        self._states = states
        self._clock = clock
        self._start = clock()
        self._before = sum(state.tally.records for state in states())
        self._progress = (
            Progress(TextColumn("{task.description}", markup=False), console=console) if console.is_terminal else None
        )
        self._task = self._progress.add_task("reading", total=None) if self._progress else None

    def __enter__(self) -> Self:
        if self._progress:
            self._progress.start()
        return self

    def __exit__(self, *_: object) -> None:
        if self._progress:
            self._progress.stop()

    def __call__(self) -> None:
        """Show the state of things."""
        if self._progress is None or self._task is None:
            return
        states = self._states()
        records = sum(state.tally.records for state in states)
        measured = [state.measures for state in states if state.measures.measured]
        right = sum(measures.accuracy * measures.measured for measures in measured)
        accuracy = f"{right / sum(measures.measured for measures in measured):.2%}" if measured else "-"
        seconds = max(self._clock() - self._start, 1e-9)
        text = f"{records:,} records, {(records - self._before) / seconds:,.0f} a second, accuracy {accuracy}"
        self._progress.update(self._task, description=text)


def show_model(console: Console, described: dict[str, Any]) -> None:
    """Print the inside of a model for people."""
    classes = Table("class", "weight", "prior", title="classes")
    for each in described["classes"]:
        classes.add_row(quoted(each["class"]), f"{each['weight']:,.6g}", f"{each['prior']:.4f}")
    console.print(classes)
    _show_features(console, described)
    numeric = Table("feature", "class", "weight", "mean", "variance", title="numeric features")
    for feature in described["numeric"]:
        for each in feature["classes"]:
            shown = ["-" if each[key] is None else f"{each[key]:.6g}" for key in ("weight", "mean", "variance")]
            numeric.add_row(printable(feature["feature"]), quoted(each["class"]), *shown)
    if described["numeric"]:
        console.print(numeric)
    labels = [quoted(each["class"]) for each in described["classes"]]
    categorical = Table("feature", "values", "commonest", *labels, title="categorical features and bags")
    for feature in described["categorical"]:
        for place, each in enumerate(feature["values"]):
            heading = (printable(feature["feature"]), f"{feature['distinct']:,}") if place == 0 else ("", "")
            categorical.add_row(*heading, quoted(each["value"]), *(f"{weight:,.6g}" for weight in each["weights"]))
    if described["categorical"]:
        console.print(categorical)
    for each in described["bad_values"]:
        console.print(f"bad values of {printable(each['feature'])}, left out: {each['values']:,}")


def _show_features(console: Console, described: dict[str, Any]) -> None:
    """Print what the features tell, and which of them may be copies."""
    features = Table("feature", "kind", "information, bits", "weight", title="what features tell of the label")
    for each in described["features"]:
        bits, weight = f"{each['information']:.4f}", f"{each['weight']:.3f}"
        features.add_row(printable(each["feature"]), each["kind"], bits, weight)
    if described["features"]:
        console.print(features)
    for names in described["alike"]:
        console.print(
            f"{', '.join(map(printable, names))}: alike, and if they are copies, plain naive Bayes counts their "
            "evidence once for each (--ignore all but one)"
        )
    if len(described["memories"]) > 1:
        shares = [f"{_half_life(each['half_life'])} {each['share']:.1%}" for each in described["memories"]]
        console.print(f"memories in use, by half-life: {', '.join(shares)}")


def _half_life(half_life: float | None) -> str:
    return "never" if half_life is None else f"{half_life:g}"
