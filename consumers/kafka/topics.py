"""Which topics a run reads and writes: from addresses such as kafka://HOST:PORT/TOPIC, or from the table [kafka].

Law: all that one run reads and writes is in topics of one cluster, or else it could not be of one transaction.
"""

from collections.abc import Sequence
from typing import NamedTuple
from urllib.parse import urlsplit

import msgspec

from consumers.config import Config
from consumers.errors import ConfigError
from consumers.kafka.settings import KafkaSettings

SCHEME = "kafka://"

_NO_BROKER = "no broker is named: give --brokers HOST:PORT, or kafka://HOST:PORT/TOPIC"


class Address(NamedTuple):
    """A topic, or several, and the brokers to ask for them; none for those of the settings."""

    brokers: tuple[str, ...]
    topics: tuple[str, ...]


def is_kafka(config: Config) -> bool:
    """Tell whether the inputs are topics."""
    named = any(path.startswith(SCHEME) for path in config.inputs)
    return named or (config.inputs == Config().inputs and bool(config.kafka.events))


def parse_address(setting: str, text: str) -> Address:
    """Return the brokers and topics of an address; ConfigError for one that cannot be.

    >>> parse_address("inputs", "kafka://one:9092,two:9092/clicks,views")
    Address(brokers=('one:9092', 'two:9092'), topics=('clicks', 'views'))
    """
    parts = urlsplit(text)
    topics = tuple(filter(None, parts.path.strip("/").split(",")))
    if parts.username or parts.password:
        raise ConfigError(f"{setting} has an address with a user or a password: give those in [kafka] or its secrets")
    if not topics or "/" in parts.path.strip("/") or parts.query or parts.fragment:
        raise ConfigError(f"{setting} has {text!r}: an address of topics is kafka://HOST:PORT/TOPIC")
    brokers = tuple(filter(None, parts.netloc.split(",")))
    for broker in brokers:
        _, colon, port = broker.rpartition(":")
        if not colon or not port.isdigit():
            raise ConfigError(f"{setting} has {text!r}: a broker is HOST:PORT, and {broker!r} is not")
    return Address(brokers, topics)


def with_address(setting: str, text: str, kafka: KafkaSettings) -> tuple[KafkaSettings, str]:
    """Return settings with the brokers of an address of one topic, and the topic; its bare name will do as well.

    Raises ConfigError for an address that cannot be, or where no broker is named.
    """
    brokers, topics = parse_address(setting, text if text.startswith(SCHEME) else f"{SCHEME}/{text}")
    if len(topics) > 1:
        raise ConfigError(f"{setting} names {len(topics)} topics: it is one")
    kafka = msgspec.structs.replace(kafka, brokers=brokers or kafka.brokers)
    if not kafka.brokers:
        raise ConfigError(_NO_BROKER)
    return kafka, topics[0]


def with_topics(config: Config, state: str | None = None) -> Config:
    """Return settings whose table [kafka] names every topic, and the brokers.

    Parameters
    ----------
    state
        The address of the topic of states; None for that of the settings.

    Raises ConfigError where topics and files are mixed, or topics are of several clusters.
    """
    found: list[Address] = []

    def named(setting: str, paths: Sequence[str], default: tuple[str, ...], given: tuple[str, ...]) -> tuple[str, ...]:
        if tuple(paths) == default:
            return given
        addresses = [_address(setting, path) for path in paths]
        found.extend(addresses)
        return tuple(topic for address in addresses for topic in address.topics)

    def followed(path: str) -> str:
        if not path.startswith(SCHEME):
            raise ConfigError(
                f"the inputs are topics, and {path} is none: what is followed then is a topic of states, kafka:///TOPIC"
            )
        return one("SNAPSHOT", path, "")

    def one(setting: str, path: str, given: str) -> str:
        topics = named(setting, [path], (getattr(Config(), setting, ""),), (given,))
        if len(topics) > 1:
            raise ConfigError(f"{setting} names {len(topics)} topics: it is one")
        return topics[0]

    kafka = config.kafka
    prefix = kafka.application
    filled = {
        "events": named("inputs", config.inputs, Config().inputs, kafka.events),
        "labels": named("labels", config.labels, (), kafka.labels),
        "predictions": one("output", config.output, kafka.predictions or f"{prefix}-predictions"),
        "dead_letters": one("dead_letters", config.dead_letters, kafka.dead_letters or f"{prefix}-dead-letters"),
        "state": followed(state) if state else one("snapshots", config.snapshots, kafka.state or f"{prefix}-state"),
        "drift": one("drift", config.drift, kafka.drift),
    }
    brokers = {address.brokers for address in found if address.brokers} or {kafka.brokers}
    if len(brokers) > 1:
        raise ConfigError("the addresses name several clusters: a run reads and writes in one")
    full = msgspec.structs.replace(kafka, brokers=brokers.pop(), **filled)
    _check(full)
    return msgspec.structs.replace(config, kafka=full)


def _address(setting: str, path: str) -> Address:
    if not path.startswith(SCHEME):
        raise ConfigError(
            f"{setting} is {path!r}, and the inputs are topics: what is read and written in one transaction is all in "
            "topics (streamnb replay feeds a file to a topic)"
        )
    return parse_address(setting, path)


def _check(kafka: KafkaSettings) -> None:
    """Raise ConfigError where no broker is named, or a topic has two parts to play."""
    if not kafka.brokers:
        raise ConfigError(_NO_BROKER)
    outputs = [kafka.predictions, kafka.dead_letters, kafka.state, *([kafka.drift] if kafka.drift else [])]
    topics = [*kafka.events, *kafka.labels, *outputs]
    for topic in topics:
        if topics.count(topic) > 1:
            raise ConfigError(f"the topic {topic} is given two parts to play: each has a topic of its own")
