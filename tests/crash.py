"""A process that runs streams, kills itself at a named step with SIGKILL, and goes on: `python -m tests.crash FOLDER`.

It loads the product once and forks for every run, so that a kill costs milliseconds. It prints a line of JSON for each
case: its step, its count, whether the run was killed, and what differs at the end from a run that was never killed.
"""

import gzip
import json
import os
import random
import shutil
import signal
import sys
import traceback
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any, Self

import orjson
from rich.console import Console

from consumers import files, outputs, programs
from consumers.config import Config
from consumers.settings import check
from streamnb import drift

STEPS = (
    "before output",
    "after output",
    "inside a snapshot write",
    "between snapshot and rename",
    "after rename",
    "before an old snapshot is removed",
    "any line",
)


def write_streams(folder: Path) -> None:
    """Write files that hold all that a stream can hold: numbers, text, gaps, new classes, late labels, bad records."""
    generator = random.Random(7)
    lines = []
    for place in range(300):
        label = generator.choice(["a", "b", "c", 1, "1", True] if place > 150 else ["a", "b"])
        event = {"id": place, "n": generator.gauss(0, 1) + (label == "a"), "k": generator.choice("xyz"), "label": label}
        if place % 7 == 0:
            del event["label"]
        if place % 11 == 0:
            event["n"] = None
        if place % 13 == 0:
            event |= {"deep": {"er": place / 3}, f"new{place}": "v"}
        if place % 17 == 0:
            event["n"] = "no number"
        if place % 19 == 0:
            event["label"] = [1]
        lines.append(orjson.dumps(event))
        if place % 23 == 0:
            lines.append(generator.choice([b"{oops", b"[1]", b"\xff\xfe", b'{"n": NaN, "label": "a"}', b""]))
    text = b"\n".join(lines)
    (folder / "first.jsonl").write_bytes(text[: len(text) // 2])
    (folder / "second.jsonl.gz").write_bytes(gzip.compress(text[len(text) // 2 :])[:-9])
    header, labels = "n,k,label,id", ["a", "b", "a", "b", ""]
    rows = [f"{place / 7},{'xyz'[place % 3]},{labels[place % 5]},{place}" for place in range(100)]
    rows = [header, *rows, '8,"of two\nlines",,row', "1,2", '3,"x']
    (folder / "third.csv").write_text("\n".join(rows))
    quoted = [*rows[:40], '7,"two\nlines",a,', *rows[50:90], '8,"of two\nlines, cut",b,']
    (folder / "fourth.csv.gz").write_bytes(gzip.compress("\n".join(quoted).encode())[:-14])
    (folder / "fifth.jsonl").write_bytes(lines[1] + b"\n" * 2_000)
    late = [orjson.dumps({"id": place, "label": generator.choice(["a", 1, "late"])}) for place in range(299, 0, -3)]
    late += [generator.choice([b"{oops", b'{"id": 7}', b'{"id": 7, "label": [1]}', b'{"label": "a"}']) for _ in late]
    generator.shuffle(late)
    (folder / "late.jsonl").write_bytes(b"\n".join(late))
    late_rows = [f"{place},{'ab'[place % 2]}" for place in range(120)]
    (folder / "late.csv").write_text("\n".join(["id,label", "row,b", *late_rows[::-1], "4"]))


def config() -> Config:
    """Return settings under which a snapshot is due every few batches."""
    inputs = ("first.jsonl", "second.jsonl.gz", "third.csv", "fourth.csv.gz", "fifth.jsonl")
    decided = {"costs": ("a:b=3", "1:review=0.3"), "thresholds": ("b=0.2",), "abstain": 0.7}
    snapshots = {"snapshot_records": 25, "keep_snapshots": 2}
    late = {"labels": ("late.jsonl", "late.csv"), "max_waiting": 35, "tell_unmatched": True}
    return check({"inputs": inputs, "max_record_bytes": 2_000, "drift": "drift.jsonl", **snapshots, **decided, **late})


def run() -> None:
    """Run to the end, in small batches."""
    files._CHUNK = 700
    files._COMPRESSED_CHUNK = 300
    drift.MEAN_OF = 5
    drift.MEANS = 4
    programs.run(config(), Console(quiet=True), emit=True, keep=True)


def fork(work: Callable[[], None]) -> int:
    """Do some work in a child; return how it ended: 0, or minus the signal that killed it."""
    child = os.fork()
    if child == 0:
        status = 1
        try:
            work()
            status = 0
        except BaseException:  # noqa: BLE001 - told, and then the child ends
            traceback.print_exc()
        finally:
            os._exit(status)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


def kill_at(step: str, count: int) -> None:
    """Arrange for the process to kill itself when it comes to a step for the count-th time."""
    left = [count]

    def strike() -> None:
        left[0] -= 1
        if left[0] == 0:
            os.kill(os.getpid(), signal.SIGKILL)

    def around(owner: Any, name: str, *, before: bool) -> None:
        original = getattr(owner, name)

        def replacement(*arguments: Any, **named: Any) -> Any:
            if before:
                strike()
            result = original(*arguments, **named)
            if not before:
                strike()
            return result

        setattr(owner, name, replacement)

    def half_open(path: Path, *arguments: Any, **named: Any) -> Any:
        file = opened(path, *arguments, **named)
        left[0] -= path.name == "partial"
        return _HalfFile(file) if path.name == "partial" and left[0] == 0 else file

    def trace(frame: Any, event: str, _: object) -> Any:
        if not frame.f_code.co_filename.startswith(ours):
            return None
        if event == "line":
            strike()
        return trace

    opened = Path.open
    ours = tuple(str(Path(str(module.__file__)).parent) for module in (programs, sys.modules["streamnb"]))
    arrange: dict[str, Callable[[], object]] = {
        "before output": lambda: around(outputs.FileSink, "write", before=True),
        "after output": lambda: around(outputs.FileSink, "write", before=False),
        "inside a snapshot write": lambda: setattr(Path, "open", half_open),
        "between snapshot and rename": lambda: around(Path, "replace", before=True),
        "after rename": lambda: around(Path, "replace", before=False),
        "before an old snapshot is removed": lambda: around(Path, "unlink", before=True),
        "any line": lambda: sys.settrace(trace),
    }
    arrange[step]()


class _HalfFile:
    """A file whose first write stops half way, for ever."""

    def __init__(self, file: Any) -> None:
        self._file = file

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._file.close()

    def write(self, data: bytes) -> None:
        self._file.write(data[: len(data) // 2])
        self._file.flush()
        os.kill(os.getpid(), signal.SIGKILL)


def killed(step: str, count: int) -> None:
    """Run, and be killed at a step."""
    kill_at(step, count)
    run()


def results(folder: Path) -> dict[str, bytes]:
    """Return what a run left: predictions, dead letters, and the last snapshot."""
    last = max((folder / "snapshots").iterdir(), key=lambda path: path.name if path.name != "partial" else "")
    kept = [*(folder / f"{name}.jsonl" for name in ("predictions", "dead-letters", "drift")), last]
    return {path.name: path.read_bytes() for path in kept}


def main() -> None:
    """Run every case that standard input names, as JSON: [step, counts at which to kill, one after another]."""
    folder = Path(sys.argv[1])
    if "--no-truncation" in sys.argv:
        os.ftruncate = lambda *_: None  # type: ignore[assignment]

    def prepare(name: str) -> Path:
        place = folder / name
        shutil.rmtree(place, ignore_errors=True)
        place.mkdir(parents=True)
        write_streams(place)
        os.chdir(place)
        return place

    whole = prepare("whole")
    run()  # here, not in a child: it compiles what the children then share
    expected = results(whole)
    if not expected["drift.jsonl"]:
        raise SystemExit("no drift is found in the streams")
    for step, counts in json.load(sys.stdin):
        place = prepare("killed")
        ends = [fork(partial(killed, step, count)) for count in counts]
        finished = fork(run)
        left = results(place)
        differs = sorted(name for name in {*left, *expected} if left.get(name) != expected.get(name))
        kills = sum(end == -signal.SIGKILL for end in ends)
        print(json.dumps({"step": step, "counts": counts, "kills": kills, "finished": finished, "differs": differs}))


if __name__ == "__main__":
    main()
