"""Keys of messages, and the partition that a key belongs to.

Law: a key has the partition that Kafka's own clients give it, so that what is written here joins what others write.
"""

from collections.abc import Mapping
from typing import Any

import orjson

_MASK = 0xFFFFFFFF
_MULTIPLIER = 0x5BD1E995
_SEED = 0x9747B28C


def key_of(event: Mapping[str, Any], name: str) -> bytes | None:
    """Return the key that the value of a field makes, None where there is none; dots lead into nested objects.

    A string is its own key, a number or a boolean as JSON writes it.

    >>> key_of({"user": {"id": "ada"}}, "user.id"), key_of({"id": 7}, "id"), key_of({"id": None}, "id")
    (b'ada', b'7', None)
    """
    if name not in event:
        head, dot, rest = name.partition(".")
        inner = event.get(head) if dot else None
        return key_of(inner, rest) if isinstance(inner, dict) else None
    value = event[name]
    if value is None or isinstance(value, dict | list):
        return None
    return value.encode() if isinstance(value, str) else orjson.dumps(value)


def partition_of(key: bytes, partitions: int) -> int:
    """Return the number of the partition that a key belongs to, of so many.

    >>> [partition_of(key, 4) for key in (b"", b"a", b"21", b"foobar")]
    [1, 0, 0, 2]
    """
    return (_murmur2(key) & 0x7FFFFFFF) % partitions


def _murmur2(data: bytes) -> int:
    """Return the hash of Austin Appleby's MurmurHash2, with the seed that Kafka gives it."""
    whole = len(data) & ~3
    found = _SEED ^ len(data)
    for start in range(0, whole, 4):
        word = int.from_bytes(data[start : start + 4], "little") * _MULTIPLIER & _MASK
        word = (word ^ word >> 24) * _MULTIPLIER & _MASK
        found = found * _MULTIPLIER & _MASK ^ word
    if rest := data[whole:]:
        found = (found ^ int.from_bytes(rest, "little")) * _MULTIPLIER & _MASK
    found = (found ^ found >> 13) * _MULTIPLIER & _MASK
    return found ^ found >> 15
