"""JSON Lines and CSV: lines to batches of events.

Law: every record of every file is, once, an event or a dead letter.
"""

import contextlib
import csv
import dataclasses
from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from consumers.errors import ConfigError, FileError
from consumers.files import STANDARD, CutShortError, check_input, is_device, is_same, read_lines
from consumers.formats import parse
from consumers.records import CUT_SHORT, NOT_CSV, TOO_LARGE, WRONG_CELLS, Batch, DeadLetter, Position

_BYTE_ORDER_MARK = b"\xef\xbb\xbf"


class FileSource:
    """Several files in order, or standard input, each a stream of one partition.

    Parameters
    ----------
    paths
        The files; "-" is standard input, which is always read from where it is.
    form
        "jsonl", "csv", or "auto" to go by the names of the files.
    limit
        How large a record may be, in bytes.
    """

    def __init__(self, paths: Sequence[str], form: str, limit: int) -> None:
        self._paths = paths
        self._form = form
        self._limit = limit

    def check(self, offsets: Mapping[tuple[str, int], int]) -> None:
        """Raise FileError unless each input can be read on from its offset; ConfigError for one that is given twice.

        Parameters
        ----------
        offsets
            Where to read on, by stream and partition.
        """
        seen: list[str] = []
        for path in self._paths:
            stream = _stream(path, [stream for stream, _ in offsets])
            check_input(path, offsets.get((stream, 0), 0))
            if path != STANDARD and is_csv(path, self._form) and not is_device(path):
                with contextlib.suppress(CutShortError):
                    _Table(path, 0, self._limit)
            if any(is_same(path, other) for other in seen):
                raise ConfigError(f"inputs names {path} twice: each file is read once")
            seen.append(path)

    def batches(self, positions: Sequence[Position]) -> Iterator[Batch]:
        """Yield the records of each file from its position on.

        A file that was read before under another spelling of its path keeps that as the name of its stream.

        Raises FileError for a file that cannot be used.
        """
        offsets = {position.stream: position.offset for position in positions}
        for path in self._paths:
            stream = _stream(path, list(offsets))
            offset = 0 if path == STANDARD else offsets.get(stream, 0)
            read = _csv_batches if is_csv(path, self._form) else _json_batches
            try:
                for batch in read(path, offset, self._limit):
                    yield dataclasses.replace(batch, position=batch.position._replace(stream=stream))
            except CutShortError as cut:
                letter = DeadLetter(cut.offset, cut.rest[: self._limit], CUT_SHORT, str(cut))
                # One byte beyond the end, where nothing can be: the cut has been told, and will not be told again.
                if cut.end >= offset:
                    yield Batch(Position(stream, 0, cut.end + 1), [], [], [], [letter])


def _stream(path: str, known: Sequence[str]) -> str:
    """Return the name of a file's stream: one that is known for it, or else its path."""
    return next((stream for stream in known if is_same(stream, path)), path)


def is_csv(path: str, form: str) -> bool:
    """Tell whether a file is read as CSV: by its name, unless the form is given."""
    name = path.lower().removesuffix(".gz").removesuffix(".zst")
    return form == "csv" or (form == "auto" and name.endswith(".csv"))


def _json_batches(path: str, offset: int, limit: int) -> Iterator[Batch]:
    """Yield the records of a file of JSON Lines."""
    for lines, offsets, end in read_lines(path, offset, limit):
        if offsets[:1] == [0]:
            lines[0] = lines[0].removeprefix(_BYTE_ORDER_MARK)
        events, kept, raw, dead = parse(lines, offsets, limit)
        yield Batch(Position(path, 0, end), events, kept, raw, dead)


class _Row(NamedTuple):
    """A record of CSV: its cells, or why it has none; its bytes; where it and the next one begin."""

    cells: list[str]
    problem: str
    raw: bytes
    offset: int
    end: int


class _Rows:
    """The records of a file of CSV, from an offset on; `waiting` tells whether lines are at hand for another."""

    def __init__(self, path: str, offset: int, limit: int) -> None:
        self._groups = read_lines(path, offset, limit)
        self._lines: deque[tuple[bytes, int, int]] = deque()
        self._taken: list[tuple[bytes, int, int]] = []
        csv.field_size_limit(limit)
        self._reader = csv.reader(self._text())

    @property
    def waiting(self) -> bool:
        return bool(self._lines)

    def __iter__(self) -> Iterator[_Row]:
        while True:
            self._taken.clear()
            cells, problem = [], ""
            try:
                cells = next(self._reader)
            except StopIteration:
                return
            except csv.Error as error:
                problem = str(error)
            except CutShortError as cut:
                if self._taken:  # a record of several lines, of which the last is cut
                    cut.rest = b"\n".join([*(line for line, _, _ in self._taken), cut.rest])
                    cut.offset = self._taken[0][1]
                raise
            raw = b"\n".join(line for line, _, _ in self._taken)
            yield _Row(cells, problem, raw, self._taken[0][1], self._taken[-1][2])

    def _text(self) -> Iterator[str]:
        for lines, offsets, end in self._groups:
            self._lines.extend(zip(lines, offsets, [*offsets[1:], end], strict=True))
            while self._lines:
                line = self._lines.popleft()
                self._taken.append(line)
                yield line[0].decode(errors="surrogateescape") + "\n"


class _Table:
    """A file of CSV from an offset on: its header, none where it is empty, and its rows."""

    def __init__(self, path: str, offset: int, limit: int) -> None:
        self.rows = _Rows(path, 0, limit)
        first = next(iter(self.rows), None)
        self.header = [] if first is None else _header(path, first)
        self.end = 0 if first is None else first.end
        if offset > self.end:
            self.rows = _Rows(path, offset, limit)


def _csv_batches(path: str, offset: int, limit: int) -> Iterator[Batch]:
    """Yield the records of a file of CSV; empty cells are missing."""
    table = _Table(path, offset, limit)
    rows, header = table.rows, table.header
    batch = Batch(Position(path, 0, table.end), [], [], [], cells=True)
    raw: list[bytes] = []
    for row in rows:
        if problem := _problem(row, len(header), limit):
            batch.dead.append(DeadLetter(row.offset, row.raw[:limit], *problem))
        elif row.cells:
            batch.events.append(dict(zip(header, [cell or None for cell in row.cells], strict=True)))
            batch.offsets.append(row.offset)
            raw.append(row.raw)
        if not rows.waiting:
            batch.position, batch.raw = Position(path, 0, row.end), raw
            yield batch
            batch, raw = Batch(batch.position, [], [], [], cells=True), []


def _header(path: str, row: _Row) -> list[str]:
    """Return the names of the columns; FileError if they are no names."""
    names = [name.removeprefix("\ufeff").strip() for name in row.cells]
    if row.problem or not names or "" in names or len(set(names)) < len(names):
        raise FileError(f"{path} cannot be read as CSV: its first line must name every column, each once")
    return names


def _problem(row: _Row, columns: int, limit: int) -> tuple[str, str] | None:
    """Return the reason and the detail why a row is no event; None for a row that is, or is blank."""
    if len(row.raw) > limit:
        return TOO_LARGE, f"more than {limit} bytes"
    if row.problem:
        return NOT_CSV, row.problem
    if row.cells and len(row.cells) != columns:
        return WRONG_CELLS, f"{len(row.cells)} cells, and the header has {columns}"
    return None
