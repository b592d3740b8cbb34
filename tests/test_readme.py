"""The README is run: each block does what it shows, and every command and setting stands in it."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from consumers.cli import cli

ROOT = Path(__file__).resolve().parents[1]
README = (ROOT / "README.md").read_text(encoding="utf-8")
BLOCKS = re.findall(r"^```(\w+)\n(.*?)^```$", README, re.MULTILINE | re.DOTALL)
SHARE = r"0\.\d+"
SET_UP = [code for kind, code in BLOCKS if kind == "bash" and "-m venv" in code]


def of_kind(kind: str) -> list[str]:
    """Return the blocks of a kind, less the two that set all up, which are what the checks themselves are run by."""
    return [code for found, code in BLOCKS if found == kind and code not in SET_UP]


def environment() -> dict[str, str]:
    """Return an environment in which `python` and `streamnb` are those that run the tests."""
    return {**os.environ, "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}", "PYTHONPATH": str(ROOT)}


@pytest.mark.parametrize("code", of_kind("python"))
def test_the_python_runs(tmp_path, code):
    command = [sys.executable, "-W", "ignore::ResourceWarning", "-c", code]
    ran = subprocess.run(command, cwd=tmp_path, env=environment(), capture_output=True, text=True, check=False)
    assert (ran.returncode, ran.stderr) == (0, "")


def test_the_commands_run_one_after_another(tmp_path):
    for code in of_kind("bash"):
        ran = subprocess.run(
            ["bash", "-euc", code], cwd=tmp_path, env=environment(), capture_output=True, text=True, check=False
        )
        assert ran.returncode == 0, code + ran.stderr
    shown, written = of_kind("json")[0], (tmp_path / "predictions.jsonl").read_text().splitlines(keepends=True)[-1]
    assert re.sub(SHARE, "share", shown) == re.sub(SHARE, "share", written)
    shares = [list(map(float, re.findall(SHARE, line))) for line in (shown, written)]
    assert shares[0] == pytest.approx(shares[1])  # the last digits are the machine's


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
