"""Data frames to columns and back: whatever narwhals reads, pandas and polars among it.

Law: a frame means what its rows mean as events; what comes back is of the caller's kind, under the caller's index.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import narwhals.stable.v2 as nw
import numpy as np
from numpy.typing import NDArray
from river.utils.dataframe import into_frame, to_native_frame, to_native_series

from streamnb.arrays import Floats
from streamnb.events import Columns
from streamnb.labels import Label, by_label


def columns(frame: Any) -> Columns:
    """Return a frame, or an array [event, feature] whose features are then named 0, 1, ..., as columns."""
    if isinstance(frame, np.ndarray):
        if frame.ndim != 2:
            raise ValueError(f"an array of events has the axes [event, feature]; got the shape {frame.shape}")
        return Columns(range(frame.shape[1]), [_plain(column) for column in frame.T], len(frame))
    table = nw.from_native(frame, eager_only=True)
    return Columns(table.columns, [_plain(column) for column in table.iter_columns()], len(table))


def _plain(column: Any) -> Sequence[Any] | NDArray[Any]:
    """Return a column of numbers as an array, any other as a list."""
    if isinstance(column, np.ndarray):
        return column if column.dtype.kind in "fiu" else column.tolist()
    if column.dtype.is_numeric() and not column.dtype.is_decimal() and not column.null_count():
        values = np.asarray(column.to_numpy())
        if values.dtype.kind in "fiu":
            return values
    listed: list[Any] = column.to_list()
    return listed


def probabilities(values: Floats, labels: Sequence[Label], like: Any) -> Any:
    """Return probabilities [event, class] as a frame like the caller's, with a column for each label.

    Frames other than pandas's name columns by strings: there the label's text stands for it.
    """
    frame = into_frame(like)
    if not labels:
        return frame.select([]).to_native()
    names = labels if frame.implementation.is_pandas_like() else [str(label) for label in labels]
    return to_native_frame(by_label(names, values.T), like=frame)


def series(values: Sequence[Any], like: Any) -> Any:
    """Return a value for each event as a series like the caller's frame.

    Where it cannot hold values of several types, as only pandas's can, their text stands for them.
    """
    frame = into_frame(like)
    if len(set(map(type, values))) > 1 and not frame.implementation.is_pandas_like():
        values = [str(value) for value in values]
    return to_native_series(values, name=None, like=frame)


def table(columns: Mapping[str, Sequence[Any]], backend: str | None) -> Any:
    """Return columns as a data frame: pandas's where it is installed, or else polars's, unless a backend is named.

    Raises ImportError, saying what to install, where there is none.
    """
    for name in ("pandas", "polars") if backend is None else (backend,):
        try:
            return nw.from_dict(dict(columns), backend=name).to_native()
        except ModuleNotFoundError:
            continue
    raise ImportError(f"a data frame needs {backend or 'pandas or polars'}: install it")
