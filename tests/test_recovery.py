"""A run that is killed, at any point and any number of times, and started again leaves what one run would have left."""

import json
import random
import shutil
import subprocess
import sys
from pathlib import Path

import msgspec
import pytest
from rich.console import Console

from consumers import files, programs
from streamnb import drift
from tests.crash import STEPS, config, results, write_streams

ROOT = Path(__file__).resolve().parents[1]


def crash(folder: Path, cases: list[tuple[str, list[int]]], *options: str) -> list[dict]:
    """Run the cases of kills in a process of their own; return what each of them came to."""
    command = [sys.executable, "-m", "tests.crash", str(folder), *options]
    ran = subprocess.run(command, cwd=ROOT, input=json.dumps(cases), capture_output=True, text=True, check=False)
    assert ran.returncode == 0, ran.stderr
    return [json.loads(line) for line in ran.stdout.splitlines()]


def cases() -> list[tuple[str, list[int]]]:
    """Return kills at each step in turn, and at lines of the program drawn at random."""
    generator = random.Random(1)
    once = [(step, [count]) for step in STEPS[:-1] for count in (1, 2, 3, 5, 8)]
    anywhere = [("any line", [generator.randrange(1, 20_000)]) for _ in range(30)]
    often = [(step, [generator.randrange(1, 9) for _ in range(4)]) for step in STEPS[:-1]]
    return once + anywhere + often


def test_killed_and_started_again_is_byte_for_byte_as_if_never_killed(tmp_path):
    outcomes = crash(tmp_path, cases())
    assert len(outcomes) >= 50
    assert sum(outcome["kills"] for outcome in outcomes) >= 50
    for step in STEPS:
        assert any(outcome["kills"] for outcome in outcomes if outcome["step"] == step), f"{step}: never killed"
    assert [outcome for outcome in outcomes if outcome["finished"] != 0 or outcome["differs"]] == []


def test_the_same_kills_are_noticed_when_outputs_are_not_cut_back(tmp_path):
    outcomes = crash(tmp_path, [("after output", [5]), ("before output", [8])], "--no-truncation")
    assert all("predictions.jsonl" in outcome["differs"] for outcome in outcomes)


@pytest.mark.parametrize("step", STEPS)
def test_every_step_is_reached_by_the_first_kill(tmp_path, step):
    assert crash(tmp_path, [(step, [1])])[0]["kills"] == 1


@pytest.mark.parametrize("chunk", [60, 700, 1 << 18])
def test_from_every_snapshot_of_a_run_its_end_is_reached_byte_for_byte(tmp_path, monkeypatch, chunk):
    """Whatever the size of the reads before and after; also from the last one, where nothing is left to read."""
    monkeypatch.chdir(tmp_path)
    write_streams(tmp_path)
    settings = msgspec.structs.replace(config(), snapshot_records=1, keep_snapshots=100_000)
    monkeypatch.setattr(files, "_CHUNK", 200)
    monkeypatch.setattr(drift, "MEAN_OF", 5)
    monkeypatch.setattr(drift, "MEANS", 4)
    programs.run(settings, Console(quiet=True), emit=True, keep=True)
    expected = results(tmp_path)
    assert expected["drift.jsonl"]
    snapshots = {path.name: path.read_bytes() for path in (tmp_path / "snapshots").iterdir()}
    assert len(snapshots) > 50
    monkeypatch.setattr(files, "_CHUNK", chunk)
    for name, data in [*sorted(snapshots.items())[:: 1 + len(snapshots) // 40], max(snapshots.items())]:
        shutil.rmtree("snapshots")
        (tmp_path / "snapshots").mkdir()
        (tmp_path / "snapshots" / name).write_bytes(data)
        programs.run(settings, Console(quiet=True), emit=True, keep=True)
        assert results(tmp_path) == expected, f"from {name}"
