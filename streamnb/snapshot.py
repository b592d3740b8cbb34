"""State to bytes and back: a digest, a version, plain values as JSON, then raw arrays.

Law: what is loaded equals what was saved, bit for bit; a snapshot with any bit changed is refused; none can run code.

    bytes   what
    8       the magic b"streamnb"
    32      BLAKE2b of all that follows
    4       version of the format, little-endian; read as well are version 1, without priors, bags, clocks and bounds,
            and version 2, without calibration and no change among the measures, without decisions, drift and
            any model but naive Bayes
    8       length of the JSON, little-endian
    ...     JSON: {"state": plain values, "arrays": [[name, type, shape], ...]}
    ...     the arrays in that order, little-endian, in C order
"""

import hashlib
import math
import struct
from collections.abc import Mapping
from typing import Any

import numpy as np
import orjson
from numpy.typing import NDArray

from streamnb.adaptive_bayes import AdaptiveBayes
from streamnb.classifier import Classifier
from streamnb.drift import DriftDetector
from streamnb.measure import Measures
from streamnb.naive_bayes import NaiveBayes
from streamnb.settings import MissingTokenizerError
from streamnb.tokenizer import Tokenizer

VERSION = 3

_MAGIC = b"streamnb"
_DIGEST = 32
_HEAD = struct.Struct("<IQ")
_TYPES = ("<f8", "<i8")

_MODELS: dict[str, type[Classifier]] = {"naive": NaiveBayes, "adaptive": AdaptiveBayes}

Part = Classifier | Measures | DriftDetector
Parts = dict[str, Part]


class SnapshotError(Exception):
    """A snapshot that cannot be used; the message says why."""


class DamagedSnapshotError(SnapshotError):
    """A snapshot whose bytes are not those that were written."""


class NewerSnapshotError(SnapshotError):
    """A whole snapshot of a later format than this program reads."""


def save(model: Classifier) -> bytes:
    """Return a model as bytes. Raises TypeError for what is no model.

    >>> model = NaiveBayes()
    >>> model.learn_one({"word": "gold"}, "sell")
    >>> load(save(model)).predict_proba_one({"word": "gold"})
    {'sell': 1.0}
    """
    if not isinstance(model, Classifier):
        raise TypeError(f"a model can be saved, not {type(model).__name__}")
    return pack({}, {"model": model})


def load(data: bytes, tokenizer: Tokenizer | None = None) -> Classifier:
    """Return the model of a snapshot, whether `save` or the command streamnb wrote it.

    Parameters
    ----------
    tokenizer
        What text is cut by, where that is a function: functions are not saved.

    Raises SnapshotError for bytes that are damaged, of a newer format, no snapshot, or that lack their tokenizer;
    TypeError for what is no bytes.
    """
    if not isinstance(data, bytes):
        raise TypeError(f"a snapshot is bytes, not {type(data).__name__}: read the file first")
    model = unpack(data, tokenizer)[1].get("model")
    if not isinstance(model, Classifier):
        raise DamagedSnapshotError("it holds no model")
    return model


def pack(plain: Mapping[str, Any], parts: Mapping[str, Part]) -> bytes:
    """Return plain values, and a model, measures and a detector of drift by name, as bytes."""
    states = {name: part.to_state() for name, part in parts.items()}
    arrays = {f"{name}.{key}": array for name, (_, held) in states.items() for key, array in held.items()}
    text = orjson.dumps(
        {
            "state": {"plain": plain, **{name: state for name, (state, _) in states.items()}},
            "arrays": [[key, array.dtype.newbyteorder("<").str, array.shape] for key, array in arrays.items()],
        }
    )
    raw = [np.ascontiguousarray(array).astype(array.dtype.newbyteorder("<"), copy=False) for array in arrays.values()]
    body = b"".join([_HEAD.pack(VERSION, len(text)), text, *(array.tobytes() for array in raw)])
    return _MAGIC + _digest(body) + body


def unpack(data: bytes, tokenizer: Tokenizer | None = None) -> tuple[dict[str, Any], Parts]:
    """Return the plain values and the parts that `pack` was given; see `load`.

    Raises SnapshotError.
    """
    start = len(_MAGIC) + _DIGEST
    body = data[start:]
    if data[: len(_MAGIC)] != _MAGIC:
        raise DamagedSnapshotError("it does not begin as a snapshot does")
    if data[len(_MAGIC) : start] != _digest(body) or len(body) < _HEAD.size:
        raise DamagedSnapshotError("its checksum does not match its content")
    version, length = _HEAD.unpack_from(body)
    if version > VERSION:
        raise NewerSnapshotError(f"its format is version {version}, and this program reads up to {VERSION}")
    try:
        return _parts(body, length, tokenizer)
    except MissingTokenizerError as error:
        raise SnapshotError(str(error)) from error
    except Exception as error:
        raise DamagedSnapshotError(f"its content is not that of a snapshot ({error!r})") from error


def _parts(body: bytes, length: int, tokenizer: Tokenizer | None) -> tuple[dict[str, Any], Parts]:
    place = _HEAD.size + length
    content = orjson.loads(body[_HEAD.size : place])
    arrays: dict[str, dict[str, NDArray[Any]]] = {}
    for key, kind, shape in content["arrays"]:
        if kind not in _TYPES:
            raise ValueError(f"an array of type {kind}")
        size = math.prod(shape)
        array = np.frombuffer(body, kind, size, place).reshape(shape)
        part, _, name = key.partition(".")
        arrays.setdefault(part, {})[name] = array
        place += array.nbytes
    state = content["state"]
    parts: Parts = {}
    if "model" in state:
        kind = _MODELS[state["model"].get("model", "naive")]
        parts["model"] = kind.from_state(state["model"], arrays["model"], tokenizer)
    if "measures" in state:
        parts["measures"] = Measures.from_state(state["measures"], arrays["measures"])
    if "drift" in state:
        parts["drift"] = DriftDetector.from_state(state["drift"], arrays["drift"])
    return state["plain"], parts


def _digest(body: bytes) -> bytes:
    return hashlib.blake2b(body, digest_size=_DIGEST).digest()
