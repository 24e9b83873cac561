"""Records of MirrorMaker's checkpoints topics: what it has translated for groups (connect-mirror's Checkpoint)."""

from __future__ import annotations

from typing import NamedTuple

from offset_sync.decode.cursor import Cursor, DecodeError


class MirrorCheckpoint(NamedTuple):
    """*offset* is what the checkpoint says of *topic*, as it is called at the target, where the group would go on."""

    group_id: str
    topic: str
    partition: int
    offset: int


def decode_checkpoint(key: bytes, value: bytes) -> MirrorCheckpoint:
    """Return what one record says; raises DecodeError where the bytes are no checkpoint of version 0."""
    place = Cursor(key, "key")
    group, topic = place.string("group"), place.string("topic")
    partition = place.integer(4, "partition")
    content = Cursor(value, "value")
    if (version := content.integer(2, "version")) != 0:
        raise content.error(f"version {version} is not known")
    content.integer(8, "upstream offset")
    offset = content.integer(8, "offset")
    try:
        return MirrorCheckpoint(group.decode(), topic.decode(), partition, offset)
    except UnicodeDecodeError as error:
        raise DecodeError("key: group or topic is not valid UTF-8") from error
