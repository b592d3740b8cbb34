"""All that a run knows, and its way into a snapshot and back.

Law: the bytes tell nothing of when or how a run went, only of what was read: two runs over one stream end in the same.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from consumers.waiting import Waiting
from streamnb import snapshot
from streamnb.classifier import Classifier
from streamnb.decision_measure import DecisionMeasures
from streamnb.drift import DriftDetector
from streamnb.measure import Measures


@dataclass
class Tally:
    """What became of the records read."""

    records: int = 0
    predicted: int = 0
    dead: Counter[str] = field(default_factory=Counter)
    bad_values: Counter[str | int] = field(default_factory=Counter)
    drifts: int = 0
    tombstones: int = 0
    lost: int = 0

    def add(self, other: "Tally") -> None:
        """Add the counts of another part of the stream."""
        self.records += other.records
        self.predicted += other.predicted
        self.dead.update(other.dead)
        self.bad_values.update(other.bad_values)
        self.drifts += other.drifts
        self.tombstones += other.tombstones
        self.lost += other.lost

    def to_state(self) -> dict[str, Any]:
        """Return the counts as plain values."""
        return {
            "records": self.records,
            "predicted": self.predicted,
            "dead": sorted(self.dead.items()),
            "bad_values": sorted(self.bad_values.items(), key=repr),
            "drifts": self.drifts,
            "tombstones": self.tombstones,
            "lost": self.lost,
        }

    @classmethod
    def from_state(cls, state: Mapping[str, Any]) -> "Tally":
        """Return the tally whose `to_state` this is."""
        return cls(
            int(state["records"]),
            int(state["predicted"]),
            Counter(dict(state["dead"])),
            Counter(dict(state["bad_values"])),
            int(state.get("drifts", 0)),
            int(state.get("tombstones", 0)),
            int(state.get("lost", 0)),
        )


@dataclass
class State:
    """All that a run knows and a snapshot keeps."""

    model: Classifier
    measures: Measures = field(default_factory=Measures)
    tally: Tally = field(default_factory=Tally)
    positions: dict[tuple[str, int], int] = field(default_factory=dict)
    decisions: DecisionMeasures | None = None  # where none were ever asked for
    drift: DriftDetector = field(default_factory=DriftDetector)
    waiting: Waiting | None = None  # where nothing ever was to wait

    def merge_counts(self, other: "State") -> None:
        """Add the measures and counts of another part of the stream; the models stay what they are."""
        self.measures.merge(other.measures)
        self.tally.add(other.tally)
        if other.decisions is not None:
            self.decisions = self.decisions or DecisionMeasures()
            self.decisions.merge(other.decisions)
        if other.waiting is not None:
            self.waiting = self.waiting or Waiting()
            self.waiting.add_counts(other.waiting)

    def to_bytes(self, config: Mapping[str, Any], lengths: Mapping[str, int]) -> bytes:
        """Return a snapshot of the state, with the settings it depends on and the length of each output."""
        plain: dict[str, Any] = {
            "config": config,
            "lengths": lengths,
            "tally": self.tally.to_state(),
            "positions": [[*place, offset] for place, offset in self.positions.items()],
        }
        if self.decisions is not None:
            plain["decisions"] = self.decisions.to_state()
        if self.waiting is not None:
            plain["waiting"] = self.waiting.to_state()
        return snapshot.pack(plain, {"model": self.model, "measures": self.measures, "drift": self.drift})

    @classmethod
    def from_bytes(cls, data: bytes) -> tuple["State", dict[str, Any], dict[str, int]]:
        """Return the state of a snapshot, its settings and its lengths.

        Raises SnapshotError.
        """
        plain, parts = snapshot.unpack(data)
        model, measures = parts.get("model"), parts.get("measures")
        if not isinstance(model, Classifier):
            raise snapshot.DamagedSnapshotError("it holds no model")
        if not isinstance(measures, Measures):  # a model saved from Python
            return cls(model), {}, {}
        try:
            positions = {(str(stream), int(part)): int(offset) for stream, part, offset in plain["positions"]}
            decisions = DecisionMeasures.from_state(plain["decisions"]) if "decisions" in plain else None
            state = cls(model, measures, Tally.from_state(plain["tally"]), positions, decisions)
            if isinstance(drift := parts.get("drift"), DriftDetector):
                state.drift = drift
            if "waiting" in plain:
                state.waiting = Waiting.from_state(plain["waiting"])
            return state, dict(plain["config"]), dict(plain["lengths"])
        except (LookupError, TypeError, ValueError) as error:
            raise snapshot.DamagedSnapshotError(f"its content is not that of a run ({error!r})") from error


def folded(states: Sequence[State]) -> State:
    """Return all that the parts of a stream know in one, part after part; the parts stay as they are.

    Raises ValueError for models that do not go together.
    """
    first = states[0]
    whole = State(first.model.merge([state.model for state in states]))
    for state in states:
        whole.merge_counts(state)
    return whole
