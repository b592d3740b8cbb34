"""Picks the Kafka client that the settings name.

Law: a client library is imported only when it is the one that is used.
"""

from importlib.util import find_spec

from consumers.errors import ConfigError
from consumers.kafka.client import Client
from consumers.kafka.security import checked
from consumers.kafka.settings import KafkaSettings


def connect(settings: KafkaSettings) -> Client:
    """Return the client of these settings; no broker is asked yet.

    Raises ConfigError where no broker is named, security settings are wanting, or the client is not installed.

    >>> connect(KafkaSettings())
    Traceback (most recent call last):
    consumers.errors.ConfigError: kafka.brokers names no broker: give one or more, each as HOST:PORT
    """
    if not settings.brokers:
        raise ConfigError("kafka.brokers names no broker: give one or more, each as HOST:PORT")
    checked(settings)
    if settings.client == "confluent":
        if find_spec("confluent_kafka") is None:
            raise ConfigError(
                "kafka.client = confluent, but confluent-kafka is not installed: pip install 'streamnb[fast]'"
            )
        from consumers.kafka.confluent import Confluent  # noqa: PLC0415  # an extra, and slow to import

        return Confluent(settings)
    from consumers.kafka.kafka_python import KafkaPython  # noqa: PLC0415  # not needed where confluent is

    return KafkaPython(settings)
