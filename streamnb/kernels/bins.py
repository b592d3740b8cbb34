"""Bins: the interval that a number falls into, and the row that counts it.

Law: the bin of a number depends on that number alone (and on declared edges), so bins need no warm-up, and counts of
parts of a stream add up. Rows are numbered in the order of first sight.
"""

import math

from streamnb.arrays import AUTO, BINNED, EDGES, LIKELIHOOD, LOG_NORMAL, MIXED, Floats, Integers, compiled

_EACH_OCTAVE = 8  # bins from a number to its double
_OCTAVES = 1100  # between 1 and the least number that a double can be
_SPREAD = 0x9E3779B97F4A7C15 >> 1  # the golden ratio: Fibonacci hashing, as in Knuth's third volume


@compiled
def place_of(value: float) -> int:
    """Return the place of a number among the automatic bins: eight from a number to its double, one for zero."""
    if value == 0.0:
        return 0
    share, octave = math.frexp(abs(value))
    place = (octave + _OCTAVES) * _EACH_OCTAVE + int((share - 0.5) * 2.0 * _EACH_OCTAVE)
    return place if value > 0.0 else -place


@compiled
def bin_of(likelihoods: Floats, feature: int, value: float) -> int:
    """Return the bin of a number of a feature, as a code for both; see `Bins`."""
    if likelihoods.shape[1] > EDGES and not math.isnan(likelihoods[feature, EDGES]):
        place = 0
        for edge in range(EDGES, likelihoods.shape[1]):
            place += value >= likelihoods[feature, edge]
    else:
        place = place_of(value)
    return (feature << 16) + place + (1 << 15)


@compiled
def slot_of(index: Integers, keys: Integers, code: int) -> int:
    """Return the place in the index of a bin: where its row is noted, or would be."""
    mask = len(index) - 2  # the last place counts the rows
    slot = (code * _SPREAD >> 20) & mask
    while index[slot] > 0 and keys[index[slot] - 1] != code:
        slot = (slot + 1) & mask
    return slot


@compiled
def find_bin(index: Integers, keys: Integers, code: int) -> int:
    """Return the row of a bin, -1 for one never seen."""
    row: int = index[slot_of(index, keys, code)] - 1
    return row


@compiled
def add_bin(index: Integers, keys: Integers, distinct: Floats, code: int) -> int:
    """Return the row of a bin, a new one if need be, for which there is to be room."""
    slot = slot_of(index, keys, code)
    if index[slot] == 0:
        row = index[-1]
        index[slot] = row + 1
        index[-1] = row + 1
        keys[row] = code
        distinct[code >> 16] += 1.0
    found: int = index[slot] - 1
    return found


@compiled
def has_bins(likelihoods: Floats, feature: int) -> bool:
    """Tell whether a feature's numbers are counted by bins."""
    likelihood = likelihoods[feature, LIKELIHOOD]
    return bool(likelihood == MIXED) | bool(likelihood == BINNED) | bool(likelihood == AUTO)


@compiled
def has_logs(likelihoods: Floats, feature: int) -> bool:
    """Tell whether a feature has moments of the logarithms of its numbers."""
    likelihood = likelihoods[feature, LIKELIHOOD]
    return bool(likelihood == LOG_NORMAL) | bool(likelihood == AUTO)
