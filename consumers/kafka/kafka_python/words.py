"""The words of kafka-python and ours: partitions, times, errors.

Law: an error is sorted here, and only here: fenced, refused, too large, or lost.
"""

from consumers.kafka import failures
from consumers.kafka.client import NotAllowedError, Place
from consumers.kafka.kafka_python.names import TopicPartition, errors
from consumers.kafka.settings import KafkaSettings

FENCED = (errors.ProducerFencedError, errors.InvalidProducerEpochError, errors.FencedInstanceIdError)
TOO_LARGE = (errors.MessageSizeTooLargeError, errors.RecordListTooLargeError)
NO_LOGIN = (errors.SaslAuthenticationFailedError, errors.UnsupportedSaslMechanismError, errors.IllegalSaslStateError)


def milliseconds(seconds: float) -> int:
    """Return seconds as the library takes them."""
    return round(1000 * seconds)


def as_partition(place: Place) -> TopicPartition:
    """Return a place as the library takes it."""
    return TopicPartition(place.topic, place.partition)


def as_place(partition: TopicPartition) -> Place:
    """Return what the library means by a partition."""
    return Place(partition.topic, partition.partition)


def reason(error: Exception) -> str:
    """Return what an error says, or else its name."""
    return str(error) or type(error).__name__


def refused(
    error: Exception, settings: KafkaSettings, doing: str, topic: str = "", group: str = "", transactional_id: str = ""
) -> NotAllowedError | None:
    """Return the error of a missing right, on what was named, or of a login; nothing for any other error."""
    if isinstance(error, NO_LOGIN):
        return failures.login_refused(settings, reason(error))
    if isinstance(error, errors.TopicAuthorizationFailedError):
        named = error.args[0] if error.args and isinstance(error.args[0], set) else {topic}
        return failures.not_allowed(settings, "topic", ", ".join(sorted(named)), doing)
    if isinstance(error, errors.GroupAuthorizationFailedError):
        return failures.not_allowed(settings, "group", group, doing)
    if isinstance(error, errors.TransactionalIdAuthorizationFailedError):
        return failures.not_allowed(settings, "transactional id", transactional_id, doing)
    if isinstance(error, errors.AuthorizationError):
        return failures.not_allowed(settings, "cluster", "", doing)
    return None
