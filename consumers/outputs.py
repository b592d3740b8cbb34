"""Files and standard output: lines out.

Law: an output holds exactly as many bytes as its length says.
"""

import os
import stat
import sys
from pathlib import Path

from consumers.errors import FileError
from consumers.files import STANDARD, check_name, is_device, sync_folder


class FileSink:
    """Lines appended to a file.

    Parameters
    ----------
    path
        The file, made where it is not.
    length
        How many of its bytes the last snapshot accounts for: what comes after them is cut off. None if no snapshot
        knows the file: then it must not hold anything.

    A pipe or a device is written to as it is.

    Raises FileError for a file that cannot be written to, or is shorter than its length.
    """

    def __init__(self, path: str, length: int | None) -> None:
        check_output(path, length)
        self.path = path
        try:
            self._new = not Path(path).exists()
            self._file = os.open(path, os.O_WRONLY | os.O_CREAT, 0o666)
            self._regular = stat.S_ISREG(os.fstat(self._file).st_mode)
            if self._regular:
                os.ftruncate(self._file, length or 0)
                os.lseek(self._file, 0, os.SEEK_END)
        except OSError as error:
            raise FileError(f"{path} cannot be written: {error.strerror}") from error
        self._length = os.fstat(self._file).st_size

    def write(self, lines: bytes) -> None:
        """Append lines."""
        _write(self._file, lines, self.path)
        self._length += len(lines)

    def flush(self) -> int:
        """Return how many bytes the file holds; each write has gone to the operating system."""
        return self._length

    def sync(self) -> None:
        """Return when what was written is safe on the disk."""
        if self._regular:
            os.fsync(self._file)
        if self._new:
            sync_folder(Path(self.path).parent)
            self._new = False

    def close(self) -> None:
        """Close the file."""
        os.close(self._file)


class StandardSink:
    """Lines written to standard output; what is out cannot be taken back, so a killed run may repeat some."""

    path = STANDARD

    def __init__(self) -> None:
        self._length = 0

    def write(self, lines: bytes) -> None:
        """Append lines."""
        _write(sys.__stdout__.fileno() if sys.__stdout__ else 1, lines, "standard output")
        self._length += len(lines)

    def flush(self) -> int:
        """Return how many bytes were written."""
        return self._length

    def sync(self) -> None:
        """Do nothing: a stream is no disk."""

    def close(self) -> None:
        """Do nothing: the stream is Python's to close."""


def _write(descriptor: int, lines: bytes, name: str) -> None:
    view = memoryview(lines)
    while view:
        try:
            view = view[os.write(descriptor, view) :]
        except BrokenPipeError:
            raise
        except OSError as error:
            raise FileError(f"{name} cannot be written: {error.strerror}") from error


def check_output(path: str, length: int | None) -> None:
    """Raise FileError unless a `FileSink` of this length can be opened, and change nothing."""
    check_name(path)
    file = Path(path)
    if not file.parent.is_dir():
        raise FileError(f"{path} cannot be written: there is no folder {file.parent}")
    if file.is_dir():
        raise FileError(f"{path} cannot be written: it is a folder")
    if not os.access(file if file.exists() else file.parent, os.W_OK):
        raise FileError(f"{path} cannot be written: permission denied")
    if is_device(path):
        return
    size = file.stat().st_size if file.exists() else 0
    if length is None and size > 0:
        raise FileError(
            f"{path} is there already, and no snapshot accounts for it: move it away, or name another file "
            "(--output, --dead-letters, --drift)"
        )
    if size < (length or 0):
        raise FileError(
            f"{path} has {size} bytes, and the last snapshot accounts for {length}: put the file back, "
            "or begin anew with another folder for snapshots and other outputs"
        )
