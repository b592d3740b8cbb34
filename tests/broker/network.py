"""Ports for brokers, and whether a broker answers."""

import contextlib
import random
import socket

from confluent_kafka import KafkaException
from confluent_kafka.admin import AdminClient


def free_port() -> int:
    """Return a free port of loopback.

    It is none of those that the system gives to outgoing connections: a client that calls a stopped broker again and
    again would sooner or later be given the broker's own port, and keep it.
    """
    for _ in range(1000):
        port = random.SystemRandom().randrange(10000, 32768)
        with contextlib.suppress(OSError), socket.socket() as bound:
            bound.bind(("127.0.0.1", port))
            return port
    raise OSError("no port of loopback between 10000 and 32767 is free")


def answers(address: str, seconds: float = 1) -> bool:
    """Return whether a cluster answers a request in this time, with a broker in its answer."""
    client = AdminClient({"bootstrap.servers": address, "reconnect.backoff.max.ms": 100, "log_level": 0})
    try:
        return bool(client.list_topics(timeout=seconds).brokers)
    except KafkaException:
        return False
