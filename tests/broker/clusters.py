"""The cluster that tests share: the one that is named, one in Docker, or a broker of our own.

Law: without any of them the tests skip with one line on what to install; where Kafka is required they fail.
"""

import contextlib
import os
import socket
from collections.abc import Iterator
from typing import NamedTuple, NoReturn
from urllib.parse import urlsplit

import pytest

from tests.broker.jars import VERSION
from tests.broker.network import answers, free_port
from tests.broker.server import PROPERTIES
from tests.broker.waiting import until


class Cluster(NamedTuple):
    """A cluster to connect to, at "host:port"; it is shared, so nobody stops it."""

    address: str


def unavailable(reason: object) -> NoReturn:
    """Skip the test, or fail it where `STREAMNB_REQUIRE_KAFKA` is 1."""
    if os.environ.get("STREAMNB_REQUIRE_KAFKA") == "1":
        pytest.fail(str(reason), pytrace=False)
    pytest.skip(str(reason))


def engine_answers() -> bool:
    """Return whether a Docker engine is where its client library looks for one; the answer takes a second at most."""
    place = urlsplit(os.environ.get("DOCKER_HOST") or "unix:///var/run/docker.sock")
    try:
        with _connected(place.path if place.scheme == "unix" else (place.hostname or "", place.port or 2375)) as engine:
            engine.sendall(b"GET /_ping HTTP/1.0\r\n\r\n")
            return b" 200 " in engine.recv(64)
    except OSError:
        return False


def _connected(place: str | tuple[str, int]) -> socket.socket:
    if isinstance(place, tuple):
        return socket.create_connection(place, timeout=1)
    with contextlib.ExitStack() as stack:
        engine = stack.enter_context(socket.socket(socket.AF_UNIX))
        engine.settimeout(1)
        engine.connect(place)
        stack.pop_all()
    return engine


@contextlib.contextmanager
def in_docker() -> Iterator[Cluster]:
    """Run Kafka in a container for as long as the context lasts.

    The port is the same inside and outside, so that the broker can tell its clients where it is before it is there.
    """
    from testcontainers.core.container import DockerContainer  # noqa: PLC0415  of use only where there is Docker

    port = free_port()
    container = DockerContainer(f"apache/kafka:{VERSION}").with_bind_ports(port, port)
    address = f"{container.get_docker_client().host()}:{port}"
    places = {
        "listeners": f"PLAINTEXT://:{port},CONTROLLER://:9093",
        "advertised.listeners": f"PLAINTEXT://{address}",
        "controller.quorum.voters": "1@localhost:9093",
    }
    for name, value in {**PROPERTIES, **places}.items():
        container.with_env("KAFKA_" + name.replace(".", "_").upper(), value)
    with container:
        try:
            until(lambda: answers(address), f"Kafka in Docker answers at {address}")
        except TimeoutError as error:
            error.add_note(b"".join(container.get_logs()).decode(errors="replace")[-4000:])
            raise
        yield Cluster(address)
