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
from river.datasets import synth

FOLDER = Path(__file__).resolve().parents[2] / "shared" / "data"
REQUIRED = os.environ.get("STREAMNB_REQUIRE_SHARED") == "1"  # set where absent streams should fail, not skip

needs_streams = pytest.mark.skipif(
    not (FOLDER.is_dir() or REQUIRED), reason="the shared streams are not on this machine"
)


@functools.cache
def description(name: str) -> dict[str, Any]:
    """Return what is known of a stream: its columns, their types, its classes."""
    return json.loads((FOLDER / "datasets.json").read_text())[name]


def kinds(name: str) -> dict[str, str]:
    """Return the kinds to declare for a stream: its text, and its categorical columns, of which some hold digits."""
    columns = description(name)
    declared = {"c": "categorical", "t": "text"}
    return {
        column: declared[kind]
        for column, kind in zip(columns["cols"], columns["types"], strict=True)
        if kind in declared
    }


def read(name: str) -> Iterator[tuple[dict[str, Any], str]]:
    """Yield each event of a stream with its label."""
    columns = description(name)
    readers = [float if kind == "n" else str for kind in columns["types"]]
    with gzip.open(FOLDER / f"{name}.csv.gz", "rt", newline="") as file:
        rows = csv.reader(file)
        header = next(rows)
        if header != [*columns["cols"], "y"]:
            raise ValueError(f"{name} has the columns {header}")
        for *cells, label in rows:
            values = [read(cell) if cell else None for read, cell in zip(readers, cells, strict=True)]
            yield dict(zip(columns["cols"], values, strict=True)), label


def _agrawal() -> Iterator[tuple[dict[Any, Any], Any]]:
    for function in range(4):
        yield from synth.Agrawal(classification_function=function, seed=42 + function, perturbation=0.05).take(25_000)


def _sea() -> Iterator[tuple[dict[Any, Any], Any]]:
    for place, variant in enumerate((0, 3, 1, 2)):
        yield from synth.SEA(variant=variant, seed=42 + place, noise=0.1).take(25_000)


def _led() -> Iterator[tuple[dict[Any, Any], Any]]:
    settings = {"seed": 42, "noise_percentage": 0.1, "irrelevant_features": True}
    for stream in (synth.LED(**settings), synth.LEDDrift(**settings, n_drift_features=7)):
        yield from (({name: str(lit) for name, lit in event.items()}, label) for event, label in stream.take(50_000))


SYNTHETIC = {"led": _led, "sea": _sea, "agrawal": _agrawal}
"""Streams whose concept changes abruptly, 25,000 events each or twice 50,000."""


def synthetic_kinds(name: str) -> dict[Any, str]:
    """Return the kinds to declare for a synthetic stream: its codes that are numbers."""
    return dict.fromkeys(("elevel", "car", "zipcode"), "categorical") if name == "agrawal" else {}
