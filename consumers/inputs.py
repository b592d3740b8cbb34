"""JSON Lines and CSV: lines to batches of events.

Law: every record of every file is, once, an event or a dead letter.
"""

import contextlib
import csv
from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from consumers.errors import ConfigError, FileError
from consumers.files import STANDARD, CutShortError, check_input, is_device, is_same, read_lines
from consumers.formats import named_cells, parse
from consumers.records import CUT_SHORT, NOT_CSV, TOO_LARGE, TORN, WRONG_CELLS, Batch, DeadLetter, Position

_BYTE_ORDER_MARK = b"\xef\xbb\xbf"
_TORN = TORN, "its beginning was read, as a line of its own, when this was not there yet"


class FileSource:
    """Several files in order, or standard input, each a stream of one partition; then those of late labels.

    Parameters
    ----------
    paths
        The files; "-" is standard input, which is always read from where it is.
    form
        "jsonl", "csv", or "auto" to go by the names of the files.
    limit
        How large a record may be, in bytes.
    labels
        The files of late labels.
    """

    def __init__(self, paths: Sequence[str], form: str, limit: int, labels: Sequence[str] = ()) -> None:
        self._paths = (*paths, *labels)
        self._events = len(paths)
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
                who = "inputs names" if self._events == len(self._paths) else "inputs and labels name"
                raise ConfigError(f"{who} {path} twice: each file is read once")
            seen.append(path)

    def batches(self, positions: Sequence[Position]) -> Iterator[Batch]:
        """Yield the records of each file from its position on.

        A file that was read before under another spelling of its path keeps that as the name of its stream.

        Raises FileError for a file that cannot be used.
        """
        offsets = {position.stream: position.offset for position in positions}
        for place, path in enumerate(self._paths):
            stream, late = _stream(path, list(offsets)), place >= self._events
            offset = 0 if path == STANDARD else offsets.get(stream, 0)
            read = _csv_batches if is_csv(path, self._form) else _json_batches
            try:
                for batch in read(path, stream, offset, self._limit):
                    batch.late = late
                    yield batch
            except CutShortError as cut:
                letter = DeadLetter(cut.offset, cut.rest[: self._limit], CUT_SHORT, str(cut))
                # One byte beyond the end, where nothing can be: the cut has been told, and will not be told again.
                if cut.end >= offset:
                    yield Batch(Position(stream, 0, cut.end + 1), [], [], [], [letter], late=late)


def _stream(path: str, known: Sequence[str]) -> str:
    """Return the name of a file's stream: one that is known for it, or else its path."""
    return next((stream for stream in known if is_same(stream, path)), path)


def is_csv(path: str, form: str) -> bool:
    """Tell whether a file is read as CSV: by its name, unless the form is given."""
    name = path.lower().removesuffix(".gz").removesuffix(".zst")
    return form == "csv" or (form == "auto" and name.endswith(".csv"))


def _json_batches(path: str, stream: str, offset: int, limit: int) -> Iterator[Batch]:
    """Yield the records of a file of JSON Lines."""
    for lines, offsets, end, torn in read_lines(path, offset, limit):
        if offsets[:1] == [0]:
            lines[0] = lines[0].removeprefix(_BYTE_ORDER_MARK)
        rest = [DeadLetter(offsets.pop(0), lines.pop(0)[:limit], *_TORN)] if torn else []
        events, kept, raw, dead = parse(lines, offsets, limit)
        yield Batch(Position(stream, 0, end), events, kept, raw, rest + dead)


class _Row(NamedTuple):
    """A record of CSV: its cells, or reason and detail why it has none; its bytes; where it and the next one begin."""

    cells: list[str]
    problem: tuple[str, str] | None
    raw: bytes
    offset: int
    end: int


class _Line(NamedTuple):
    """A line of CSV, where it and the next one begin, and whether its beginning was read before."""

    raw: bytes
    offset: int
    end: int
    torn: bool


class _TooLongError(Exception):
    """A record of CSV goes on beyond the limit: most likely a quote that is not closed."""


class _IdleError(Exception):
    """Nothing comes, now, of a record of CSV that has begun, or of the next."""


class _Rows:
    """The records of a file of CSV, from an offset on; None while nothing comes.

    A record that is no CSV, or is too large, ends with its first line, so that an open quote does not take along the
    lines after it. `waiting` tells whether lines are at hand for another record.
    """

    def __init__(self, path: str, offset: int, limit: int) -> None:
        self._groups = read_lines(path, offset, limit)
        self._limit = limit
        self._lines: deque[_Line] = deque()
        self._taken: list[_Line] = []
        csv.field_size_limit(min(limit, 2**31 - 1))

    @property
    def waiting(self) -> bool:
        return bool(self._lines)

    def __iter__(self) -> Iterator[_Row | None]:
        reader = csv.reader(self._text(), strict=True)
        while True:
            self._taken.clear()
            try:
                row = self._row(next(reader), None)
            except StopIteration:
                return
            except _IdleError:
                self._put_back(0)
                row = None
            except (csv.Error, UnicodeDecodeError, _TooLongError) as error:
                self._put_back(1)
                row = self._row([], (NOT_CSV, str(error)))
            except CutShortError as cut:
                if self._taken:  # a record of several lines, of which the last is cut
                    cut.rest = b"\n".join([*(line.raw for line in self._taken), cut.rest])
                    cut.offset = self._taken[0].offset
                raise
            yield row
            if row is None or row.problem:
                reader = csv.reader(self._text(), strict=True)

    def _row(self, cells: list[str], problem: tuple[str, str] | None) -> _Row:
        """Return the record that was taken, with what is wrong with it."""
        if self._taken[0].torn:
            self._put_back(1)
            problem = _TORN
        raw = b"\n".join(line.raw for line in self._taken)
        if len(raw) > self._limit:
            problem = TOO_LARGE, f"more than {self._limit} bytes"
        return _Row(cells, problem, raw[: self._limit], self._taken[0].offset, self._taken[-1].end)

    def _put_back(self, keep: int) -> None:
        """Let the lines that were taken, but for the first few, come again."""
        self._lines.extendleft(reversed(self._taken[keep:]))
        del self._taken[keep:]

    def _text(self) -> Iterator[str]:
        while True:
            while not self._lines:
                group = next(self._groups, None)
                if group is None:
                    return
                if not group.lines:
                    raise _IdleError
                ends = [*group.offsets[1:], group.end]
                torn = [group.torn] + [False] * (len(ends) - 1)
                self._lines.extend(map(_Line, group.lines, group.offsets, ends, torn))
            if self._taken and sum(len(line.raw) + 1 for line in self._taken) > self._limit:
                raise _TooLongError(f"a quote is not closed within {self._limit} bytes")
            line = self._lines.popleft()
            self._taken.append(line)
            yield line.raw.decode() + "\n"


class _Table:
    """A file of CSV from an offset on: its header, none where it is empty, its rows, and where they begin."""

    def __init__(self, path: str, offset: int, limit: int) -> None:
        self.rows = _Rows(path, 0, limit)
        first = next(filter(None, self.rows), None)
        self.header = [] if first is None else _header(path, first)
        self.begin = 0 if first is None else first.end
        if offset > self.begin:
            self.rows, self.begin = _Rows(path, offset, limit), offset


def _csv_batches(path: str, stream: str, offset: int, limit: int) -> Iterator[Batch]:
    """Yield the records of a file of CSV; empty cells are missing."""
    table = _Table(path, offset, limit)
    rows, header = table.rows, table.header
    batch, end = _empty(stream, table.begin), table.begin
    try:
        for row in rows:
            if row is None:
                yield batch
                continue
            end = row.end
            if problem := row.problem or _problem(row, len(header)):
                batch.dead.append(DeadLetter(row.offset, row.raw, *problem))
            elif row.cells:
                batch.events.append(named_cells(header, row.cells))
                batch.offsets.append(row.offset)
                batch.raw.append(row.raw)
            if not rows.waiting:
                batch.position = Position(stream, 0, end)
                yield batch
                batch = _empty(stream, end)
    except CutShortError:
        batch.position = Position(stream, 0, end)
        yield batch  # what came before the record that is cut
        raise


def _empty(stream: str, end: int) -> Batch:
    return Batch(Position(stream, 0, end), [], [], [], cells=True)


def _header(path: str, row: _Row) -> list[str]:
    """Return the names of the columns; FileError if they are no names."""
    names = [name.removeprefix("\ufeff").strip() for name in row.cells]
    if row.problem or not names or "" in names or len(set(names)) < len(names):
        raise FileError(f"{path} cannot be read as CSV: its first line must name every column, each once")
    return names


def _problem(row: _Row, columns: int) -> tuple[str, str] | None:
    """Return the reason and the detail why a row is no event; None for a row that is, or is blank."""
    if row.cells and len(row.cells) != columns:
        return WRONG_CELLS, f"{len(row.cells)} cells, and the header has {columns}"
    return None
