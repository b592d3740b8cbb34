"""Topics made as an application needs them.

Law: what is there is only ever given more partitions; settings that will not do are told, and left to people.
"""

from collections.abc import Mapping
from typing import NamedTuple

from consumers.kafka.client import Admin
from consumers.kafka.settings import KafkaSettings

_BATCH_BYTES = 1_048_588  # what a topic takes unless told otherwise
_SEGMENT_BYTES = 16 << 20  # only whole segments are compacted: what is written to the last one is all kept
_FORGOTTEN_MS = 3_600_000  # marks of transactions are kept as long as deletions are, and there may be ten a second


class Told(NamedTuple):
    """What became of a topic, in words, and whether it will do."""

    topic: str
    text: str
    good: bool


def create_topics(admin: Admin, kafka: KafkaSettings, partitions: int, replication: int) -> list[Told]:
    """Make every topic of the settings that is not there, and extend those that are too small.

    Parameters
    ----------
    partitions
        How many partitions topics of events have that are not there yet, if none that is read with them is.
    replication
        How often each partition is kept; -1 is the cluster's own number.

    Raises BrokerError.
    """
    together = [*kafka.events, *kafka.labels]
    count = max(map(admin.partitions, together)) or partitions
    written = [kafka.predictions, kafka.dead_letters, *filter(None, [kafka.drift]), kafka.state]
    return [_create(admin, kafka, topic, count, replication) for topic in [*together, *written]]


def _create(admin: Admin, kafka: KafkaSettings, topic: str, count: int, replication: int) -> Told:
    have = admin.partitions(topic)
    if not have:
        admin.create(topic, count, replication, _settings(kafka, topic))
        return Told(topic, f"made, {_partitions(count)}", good=True)
    text = f"there already, {_partitions(have)}"
    if have < count:
        admin.extend(topic, count)
        text = f"extended, from {have} to {_partitions(count)}: from now on keys go to other partitions than before"
    found = admin.settings(topic)
    wanting = _wanting(kafka, topic, found)
    if not wanting:
        return Told(topic, text, good=True)
    told = ", ".join(f"{name}={found[name]} ({why})" for name, (_, why) in wanting.items())
    changes = ",".join(f"{name}={value}" for name, (value, _) in wanting.items())
    mend = f"kafka-configs.sh --bootstrap-server {kafka.brokers[0]} --alter --entity-type topics --entity-name {topic}"
    return Told(topic, f"{text}, with settings that will not do: {told}; {mend} --add-config {changes}", good=False)


def _partitions(count: int) -> str:
    return f"{count} partition" + ("s" if count > 1 else "")


def _settings(kafka: KafkaSettings, topic: str) -> dict[str, str]:
    """Return the settings that a topic is made with."""
    if topic in {*kafka.events, *kafka.labels}:
        return {}
    largest = max(kafka.max_message_bytes, _BATCH_BYTES)
    if topic != kafka.state:
        return {"cleanup.policy": "delete", "max.message.bytes": str(largest)}
    return {
        "cleanup.policy": "compact",
        "max.message.bytes": str(largest),
        "segment.bytes": str(max(_SEGMENT_BYTES, largest)),
        "min.cleanable.dirty.ratio": "0.5",
        "delete.retention.ms": str(_FORGOTTEN_MS),
    }


def _wanting(kafka: KafkaSettings, topic: str, found: Mapping[str, str]) -> dict[str, tuple[str, str]]:
    """Return the settings of a topic that will not do: what each has to be, and why."""
    wanted = _settings(kafka, topic)
    wanting = {}
    if topic == kafka.state and found["cleanup.policy"] != "compact":
        wanting["cleanup.policy"] = "compact", "states would be lost"
    if topic != kafka.state and "compact" in found["cleanup.policy"]:
        wanting["cleanup.policy"] = "delete", "of messages with one key all but the last would be lost"
    for name in ("max.message.bytes", "segment.bytes"):
        if name in wanted and int(found[name]) < kafka.max_message_bytes:
            wanting[name] = wanted[name], f"messages may have {kafka.max_message_bytes} bytes, by max_message_bytes"
    return wanting
