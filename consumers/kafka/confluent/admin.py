"""Looking after topics and groups with confluent-kafka.

Law: an answer is asked for again as long as a broker may come back.
"""

import contextlib
import time
from collections.abc import Callable, Mapping, Sequence
from typing import TypeVar

from consumers.kafka import failures
from consumers.kafka.client import Committed, Group, Member, Place, TopicMissingError, partitions_of
from consumers.kafka.confluent.names import (
    AdminClient,
    ConfigResource,
    ConsumerGroupState,
    ConsumerGroupTopicPartitions,
    IsolationLevel,
    KafkaError,
    KafkaException,
    NewPartitions,
    NewTopic,
    OffsetSpec,
)
from consumers.kafka.confluent.reader import committed_of
from consumers.kafka.confluent.reading import WAIT_SECONDS
from consumers.kafka.confluent.words import MOVED, NO_TOPIC, PASSING, as_partition, as_place, refused
from consumers.kafka.settings import KafkaSettings

Answer = TypeVar("Answer")

LOOK_AGAIN_SECONDS = 0.1


class ConfluentAdmin:
    """Looks after topics and groups."""

    def __init__(self, settings: KafkaSettings, client: AdminClient) -> None:
        self._settings = settings
        self._client = client

    def partitions(self, topic: str) -> int:
        """Return how many partitions a topic has, 0 where there is no such topic."""

        def ask() -> int:
            found = self._client.list_topics(topic, timeout=WAIT_SECONDS).topics[topic]
            if found.error is not None and found.error.code() in NO_TOPIC:
                return 0
            if found.error is not None:
                raise KafkaException(found.error)
            return len(found.partitions)

        return self._asked(ask, f"looking at the topic {topic}", topic=topic)

    def create(self, topic: str, partitions: int, replication: int, settings: Mapping[str, str]) -> None:
        """Make a topic; replication -1 is the cluster's own. One that is there already is left as it is."""
        wanted = NewTopic(topic, num_partitions=partitions, replication_factor=replication, config=dict(settings))

        def ask() -> None:
            try:
                self._client.create_topics([wanted])[topic].result(WAIT_SECONDS)
            except KafkaException as error:
                if error.args[0].code() != KafkaError.TOPIC_ALREADY_EXISTS:
                    raise

        self._asked(ask, f"making the topic {topic}", topic=topic)
        self._until(lambda: self._ready(topic))

    def extend(self, topic: str, partitions: int) -> None:
        """Give a topic more partitions; one that has as many is left as it is."""
        if partitions_of(self, topic) >= partitions:
            return

        def ask() -> None:
            try:
                self._client.create_partitions([NewPartitions(topic, partitions)])[topic].result(WAIT_SECONDS)
            except KafkaException as error:
                if error.args[0].code() != KafkaError.INVALID_PARTITIONS:  # another has extended it meanwhile
                    raise

        self._asked(ask, f"extending {topic}", topic=topic)
        self._until(lambda: self.partitions(topic) >= partitions)

    def settings(self, topic: str) -> dict[str, str]:
        """Return the settings of a topic."""
        resource = ConfigResource(ConfigResource.Type.TOPIC, topic)

        def ask() -> dict[str, str]:
            found = self._client.describe_configs([resource])[resource].result(WAIT_SECONDS)
            return {name: entry.value for name, entry in found.items()}

        return self._asked(ask, f"looking at the settings of {topic}", topic=topic)

    def ends(self, places: Sequence[Place]) -> dict[Place, int]:
        """Return the offset after the last message of each partition, whether it was committed or not."""
        return self._offsets(places, OffsetSpec.latest())  # type: ignore[no-untyped-call]

    def begins(self, places: Sequence[Place]) -> dict[Place, int]:
        """Return the first offset that each partition still holds, or the end where it holds none."""
        return self._offsets(places, OffsetSpec.earliest())  # type: ignore[no-untyped-call]

    def _offsets(self, places: Sequence[Place], which: OffsetSpec) -> dict[Place, int]:
        topics = ", ".join(sorted({place.topic for place in places}))

        def ask() -> dict[Place, int]:
            asked = {as_partition(place): which for place in places}
            found = self._client.list_offsets(asked, isolation_level=IsolationLevel.READ_UNCOMMITTED)
            return {as_place(partition): future.result(WAIT_SECONDS).offset for partition, future in found.items()}

        return self._asked(ask, f"looking at the offsets of {topics}", topic=topics) if places else {}

    def committed(self, group: str, places: Sequence[Place]) -> dict[Place, Committed]:
        """Return what a group has committed; partitions without a committed offset are left out."""
        asked = ConsumerGroupTopicPartitions(group, [as_partition(place, -1001) for place in places])

        def ask() -> dict[Place, Committed]:
            found = self._client.list_consumer_group_offsets([asked])[group].result(WAIT_SECONDS)
            return committed_of(found.topic_partitions)

        return self._asked(ask, f"looking at the offsets of the group {group}", group=group) if places else {}

    def group(self, name: str) -> Group:
        """Return a group: its members and what they own; one that is not there has none."""

        def ask() -> Group:
            try:
                found = self._client.describe_consumer_groups([name])[name].result(WAIT_SECONDS)
            except KafkaException as error:
                if error.args[0].code() == KafkaError.GROUP_ID_NOT_FOUND:
                    return Group(settled=False, members=[])
                raise
            members = [
                Member(
                    member.group_instance_id or member.client_id,
                    member.host.lstrip("/"),
                    tuple(sorted(map(as_place, member.assignment.topic_partitions))),
                )
                for member in found.members
            ]
            return Group(found.state == ConsumerGroupState.STABLE, members)

        return self._asked(ask, f"looking at the group {name}", group=name)

    def close(self) -> None:
        """Close: the library does so when nobody holds it any more."""
        del self._client

    def _ready(self, topic: str) -> bool:
        """Return whether each partition of a topic has somebody to write to."""
        found = self._client.list_topics(topic, timeout=WAIT_SECONDS).topics[topic]
        return bool(found.partitions) and all(partition.leader >= 0 for partition in found.partitions.values())

    def _until(self, condition: Callable[[], bool]) -> None:
        end = time.monotonic() + self._settings.connect_seconds
        while not condition() and time.monotonic() < end:
            time.sleep(LOOK_AGAIN_SECONDS)

    def _asked(self, ask: Callable[[], Answer], doing: str, topic: str = "", group: str = "") -> Answer:
        """Return an answer, asking again for as long as a broker may come back."""
        end, pause = time.monotonic() + self._settings.connect_seconds, 0.05
        while True:
            try:
                return ask()
            except KafkaException as raised:
                error = raised.args[0]
                if error.code() in NO_TOPIC:
                    raise TopicMissingError(topic) from raised
                if not (error.retriable() or error.code() in PASSING):
                    found = refused(error, self._settings, doing, topic, group)
                    raise found or failures.broker_failed(self._settings, doing, error.str()) from raised
                if time.monotonic() + pause > end:
                    raise failures.unanswered(self._settings, doing, error.str()) from raised
                time.sleep(pause)
                pause = min(1.0, 2 * pause)
                if error.code() in MOVED:  # the library would go on asking whom it knew, as of when it knew him
                    with contextlib.suppress(KafkaException):
                        self._client.list_topics(timeout=WAIT_SECONDS)
