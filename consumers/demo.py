"""The stream of `streamnb demo`: the Statlog (Shuttle) readings that river ships, as JSON Lines."""

from pathlib import Path

import orjson
from river.datasets import Shuttle

from consumers.errors import FileError


def write_stream(folder: str) -> str:
    """Write the stream into a folder, made if need be, and return its path.

    Raises FileError where it cannot be written.
    """
    path = Path(folder) / "shuttle.jsonl"
    lines = b"".join(orjson.dumps({**x, "anomaly": y}, option=orjson.OPT_APPEND_NEWLINE) for x, y in Shuttle())
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(lines)
    except OSError as error:
        raise FileError(f"{path} cannot be written: {error.strerror}") from error
    return str(path)
