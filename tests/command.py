"""The command streamnb, run in this process or in one of its own."""

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

import msgspec
import orjson
import pytest

from consumers.cli import main
from consumers.records import Prediction


class Outcome(NamedTuple):
    """How a command ended, and what it said."""

    status: int
    out: str
    err: str


def streamnb(capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, *arguments: str) -> Outcome:
    """Run the command in this process, in the current folder."""
    monkeypatch.setattr(sys, "argv", ["streamnb", *arguments])
    status = 0
    try:
        main()
    except SystemExit as end:
        status = int(end.code or 0)
    return Outcome(status, *capfd.readouterr())


def naive(arguments: tuple[str, ...]) -> tuple[str, ...]:
    """Return a command line for plain naive Bayes, where another model would be made."""
    if arguments[0] in {"run", "train", "evaluate"} and "--model" not in arguments:
        return arguments[0], "--model", "naive", *arguments[1:]
    return arguments


def streamnb_process(folder: Path, *arguments: str, stdin: bytes = b"") -> Outcome:
    """Run the command in a process of its own, in a folder."""
    command = [sys.executable, "-m", "consumers.cli", *arguments]
    ran = subprocess.run(command, cwd=folder, input=stdin, capture_output=True, check=False)
    return Outcome(ran.returncode, ran.stdout.decode(), ran.stderr.decode())


@contextmanager
def streamnb_started(folder: Path, *arguments: str, **environment: str) -> Iterator[subprocess.Popen[str]]:
    """Run the command in a process of its own, in a folder, with more in its environment; it is killed at the end."""
    process = subprocess.Popen(
        [sys.executable, "-u", "-m", "consumers.cli", *arguments],
        cwd=folder,
        env={**os.environ, **environment},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    with process:
        try:
            yield process
        finally:
            process.kill()


def predictions(path: Path) -> list[Prediction]:
    """Return the predictions of a file, each checked against their schema."""
    return [msgspec.json.decode(line, type=Prediction) for line in path.read_bytes().splitlines()]


def json_lines(path: Path) -> list[dict]:
    """Return the objects of a file of JSON Lines."""
    return [orjson.loads(line) for line in path.read_bytes().splitlines()]
