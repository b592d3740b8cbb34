"""Looking after topics and groups with kafka-python.

Law: an answer is asked for again as long as a broker may come back.
"""

import contextlib
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeVar

from consumers.kafka import failures
from consumers.kafka.client import Committed, Group, Member, Place, TopicMissingError, partitions_of
from consumers.kafka.groups import note_of
from consumers.kafka.kafka_python.names import ConfigResource, KafkaAdminClient, OffsetSpec, errors
from consumers.kafka.kafka_python.words import as_partition, as_place, reason, refused
from consumers.kafka.settings import KafkaSettings

Made = TypeVar("Made")

LOOK_AGAIN_SECONDS = 0.1
AGAIN = (errors.RetriableError, errors.UnknownBrokerIdError)  # the latter of a partition that has no leader yet


class KafkaPythonAdmin:
    """Looks after topics and groups."""

    def __init__(self, settings: KafkaSettings, client: KafkaAdminClient) -> None:
        self._settings = settings
        self._client = client

    def partitions(self, topic: str) -> int:
        """Return how many partitions a topic has, 0 where there is no such topic."""

        def ask() -> int:
            found = self._client.describe_topics([topic])[0]
            error = errors.for_code(found["error_code"])
            if error is errors.UnknownTopicOrPartitionError:
                return 0
            if error is not errors.NoError:
                raise error()
            return len(found["partitions"])

        return self._asked(ask, f"looking at the topic {topic}", topic=topic)

    def create(self, topic: str, partitions: int, replication: int, settings: Mapping[str, str]) -> None:
        """Make a topic; replication -1 is the cluster's own. One that is there already is left as it is."""
        wanted = {topic: {"num_partitions": partitions, "replication_factor": replication, "configs": dict(settings)}}

        def ask() -> None:
            try:
                self._client.create_topics(wanted)
            except errors.TopicAlreadyExistsError:
                return
            self._client.wait_for_topics([topic])

        self._asked(ask, f"making the topic {topic}", topic=topic)

    def extend(self, topic: str, partitions: int) -> None:
        """Give a topic more partitions; one that has as many is left as it is."""
        if partitions_of(self, topic) >= partitions:
            return

        def ask() -> None:
            with contextlib.suppress(errors.InvalidPartitionsError):  # another has extended it meanwhile
                self._client.create_partitions({topic: partitions})

        self._asked(ask, f"extending {topic}", topic=topic)
        end = time.monotonic() + self._settings.connect_seconds
        while self.partitions(topic) < partitions and time.monotonic() < end:
            time.sleep(LOOK_AGAIN_SECONDS)

    def settings(self, topic: str) -> dict[str, str]:
        """Return the settings of a topic."""

        def ask() -> dict[str, str]:
            found = self._client.describe_configs([ConfigResource("TOPIC", topic)], config_filter="all")
            if not found.get("topic", {}).get(topic):  # what it says of a topic that is not there
                raise TopicMissingError(topic)
            return {key: entry["value"] for key, entry in found["topic"][topic].items()}

        return self._asked(ask, f"looking at the settings of {topic}", topic=topic)

    def ends(self, places: Sequence[Place]) -> dict[Place, int]:
        """Return the offset after the last message of each partition, whether it was committed or not."""
        return self._offsets(places, OffsetSpec.LATEST)

    def begins(self, places: Sequence[Place]) -> dict[Place, int]:
        """Return the first offset that each partition still holds, or the end where it holds none."""
        return self._offsets(places, OffsetSpec.EARLIEST)

    def _offsets(self, places: Sequence[Place], which: OffsetSpec) -> dict[Place, int]:
        topics = ", ".join(sorted({place.topic for place in places}))

        def ask() -> dict[Place, int]:
            found = self._client.list_partition_offsets({as_partition(place): which for place in places})
            return {as_place(partition): offset.offset for partition, offset in found.items()}

        return self._asked(ask, f"looking at the offsets of {topics}", topic=topics) if places else {}

    def committed(self, group: str, places: Sequence[Place]) -> dict[Place, Committed]:
        """Return what a group has committed; partitions without a committed offset are left out."""

        def ask() -> dict[Place, Committed]:
            found = self._client.list_group_offsets({group: [as_partition(place) for place in places]})[group]
            return {
                as_place(partition): Committed(offset.offset, note_of(offset.metadata or ""))
                for partition, offset in found.items()
                if offset.offset >= 0
            }

        return self._asked(ask, f"looking at the offsets of the group {group}", group=group) if places else {}

    def group(self, name: str) -> Group:
        """Return a group: its members and what they own; one that is not there has none."""

        def ask() -> Group:
            found = self._client.describe_groups([name])[name]
            return Group(found["group_state"] == "Stable", [_member(member) for member in found["members"]])

        return self._asked(ask, f"looking at the group {name}", group=name)

    def close(self) -> None:
        """Close."""
        self._client.close()

    def _asked(self, ask: Callable[[], Made], doing: str, topic: str = "", group: str = "") -> Made:
        """Return an answer, asking again for as long as a broker may come back."""
        end, pause = time.monotonic() + self._settings.connect_seconds, 0.05
        while True:
            try:
                return ask()
            except errors.UnknownTopicOrPartitionError:
                raise TopicMissingError(topic) from None
            except AGAIN as error:
                if time.monotonic() + pause > end:
                    raise failures.unanswered(self._settings, doing, reason(error)) from error
                time.sleep(pause)
                pause = min(1.0, 2 * pause)
            except errors.KafkaError as error:
                found = refused(error, self._settings, doing, topic, group)
                raise found or failures.broker_failed(self._settings, doing, reason(error)) from error


def _member(member: Mapping[str, Any]) -> Member:
    owned = (member["member_assignment"] or {}).get("assigned_partitions", ())
    return Member(
        member["group_instance_id"] or member["client_id"],
        member["client_host"].lstrip("/"),
        tuple(sorted(Place(topic["topic"], number) for topic in owned for number in topic["partitions"])),
    )
