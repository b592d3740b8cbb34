"""The README is run: each block does what it shows, and every command and setting stands in it."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from consumers.cli import cli
from tests.broker import read_all

ROOT = Path(__file__).resolve().parents[1]
README = (ROOT / "README.md").read_text(encoding="utf-8")
BLOCKS = re.findall(r"^```(\w+)\n(.*?)^```$", README, re.MULTILINE | re.DOTALL)
SHARE = r"0\.\d+"
SET_UP = [code for kind, code in BLOCKS if kind == "bash" and "-m venv" in code]
BROKER = "localhost:9092"
KAFKA = [code for kind, code in BLOCKS if kind == "bash" and BROKER in code]


def of_kind(kind: str) -> list[str]:
    """Return the blocks of a kind, less the two that set all up, by which checks are run, and those with a broker."""
    return [code for found, code in BLOCKS if found == kind and code not in SET_UP + KAFKA]


def environment() -> dict[str, str]:
    """Return an environment in which `python` and `streamnb` are those that run the tests."""
    return {**os.environ, "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}", "PYTHONPATH": str(ROOT)}


def run_bash(code: str, folder: Path) -> str:
    """Run a block and return what it printed; each of its commands has to succeed."""
    ran = subprocess.run(
        ["bash", "-euc", code], cwd=folder, env=environment(), capture_output=True, text=True, check=False
    )
    assert ran.returncode == 0, code + ran.stderr
    return ran.stdout


@pytest.mark.parametrize("code", of_kind("python"))
def test_the_python_runs(tmp_path, code):
    command = [sys.executable, "-W", "ignore::ResourceWarning", "-c", code]
    ran = subprocess.run(command, cwd=tmp_path, env=environment(), capture_output=True, text=True, check=False)
    assert (ran.returncode, ran.stderr) == (0, "")


def test_the_commands_run_one_after_another(tmp_path):
    for code in of_kind("bash"):
        run_bash(code, tmp_path)
    shown, written = of_kind("json")[0], (tmp_path / "predictions.jsonl").read_text().splitlines(keepends=True)[-1]
    assert re.sub(SHARE, "share", shown) == re.sub(SHARE, "share", written)
    shares = [list(map(float, re.findall(SHARE, line))) for line in (shown, written)]
    assert shares[0] == pytest.approx(shares[1])  # the last digits are the machine's


def test_the_commands_about_kafka_run_on_a_broker(tmp_path, kafka):
    """The stream is that of the demo; all of it is learned, and all of it answered."""
    run_bash("streamnb demo", tmp_path)
    (code,) = KAFKA
    shown = run_bash(code.replace(BROKER, kafka.address), tmp_path)
    assert "streamnb: 0 to read in 4 partitions\n" in shown
    assert "position: shuttle, partition 3, next offset " in shown
    assert len(read_all(kafka.address, "streamnb-predictions")) == 49_097


def test_two_commands_set_all_up():
    assert [code.count("\n") for code in SET_UP] == [1, 1]
    assert SET_UP[0].endswith("streamnb demo\n")
    assert SET_UP[1].endswith("-m pytest\n")


def test_every_kind_of_block_is_run():
    assert {kind for kind, _ in BLOCKS} == {"bash", "python", "json"}


@pytest.mark.parametrize("name", cli.commands)
def test_every_command_stands_in_it(name):
    assert f"| `streamnb {name}" in README


def test_every_module_stands_in_it():
    for path in sorted([*(ROOT / "streamnb").glob("*.py"), *(ROOT / "consumers").glob("*.py")]):
        if path.name != "__init__.py":
            assert path.name in README, f"{path.name} is not told of"


def test_every_module_and_client_of_kafka_has_its_row():
    """A row begins with a path from the top; the names that follow it are of the same folder."""
    rows = [
        re.findall(r"`([^`]+)`", row) for row in re.findall(r"^\| (`consumers/kafka/[^|]*) \|", README, re.MULTILINE)
    ]
    told = [
        first.rpartition("/")[0] + "/" + name for first, *more in rows for name in (first.rpartition("/")[2], *more)
    ]
    folder = ROOT / "consumers" / "kafka"
    paths = [path for path in folder.glob("*.py") if path.name != "__init__.py"]
    clients = [f"{path.parent.relative_to(ROOT)}/" for path in folder.glob("*/__init__.py")]
    assert sorted(told) == sorted([*(str(path.relative_to(ROOT)) for path in paths), *clients])
