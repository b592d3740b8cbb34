"""The commands around Kafka: topics are made, fed and looked at, and states are read as snapshots are."""

import csv
import json
import signal
from concurrent.futures import ThreadPoolExecutor
from uuid import uuid4

import pytest
from confluent_kafka.admin import AdminClient, ConfigResource

from consumers.kafka.clients import connect
from consumers.kafka.feeding import Feeder, Pace
from consumers.kafka.keys import partition_of
from consumers.kafka.settings import KafkaSettings
from tests.broker import Message, make_topic, read_all, until, write_all
from tests.command import streamnb, streamnb_started

EVENTS = [{"id": n, "x": n % 7 * 1.5, "color": "red" if n % 3 else "blue", "label": "ab"[n % 2]} for n in range(200)]
LINES = [json.dumps(event).encode() for event in EVENTS]


@pytest.fixture
def names(kafka, monkeypatch):
    """Return topics and an application that no other test has, and let the environment name the broker."""
    application = f"app-{uuid4().hex[:12]}"
    monkeypatch.setenv("STREAMNB_KAFKA_BROKERS", kafka.address)
    monkeypatch.setenv("STREAMNB_KAFKA_APPLICATION", application)
    monkeypatch.setenv("STREAMNB_KAFKA_EVENTS", f"{application}-events")
    return application


@pytest.fixture
def command(names, tmp_path, monkeypatch, capfd):
    """Return what runs the command in a folder of its own, with a broker and an application in the environment."""
    del names
    monkeypatch.chdir(tmp_path)
    return lambda *arguments: streamnb(capfd, monkeypatch, *arguments)


def described(address, topic):
    """Return the number of partitions and the settings of a topic, as librdkafka sees them."""
    client = AdminClient({"bootstrap.servers": address, "log_level": 0})
    count = len(client.list_topics(topic, timeout=60).topics[topic].partitions)
    resource = ConfigResource(ConfigResource.Type.TOPIC, topic)
    found = client.describe_configs([resource])[resource].result(60)
    return count, {name: entry.value for name, entry in found.items()}


def values(address, topic):
    return [message.value for message in read_all(address, topic)]


def test_all_topics_are_made_and_are_as_an_application_needs_them(kafka, command, names):
    made = command("topics", "create", "--partitions", "3")
    assert (made.status, made.err) == (0, "")
    parts = ("events", "predictions", "dead-letters", "state")
    assert made.out == "".join(f"{names}-{part}: made, 3 partitions\n" for part in parts)
    for part in parts:
        count, settings = described(kafka.address, f"{names}-{part}")
        assert (count, settings["cleanup.policy"]) == (3, "compact" if part == "state" else "delete")
    assert int(settings["segment.bytes"]) == 16 << 20
    again = command("topics", "create", "--partitions", "5")
    assert (again.status, again.err) == (0, "")
    assert again.out == made.out.replace("made", "there already")


def test_topics_that_are_read_together_get_as_many_partitions_each(kafka, command, names):
    labels = make_topic(kafka.address, 4)
    state = make_topic(kafka.address, 1, cleanup_policy="compact")
    drift = f"{names}-drift"
    make = ("topics", "create", "--labels", f"kafka:///{labels}", "--snapshots", f"kafka:///{state}")
    made = command(*make, "--drift", f"kafka:///{drift}", "--partitions", "2")
    assert made.status == 0
    assert f"{names}-events: made, 4 partitions\n{labels}: there already, 4 partitions\n" in made.out
    assert f"{drift}: made, 4 partitions\n" in made.out
    assert f"{state}: extended, from 1 to 4 partitions" in made.out
    assert [described(kafka.address, topic)[0] for topic in (f"{names}-events", labels, state, drift)] == [4, 4, 4, 4]


def test_settings_that_will_not_do_are_told_with_how_to_mend_them(kafka, command):
    state, small = make_topic(kafka.address), make_topic(kafka.address, max_message_bytes=2000)
    dropping = make_topic(kafka.address, cleanup_policy="compact,delete")
    addresses = ("--snapshots", f"kafka:///{state}", "--output", f"kafka:///{small}")
    made = command("topics", "create", *addresses, "--dead-letters", f"kafka:///{dropping}", "--partitions", "1")
    assert (made.status, made.err) == (1, "")
    lines = dict(line.split(": ", 1) for line in made.out.splitlines())
    assert "cleanup.policy=delete (states would be lost)" in lines[state]
    assert f"--entity-name {state} --add-config cleanup.policy=compact" in lines[state]
    assert "max.message.bytes=2000" in lines[small]
    assert lines[small].endswith("--add-config max.message.bytes=1048588")
    assert lines[dropping].endswith("--add-config cleanup.policy=delete")


def test_what_has_no_topic_or_no_broker_is_one_sentence(command, kafka, monkeypatch):
    for what in (("lag",), ("replay", "-", "no-such-topic"), ("inspect", "kafka:///no-such-topic")):
        said = command(*what)
        assert said.status == 1
        assert said.err.startswith("streamnb: there is no topic ")
    monkeypatch.delenv("STREAMNB_KAFKA_BROKERS")
    assert "no broker is named" in command("replay", "-", "events").err
    monkeypatch.delenv("STREAMNB_KAFKA_EVENTS")
    for what in (("lag",), ("topics", "create")):
        assert command(*what).err.startswith("streamnb: no topic of events is named: give kafka://HOST:PORT/TOPIC")
    assert "it is one" in command("replay", "-", f"kafka://{kafka.address}/a,b").err
    assert "is a topic" in command("unlearn", "kafka:///state", "events.jsonl").err


def test_lines_are_sent_as_they_are_and_the_same_key_goes_to_the_same_partition(kafka, command, tmp_path):
    """Kafka's own partitioner is asked where a key belongs."""
    events, other = make_topic(kafka.address, 3), make_topic(kafka.address, 3)
    (tmp_path / "events.jsonl").write_bytes(b"\n".join(LINES) + b"\n\n")
    sent = command("replay", "events.jsonl", f"kafka://{kafka.address}/{events}")
    assert (sent.status, sent.out) == (0, "")
    assert f"{events}: 200 events sent" in sent.err
    assert "without a key" not in sent.err
    write_all(kafka.address, other, [Message(b"", b"%d" % n) for n in range(200)], partitioner="murmur2_random")
    wanted = {message.key: message.partition for message in read_all(kafka.address, other)}
    received = read_all(kafka.address, events)
    assert {message.key: message.partition for message in received} == wanted
    assert sorted(message.value for message in received) == sorted(LINES)
    for number in range(3):
        keys = [int(message.key) for message in received if message.partition == number]
        assert keys == sorted(keys)


def test_events_without_a_key_take_turns_and_are_told_of(kafka, command, tmp_path):
    topic = make_topic(kafka.address, 2)
    (tmp_path / "events.jsonl").write_bytes(b"\n".join(LINES[:10]))
    sent = command("replay", "events.jsonl", topic, "--key", "user.id")
    assert "without a key, since they have no user.id: 10" in sent.err
    assert [message.partition for message in read_all(kafka.address, topic)] == [0] * 5 + [1] * 5


def test_records_that_are_no_events_are_told_and_not_sent(kafka, command, tmp_path):
    topic = make_topic(kafka.address)
    (tmp_path / "events.jsonl").write_bytes(b'{"id": 1}\n[2]\nnope\n[3]\n{"id": "four"}\n')
    sent = command("replay", "events.jsonl", topic)
    assert sent.status == 1
    assert "events.jsonl, offset 10: not sent, not an object" in sent.err
    assert f"{topic}: 2 events sent" in sent.err
    assert "not sent, not an object: 2\n" in sent.err
    assert "not sent, not JSON: 1\n" in sent.err
    assert [(message.key, message.value) for message in read_all(kafka.address, topic)] == [
        (b"1", b'{"id": 1}'),
        (b"four", b'{"id": "four"}'),
    ]


def test_rows_of_csv_become_events_that_are_answered_as_the_file_is(kafka, command, names, tmp_path):
    """A file of CSV, and the topic that it was fed to, give the same predictions."""
    with (tmp_path / "events.csv").open("w", newline="") as file:
        writer = csv.DictWriter(file, [*EVENTS[0], "zip", "gap"])
        writer.writeheader()
        writer.writerows({**event, "label": n % 2, "zip": f"0{n % 3}", "gap": ""} for n, event in enumerate(EVENTS))
    declared = ("--categorical", "zip")
    assert command("topics", "create", "--partitions", "1").status == 0
    assert command("replay", "events.csv", f"{names}-events", *declared).status == 0
    assert json.loads(values(kafka.address, f"{names}-events")[1]) == {
        "id": "1",
        "x": 1.5,
        "color": "red",
        "label": "1",
        "zip": "01",
        "gap": None,
    }
    assert command("run", "events.csv", *declared).status == 0
    assert command("run", "--until", "end", *declared).status == 0
    predictions = [json.loads(value) for value in values(kafka.address, f"{names}-predictions")]
    files = [json.loads(line) for line in (tmp_path / "predictions.jsonl").read_text().splitlines()]
    for prediction in (*predictions, *files):
        for name in ("stream", "offset"):
            del prediction[name]
    assert len(predictions) == 200
    assert predictions == files


def test_a_steady_rate_has_no_bursts_and_makes_up_for_no_long_stall():
    """Of a clock that is passed in; a thousand a second, asked every tick, are five a tick."""
    now = [0.0]
    pace, due = Pace(1000, lambda: now[0]), []
    for step in range(1, 200):
        due.append(pace.due())
        pace.take(due[-1])
        assert 0.0 < pace.wait() <= 0.005 + 1e-9
        now[0] = step * 0.005 + (10.0 if step >= 100 else 0.0)
    assert set(due[1:100] + due[101:]) == {5}
    assert due[100] <= 101
    assert Pace(0, lambda: now[0]).due() > 1 << 40


def test_a_rate_spreads_the_events_over_time(kafka):
    """The clock stands still but for the pauses, so ten events at five a second pause for 1.8 s and no longer."""
    topic, settings, now = make_topic(kafka.address), KafkaSettings(brokers=(kafka.address,)), [0.0]

    def pause(seconds):
        now[0] += seconds

    feeder = Feeder(
        connect(settings),
        topic,
        1,
        pace=Pace(5, lambda: now[0]),
        clock=lambda: now[0],
        pause=pause,
        watch=lambda _: None,
    )
    try:
        feeder.feed(LINES[:10], [None] * 10)
        assert feeder.sent >= 5  # it is made sure of them every second
        feeder.make_sure()
    finally:
        feeder.close()
    assert now[0] == pytest.approx(1.8)
    assert feeder.sent == feeder.without_key == 10
    assert values(kafka.address, topic) == LINES[:10]


def test_ctrl_c_says_how_far_it_came(kafka, tmp_path, monkeypatch):
    monkeypatch.setenv("STREAMNB_KAFKA_BROKERS", kafka.address)
    topic = make_topic(kafka.address)
    (tmp_path / "events.jsonl").write_bytes(b"\n".join(LINES))
    with streamnb_started(tmp_path, "replay", "events.jsonl", topic, "--rate", "20") as process:
        until(lambda: len(values(kafka.address, topic)) > 2, "some events are sent")
        process.send_signal(signal.SIGINT)
        said = process.communicate(timeout=60)[1]
    assert process.returncode == 128 + signal.SIGINT
    sent = values(kafka.address, topic)
    assert sent == LINES[: len(sent)]
    assert f"{topic}: {len(sent):,} events sent" in said
    assert "streamnb: stopped by SIGINT" in said


def test_lag_tells_how_far_a_group_is_and_what_it_saved(command, names, tmp_path):
    assert command("topics", "create", "--partitions", "2").status == 0
    empty = command("lag")
    assert empty.status == 0
    assert f"the group {names} has no member and has committed nothing" in empty.out
    (tmp_path / "events.jsonl").write_bytes(b"\n".join(LINES))
    assert command("replay", "events.jsonl", f"{names}-events").status == 0
    before = json.loads(command("lag", "--json").out)["partitions"]
    assert sum(each["lag"] for each in before) >= 200
    assert all(each["position"] is None and each["state"] is None for each in before)
    assert command("train", "--until", "end", "--worker", "one").status == 0
    after = json.loads(command("lag", "--json").out)
    assert after["group"] == names
    for each in after["partitions"]:
        assert (each["lag"], each["position"], each["worker"]) == (0, each["end"], "one")
        assert each["state"] >= 0
        assert 0 <= each["age"] < 3600
    table = command("lag", "--group", f"{names}-predict").out
    assert table.splitlines()[1].split()[:3] == ["TOPIC", "PARTITION", "POSITION"]
    shown = command("lag").out.splitlines()
    assert shown[1].split()[:2] == [f"{names}-events", "0"]
    assert shown[-1] == f"{names}: 0 to read in 2 partitions"


def test_a_broker_that_is_killed_and_comes_back_loses_none_of_what_is_fed(broker, tmp_path):
    """Nor is any of it there twice, and the order is the file's."""
    topic = make_topic(broker.address, 2)
    (tmp_path / "events.jsonl").write_bytes(b"\n".join(LINES))
    feed = ("replay", "events.jsonl", topic, "--rate", "40")
    with streamnb_started(tmp_path, *feed, STREAMNB_KAFKA_BROKERS=broker.address) as feeding:
        until(lambda: len(values(broker.address, topic)) > 10, "some events are sent")
        broker.kill()
        broker.start()
        said = feeding.communicate(timeout=120)[1]
    assert feeding.returncode == 0, said
    received = read_all(broker.address, topic)
    assert sorted(message.value for message in received) == sorted(LINES)
    for number in range(2):
        keys = [int(message.key) for message in received if message.partition == number]
        assert keys == sorted(keys)
    assert "200 events sent" in said


def test_lag_names_the_owner_of_each_partition_for_as_long_as_it_is_asked_to(command, tmp_path):
    """The worker and the one who watches are processes; both end at a signal, as they should."""
    assert command("topics", "create", "--partitions", "1").status == 0
    with (
        ThreadPoolExecutor(1) as reading,
        streamnb_started(tmp_path, "train", "--worker", "one") as worker,
        streamnb_started(tmp_path, "lag", "--watch", "0.2") as watching,
    ):
        owned = reading.submit(lambda: next(line for line in watching.stdout if "one (" in line))
        assert owned.result(60).split()[1] == "0"
        for process in (worker, watching):
            process.terminate()
            assert "stopped by SIGTERM" in process.communicate(timeout=60)[1]
            assert process.returncode == 128 + signal.SIGTERM


def test_the_states_of_a_topic_are_read_as_a_snapshot_is(command, names, tmp_path):
    """What two shards have learned is shown, explained, answered with and merged as one."""
    assert command("topics", "create", "--partitions", "2").status == 0
    (tmp_path / "events.jsonl").write_bytes(b"\n".join(LINES))
    assert command("replay", "events.jsonl", f"{names}-events").status == 0
    state = f"kafka:///{names}-state"
    none = command("inspect", state)
    assert none.status == 1
    assert f"there is no state of {names} in {names}-state" in none.err
    assert command("train", "--until", "end", "--model", "naive").status == 0
    shown = json.loads(command("inspect", state, "--json").out)
    assert sum(each["weight"] for each in shown["model"]["classes"]) == 200
    assert shown["report"]["records"] == 200
    assert [(place["stream"], place["partition"]) for place in shown["positions"]] == [
        (f"{names}-events", 0),
        (f"{names}-events", 1),
    ]
    assert f"position: {names}-events, partition 1, next offset" in command("inspect", state).out
    assert command("merge", state, "-o", "merged.snapshot").status == 0
    event = '{"x": 1.5, "color": "red"}'
    assert command("explain", state, event).out == command("explain", "merged.snapshot", event).out != ""
    assert command("predict", state, "events.jsonl", "--output", "topic.jsonl").status == 0
    assert command("predict", "merged.snapshot", "events.jsonl", "--output", "file.jsonl").status == 0
    assert (tmp_path / "topic.jsonl").read_bytes() == (tmp_path / "file.jsonl").read_bytes() != b""
    other = command("inspect", state, "--application", "other")
    assert "there is no state of other in" in other.err


def test_a_key_has_the_partition_that_kafka_gives_it_at_every_length(kafka):
    """The tail of a key, of one to three bytes, is hashed in its own way."""
    topic = make_topic(kafka.address, 7)
    keys = [bytes(range(200, 200 + length)) for length in range(1, 20)]
    write_all(kafka.address, topic, [Message(b"", key) for key in keys], partitioner="murmur2_random")
    for message in read_all(kafka.address, topic):
        assert partition_of(message.key, 7) == message.partition
