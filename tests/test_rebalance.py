"""Workers come, go, die, freeze and come back: each shard is as if one worker had read it, each answer there once."""

import signal

import orjson
import pytest
from confluent_kafka.admin import AdminClient

from consumers.formats import prediction_lines
from consumers.kafka.client import Messages, Place
from consumers.kafka.messages import batch_of
from consumers.models import new_model
from consumers.programs import new_shard
from consumers.state import State, folded
from tests.application import Application, by_partition, events, whole_states
from tests.broker import make_topic, read_all, until

PARTITIONS = 4
SHORT = {"session_seconds": 3.0, "transaction_seconds": 4.0}


@pytest.fixture(params=["cooperative-sticky", "range"])
def application(kafka, tmp_path, request):
    with Application(kafka.address, tmp_path, PARTITIONS, {**SHORT, "assignor": request.param}) as application:
        yield application


@pytest.fixture
def feed(application):
    """Return a function that writes some more events."""
    written = [0]

    def more(count=1_000):
        application.write(list(events(count, application.partitions, seed=5, first=written[0])))
        written[0] += count

    return more


def stop(*workers):
    assert [worker.stop() for worker in workers] == [128 + signal.SIGTERM] * len(workers)


def test_workers_join_leave_and_die(application, feed):
    """None of them has a name; what a dead one has left open ends when transactions do."""
    feed()
    first = application.worker("", log="first")
    application.until_read(50)
    second = application.worker("", log="second")
    feed()
    second.until_said("shard")
    feed()
    application.until_read()
    stop(first)
    third = application.worker("", log="third")
    feed()
    third.until_said("shard")
    second.kill()
    feed()
    application.until_read()
    assert all(f"shard {number}: restored" in third.said for number in range(PARTITIONS))
    stop(third)
    assert application.differences(to_the_end=True) == []


def test_a_worker_that_stood_still_too_long_loses_its_transaction_and_works_on(application, feed):
    """It stands still with answers written and not committed; what it owned is read by another before it goes on."""
    feed()
    zombie = application.worker("w1", faults=["--halt", "after send", "--count", "20"])
    until(zombie.is_halted, "the worker stands still", 60)
    predictions = application.config.kafka.predictions
    seen = len(read_all(application.address, predictions))
    assert len(read_all(application.address, predictions, committed=False)) > seen
    other = application.worker("w2")
    feed()
    application.until_read()
    zombie.signal(signal.SIGCONT)
    zombie.until_said("a transaction was lost")
    other.kill()
    feed()
    application.until_read()
    stop(zombie)
    assert application.differences(to_the_end=True) == []


def test_a_second_worker_of_the_same_name_ends_the_first(application, feed):
    feed()
    first = application.worker("w1", log="first")
    application.until_read(50)
    second = application.worker("w1", log="second")
    assert first.ended() == 1
    assert f"worker w1 of {application.name} has been taken over by another process at 127.0.0.1" in first.said
    feed()
    application.until_read()
    stop(second)
    assert application.differences(to_the_end=True) == []


def test_partitions_that_are_added_are_read(application, feed):
    """Their shards are new, and the topic of states grows with them."""
    feed()
    workers = [application.worker(name) for name in ("w1", "w2")]
    application.until_read()
    admin = AdminClient({"bootstrap.servers": application.address})
    application.extend(PARTITIONS + 2)
    feed()
    application.until_read()
    state = application.config.kafka.state
    assert len(admin.list_topics(state, timeout=60).topics[state].partitions) == PARTITIONS + 2
    stop(*workers)
    assert application.differences(to_the_end=True) == []


@pytest.mark.parametrize("assignor", ["cooperative-sticky", "range"])
@pytest.mark.parametrize("client", ["kafka-python", "confluent"])
def test_partitions_that_are_added_while_a_named_worker_is_away_are_read(kafka, tmp_path, assignor, client):
    """The group keeps what it had for the name; the worker sees that nobody reads the rest."""
    settings = {"session_seconds": 30.0, "assignor": assignor, "client": client}
    with Application(kafka.address, tmp_path, 1, settings) as application:
        application.write(list(events(500, 1, seed=5)))
        first = application.worker("w1")
        application.until_read()
        stop(first)
        application.extend(3)
        application.write(list(events(500, 3, seed=5, first=500)))
        second = application.worker("w1", faults=["--look", "0.5"])
        application.until_read()
        second.until_said(f"nobody reads partition 1 of {application.events}")
        stop(second)
        assert application.differences(to_the_end=True) == []


@pytest.fixture
def two_topics(kafka, tmp_path):
    with Application(kafka.address, tmp_path, PARTITIONS, SHORT) as application:
        second = make_topic(application.address, PARTITIONS, retention_ms=-1)
        application.use(events=[application.events, second])
        yield application


def test_partitions_of_one_number_of_two_topics_go_to_one_worker(two_topics):
    """The order in which they were read is kept: what a shard has come to is what that order makes of it."""
    application, second = two_topics, two_topics.config.kafka.events[1]
    workers = {}

    def more(number):
        application.write(list(events(1_000, PARTITIONS, seed=5, first=2_000 * number)))
        application.write(list(events(1_000, PARTITIONS, seed=5, first=2_000 * number + 1_000)), second)

    for number, name in enumerate(("w1", "w2", "w1", "w2")):
        if name in workers:
            workers[name].kill()
        workers[name] = application.worker(name)
        more(number)
        workers[name].until_said("shard")
    application.until_read()
    stop(*workers.values())
    for partition in range(PARTITIONS):
        check_order(application, partition)


def check_order(application, partition):
    """Take the two topics in the order that the predictions tell; compare all that came of it."""
    config, address = application.config, application.address
    answers = by_partition(read_all(address, config.kafka.predictions))[partition]
    lines = [orjson.loads(answer.value) for answer in answers]
    received = {topic: by_partition(read_all(address, topic))[partition] for topic in config.kafka.events}
    shard = new_shard(config, State(new_model(config)), learn=True, emit=True, alarms=False)
    shard.state.positions.update({(topic, partition): 0 for topic in config.kafka.events})
    expected = []
    for line in lines:
        messages = received[line["stream"]]
        while messages and messages[0].offset <= line["offset"]:
            expected += take(shard, config, line["stream"], partition, messages.pop(0)).predictions
    assert [(line["stream"], line["offset"]) for line in lines] == [(p.stream, p.offset) for p in expected]
    assert [line["learned"] for line in lines] == [p.learned for p in expected]
    for topic, messages in received.items():
        for message in messages:
            assert take(shard, config, topic, partition, message).predictions == []
    states = whole_states(application.name, by_partition(read_all(address, config.kafka.state))[partition])
    assert states[max(states)] == shard.state.to_bytes(config.state_settings(), {})


def take(shard, config, topic, partition, message):
    """Take one message."""
    columns = [message.offset], [message.value], [message.key], [message.timestamp]
    messages = Messages(Place(topic, partition), *columns, [], message.offset + 1)
    return shard.take(batch_of(messages, config.max_record_bytes))


@pytest.fixture
def with_labels(kafka, tmp_path):
    with Application(kafka.address, tmp_path, PARTITIONS, SHORT) as application:
        labels = make_topic(application.address, PARTITIONS, retention_ms=-1)
        application.use(labels=[labels])
        yield application


def test_a_late_label_finds_its_event_whoever_reads_them(with_labels):
    """Each label is learned once, by the shard where its event waits, though workers die and take over."""
    application, labels = with_labels, with_labels.config.kafka.labels[0]
    workers = {}
    for number, name in enumerate(("w1", "w2", "w1", "w2")):
        if name in workers:
            workers[name].kill()
        workers[name] = application.worker(name)
        messages = list(events(600, PARTITIONS, seed=5, poison=0.0, first=600 * number))
        application.write([message._replace(value=without(message.value, "label")) for message in messages])
        application.write(
            [message._replace(value=without(message.value, "n", "k", "words")) for message in messages], labels
        )
        workers[name].until_said("shard")
    application.until_read()
    stop(*workers.values())
    states = by_partition(read_all(application.address, application.config.kafka.state))
    newest = [
        State.from_bytes(whole[max(whole)])[0]
        for whole in (whole_states(application.name, states[p]) for p in range(PARTITIONS))
    ]
    labelled = sum(number % 7 != 0 for number in range(2_400))
    assert sum(state.model.learned for state in newest) == labelled
    answered = [
        (m.partition, orjson.loads(m.value)["offset"])
        for m in read_all(application.address, application.config.kafka.predictions)
    ]
    assert len(answered) == len(set(answered)) == 2_400


def without(value, *names):
    return orjson.dumps({name: held for name, held in orjson.loads(value).items() if name not in names})


def test_topics_of_unequal_partitions_are_refused_in_words(two_topics):
    second = make_topic(two_topics.address, PARTITIONS - 1)
    two_topics.use(events=[two_topics.events, second])
    worker = two_topics.worker("w1")
    assert worker.ended() == 1
    assert f"partition {PARTITIONS - 1} of {second} is not there" in worker.said
    assert "need as many partitions each" in worker.said


@pytest.fixture
def followed(kafka, tmp_path):
    with Application(kafka.address, tmp_path, PARTITIONS, SHORT, snapshot_records=150) as application:
        yield application


def predictor(application, name):
    address = f"kafka://{application.address}/{application.config.kafka.state}"
    return application.worker(name, command=["predict", address])


def test_predictors_answer_with_the_fold_of_the_states_that_they_name(followed):
    """They follow while states change; each event is answered once, though predictors come and die."""
    followed.write(list(events(2_000, PARTITIONS, seed=5)))
    trainer = followed.worker("trainer", command=["train"])
    first, second = predictor(followed, "p1"), predictor(followed, "p2")
    group = f"{followed.name}-predict"
    followed.until_read(group=group)
    for number in range(1, 6):
        followed.write(list(events(1_000, PARTITIONS, seed=5, first=1_000 + 1_000 * number)))
        followed.until_read(300 * number, group=group)
        if number == 3:
            first.kill()
            first = predictor(followed, "p1")
    followed.until_read()
    followed.until_read(group=group)
    stop(trainer, first, second)
    check_followed(followed)


def check_followed(application):
    config, address = application.config, application.address
    received = {(m.partition, m.offset): m for m in read_all(address, application.events)}
    answers = read_all(address, config.kafka.predictions)
    lines = [orjson.loads(answer.value) for answer in answers]
    places = [(line["partition"], line["offset"]) for line in lines]
    letters = [orjson.loads(message.value) for message in read_all(address, config.kafka.dead_letters)]
    dead = {(letter["partition"], letter["offset"]) for letter in letters}
    assert len(letters) == 2 * len(dead)  # the trainer tells of each, and a predictor
    alive = {place for place, message in received.items() if message.value is not None} - dead
    assert sorted(places) == sorted(alive)
    states = {
        p: whole_states(application.name, found)
        for p, found in by_partition(read_all(address, config.kafka.state)).items()
    }
    stamps = {line["states"] for line in lines}
    assert len(stamps) > 3
    for stamp in sorted(stamps):
        some = [index for index, line in enumerate(lines) if line["states"] == stamp][:3]
        shards = [tuple(map(int, pair.split(":"))) for pair in stamp.split()]
        fold = folded([State.from_bytes(states[shard][number])[0] for shard, number in shards])
        shard = new_shard(config, State(fold.model), learn=False, emit=True, alarms=False)
        shard.stamp = stamp
        for index in some:
            place = places[index]
            (prediction,) = take(shard, config, application.events, place[0], received[place]).predictions
            assert orjson.loads(prediction_lines([prediction])) == lines[index]


def test_a_predictor_waits_for_the_first_state_and_says_so(followed):
    followed.write(list(events(200, PARTITIONS, seed=5)))
    waiting = predictor(followed, "p1")
    waiting.until_said(f"there is no state of {followed.name} in {followed.config.kafka.state} yet")
    trainer = followed.worker("trainer", command=["train"])
    followed.until_read(group=f"{followed.name}-predict")
    stop(waiting, trainer)
