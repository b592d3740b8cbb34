"""The real streams that accuracy is measured on: read where they are, since they are no part of the project.

Law: an event holds numbers as float, categories as text and missing cells as None, and comes in the order of its file.
"""

import csv
import functools
import gzip
import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

FOLDER = Path(__file__).resolve().parents[2] / "shared" / "data"
REQUIRED = os.environ.get("STREAMNB_REQUIRE_SHARED") == "1"  # set where absent streams should fail, not skip

needs_streams = pytest.mark.skipif(
    not (FOLDER.is_dir() or REQUIRED), reason="the shared streams are not on this machine"
)


@functools.cache
def description(name: str, folder: Path = FOLDER) -> dict[str, Any]:
    """Return what is known of a stream: its columns, their types, its classes."""
    return json.loads((folder / "datasets.json").read_text())[name]


def kinds(name: str) -> dict[str, str]:
    """Return the kinds to declare for a stream: its text, and its categorical columns, of which some hold digits."""
    columns = description(name)
    declared = {"c": "categorical", "t": "text"}
    return {
        column: declared[kind]
        for column, kind in zip(columns["cols"], columns["types"], strict=True)
        if kind in declared
    }


def read(name: str, folder: Path = FOLDER) -> Iterator[tuple[dict[str, Any], str]]:
    """Yield each event of a stream with its label."""
    columns = description(name, folder)
    readers = [float if kind == "n" else str for kind in columns["types"]]
    with gzip.open(folder / f"{name}.csv.gz", "rt", newline="") as file:
        rows = csv.reader(file)
        header = next(rows)
        if header != [*columns["cols"], "y"]:
            raise ValueError(f"{name} has the columns {header}")
        for *cells, label in rows:
            values = [read(cell) if cell else None for read, cell in zip(readers, cells, strict=True)]
            yield dict(zip(columns["cols"], values, strict=True)), label
