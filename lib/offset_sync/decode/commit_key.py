"""The key of one record of ``__consumer_offsets``; :mod:`offset_sync.decode.keys` reads many at once."""

from __future__ import annotations

from offset_sync.decode.cursor import Cursor, to_text
from offset_sync.decode.record_layouts import COMMIT, KIND_OF_TYPE

_INT16, _INT32 = 2, 4


def decode_commit_key(key: bytes) -> tuple[str, str, int] | None:
    """Return group id, topic and partition, None for a record that is no commit; raises DecodeError."""
    cursor = Cursor(key, "key")
    if KIND_OF_TYPE.get(cursor.integer(_INT16, "record type")) != COMMIT:
        return None
    group_id, topic = (to_text(cursor.string(field), "key", field) for field in ("group", "topic"))
    return group_id, topic, cursor.integer(_INT32, "partition")
