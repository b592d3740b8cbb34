"""The benchmark of Kafka runs: each of its parts prints what it is to print, with few events."""

import re

from tests import bench_kafka
from tests.bench_kafka import long


def test_speed_is_told_of_the_bare_loop_and_of_the_product_with_all_its_parts(kafka, capsys):
    bench_kafka.speed(kafka.address, 1, 12_000, clients=["confluent"], models=["naive"])
    printed = capsys.readouterr().out
    assert re.search(r"confluent, bare loop +\d+\.\d+ +\d+\.\d+ +1\.00 +1\.00 +1\.00 +1\.00\n", printed)
    parts = dict(re.findall(r"^  ([a-z ]+?) +\d+\.\d+ +(\d+\.\d+)$", printed, re.MULTILINE))
    for part in ("poll", "parse", "encode", "kernel", "measure", "serialise", "send", "commit"):
        assert float(parts[part]) > 0


def test_a_state_is_written_and_restored(kafka, capsys):
    bench_kafka.states(kafka.address, 1, 50_000, clients=["confluent"], models=["naive"])
    assert re.search(r"confluent, naive +\d+ MB +written in +\d.\d+ s.* restored in +\d.\d+ s", capsys.readouterr().out)


def test_memory_is_told_along_the_way(kafka, capsys):
    long.memory(kafka.address, None, 5_000)
    assert len(re.findall(r"after +[\d,]+ events +\d+\.\d MB", capsys.readouterr().out)) == 5


def test_at_a_steady_rate_every_event_is_answered_and_told_of(kafka, capsys):
    long.steady(kafka.address, 0.05, 500, "kafka-python", 0.1, late=False)
    assert re.search(r"all +1,500 ( +[\d,]+){5} +\d+\.\d +\d+\.\d%", capsys.readouterr().out)
