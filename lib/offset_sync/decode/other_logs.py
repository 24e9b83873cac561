"""Records of two other logs than that of commits, one at a time: MirrorMaker's checkpoints and transactions.

Integers are big-endian, and an int16 length, never that of null, comes before a string. Bytes after the last field are
no error, as for Kafka. What is not understood raises DecodeError, another version among it.
"""

from __future__ import annotations

from dataclasses import dataclass

from offset_sync.decode.cursor import Cursor

_INT8, _INT16, _INT32, _INT64 = 1, 2, 4, 8
_FLEXIBLE = 1
_OPEN = (1, 2, 3)
"""Ongoing, and the two in which it is decided but its partitions do not have their markers yet."""


@dataclass(frozen=True)
class MirrorCheckpoint:
    """A group that had committed *source_offset* would go on at *offset*, both next to read, says MirrorMaker.

    Its group sync writes *offset* with *metadata*, which are the group's own.
    """

    group_id: str
    topic: str
    partition: int
    source_offset: int
    offset: int
    metadata: str


@dataclass(frozen=True)
class TransactionState:
    """One transactional id as a record has it; *partitions* are those of the transaction that is open, if one is."""

    transactional_id: str
    producer_id: int
    is_open: bool
    partitions: frozenset[tuple[str, int]]
    started_at_ms: int


def decode_checkpoint(key: bytes, value: bytes) -> MirrorCheckpoint:
    """Return what a record of ``<source>.checkpoints.internal`` says.

    As ``org.apache.kafka.connect.mirror.Checkpoint`` of 4.3.0 has it::

        key    group, topic as it is called there, partition (int32)            no version in front
        value  version (int16, 0), offset at the source (int64), offset there (int64), metadata

    Negative numbers raise DecodeError too: what is not understood must not tell whose commit another one is.
    """
    of_key, of_value = Cursor(key, "key"), Cursor(value, "value")
    group_id, topic, partition = of_key.text("group"), of_key.text("topic"), of_key.integer(_INT32, "partition")
    _refuse_other_version(of_value)
    source_offset, offset = (of_value.integer(_INT64, field) for field in ("offset at the source", "offset"))
    metadata = of_value.text("metadata")
    if min(partition, source_offset, offset) < 0:
        raise of_value.error(f"{topic!a}, partition {partition}: offsets {source_offset} and {offset}: negative")
    return MirrorCheckpoint(group_id, topic, partition, source_offset, offset, metadata)


def decode_transactional_id(key: bytes) -> str:
    """Return whose state a record of ``__transaction_state`` has: version (int16, 0), transactional id."""
    cursor = Cursor(key, "key")
    _refuse_other_version(cursor)
    return cursor.text("transactional id")


def decode_transaction(key: bytes, value: bytes) -> TransactionState:
    """Return what the coordinator of a transaction knows of it.

    ``TransactionLogValue.json`` of Kafka 4.3::

        value  version (int16, 0 or 1), producer id (int64), epoch (int16), timeout (int32), status (int8),
               array of topics (string, array of int32), or null; last update and start (int64, ms)
               version 1: compact strings and arrays, tagged fields after each struct
    """
    cursor = Cursor(value, "value")
    version = cursor.integer(_INT16, "version")
    if not 0 <= version <= _FLEXIBLE:
        raise cursor.error(f"version {version} is not known")
    producer_id = cursor.integer(_INT64, "producer id")
    cursor.integer(_INT16, "producer epoch")
    cursor.integer(_INT32, "timeout")
    is_open = cursor.integer(_INT8, "status") in _OPEN
    partitions = _partitions(cursor, compact=version == _FLEXIBLE)
    cursor.integer(_INT64, "last update")
    started_at_ms = cursor.integer(_INT64, "start")
    return TransactionState(
        decode_transactional_id(key), producer_id, is_open, partitions if is_open else frozenset(), started_at_ms
    )


def _partitions(cursor: Cursor, *, compact: bool) -> frozenset[tuple[str, int]]:
    topics = cursor.length("topics", _INT32, compact)
    if topics == -1:
        return frozenset()
    found: set[tuple[str, int]] = set()
    for _ in range(cursor.checked(topics, "topics")):
        topic = cursor.text("topic", compact=compact)
        numbers = range(cursor.count("partitions", compact=compact))
        found.update((topic, cursor.integer(_INT32, "partition")) for _ in numbers)
        if compact:
            cursor.tags()
    return frozenset(found)


def _refuse_other_version(cursor: Cursor) -> None:
    version = cursor.integer(_INT16, "version")
    if version != 0:
        raise cursor.error(f"version {version} is not 0")
