"""Files and standard input: bytes, plain or compressed, cut into lines; and what is to be known of paths.

Law: offsets count the bytes of the uncompressed content, and the lines do not tell how large the reads were.
"""

import os
import select
import sys
import zlib
from collections.abc import Callable, Iterator
from itertools import accumulate, repeat
from operator import add
from pathlib import Path
from typing import BinaryIO, NamedTuple, Protocol

import zstandard

from consumers.errors import FileError

STANDARD = "-"
"""The name of standard input and output."""

_CHUNK = 1 << 18  # bytes read at a time: some thousand events, a few milliseconds of work
_PATIENCE = 1.0  # seconds to wait for standard input before something else may be done
_COMPRESSED_CHUNK = 1 << 10  # may grow thirty-thousandfold


class CutShortError(Exception):
    """Compressed content that ends where it should not.

    `rest` is the unfinished line at its end, which begins at `offset`; `end` is where the content ends.
    """

    rest = b""
    offset = 0
    end = 0


class Lines(NamedTuple):
    """Whole lines without their ends, where each begins, and where the next one will.

    `torn` tells that the first of them is the rest of a line whose beginning was read when it had no end yet.
    """

    lines: list[bytes]
    offsets: list[int]
    end: int
    torn: bool = False


def read_lines(path: str, offset: int, limit: int) -> Iterator[Lines]:
    """Yield the lines of a file, or of standard input, from an offset on, as they come.

    A line over the limit, in bytes, is cut off after the first byte too many. The last line needs no end. While nothing
    comes on standard input there are, now and then, no lines.

    Raises FileError for a file that cannot be read or ends before the offset, CutShortError at the end of content that
    was cut short.
    """
    rest, lost, torn = b"", 0, False
    before = offset > 0  # is the byte before the offset still to come, which tells whether a line begins there?
    try:
        for chunk in _content(path, offset - before):
            idle = not chunk
            if before and chunk:
                torn, chunk, before = chunk[:1] != b"\n", chunk[1:], False  # noqa: PLW2901 - what is to be read
            if len(rest) > limit:  # in the middle of a line too long to keep
                head, found, chunk = chunk.partition(b"\n")  # noqa: PLW2901 - what is to be read
                lost += len(head)
                if not found:
                    continue
                end = offset + len(rest) + lost + 1
                yield Lines([rest], [offset], end, torn)
                rest, lost, offset, torn = b"", 0, end, False
            lines = (rest + chunk).split(b"\n")
            rest = lines.pop()
            if lines or idle:
                offsets = list(accumulate(map(add, map(len, lines), repeat(1)), initial=offset))
                offset = offsets.pop()
                yield Lines(lines, offsets, offset, torn and bool(lines))
                torn = torn and not lines
            lost = max(len(rest) - limit - 1, 0)
            rest = rest[: limit + 1]
    except CutShortError as cut:
        cut.rest, cut.offset, cut.end = rest, offset, offset - before + len(rest) + lost
        raise
    if rest:
        yield Lines([rest], [offset], offset + len(rest) + lost, torn)


def _content(path: str, offset: int) -> Iterator[bytes]:
    """Yield the uncompressed content of a file from an offset on; of a pipe, what comes."""
    try:
        if path == STANDARD:
            yield from _patiently(sys.__stdin__.fileno() if sys.__stdin__ else 0)
            return
        with Path(path).open("rb", buffering=0) as file:
            if path.endswith(".gz"):
                chunks = _decompressed(file, lambda: zlib.decompressobj(zlib.MAX_WBITS | 16))
            elif path.endswith(".zst"):
                chunks = _decompressed(file, lambda: zstandard.ZstdDecompressor().decompressobj())
            elif is_device(path):
                chunks, offset = _patiently(file.fileno()), 0
            else:
                offset -= file.seek(min(offset, file.seek(0, os.SEEK_END)))
                chunks = iter(lambda: file.read(_CHUNK), b"")
            for chunk in chunks:
                if len(chunk) > offset:
                    yield chunk[offset:] if offset else chunk
                offset = max(offset - len(chunk), 0)
    except CutShortError:
        if not offset:
            raise
    except OSError as error:
        raise FileError(f"{path} cannot be read: {error.strerror}") from error
    if offset:
        raise _shorter(path, offset)


def _patiently(descriptor: int) -> Iterator[bytes]:
    """Yield what comes through a pipe, without waiting for more; nothing, now and then, while nothing comes."""
    while True:
        ready, _, _ = select.select([descriptor], [], [], _PATIENCE)
        if not ready:
            yield b""
            continue
        chunk = os.read(descriptor, _CHUNK)
        if not chunk:
            return
        yield chunk


class _Decompressor(Protocol):
    @property
    def eof(self) -> bool: ...

    @property
    def unused_data(self) -> bytes: ...

    def decompress(self, data: bytes, /) -> bytes: ...


def _decompressed(file: BinaryIO, begin: Callable[[], _Decompressor]) -> Iterator[bytes]:
    """Yield the content of a file of one or more compressed frames."""
    frame = None
    while data := file.read(_COMPRESSED_CHUNK):
        while data := data if frame else data.lstrip(b"\0"):  # zeros may fill up the space between frames
            frame = frame or begin()
            try:
                content = frame.decompress(data)
            except (zlib.error, zstandard.ZstdError) as error:
                raise CutShortError(str(error)) from error
            for start in range(0, len(content), _CHUNK):
                yield content[start : start + _CHUNK]
            data = frame.unused_data if frame.eof else b""
            frame = None if frame.eof else frame
    if frame is not None:
        raise CutShortError("the compressed content has no end")


def sync_folder(path: Path) -> None:
    """Return when a folder's list of names is safe on the disk."""
    folder = os.open(path, os.O_RDONLY)
    try:
        os.fsync(folder)
    finally:
        os.close(folder)


def check_input(path: str, offset: int) -> None:
    """Raise FileError unless a file can be read from an offset on; of a compressed one, only unless it can be read."""
    check_name(path)
    if path == STANDARD or is_device(path):
        return
    try:
        with Path(path).open("rb") as file:
            size = offset if _is_compressed(path) else file.seek(0, os.SEEK_END)
    except OSError as error:
        raise FileError(f"{path} cannot be read: {error.strerror}") from error
    if size < offset:
        raise _shorter(path, offset - size)


def is_device(path: str) -> bool:
    """Tell whether a path is there and neither a file nor a folder: a pipe, a device."""
    return Path(path).exists() and not Path(path).is_file() and not Path(path).is_dir()


def is_same(path: str, other: str) -> bool:
    """Tell whether two paths lead to one file; standard input and output are each their own."""
    return path == other or (STANDARD not in {path, other} and os.path.realpath(path) == os.path.realpath(other))


def _is_compressed(path: str) -> bool:
    return path.endswith((".gz", ".zst"))


def _shorter(path: str, missing: int) -> FileError:
    return FileError(
        f"{path} is {missing} bytes shorter than where the last run stopped reading it: "
        "give the file that was read then, or begin anew with another folder for snapshots and other outputs"
    )


def check_name(path: str) -> None:
    """Raise FileError for a path that the system cannot take, or that no snapshot could hold."""
    if "\0" in path:
        raise FileError(f"{path!a:.80} cannot be used: no name has a zero in it")
    try:
        path.encode()
        Path(path).exists()
    except UnicodeEncodeError as error:
        raise FileError(f"{path!a} cannot be used: its name is not UTF-8; give it another, or link to it") from error
    except (OSError, ValueError) as error:
        raise FileError(f"{path!a:.80} cannot be used: {getattr(error, 'strerror', None) or error}") from error
