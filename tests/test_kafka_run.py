"""`streamnb run` over topics: as over files where there are files, and in words where there is something wrong."""

import signal
from concurrent.futures import ThreadPoolExecutor

import orjson
import pytest
from confluent_kafka import Producer, TopicPartition
from confluent_kafka.admin import AdminClient, AlterConfigOpType, ConfigEntry, ConfigResource, ResourceType
from rich.console import Console

from consumers.kafka import programs, worker
from consumers.kafka.client import TopicMissingError
from consumers.snapshots import read_snapshot
from consumers.state import State
from streamnb import snapshot
from tests.application import Application, events, whole_states
from tests.broker import Message, make_topic, read_all, until, until_marked
from tests.broker.network import free_port
from tests.command import json_lines, streamnb

ELSEWHERE = {"stream", "partition", "offset"}


@pytest.fixture
def application(kafka, tmp_path):
    with Application(kafka.address, tmp_path, 1) as application:
        yield application


@pytest.fixture
def run(application, capfd, monkeypatch):
    """Return a function that runs the application to the end of its topic, in this process."""

    def to_the_end(*arguments):
        named = ("--config", str(application.file()), "--until", "end")
        return streamnb(capfd, monkeypatch, "run", *named, *arguments)

    return to_the_end


def last_state(application):
    """Return the newest state of the one shard."""
    states = whole_states(application.name, read_all(application.address, application.config.kafka.state))
    return State.from_bytes(states[max(states)])[0]


def without_place(lines):
    return [{key: value for key, value in line.items() if key not in ELSEWHERE} for line in lines]


def values_of(application, topic):
    return [orjson.loads(message.value) for message in read_all(application.address, topic)]


@pytest.mark.parametrize("model", ["naive", "adaptive"])
def test_a_topic_comes_to_what_a_file_of_the_same_events_comes_to(
    application, run, capfd, monkeypatch, tmp_path, model
):
    """Predictions, dead letters, the model and its measures; only where each was read is another place."""
    monkeypatch.chdir(tmp_path)
    messages = [message for message in events(3_000, 1, seed=3) if message.value is None or message.value.strip()]
    application.write(messages)
    ran = run("--model", model)
    assert ran.status == 0, ran.err
    file = tmp_path / "events.jsonl"
    file.write_bytes(b"".join(message.value + b"\n" for message in messages if message.value is not None))
    alone = streamnb(capfd, monkeypatch, "run", str(file), "--model", model, "--max-record-bytes", "2000")
    assert alone.status == 0, alone.err
    kafka, state = application.config.kafka, last_state(application)
    of_file = read_snapshot("snapshots", State.from_bytes, print)[0]
    assert without_place(values_of(application, kafka.predictions)) == without_place(
        json_lines(tmp_path / "predictions.jsonl")
    )
    dead = without_place(json_lines(tmp_path / "dead-letters.jsonl"))
    assert len(dead) > 5
    assert without_place(values_of(application, kafka.dead_letters)) == dead
    assert snapshot.save(state.model) == snapshot.save(of_file.model)
    assert snapshot.pack({}, {"measures": state.measures}) == snapshot.pack({}, {"measures": of_file.measures})
    tombstones = sum(message.value is None for message in messages)
    assert state.tally.tombstones == tombstones > 0
    assert state.tally.records == of_file.tally.records + tombstones
    assert state.tally.dead == of_file.tally.dead


def test_a_worker_that_is_stopped_goes_on_where_it_stopped(application, run):
    application.write(list(events(3_000, 1, seed=1)))
    worker = application.worker("w1")
    application.until_read(200)
    assert worker.stop() == 128 + signal.SIGTERM
    assert "stopped by SIGTERM" in worker.said
    application.write(list(events(1_000, 1, seed=1, first=3_000)))
    assert run("--worker", "w1").status == 0
    assert application.differences(to_the_end=True) == []


def test_events_written_in_transactions_are_read_once_where_committed(application, run):
    """Marks lie between them, and before the offsets that are committed; a killed worker finds its way back."""
    producer = Producer({"bootstrap.servers": application.address, "transactional.id": application.name})
    producer.init_transactions(60)
    for number, message in enumerate(events(600, 1, seed=2)):
        if number % 10 == 0:
            producer.begin_transaction()
        producer.produce(application.events, message.value, message.key, 0)
        if number % 10 == 9:
            producer.flush(60)  # else what is aborted is not even written
            (producer.abort_transaction if number % 30 == 29 else producer.commit_transaction)(60)
    for count in (1, 4):
        worker = application.worker(
            "w1", "--commit-records", "7", faults=["--kill", "after commit", "--count", str(count)]
        )
        assert worker.ended() == -signal.SIGKILL
    assert run("--worker", "w1", "--commit-records", "7").status == 0
    assert application.differences(to_the_end=True) == []
    assert last_state(application).tally.records == 400


def test_a_shard_is_restored_over_a_transaction_that_was_aborted(application, run):
    """The offsets went on over it, and the state did not, since there was nothing new in it."""
    producer = Producer({"bootstrap.servers": application.address, "transactional.id": application.name})
    producer.init_transactions(60)
    for number, end in enumerate(
        (producer.commit_transaction, producer.abort_transaction, producer.commit_transaction)
    ):
        producer.begin_transaction()
        for message in events(3, 1, seed=number, poison=0.0):
            producer.produce(application.events, message.value, message.key, 0)
        producer.flush(60)  # else what is aborted is not even written
        end(60)
        ran = run("--worker", "w1")
        assert ran.status == 0, ran.err
    assert application.differences(to_the_end=True) == []
    assert last_state(application).tally.records == 6


def test_a_broker_that_is_not_there_is_named(run):
    address = f"127.0.0.1:{free_port()}"
    ran = run("--brokers", address, "--connect-seconds", "1")
    assert ran.status == 1
    assert f"no broker answered at {address} for 1 s" in ran.err


@pytest.mark.parametrize("missing", ["events", "predictions", "dead_letters", "state"])
def test_a_topic_that_is_not_there_is_named(application, run, missing):
    application.use(**{missing: ["nothing-here"] if missing == "events" else "nothing-here"})
    ran = run()
    assert ran.status == 1
    assert "there is no topic nothing-here: make it (streamnb topics create)" in ran.err


def test_a_topic_of_states_that_would_lose_them_is_refused(application, run):
    topic = make_topic(application.address)
    application.use(state=topic)
    ran = run()
    assert ran.status == 1
    assert f"the topic {topic} has cleanup.policy=delete, and would lose states" in ran.err


def test_a_state_made_under_other_settings_is_refused(application, run):
    application.write(list(events(100, 1, seed=1)))
    assert run().status == 0
    ran = run("--smoothing", "2")
    assert ran.status == 2
    assert "smoothing is 2.0, and the states in" in ran.err
    assert "another --application" in ran.err


@pytest.fixture
def with_gap(application, run):
    """Let 300 events be read, and of 500 more lose the first 100 before they are."""
    application.write(list(events(300, 1, seed=1, poison=0.0)))
    assert run().status == 0
    application.write(list(events(500, 1, seed=1, first=300, poison=0.0)))
    admin = AdminClient({"bootstrap.servers": application.address})
    for future in admin.delete_records([TopicPartition(application.events, 0, 400)]).values():
        future.result(60)
    return application


@pytest.mark.usefixtures("with_gap")
def test_a_gap_stops_a_worker_that_is_not_to_go_on(run):
    ran = run()
    assert ran.status == 1
    assert "offset 300 was to be read next, and the first that is still there is 400" in ran.err
    assert "--on-gap go-on" in ran.err


def test_a_gap_is_gone_over_and_counted_where_that_is_asked_for(with_gap, run):
    ran = run("--on-gap", "go-on")
    assert ran.status == 0, ran.err
    assert "offsets passed over, which were no longer retained: 100" in ran.err
    offsets = [line["offset"] for line in values_of(with_gap, with_gap.config.kafka.predictions)]
    assert offsets == [*range(300), *range(400, 800)]
    state = last_state(with_gap)
    assert (state.tally.records, state.tally.lost) == (700, 100)


def test_a_topic_that_was_made_anew_is_never_gone_on_with(application, run):
    """Its offsets are those of other events, whatever is to be done about gaps."""
    application.write(list(events(300, 1, seed=1)))
    assert run().status == 0
    admin = AdminClient({"bootstrap.servers": application.address})
    admin.delete_topics([application.events])[application.events].result(60)
    until(lambda: application.events not in admin.list_topics(timeout=60).topics, "the topic is gone")
    make_topic(application.address, name=application.events)
    application.write(list(events(100, 1, seed=1)))
    ran = run("--on-gap", "go-on")
    assert ran.status == 1
    assert "the topic was made anew or cut short" in ran.err


def test_a_prediction_too_large_for_its_topic_is_told(application, run):
    _configure(application.address, application.config.kafka.predictions, {"max.message.bytes": "500"})
    application.write([Message(orjson.dumps({"id": "x" * 1_000, "n": 1, "label": "a"}), b"k", 0)])
    ran = run()
    assert ran.status == 1
    assert f"is too large for {application.config.kafka.predictions}: raise max.message.bytes" in ran.err


def test_a_dead_letter_larger_than_a_message_may_be_is_cut(application, run):
    """It would stop the stream for good."""
    application.write([Message(b"\x00" * 1_900, b"k", 0), Message(b"\xff" * 1_900, b"k", 0), *events(10, 1, seed=1)])
    ran = run("--max-message-bytes", "2500")
    assert ran.status == 0, ran.err
    first, second = values_of(application, application.config.kafka.dead_letters)[:2]
    assert first["text"] == "\x00" * 118
    assert first["detail"].endswith("; cut to the first 118 of 1,900 bytes")
    assert second["detail"].endswith("; cut to the first 475 of 1,900 bytes")


def test_a_state_is_gone_on_from_where_the_offsets_of_the_group_have_expired(application, run):
    application.write(list(events(300, 1, seed=1)))
    assert run().status == 0
    admin = AdminClient({"bootstrap.servers": application.address})
    for future in admin.delete_consumer_groups([application.name]).values():
        future.result(60)
    application.write(list(events(300, 1, seed=1, first=300)))
    ran = run()
    assert ran.status == 0, ran.err
    assert "no offset is committed any more" in ran.err
    assert application.differences(to_the_end=True) == []


def test_files_and_topics_are_not_mixed(run):
    ran = run("--output", "answers.jsonl")
    assert ran.status == 2
    assert "output is 'answers.jsonl', and the inputs are topics" in ran.err


def _configure(address, topic, settings):
    admin = AdminClient({"bootstrap.servers": address})
    entries = [
        ConfigEntry(name, value, incremental_operation=AlterConfigOpType.SET) for name, value in settings.items()
    ]
    resource = ConfigResource(ResourceType.TOPIC, topic, incremental_configs=entries)
    for future in admin.incremental_alter_configs([resource]).values():
        future.result(60)


@pytest.mark.parametrize("step", ["after commit", "between state and replay"])
def test_a_worker_outlives_a_broker_that_is_away_for_long(broker, tmp_path, step):
    """Longer than a worker waits for one at its start, and longer than its transactions may take."""
    with Application(broker.address, tmp_path, 2, {"connect_seconds": 1.0, "transaction_seconds": 2.0}) as application:
        application.write(list(events(2_000, 2, seed=1)))
        application.worker("w1", faults=["--kill", "after commit", "--count", "5"]).ended()
        worker = application.worker("w1", faults=["--halt", step])
        until(worker.is_halted, "the worker stands still")
        until_marked(broker.address)
        broker.kill()
        worker.signal(signal.SIGCONT)
        worker.until_said("trying again")
        broker.start()
        application.write(list(events(500, 2, seed=1, first=2_000)))
        application.until_read()
        assert worker.stop() == 128 + signal.SIGTERM
        assert application.differences(to_the_end=True) == []


def test_a_topic_that_is_deleted_while_it_is_read_is_told(kafka, tmp_path, monkeypatch):
    """And not waited on for ever, by a worker that says nothing."""
    monkeypatch.setattr(worker, "LOOK_SECONDS", 1.0)
    with Application(kafka.address, tmp_path, 1, {"connect_seconds": 2.0}) as application:
        application.write([Message(b'{"n": 1, "label": "a"}', partition=0)])

        def delete():
            application.until_read()
            admin = AdminClient({"bootstrap.servers": kafka.address})
            admin.delete_topics([application.events])[application.events].result(60)

        with ThreadPoolExecutor(1) as pool:
            deleted = pool.submit(delete)
            with pytest.raises(TopicMissingError, match=f"there is no topic {application.events}"):
                programs.run(application.config, Console(quiet=True), emit=True)
            deleted.result()


def test_a_topic_of_predictions_that_is_deleted_ends_its_worker_in_words(kafka, tmp_path):
    with Application(kafka.address, tmp_path, 1, {"connect_seconds": 1.0, "transaction_seconds": 3.0}) as application:
        event = Message(b'{"n": 1, "label": "a"}', partition=0)
        application.write([event])
        worker = application.worker("w")
        application.until_read()
        gone = application.config.kafka.predictions
        admin = AdminClient({"bootstrap.servers": kafka.address})
        admin.delete_topics([gone])[gone].result(60)
        application.write([event])
        assert worker.ended() == 1
        assert f"there is no topic {gone}: make it" in worker.said
