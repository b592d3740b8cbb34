"""The words of confluent-kafka and ours: partitions, times, errors.

Law: an error is sorted here, and only here: fenced, refused, too large, or lost.
"""

from consumers.kafka import failures
from consumers.kafka.client import NotAllowedError, Place
from consumers.kafka.confluent.names import KafkaError, TopicPartition
from consumers.kafka.settings import KafkaSettings

FENCED = {
    KafkaError._FENCED,  # noqa: SLF001  # the library's public names begin so
    KafkaError.PRODUCER_FENCED,
    KafkaError.INVALID_PRODUCER_EPOCH,
    KafkaError.FENCED_INSTANCE_ID,
}
TOO_LARGE = {KafkaError.MSG_SIZE_TOO_LARGE, KafkaError.INVALID_MSG_SIZE}
NO_LOGIN = {
    KafkaError._AUTHENTICATION,  # noqa: SLF001
    KafkaError.SASL_AUTHENTICATION_FAILED,
    KafkaError.UNSUPPORTED_SASL_MECHANISM,
    KafkaError.ILLEGAL_SASL_STATE,
}
NO_TOPIC = {
    KafkaError.UNKNOWN_TOPIC_OR_PART,
    KafkaError._UNKNOWN_TOPIC,  # noqa: SLF001
    KafkaError._UNKNOWN_PARTITION,  # noqa: SLF001
    KafkaError._NOENT,  # noqa: SLF001  # what it says of the offsets of a topic that is not there
}
MOVED = {  # a partition to another leader
    KafkaError.NOT_LEADER_FOR_PARTITION,
    KafkaError.LEADER_NOT_AVAILABLE,
    KafkaError.FENCED_LEADER_EPOCH,
    KafkaError.UNKNOWN_LEADER_EPOCH,
}
PASSING = MOVED | {  # the library does not call these retriable where an answer holds them
    KafkaError.COORDINATOR_LOAD_IN_PROGRESS,
    KafkaError.COORDINATOR_NOT_AVAILABLE,
    KafkaError.NOT_COORDINATOR,
    KafkaError.OFFSET_NOT_AVAILABLE,
}
SILENT = {  # no broker has answered
    KafkaError._TIMED_OUT,  # noqa: SLF001
    KafkaError._TRANSPORT,  # noqa: SLF001
    KafkaError._ALL_BROKERS_DOWN,  # noqa: SLF001
}
RIGHTS = {
    KafkaError.TOPIC_AUTHORIZATION_FAILED: "topic",
    KafkaError.GROUP_AUTHORIZATION_FAILED: "group",
    KafkaError.TRANSACTIONAL_ID_AUTHORIZATION_FAILED: "transactional id",
    KafkaError.CLUSTER_AUTHORIZATION_FAILED: "cluster",
}


def as_partition(place: Place, offset: int = 0, note: str = "") -> TopicPartition:
    """Return a place, and what is to be said of it, as the library takes it."""
    return TopicPartition(place.topic, place.partition, offset, note)


def as_place(partition: TopicPartition) -> Place:
    """Return what the library means by a partition."""
    return Place(partition.topic, partition.partition)


def refused(
    error: KafkaError, settings: KafkaSettings, doing: str, topic: str = "", group: str = "", transactional_id: str = ""
) -> NotAllowedError | None:
    """Return the error of a missing right, on what was named, or of a login; nothing for any other error."""
    if error.code() in NO_LOGIN:
        return failures.login_refused(settings, error.str())
    kind = RIGHTS.get(error.code())
    names = {"topic": topic, "group": group, "transactional id": transactional_id, "cluster": ""}
    return failures.not_allowed(settings, kind, names[kind], doing) if kind else None
