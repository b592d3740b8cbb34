"""States in their topic: whole or not at all, whatever was cut, torn or compacted."""

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from consumers.kafka.client import Messages, Place
from consumers.kafka.state_topic import Assembler, journal_record, records_of

LIMIT = 1_100  # bytes of a message: chunks of a few dozen bytes
STATES = st.lists(
    st.builds(lambda byte, size: bytes([byte]) * size, st.integers(0, 255), st.integers(1, 400)), min_size=1
)


def written(states, application="app"):
    """Return the messages of states, one after another, and where each of them ends."""
    records, ends, last = [], [], None
    for data in states:
        last, some = records_of(application, data, last, LIMIT)
        records += some
        ends.append(len(records))
    return records, ends


def assembled(records, application="app"):
    """Return what an assembler makes of messages."""
    assembler = Assembler(application)
    keys, values = [key for key, _ in records], [value for _, value in records]
    count = len(records)
    assembler.feed(Messages(Place("state", 0), list(range(count)), values, keys, [0] * count, [], count))
    return assembler


def compacted(records, clean, tombstones=True):
    """Return messages as a broker leaves them that has compacted those before an offset."""
    last = {key: place for place, (key, _) in enumerate(records[:clean])}
    return [
        (key, value)
        for place, (key, value) in enumerate(records)
        if place >= clean or (last[key] == place and (value is not None or tombstones))
    ]


@given(STATES)
def test_the_newest_whole_state_comes_back_byte_for_byte(states):
    stored = assembled(written(states)[0]).newest()
    assert (stored.manifest.number, stored.data) == (len(states) - 1, states[-1])


@given(STATES, st.integers(0, 100), st.booleans())
def test_compaction_up_to_anywhere_changes_nothing(states, clean, tombstones):
    records, _ = written(states)
    stored = assembled(compacted(records, min(clean, len(records)), tombstones)).newest()
    assert stored == assembled(records).newest()
    assert stored.data == states[-1]


@given(STATES, st.data())
def test_a_state_that_is_cut_off_leaves_the_one_before_it(states, data):
    """Also where what came before it was compacted: its chunks are in another slot."""
    records, ends = written(states)
    cut = data.draw(st.integers(ends[0], ends[-1]))
    whole = max(place for place, end in enumerate(ends) if end <= cut)
    stored = assembled(compacted(records[:cut], data.draw(st.integers(0, cut)))).newest()
    assert (stored.manifest.number, stored.data) == (whole, states[whole])


@given(STATES, st.data())
def test_a_manifest_whose_chunks_are_not_all_there_is_ignored(states, data):
    records, ends = written(states)
    begin = ends[-2] if len(ends) > 1 else 0
    gone = data.draw(st.integers(begin, ends[-1] - 2))
    if records[gone][1] is None:
        return  # what is deleted is no part of the state
    assembler = assembled(records[:gone] + records[gone + 1 :])
    stored = assembler.newest()
    assert assembler.torn == 1
    assert (stored and stored.data) == (states[-2] if len(states) > 1 else None)


@given(STATES)
def test_chunks_of_a_smaller_state_leave_none_of_a_larger_one_behind(states):
    """What compaction keeps are the chunks of the last two states, and nothing else."""
    records, _ = written(states)
    kept = compacted(records, len(records), tombstones=False)
    sizes = [len(records_of("app", data, None, LIMIT)[1]) - 1 for data in states[-2:]]
    assert sum(b"/chunk/" in key for key, _ in kept) == sum(sizes)
    assert all(value is None or value for _, value in records)


def test_what_is_deleted_is_a_true_null():
    records, _ = written([b"x" * 400, b"y", b"z"])
    deleted = [(key, value) for key, value in records if not value]
    assert deleted
    assert all(key and value is None for key, value in deleted)


def test_states_of_other_applications_pass_by():
    mine, theirs = written([b"mine"])[0], written([b"theirs"], "application")[0]
    assert assembled(mine + theirs).newest().data == b"mine"
    assert assembled(mine + theirs, "application").newest().data == b"theirs"
    assert assembled(theirs).newest() is None


@pytest.mark.parametrize("stale", [0, 1, 2])
def test_the_journal_is_that_of_the_newest_state(stale):
    """Places are used again after each state: those of an older one do not count."""
    first, second = written([b"one", b"two"])[0][:2], written([b"one", b"two"])[0][2:]
    before = [journal_record("app", place, 0, [("events", 10 + place)]) for place in range(3)]
    after = [journal_record("app", place, 1, [("events", 20 + place), ("labels", place)]) for place in range(stale)]
    stored = assembled([*first, *before, *second, *after]).newest()
    assert stored.journal == [[("events", 20 + place), ("labels", place)] for place in range(stale)]


def test_every_message_is_within_the_limit():
    _, records = records_of("a" * 100, bytes(10_000), None, 5_000)
    assert all(len(key) + len(value) + 512 < 5_000 for key, value in records)
    assert len(records) == 4


def test_a_manifest_says_how_many_chunks_the_state_before_it_had():
    first, _ = records_of("app", b"x" * 300, None, LIMIT)
    second, records = records_of("app", b"y", first, LIMIT)
    assert second.before == first.chunks > 1
    assert msgspec.json.decode(records[-1][1])["before"] == first.chunks
