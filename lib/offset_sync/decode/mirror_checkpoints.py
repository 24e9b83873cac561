"""Checkpoints of MirrorMaker 2: what it takes a group's committed offset for at the cluster that it copies to.

A record of ``<source>.checkpoints.internal`` there (``org.apache.kafka.connect.mirror.Checkpoint``, 4.3.0), big-endian,
strings with an int16 length and never null::

    key    group, topic as it is called there, partition (int32)            no version in front
    value  version (int16, 0), offset at the source (int64), offset there (int64), metadata
"""

from __future__ import annotations

from dataclasses import dataclass

from offset_sync.decode.cursor import Cursor, to_text

_VERSION = 0
_INT16, _INT32, _INT64 = 2, 4, 8


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


def decode_checkpoint(key: bytes, value: bytes) -> MirrorCheckpoint:
    """Return what one record says; bytes after the last field are no error, as for Kafka.

    Raises DecodeError for anything else, another version and negative numbers among it: what is not understood must
    not tell whose commit another one is.
    """
    of_key, of_value = Cursor(key, "key"), Cursor(value, "value")
    group_id, topic = (to_text(of_key.string(field), "key", field) for field in ("group", "topic"))
    partition = of_key.integer(_INT32, "partition")
    version = of_value.integer(_INT16, "version")
    if version != _VERSION:
        raise of_value.error(f"version {version} is not {_VERSION}")
    source_offset, offset = (of_value.integer(_INT64, field) for field in ("offset at the source", "offset"))
    metadata = to_text(of_value.string("metadata"), "value", "metadata")
    if min(partition, source_offset, offset) < 0:
        raise of_value.error(f"{topic!a}, partition {partition}: offsets {source_offset} and {offset}: negative")
    return MirrorCheckpoint(group_id, topic, partition, source_offset, offset, metadata)
