"""The states of an application read from their topic once, as one reads a snapshot.

Law: the newest whole state of every shard is in it, and they are folded in the order of their numbers.
"""

import time
from contextlib import ExitStack

import msgspec

from consumers.errors import BrokerError
from consumers.kafka.client import Place, partitions_of
from consumers.kafka.clients import connect
from consumers.kafka.following import Fold, fold_of
from consumers.kafka.restoring import Restorer
from consumers.kafka.settings import KafkaSettings
from consumers.kafka.state_topic import Stored
from consumers.kafka.topics import with_address
from consumers.state import State
from streamnb.snapshot import SnapshotError


def read_states(address: str, kafka: KafkaSettings) -> Fold:
    """Return the fold of an application's states, which knows where each of its shards is to read on.

    Parameters
    ----------
    address
        The topic of states, as kafka://HOST:PORT/TOPIC.
    kafka
        The application, how to reach the brokers, and which they are where the address does not say.

    Raises ConfigError, BrokerError.
    """
    kafka, topic = with_address("SNAPSHOT", address, kafka)
    found: dict[int, Stored] = {}
    with ExitStack() as stack:
        client = connect(kafka)
        admin = client.admin()
        stack.callback(admin.close)
        places = [Place(topic, number) for number in range(partitions_of(admin, topic))]
        restorer = Restorer(client, admin, msgspec.structs.replace(kafka, state=topic), time.monotonic)
        for place, begin in admin.begins(places).items():
            stored = restorer.find(place.partition, begin)
            if stored is not None:
                found[place.partition] = stored
    if not found:
        raise BrokerError(
            f"there is no state of {kafka.application} in {topic}: name the application that saved it (--application)"
        )
    try:
        states = {
            number: (stored.manifest.number, *State.from_bytes(stored.data)[:2]) for number, stored in found.items()
        }
        fold = fold_of(states)
    except (SnapshotError, ValueError) as error:  # a later format; models of shards that do not go together
        raise BrokerError(f"the states of {kafka.application} in {topic}: {error}") from error
    for _, (_, state, _) in sorted(states.items()):
        fold.state.positions.update(state.positions)
    return fold
