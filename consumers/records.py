"""The words of the loop: Position, Batch, DeadLetter, and what a Source, a Sink and a Store must do.

Law: a position is where to read on; who resumes there reads each record exactly once.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple, Protocol

import msgspec

from streamnb.labels import Label
from streamnb.values import FeatureName

NOT_JSON = "not JSON"
NOT_AN_OBJECT = "not an object"
NOT_A_LABEL = "its label cannot be a class"
NOT_A_WEIGHT = "its weight cannot be one"
NOT_A_TIME = "its time cannot be one"
NO_LABEL = "it has no label"
NO_ID = "it has no id"
NO_LABEL_CAME = "its label did not come"
NO_EVENT_CAME = "its event did not come"
NOT_LEARNED = "it was not learned"
TOO_LARGE = "too large"
CUT_SHORT = "cut short"
NOT_CSV = "not CSV"
TORN = "the rest of a line"
WRONG_CELLS = "wrong number of cells"


class Position(NamedTuple):
    """The next offset to read of a partition of a stream; for a file, the next byte of its content."""

    stream: str
    partition: int
    offset: int


class Prediction(msgspec.Struct, frozen=True, gc=False):
    """What is written of an event: a line of JSON with these keys.

    `id` is the event's own, null where it has none or no scalar for one; `label` the most probable class, null before
    any was learned; `probabilities` are pairs of a label and its probability, for each class learned by then
    (labels keep their type, which the keys of a JSON object cannot); `stream`, `partition` and `offset` tell where the
    event was read; `learned` how many events the model had learned; `reasons`, where they are asked for, the largest
    shares of the log odds of the label against the next best, each a feature, a value (or token) and the share;
    `decision`, where decisions are asked for, what to decide, null to abstain (or where `label` is null as well:
    without an answer there is nothing to decide on); `states`, where the model is folded from the states of several
    shards, which these were, as SHARD:NUMBER with spaces between.
    """

    id: Any
    label: Label | None
    probabilities: Sequence[tuple[Label, float]]
    stream: str
    partition: int
    offset: int
    learned: int
    reasons: Sequence[tuple[FeatureName, Any, float]] | msgspec.UnsetType = msgspec.UNSET
    decision: Label | msgspec.UnsetType | None = msgspec.UNSET
    states: str | msgspec.UnsetType = msgspec.UNSET


class Alarm(msgspec.Struct, frozen=True, gc=False):
    """What is written of a drift: a line of JSON with these keys.

    `of` is what became worse: "predictions", or "longest memory" where a model has several and may have adapted.
    `stream`, `partition` and `offset` tell the event at which it was found, `measured` how many had been measured by
    then, `since` how many of these ago it began, as far as can be told; `wrong` and `loss`, before and after, are the
    mean probability given to wrong classes and the mean log loss; `changed` are pairs of a feature and how far its
    distribution shifted, in bits, the largest first, where the model knows.
    """

    of: str
    stream: str
    partition: int
    offset: int
    measured: int
    since: int
    wrong_before: float
    wrong_after: float
    loss_before: float
    loss_after: float
    changed: Sequence[tuple[FeatureName, float]]


class DeadLetter(NamedTuple):
    """A record that could not be used: its offset, its bytes, and why.

    `origin` is where it was read, if it has waited since and was given up for the record at `offset`.
    """

    offset: int
    raw: bytes
    reason: str
    detail: str
    origin: Position | None = None


@dataclass
class Batch:
    """Some records of one partition, in order.

    `events` were read at the `offsets`, and their bytes are `raw`; `dead` are the records that are no events;
    `position` is where to read on after all of them. In `cells` every value is text, as in CSV. `tombstones` counts
    the messages without a value, which are passed over. The events of a `late` batch are labels: objects with an id and
    a label.
    """

    position: Position
    events: list[dict[str, Any]]
    offsets: list[int]
    raw: list[bytes]
    dead: list[DeadLetter] = field(default_factory=list)
    cells: bool = False
    tombstones: int = 0
    late: bool = False


class Source(Protocol):
    """Where batches come from."""

    def batches(self, positions: Sequence[Position]) -> Iterator[Batch]:
        """Yield what there is, partition by partition, each from its position or else from its start."""
        ...


class Sink(Protocol):
    """Where lines go; `path` names it in snapshots."""

    path: str

    def write(self, lines: bytes) -> None:
        """Append lines."""
        ...

    def flush(self) -> int:
        """Hand all that was written to the operating system; return how many bytes the sink now holds."""
        ...

    def sync(self) -> None:
        """Return when what was flushed is safe on the disk; may be called from another thread."""
        ...

    def close(self) -> None:
        """Flush and close."""
        ...


class Store(Protocol):
    """Where snapshots are kept."""

    def save(self, number: int, data: bytes, sinks: Sequence[Sink]) -> None:
        """Begin to keep a snapshot, once the sinks are safe; numbers only grow."""
        ...

    def wait(self) -> None:
        """Return when the snapshot is safe."""
        ...
