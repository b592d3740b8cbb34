"""The programs behind the commands, where events come from topics.

Law: what can be found wrong, such as a topic that is not there, is found before anything is read.
"""

import platform
import time
from collections.abc import Sequence
from contextlib import ExitStack
from functools import partial
from typing import Any
from uuid import uuid4

from rich.console import Console

from consumers.config import Config
from consumers.errors import BrokerError
from consumers.interrupts import Interrupts
from consumers.kafka.client import Admin, Client, partitions_of
from consumers.kafka.clients import connect
from consumers.kafka.following import Fold, Follower, Following
from consumers.kafka.learning import Learning
from consumers.kafka.messages import Outputs
from consumers.kafka.settings import KafkaSettings
from consumers.kafka.shards import Shards
from consumers.kafka.topics import with_topics
from consumers.kafka.worker import Worker
from consumers.loop import SnapshotPolicy
from consumers.models import check_same, configure, given_scoring, new_model
from consumers.programs import few_collections, new_shard, with_recorded
from consumers.report import Watch, tell_alarm
from consumers.shard import Shard
from consumers.state import State, folded
from streamnb.classifier import Classifier

_OBJECTS = 10_000  # kafka-python leaves cycles, some 30 objects a transaction, that hold all the bytes it brought
_PATIENCE = 10.0  # seconds after which it is told, again, that there is no state yet


def run(config: Config, console: Console, *, emit: bool) -> State:
    """Learn from topics, and answer what is read if that is asked for; return what is known when it ends.

    Each partition is a shard, and is answered by what was learned from it: so a run that is killed and goes on answers
    as one that was not.

    Raises ConfigError, BrokerError, InterruptedRunError.
    """
    config = with_topics(config)
    kafka, name = config.kafka, _named(config.kafka)
    _learning_shard(config, None, emit=emit)  # what cannot be is told before a broker is asked
    with ExitStack() as stack:
        client = connect(kafka)
        admin = _admin(client, stack)
        _check_topics(admin, kafka, ["state", "dead_letters", *(["predictions"] if emit else [])])
        shards = Learning(
            client,
            admin,
            kafka,
            make=partial(_learning_shard, config, emit=emit),
            check=partial(check_same, config, what=f"the states in {kafka.state}", other="--application"),
            limit=config.max_record_bytes,
            settings=config.state_settings(),
            policy=SnapshotPolicy(config.snapshot_records, config.snapshot_seconds),
            clock=time.monotonic,
            now=time.time,
            worker=name,
            say=console.print,
        )
        topics = (*kafka.events, *kafka.labels)
        _work(stack, console, client, admin, kafka, shards, name, kafka.group or kafka.application, topics)
        return folded(shards.states()) if shards.states() else State(new_model(config))


def predict(config: Config, console: Console, states: str, given: set[str]) -> State:
    """Answer topics with the fold of the states in another, which is followed; return how well that went.

    Parameters
    ----------
    states
        The address of the topic of states.
    given
        The settings that go before those of the states.

    Raises ConfigError, BrokerError, InterruptedRunError.
    """
    config = with_topics(config, states)
    kafka, name = config.kafka, _named(config.kafka)
    with ExitStack() as stack:
        client = connect(kafka)
        admin = _admin(client, stack)
        _check_topics(admin, kafka, ["state", "dead_letters", "predictions"])
        follower = Follower(client, admin, kafka, time.monotonic)
        stack.callback(follower.close)
        follower.start()
        fold = _first(follower, kafka, console)
        config = with_recorded(config, fold.settings, given)
        model_of = partial(_model_of, given_scoring(config, given))
        shard = new_shard(config, State(model_of(fold)), learn=False, emit=True, alarms=kafka.drift != "")
        shard.stamp = fold.stamp
        shards = Following(
            shard,
            follower,
            admin,
            kafka,
            model_of=model_of,
            limit=config.max_record_bytes,
            worker=name,
            say=console.print,
        )
        group = kafka.group or f"{kafka.application}-predict"
        _work(stack, console, client, admin, kafka, shards, name, group, kafka.events)
        return folded(shards.states())


def _work(
    stack: ExitStack,
    console: Console,
    client: Client,
    admin: Admin,
    kafka: KafkaSettings,
    shards: Shards,
    name: str,
    group: str,
    topics: tuple[str, ...],
) -> None:
    """Let a worker work until it is to end."""
    outputs = [kafka.dead_letters, *filter(None, [kafka.predictions, kafka.drift])]
    stack.enter_context(few_collections(_OBJECTS))
    worker = Worker(
        client,
        admin,
        kafka,
        group=group,
        name=f"{group}/{name}",  # which no other group and worker make together
        topics=topics,
        shards=shards,
        outputs=Outputs(
            {topic: admin.partitions(topic) for topic in outputs},
            kafka.predictions,
            kafka.dead_letters,
            kafka.drift,
            headers=kafka.headers,
            limit=kafka.max_message_bytes,
            tell=partial(tell_alarm, console),
        ),
        interrupts=stack.enter_context(Interrupts()),
        clock=time.monotonic,
        sleep=time.sleep,
        watch=stack.enter_context(Watch(console, shards.states, time.monotonic)),
        say=console.print,
    )
    worker.run()


def _admin(client: Client, stack: ExitStack) -> Admin:
    admin = client.admin()
    stack.callback(admin.close)
    return admin


def _check_topics(admin: Admin, kafka: KafkaSettings, outputs: Sequence[str]) -> None:
    """Raise BrokerError where a topic is not there, or the topic of states would lose some."""
    written = [getattr(kafka, output) for output in outputs] + ([kafka.drift] if kafka.drift else [])
    for topic in (*kafka.events, *kafka.labels, *written):
        partitions_of(admin, topic)
    policy = admin.settings(kafka.state).get("cleanup.policy", "")
    if policy != "compact":
        raise BrokerError(
            f"the topic {kafka.state} has cleanup.policy={policy}, and would lose states: make it compact, or make one "
            "that is (streamnb topics create)"
        )


def _learning_shard(config: Config, state: State | None, *, emit: bool) -> Shard:
    kafka, state = config.kafka, state or State(new_model(config))
    return new_shard(config, state, learn=True, emit=emit, alarms=kafka.drift != "", late=bool(kafka.labels))


def _model_of(changes: dict[str, Any], fold: Fold) -> Classifier:
    """Return the model of a fold, scored as was asked for."""
    configure(fold.state.model, changes)
    return fold.state.model


def _first(follower: Follower, kafka: KafkaSettings, console: Console) -> Fold:
    """Wait for the first fold, and tell now and then what is waited for."""
    with Interrupts() as interrupts:
        while (fold := follower.wait(_PATIENCE)) is None:
            interrupts.check()
            console.print(f"there is no state of {kafka.application} in {kafka.state} yet: waiting for streamnb train")
        return fold


def _named(kafka: KafkaSettings) -> str:
    """Return the name of this worker, or one that no other has."""
    return kafka.worker or f"{platform.node()}-{uuid4().hex[:8]}"
