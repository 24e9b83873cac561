"""Values of offset commits, all rows at once; one pass per value version that occurs."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from offset_sync.decode.arrow_buffers import ByteRows, Spans, gather, to_text, to_uuid_text
from offset_sync.decode.record_layouts import ABSENT, COMMIT_LAYOUTS, CommitLayout, unknown_version
from offset_sync.decode.tagged_fields import TopicIds
from offset_sync.decode.vector_cursor import VectorCursor


@dataclass(frozen=True)
class Commits:
    """One element per row of the batch, times in ms since the epoch.

    *leader_epoch* and *expires_at_ms* are ``ABSENT`` where the record has none. Only the rows that were asked for and
    have no error mean anything.
    """

    committed_offset: NDArray[np.int64]
    leader_epoch: NDArray[np.int32]
    committed_at_ms: NDArray[np.int64]
    expires_at_ms: NDArray[np.int64]
    metadata: pa.StringArray
    topic_id: pa.StringArray


def decode_commits(
    values: ByteRows, rows: NDArray[np.intp], record_type: NDArray[np.int16], errors: dict[int, str]
) -> Commits:
    """Decode the commit values of *rows* (ascending); what cannot be read gets a message in *errors*."""
    count = len(values)
    if len(rows) == 0:
        return _no_commits(count)
    offset, committed_at = np.zeros(count, np.int64), np.zeros(count, np.int64)
    epoch, expires_at = np.full(count, ABSENT, np.int32), np.full(count, ABSENT, np.int64)
    metadata, topic_ids = Spans.empty(values), TopicIds(values)
    for layout, cursor in _cursor_per_version(values, rows, record_type, errors):
        cursor.read(offset, "offset")
        if layout.has_epoch:
            cursor.read(epoch, "leader epoch")
        cursor.read_string(metadata, "metadata", compact=layout.is_flexible)
        cursor.read(committed_at, "commit timestamp")
        if layout.has_expiry:
            cursor.read(expires_at, "expire timestamp")
        if layout.is_flexible:
            topic_ids.read(cursor)
    is_bad = np.ones(count, np.bool_)
    is_bad[rows] = False
    is_bad[list(errors)] = True
    text, not_utf8 = to_text(gather(values, metadata, is_bad))
    for row in np.flatnonzero(not_utf8):
        errors[int(row)] = "value: metadata is not valid UTF-8"
    is_bad |= not_utf8
    topic_id = to_uuid_text(values, topic_ids.position, topic_ids.is_present & ~is_bad)
    return Commits(offset, epoch, committed_at, expires_at, text, topic_id)


def _cursor_per_version(
    values: ByteRows, rows: NDArray[np.intp], record_type: NDArray[np.int16], errors: dict[int, str]
) -> list[tuple[CommitLayout, VectorCursor]]:
    """Return one cursor, past the version, for each version that occurs."""
    cursor = VectorCursor(values, rows, "value", errors)
    version = np.zeros(len(values), np.int16)
    cursor.read(version, "version")
    present = version[cursor.rows]
    known = (present >= 0) & (present < len(COMMIT_LAYOUTS))
    for row in cursor.rows[~known]:
        errors[int(row)] = unknown_version(int(version[row]), int(record_type[row]))
    return [
        (layout, cursor.select(present == number)) for number, layout in enumerate(COMMIT_LAYOUTS) if number in present
    ]


def _no_commits(count: int) -> Commits:
    zeros, text = np.zeros(count, np.int64), pa.nulls(count, pa.string())
    return Commits(zeros, np.full(count, ABSENT, np.int32), zeros, np.full(count, ABSENT, np.int64), text, text)
