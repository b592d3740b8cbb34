"""Bytes to events, and predictions and dead letters to bytes: JSON both ways.

Law: no record is lost; what cannot be read becomes a dead letter with its bytes and the reason.
"""

import base64
import csv
import json
from collections.abc import Iterable, Sequence
from typing import Any

import msgspec
import orjson

from consumers.records import NOT_AN_OBJECT, NOT_JSON, TOO_LARGE, Alarm, DeadLetter, Position, Prediction

_LINES = msgspec.json.Encoder()


def parse(
    records: list[bytes], offsets: list[int], limit: int
) -> tuple[list[dict[str, Any]], list[int], list[bytes], list[DeadLetter]]:
    """Return the events among some records, with their offsets and bytes, and the dead letters among them.

    >>> parse([b'{"a": 1}', b'[2]', b'{"b": NaN}'], [0, 10, 20], limit=100)[0]
    [{'a': 1}, {'b': nan}]
    """
    try:
        events = list(map(orjson.loads, records))
    except orjson.JSONDecodeError:
        events = []
    if len(events) == len(records) and set(map(type, events)) <= {dict} and max(map(len, records), default=0) <= limit:
        return events, offsets, records, []
    events, kept, raw, dead = [], [], [], []
    for record, offset in zip(records, offsets, strict=True):
        if not record or record.isspace():  # a blank line is no record
            continue
        read = parse_one(record, limit)
        if isinstance(read, dict):
            events.append(read)
            kept.append(offset)
            raw.append(record)
        else:
            dead.append(DeadLetter(offset, record[:limit], *read))
    return events, kept, raw, dead


def parse_one(record: bytes, limit: int) -> dict[str, Any] | tuple[str, str]:
    """Return the event that a record is, or the reason and the detail why it is none.

    What orjson refuses gets a second reading by Python's own, more lenient parser: NaN, Infinity and numbers beyond
    any float are not JSON, but programs write them.
    """
    if len(record) > limit:
        return TOO_LARGE, f"more than {limit} bytes"
    try:
        event = orjson.loads(record)
    except orjson.JSONDecodeError as error:
        try:
            event = json.loads(record.decode(), parse_int=_integer)
            orjson.dumps(event)  # refuses text that is not Unicode, which could not be written out again
        except (ValueError, TypeError, RecursionError):
            return NOT_JSON, str(error)
    return event if isinstance(event, dict) else (NOT_AN_OBJECT, f"a JSON {type(event).__name__}")


def _integer(text: str) -> int | float:
    """Return an integer of up to 64 bits as it is, a longer one as a float, as orjson does."""
    number = float(text)
    return int(text) if abs(number) < 2**63 else number


def named_cells(names: Iterable[str], cells: Sequence[str]) -> dict[str, Any]:
    """Return the event that cells of CSV are; empty ones are missing. ValueError unless there is one for each name."""
    return dict(zip(names, [cell or None for cell in cells], strict=True))


def parse_row(record: bytes, names: Sequence[str]) -> dict[str, Any]:
    r"""Return the event that a row of CSV is; ValueError for what is none.

    >>> parse_row(b'1,"a\nb",', ["x", "y", "z"])
    {'x': '1', 'y': 'a\nb', 'z': None}
    """
    csv.field_size_limit(max(csv.field_size_limit(), len(record)))  # it was let in once, so no cell is too large
    try:
        rows = list(csv.reader([line + "\n" for line in record.decode().split("\n")], strict=True))
    except csv.Error as error:
        raise ValueError(str(error)) from error
    return named_cells(names, rows[0] if len(rows) == 1 else [])


def prediction_lines(predictions: Sequence[Prediction]) -> bytes:
    """Return a line of JSON for each prediction."""
    return _LINES.encode_lines(predictions)


def alarm_line(alarm: Alarm) -> bytes:
    """Return a line of JSON for a drift."""
    return _LINES.encode(alarm) + b"\n"


def dead_letter_line(position: Position, letter: DeadLetter) -> bytes:
    """Return a line of JSON with the keys stream, partition, offset, reason, detail, and text or else base64."""
    try:
        content = {"text": letter.raw.decode()}
    except UnicodeDecodeError:
        content = {"base64": base64.b64encode(letter.raw).decode()}
    stream, partition, offset = letter.origin or (position.stream, position.partition, letter.offset)
    line = {
        "stream": stream,
        "partition": partition,
        "offset": offset,
        "reason": letter.reason,
        "detail": letter.detail,
        **content,
    }
    return orjson.dumps(line, option=orjson.OPT_APPEND_NEWLINE)
