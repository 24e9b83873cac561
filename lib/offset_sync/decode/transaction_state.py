"""Records of ``__transaction_state``: what the coordinator of a transaction knows of it.

``TransactionLogKey.json`` and ``TransactionLogValue.json`` of Kafka 4.3, big-endian::

    key    version (int16, 0), transactional id (string)
    value  version (int16, 0 or 1), producer id (int64), epoch (int16), timeout (int32), status (int8),
           array of topics (string, array of int32), or null; last update and start (int64, ms)
           version 1: compact strings and arrays, tagged fields after each struct
"""

from __future__ import annotations

from dataclasses import dataclass

from offset_sync.decode.cursor import Cursor, to_text

_KEY_VERSION, _FLEXIBLE = 0, 1
_INT8, _INT16, _INT32, _INT64 = 1, 2, 4, 8
_OPEN = (1, 2, 3)
"""Ongoing, and the two in which it is decided but its partitions do not have their markers yet."""


@dataclass(frozen=True)
class TransactionState:
    """One transactional id as a record has it; *partitions* are those of the transaction that is open, if one is."""

    transactional_id: str
    producer_id: int
    is_open: bool
    partitions: frozenset[tuple[str, int]]
    started_at_ms: int


def decode_transactional_id(key: bytes) -> str:
    """Return whose state a record has; raises DecodeError."""
    cursor = Cursor(key, "key")
    version = cursor.integer(_INT16, "version")
    if version != _KEY_VERSION:
        raise cursor.error(f"version {version} is not {_KEY_VERSION}")
    return to_text(cursor.string("transactional id"), "key", "transactional id")


def decode_transaction(key: bytes, value: bytes) -> TransactionState:
    """Return what one record says; raises DecodeError for anything else, another version among it."""
    cursor = Cursor(value, "value")
    version = cursor.integer(_INT16, "version")
    if not 0 <= version <= _FLEXIBLE:
        raise cursor.error(f"version {version} is not known")
    producer_id = cursor.integer(_INT64, "producer id")
    cursor.integer(_INT16, "producer epoch")
    cursor.integer(_INT32, "timeout")
    status = cursor.integer(_INT8, "status")
    partitions = _partitions(cursor, is_compact=version == _FLEXIBLE)
    cursor.integer(_INT64, "last update")
    started_at_ms = cursor.integer(_INT64, "start")
    is_open = status in _OPEN
    return TransactionState(
        decode_transactional_id(key), producer_id, is_open, partitions if is_open else frozenset(), started_at_ms
    )


def _partitions(cursor: Cursor, *, is_compact: bool) -> frozenset[tuple[str, int]]:
    found: set[tuple[str, int]] = set()
    for _ in range(_count_or_none(cursor, is_compact)):
        topic = to_text(cursor.string("topic", compact=is_compact), "value", "topic")
        numbers = range(cursor.count("partitions", compact=is_compact))
        found.update((topic, cursor.integer(_INT32, "partition")) for _ in numbers)
        if is_compact:
            cursor.tags()
    return frozenset(found)


def _count_or_none(cursor: Cursor, is_compact: bool) -> int:
    """Read the size of the array of topics, 0 where it is null."""
    before = cursor.position
    size = cursor.varint("topics length") - 1 if is_compact else cursor.integer(_INT32, "topics length")
    if size == -1:
        return 0
    cursor.position = before
    return cursor.count("topics", compact=is_compact)
