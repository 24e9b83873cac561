"""The commits in ``__consumer_offsets``, decoded by hand: every value that was ever committed, in order.

Kafka's OffsetCommitKey: version (0 or 1), group, topic, partition. OffsetCommitValue: version, offset, and fields
that are not needed here.
"""

from __future__ import annotations

import struct
from typing import NamedTuple

from offset_sync_demo.kafka.clients import Partition

TOPIC = "__consumer_offsets"
_OFFSET_COMMIT_VERSIONS = (0, 1)


class Key(NamedTuple):
    """What is committed: a partition of a group."""

    group: str
    place: Partition


class Commit(NamedTuple):
    """A value that was committed at *at_ms*, by the broker's clock; None is a deletion."""

    key: Key
    offset: int | None
    at_ms: int


def decode_commit(key: bytes, value: bytes | None, at_ms: int) -> Commit | None:
    """Return the commit in a record; None for a record about something else."""
    (version,) = struct.unpack_from(">h", key)
    if version not in _OFFSET_COMMIT_VERSIONS:
        return None
    group, at = _text(key, 2)
    topic, at = _text(key, at)
    (partition,) = struct.unpack_from(">i", key, at)
    offset = None if value is None else int(struct.unpack_from(">hq", value)[1])
    return Commit(Key(group, (topic, partition)), offset, at_ms)


def _text(data: bytes, at: int) -> tuple[str, int]:
    (length,) = struct.unpack_from(">h", data, at)
    return data[at + 2 : at + 2 + length].decode(), at + 2 + length
