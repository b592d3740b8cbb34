"""Snapshots in a folder: written whole or not at all, the last few kept, the newest good one found.

Law: a snapshot appears under its name only when it, and every output that it accounts for, is safe on the disk.
"""

import fcntl
import os
import re
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import TypeVar

from consumers.errors import FileError
from consumers.files import STANDARD, check_name, is_device, sync_folder
from consumers.outputs import check_output
from consumers.records import Sink
from streamnb.snapshot import DamagedSnapshotError, SnapshotError

_NAME = "{:020d}.snapshot"
_PATTERN = re.compile(r"\d{20}\.snapshot")
_PARTIAL = "partial"

_State = TypeVar("_State")


class SnapshotFolder:
    """Keeps snapshots in a folder, named by a number that grows.

    Parameters
    ----------
    path
        The folder.
    keep
        How many snapshots to keep.

    A snapshot is written by a thread of its own; one at a time, so that saving waits for the one before.
    """

    def __init__(self, path: str, keep: int) -> None:
        self._path = Path(path)
        self._keep = keep
        self._worker = ThreadPoolExecutor(1, "snapshot")
        self._writing: Future[None] | None = None
        self._locked: int | None = None
        self._used: Path | None = None

    def lock(self) -> None:
        """Keep other runs from the folder, if it is there, until `close` or the end of the process.

        Raises FileError if another run is going.
        """
        if self._locked is None and self._path.is_dir():
            self._locked = os.open(self._path, os.O_RDONLY)
            try:
                fcntl.flock(self._locked, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except OSError as error:
                raise FileError(f"another run is going on with the snapshots in {self._path}: stop it first") from error

    def make(self) -> None:
        """Make the folder where it is not, and lock it.

        Raises FileError.
        """
        try:
            self._path.mkdir(exist_ok=True)
            sync_folder(self._path.absolute().parent)
        except OSError as error:
            raise FileError(f"snapshots cannot be kept in {self._path}: {error.strerror}") from error
        self.lock()

    def newest(self, read: Callable[[bytes], _State], warn: Callable[[str], None]) -> _State | None:
        """Return what the newest good snapshot holds; None where there is none.

        Parameters
        ----------
        read
            Turns bytes into a state; raises DamagedSnapshotError for those that are damaged.
        warn
            Told of each damaged snapshot that was passed over.

        Raises FileError if there are snapshots and none is good: beginning anew over them would lose what they held.
        """
        damaged: list[str] = []
        for path in sorted(self._snapshots(), reverse=True):
            try:
                state = read(path.read_bytes())
            except DamagedSnapshotError as error:
                damaged.append(f"snapshot {path} is damaged: {error}")
            except SnapshotError as error:
                raise FileError(f"snapshot {path} cannot be used: {error}") from error
            except OSError as error:
                raise FileError(f"snapshot {path} cannot be read: {error.strerror}") from error
            else:
                for told in damaged:
                    warn(f"{told}; {path.name} is used instead")
                self._used = path
                return state
        if damaged:
            raise FileError(
                f"every snapshot in {self._path} is damaged: put a good one there, or begin anew with another folder"
            )
        return None

    def check(self) -> None:
        """Raise FileError unless snapshots can be written, and change nothing."""
        check_name(str(self._path))
        folder = self._path if self._path.exists() else self._path.absolute().parent
        if not folder.is_dir():
            raise FileError(f"snapshots cannot be kept in {self._path}: {folder} is not a folder")
        if not os.access(folder, os.W_OK):
            raise FileError(f"snapshots cannot be kept in {self._path}: permission denied")

    def save(self, number: int, data: bytes, sinks: Sequence[Sink]) -> None:
        """Begin to write a snapshot, once the one before is written; raises what went wrong with that."""
        self.wait()
        self._writing = self._worker.submit(self._write, self._path / _NAME.format(number), data, sinks)

    def close(self) -> None:
        """Return when every snapshot is written; raises what went wrong with the last."""
        self._worker.shutdown()
        if self._locked is not None:
            os.close(self._locked)
            self._locked = None
        self.wait()

    def wait(self) -> None:
        """Return when the last snapshot is written; raises what went wrong with it."""
        if self._writing is not None:
            self._writing.result()

    def _write(self, path: Path, data: bytes, sinks: Sequence[Sink]) -> None:
        try:
            for sink in sinks:
                sink.sync()
            _write_whole(path, self._path / _PARTIAL, data)
            older = sorted(old for old in self._snapshots() if old.name < path.name)
            for old in older[: max(len(older) + 1 - self._keep, 0)]:
                old.unlink()
        except OSError as error:
            raise FileError(f"snapshot {path} cannot be written: {error.strerror}") from error

    def replace(self, data: bytes) -> None:
        """Put a snapshot in the place of all that are there, under the name of the one that was found.

        The others go first: so whoever is killed on the way, and begins again, leaves none of them. Raises FileError.
        """
        try:
            written = _flushed(self._path / _PARTIAL, data)
            for old in self._snapshots():
                if old != self._used:
                    old.unlink()
            _rename(written, self._used or self._path / _NAME.format(0))
        except OSError as error:
            raise FileError(f"the snapshots in {self._path} cannot be replaced: {error.strerror}") from error

    def _snapshots(self) -> list[Path]:
        if not self._path.is_dir():
            return []
        return [path for path in self._path.iterdir() if _PATTERN.fullmatch(path.name)]


def read_snapshot(path: str, read: Callable[[bytes], _State], warn: Callable[[str], None]) -> _State:
    """Return what a snapshot holds: a file, or the newest good one of a folder; see `SnapshotFolder.newest`.

    Raises FileError.
    """
    check_name(path)
    if Path(path).is_dir():
        return _newest(path, SnapshotFolder(path, 1), read, warn)
    try:
        return read(Path(path).read_bytes())
    except OSError as error:
        raise FileError(f"snapshot {path} cannot be read: {error.strerror}") from error
    except SnapshotError as error:
        raise FileError(f"snapshot {path} cannot be used: {error}") from error


@contextmanager
def held_snapshot(
    path: str, read: Callable[[bytes], _State], warn: Callable[[str], None]
) -> Iterator[tuple[_State, Callable[[bytes], None]]]:
    """Keep runs from a snapshot, a file or a folder of them; yield what it holds, and what replaces it.

    In a folder it takes the place of all snapshots. Raises FileError, also if a run is going on with them.
    """
    check_name(path)
    if not Path(path).is_dir():
        yield read_snapshot(path, read, warn), partial(write_snapshot, path)
        return
    folder = SnapshotFolder(path, 1)
    try:
        folder.lock()
        yield _newest(path, folder, read, warn), folder.replace
    finally:
        folder.close()


def check_new_snapshot(path: str) -> None:
    """Raise FileError unless a snapshot can be written to a file, and nothing is lost by it."""
    if path == STANDARD or is_device(path):
        raise FileError(f"{path} cannot hold a snapshot: name a file (-o)")
    if Path(path).is_file() and Path(path).stat().st_size:
        raise FileError(f"{path} is there already: move it away, or name another file (-o)")
    check_output(path, None)


def write_snapshot(path: str, data: bytes) -> None:
    """Write a snapshot to a file, or to the one that a link leads to, whole or not at all.

    Raises FileError.
    """
    file = Path(os.path.realpath(path))
    try:
        _write_whole(file, Path(f"{file}.{_PARTIAL}"), data)
    except OSError as error:
        raise FileError(f"snapshot {path} cannot be written: {error.strerror}") from error


def _newest(path: str, folder: SnapshotFolder, read: Callable[[bytes], _State], warn: Callable[[str], None]) -> _State:
    found = folder.newest(read, warn)
    if found is None:
        raise FileError(f"there is no snapshot in the folder {path}")
    return found


def _write_whole(path: Path, under: Path, data: bytes) -> None:
    """Write a file under another name, and give it its own when all of it is safe on the disk."""
    _rename(_flushed(under, data), path)


def _flushed(path: Path, data: bytes) -> Path:
    with path.open("wb") as file:
        file.write(data)
        file.flush()
        os.fsync(file.fileno())
    return path


def _rename(path: Path, to: Path) -> None:
    path.replace(to)
    sync_folder(to.absolute().parent)
