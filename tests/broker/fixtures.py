"""The fixtures `kafka`, the cluster that tests share; `broker`, of a test's own; `secure_broker`, with passwords."""

import os
import shutil
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from itertools import count
from pathlib import Path

import pytest

from tests.broker import jars
from tests.broker.clusters import Cluster, engine_answers, in_docker, unavailable
from tests.broker.secure import SecureBroker
from tests.broker.server import Broker

MakeBroker = Callable[..., Broker]


@pytest.fixture(scope="session")
def kafka_jars() -> Path:
    """Return the folder that holds the jars of Kafka."""
    try:
        return jars.fetch()
    except jars.UnavailableError as error:
        unavailable(error)


@pytest.fixture(scope="session")
def kafka(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    """Yield the cluster that all tests share, at its `address`."""
    if address := os.environ.get("STREAMNB_KAFKA"):
        yield Cluster(address)
    elif engine_answers():
        with in_docker() as cluster:
            yield cluster
    else:
        folder = tmp_path_factory.mktemp("kafka")
        with Broker(request.getfixturevalue("kafka_jars"), folder) as broker:
            yield Cluster(broker.address)


@pytest.fixture
def make_broker(kafka_jars: Path, tmp_path: Path) -> Iterator[MakeBroker]:
    """Return a function that starts a broker of the test's own, given server properties with underscores for dots."""
    numbers = count(1)
    with ExitStack() as stack:

        def make(**properties: object) -> Broker:
            named = {name.replace("_", "."): value for name, value in properties.items()}
            return stack.enter_context(Broker(kafka_jars, tmp_path / f"broker-{next(numbers)}", named))

        yield make


@pytest.fixture
def broker(make_broker: MakeBroker) -> Broker:
    """Return a broker of the test's own: to be killed, frozen, started again."""
    return make_broker()


@pytest.fixture(scope="session")
def secure_broker(kafka_jars: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[SecureBroker]:
    """Yield a broker that asks for a password or a certificate; all tests share it."""
    if shutil.which("openssl") is None:
        unavailable("certificates for Kafka cannot be made here: install OpenSSL 3")
    with SecureBroker(kafka_jars, tmp_path_factory.mktemp("secure")) as broker:
        yield broker
