"""JSON Lines and CSV: lines to batches of events.

Law: every record of every file is, once, an event or a dead letter.
"""

import csv
from collections import deque
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from consumers.errors import FileError
from consumers.files import STANDARD, CutShortError, read_lines
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

    def batches(self, positions: Sequence[Position]) -> Iterator[Batch]:
        """Yield the records of each file from its position on.

        Raises FileError for a file that cannot be used.
        """
        offsets = {position.stream: position.offset for position in positions}
        for path in self._paths:
            offset = 0 if path == STANDARD else offsets.get(path, 0)
            read = _csv_batches if is_csv(path, self._form) else _json_batches
            try:
                yield from read(path, offset, self._limit)
            except CutShortError as cut:
                letter = DeadLetter(cut.offset, cut.rest[: self._limit], CUT_SHORT, str(cut))
                # One byte beyond the end, where nothing can be: the cut has been told, and will not be told again.
                if cut.end >= offset:
                    yield Batch(Position(path, 0, cut.end + 1), [], [], [], [letter])


def is_csv(path: str, form: str) -> bool:
    """Tell whether a file is read as CSV: by its name, unless the form is given."""
    return form == "csv" or (form == "auto" and path.removesuffix(".gz").removesuffix(".zst").endswith(".csv"))


def _json_batches(path: str, offset: int, limit: int) -> Iterator[Batch]:
    """Yield the records of a file of JSON Lines."""
    for lines, offsets, end in read_lines(path, offset, limit):
        if offsets[0] == 0:
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


def _csv_batches(path: str, offset: int, limit: int) -> Iterator[Batch]:
    """Yield the records of a file of CSV; empty cells are missing."""
    rows = _Rows(path, 0, limit)
    first = next(iter(rows), None)
    if first is None:
        return
    header = _header(path, first)
    if offset > first.end:
        rows = _Rows(path, offset, limit)
    batch = Batch(Position(path, 0, first.end), [], [], [], cells=True)
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
