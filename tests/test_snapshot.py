"""Snapshots: whole or refused, the same in any process, and never code."""

import hashlib
import json
import math
import pickle
import struct
import subprocess
import sys
from pathlib import Path

import numpy as np
import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from streamnb import Measures, NaiveBayes, load, save
from streamnb.snapshot import VERSION, DamagedSnapshotError, NewerSnapshotError, SnapshotError, pack, unpack
from tests.strategies import LABELS, learned, one_by_one, same, streams

ROOT = Path(__file__).resolve().parents[1]
HEAD = struct.Struct("<IQ")


def _small():
    model = NaiveBayes(kinds={"c": "categorical"})
    for event, label in [({"n": 1.5, "c": "x"}, "a"), ({"n": 2.5, "c": 7}, 1), ({"n": "bad", 3: -0.0}, "a")]:
        model.learn_one(event, label)
    return model


def _sealed(body):
    """Return the bytes of a snapshot with this body and the right digest for it."""
    return b"streamnb" + hashlib.blake2b(body, digest_size=32).digest() + body


def _opened(data):
    """Return what a snapshot holds: its version, the JSON and the bytes of the arrays."""
    version, length = HEAD.unpack_from(data, 40)
    return version, orjson.loads(data[52 : 52 + length]), data[52 + length :]


def _closed(content, raw, version=VERSION):
    text = orjson.dumps(content)
    return _sealed(HEAD.pack(version, len(text)) + text + raw)


def test_the_helpers_of_these_tests_open_and_close_what_save_wrote():
    version, content, raw = _opened(save(_small()))
    assert version == VERSION
    assert _closed(content, raw) == save(_small())


def test_a_snapshot_with_any_one_bit_changed_is_refused():
    data = save(_small())
    for place in range(len(data)):
        for bit in range(8):
            flipped = bytearray(data)
            flipped[place] ^= 1 << bit
            with pytest.raises(DamagedSnapshotError):
                load(bytes(flipped))


@given(streams, st.data())
def test_any_snapshot_with_any_one_bit_changed_is_refused(stream, data):
    flipped = bytearray(save(learned(NaiveBayes(), stream)))
    place = data.draw(st.integers(0, 8 * len(flipped) - 1))
    flipped[place // 8] ^= 1 << place % 8
    with pytest.raises(DamagedSnapshotError):
        load(bytes(flipped))


def test_a_snapshot_cut_at_any_length_is_refused():
    data = save(_small())
    for length in range(len(data)):
        with pytest.raises(DamagedSnapshotError):
            load(data[:length])


@pytest.mark.parametrize("tail", [b"\x00", b"\n", b"streamnb", b"\x00" * 1_000])
def test_a_snapshot_with_more_after_it_is_refused(tail):
    with pytest.raises(DamagedSnapshotError):
        load(save(_small()) + tail)


@pytest.mark.parametrize("data", [b"", b"streamnb", b"\x80\x04N.", pickle.dumps(NaiveBayes()), b"{}", b"\x00" * 100])
def test_what_is_no_snapshot_is_refused(data):
    with pytest.raises(DamagedSnapshotError):
        load(data)


@pytest.mark.parametrize("version", [VERSION + 1, 2**31, 2**32 - 1])
def test_a_snapshot_of_a_newer_format_is_told_from_a_damaged_one(version):
    _, content, raw = _opened(save(_small()))
    with pytest.raises(NewerSnapshotError, match=str(version)):
        load(_closed(content, raw, version))
    with pytest.raises(NewerSnapshotError):
        load(_sealed(HEAD.pack(version, 3) + b"what a later format holds"))
    assert issubclass(NewerSnapshotError, SnapshotError)
    assert issubclass(DamagedSnapshotError, SnapshotError)
    assert not issubclass(NewerSnapshotError, DamagedSnapshotError)


@given(streams)
def test_a_model_loaded_is_saved_as_the_same_bytes_and_holds_the_same_arrays(stream):
    model = learned(NaiveBayes(), stream)
    loaded = load(save(model))
    assert save(loaded) == save(model)
    (plain, arrays), (others, other_arrays) = model.to_state(), loaded.to_state()
    assert repr(plain) == repr(others)
    assert arrays.keys() == other_arrays.keys()
    for name, array in arrays.items():
        assert (array.dtype, array.shape, array.tobytes()) == (
            other_arrays[name].dtype,
            other_arrays[name].shape,
            other_arrays[name].tobytes(),
        )


def test_types_of_labels_names_and_values_survive():
    model = NaiveBayes(kinds={5: "categorical", "5": "numeric"})
    values = ["1", 1, True, 0.5, 1e100, 2**62, "", "é\x00👍", False, 0]
    for place, value in enumerate(values):
        model.learn_one({5: value, "5": place / 3, "a.b": -0.0}, LABELS[place % len(LABELS)])
    loaded = load(save(model))
    assert repr(loaded.classes) == repr(model.classes) == repr(LABELS)
    assert repr(loaded.schema()) == repr(model.schema())
    assert repr(loaded.statistics.vocabulary.values) == repr(values)
    assert loaded.kinds == model.kinds
    for value in [*values, "2", 2]:
        row = model.test_then_train([{5: value}], [None])
        assert loaded.test_then_train([{5: value}], [None]).tobytes() == row.tobytes()


@pytest.mark.parametrize(
    "settings",
    [
        {"smoothing": 0, "variance_prior": 0, "unbiased": True, "prior_smoothing": 0.1},
        {"smoothing": 1e-12, "variance_prior": 1e12, "kinds": {}},
        {"kinds": {"b": "numeric", "a": "categorical", 3: "numeric"}},
    ],
)
def test_settings_survive(settings):
    model = NaiveBayes(**settings)
    loaded = load(save(model))
    assert loaded._get_params() == model._get_params()
    assert save(loaded) == save(model)


def test_a_model_that_has_learned_nothing_is_saved_and_loaded():
    loaded = load(save(NaiveBayes()))
    assert (loaded.classes, loaded.schema(), loaded.learned, loaded.predict_one({"v": 1})) == ([], {}, 0, None)
    loaded.learn_one({"v": 1}, "a")
    assert loaded.predict_one({"v": 1}) == "a"


def test_the_size_depends_on_the_tables_and_not_on_the_number_of_events():
    sizes = []
    for events in (1_000, 100_000):
        model = NaiveBayes()
        model.learn_many(
            [{"v": float(i % 9), "k": "abc"[i % 3]} for i in range(events)], [i % 2 for i in range(events)]
        )
        sizes.append(len(save(model)))
    assert sizes[0] == sizes[1]


def test_what_was_loaded_does_not_write_into_the_bytes_it_came_from():
    data = bytearray(save(_small()))
    kept = bytes(data)
    model = load(bytes(data))
    model.learn_one({"n": 9.0, "c": "x"}, "a")
    assert data == kept
    assert save(load(kept)) == kept


_FRESH = """
import json, sys
import streamnb
data, events = sys.stdin.buffer.read().split(b"\\n--\\n")
model = streamnb.load(bytes.fromhex(data.decode()))
answers = [model.test_then_train([event], [None])[0].tolist() for event in json.loads(events)]
model.learn_one({"n": 4.25, "c": "new"}, "late")
print(json.dumps([[value.hex() for value in row] for row in answers]))
print(streamnb.save(model).hex())
"""


def test_a_fresh_process_answers_and_learns_on_the_same():
    model = _small()
    events = [{"n": 1.7, "c": "x"}, {"c": 7}, {"c": "never seen", "n": None}, {}]
    answers = [[value.hex() for value in model.test_then_train([event], [None])[0].tolist()] for event in events]
    sent = save(model).hex().encode() + b"\n--\n" + json.dumps(events).encode()
    done = subprocess.run([sys.executable, "-c", _FRESH], input=sent, capture_output=True, check=True, cwd=ROOT)
    given_answers, again = done.stdout.decode().split()[:-1], done.stdout.decode().split()[-1]
    assert json.loads("".join(given_answers)) == answers
    model.learn_one({"n": 4.25, "c": "new"}, "late")
    assert save(model).hex() == again


@given(streams, streams)
def test_plain_values_and_measures_travel_beside_the_model(stream, more):
    model, measures = learned(NaiveBayes(), stream), Measures()
    rows = model.test_then_train([event for event, _ in more], [label for _, label in more])
    measures.update(rows, model.classes, [label for _, label in more])
    plain = {"positions": [["in.jsonl", 0, 2**40]], "note": "é", "nested": {"a": [None, True, 1.5]}}
    data = pack(plain, {"model": model, "measures": measures})
    held, parts = unpack(data)
    assert held == plain
    assert pack(held, parts) == data
    assert same(parts["model"], model)
    assert same(load(data), model)
    assert one_by_one(load(data), stream) == one_by_one(model, stream)


def test_a_snapshot_without_a_model_is_no_snapshot_to_load():
    with pytest.raises(DamagedSnapshotError, match="no model"):
        load(pack({}, {"measures": Measures()}))


# Snapshots of a stranger: their digest is right, their content is not. They fail to load, in one way, and run nothing.

scraps = st.recursive(
    st.one_of(
        st.none(),
        st.booleans(),
        st.sampled_from(
            [0, 1, -1, 2**31, 2**62, 2**63, 2**64 - 1, 0.5, 1e12, "", "a", "model.weights", "<f8", "|O", "<i8"]
        ),
    ),
    lambda inner: st.one_of(
        st.lists(inner, max_size=3),
        st.dictionaries(st.sampled_from(["model", "plain", "classes", "a"]), inner, max_size=3),
    ),
    max_leaves=6,
)


def _places(value, path=()):
    yield path
    for key, inner in value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ():
        yield from _places(inner, (*path, key))


def _replaced(value, path, scrap):
    if not path:
        return scrap
    copied = dict(value) if isinstance(value, dict) else list(value)
    copied[path[0]] = _replaced(value[path[0]], path[1:], scrap)
    return copied


def _without(value, path):
    copied = dict(value) if isinstance(value, dict) else list(value)
    if len(path) == 1:
        del copied[path[0]]
    else:
        copied[path[0]] = _without(value[path[0]], path[1:])
    return copied


def _refused_or_whole(data):
    """Hold that bytes are refused as damaged, or make a model that can be used."""
    try:
        model = load(data, tokenizer=str.split)
    except DamagedSnapshotError:
        return
    assert isinstance(model, NaiveBayes)


_, CONTENT, RAW = _opened(save(_small()))
PLACES = list(_places(CONTENT))


@pytest.mark.parametrize(
    "scrap",
    [None, True, 0, -1, 2**62, 2**64 - 1, 0.5, 1e12, "", "ab", [], [None], [[]], ["a", "b"], {}, {"a": {}}],
    ids=repr,
)
def test_a_strangers_snapshot_with_anything_anywhere_in_it_is_refused_in_one_way(scrap):
    for path in PLACES:
        _refused_or_whole(_closed(_replaced(CONTENT, path, scrap), RAW))


def test_a_strangers_snapshot_that_lacks_anything_is_refused_in_one_way():
    for path in PLACES[1:]:
        _refused_or_whole(_closed(_without(CONTENT, path), RAW))


@given(st.lists(st.tuples(st.sampled_from(PLACES), scraps), min_size=1, max_size=3), st.binary(max_size=64))
def test_a_strangers_snapshot_with_any_content_is_refused_in_one_way(changes, tail):
    content = CONTENT
    for path, scrap in changes:
        if path in set(_places(content)):
            content = _replaced(content, path, scrap)
    _refused_or_whole(_closed(content, RAW + tail))
    _refused_or_whole(_closed(content, RAW[: len(RAW) - len(tail)]))


@given(scraps, st.binary(max_size=100))
def test_a_strangers_json_of_any_kind_is_refused_in_one_way(content, raw):
    _refused_or_whole(_closed(content, raw))


@given(st.binary(max_size=200))
def test_a_strangers_bytes_of_any_kind_are_refused(body):
    with pytest.raises(SnapshotError):
        load(_sealed(body))


@given(st.one_of(st.integers(0, 400), st.integers(0, 2**64 - 1)))
def test_a_strangers_length_of_the_json_is_refused_in_one_way(length):
    text = orjson.dumps(CONTENT)
    data = _sealed(HEAD.pack(VERSION, length) + text + RAW)
    if length == len(text):
        assert same(load(data), _small())
    else:
        with pytest.raises(DamagedSnapshotError):
            load(data)


@pytest.mark.parametrize("kind", ["|O", "O", "<U8", "|V8", "<M8[s]", "<f4", ">f8", "<c16", "f8", "object"])
def test_arrays_hold_doubles_and_integers_alone(kind):
    for path in PLACES:
        if path[:1] == ("arrays",) and path[2:] == (1,):
            with pytest.raises(DamagedSnapshotError):
                load(_closed(_replaced(CONTENT, path, kind), RAW))


@pytest.mark.parametrize(
    "shape", [[2**62, 4], [2**40], [-8, -1], [2**63], [0, 2**62], [1] * 100, [1.0], ["3"]], ids=repr
)
def test_arrays_of_impossible_shapes_are_refused(shape):
    for path in PLACES:
        if path[:1] == ("arrays",) and path[2:] == (2,):
            with pytest.raises(DamagedSnapshotError):
                load(_closed(_replaced(CONTENT, path, shape), RAW))


def test_json_nested_without_end_is_refused():
    deep = b"[" * 100_000 + b"]" * 100_000
    with pytest.raises(DamagedSnapshotError):
        load(_sealed(HEAD.pack(VERSION, len(deep)) + deep))


def test_numbers_that_are_no_numbers_survive_in_the_arrays_of_measures():
    """A state is bits: nothing is made of them on the way."""
    measures = Measures()
    measures.update(np.array([[0.0, 1.0]]), ["a", "b"], ["a"])
    measures._sums[0] = -0.0
    restored = unpack(pack({}, {"measures": measures}))[1]["measures"]
    assert math.copysign(1, restored._sums[0]) == -1.0


def test_only_a_model_can_be_saved_and_only_bytes_be_loaded():
    with pytest.raises(TypeError, match="not Measures"):
        save(Measures())
    with pytest.raises(TypeError, match="not str: read the file first"):
        load("model.snapshot")
