"""Tagged fields of many values at once, of which only the topic id is kept; unknown tags are skipped by size."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from offset_sync.decode.arrow_buffers import ByteRows
from offset_sync.decode.cursor import Cursor, DecodeError
from offset_sync.decode.record_layouts import TOPIC_ID_BYTES, TOPIC_ID_TAG
from offset_sync.decode.vector_cursor import VectorCursor

# A round costs the same for one row as for a thousand, so values with more fields than this are read one by one.
# No version has more than one field; a hostile megabyte of empty ones must not take half a minute.
_ROUNDS = 8


class TopicIds:
    """Where the topic id of each value begins: *position*, which means something where the id *is_present*.

    Both have one element per row of the batch.
    """

    def __init__(self, values: ByteRows) -> None:
        self.position: NDArray[np.int64] = np.zeros(len(values), np.int64)
        self.is_present: NDArray[np.bool_] = np.zeros(len(values), np.bool_)
        self._size = np.zeros(len(values), np.int64)
        self._values = values

    def read(self, cursor: VectorCursor) -> None:
        """Read the tagged fields of all rows of *cursor* in rounds: one field of each row that has one left.

        The work is bounded by the bytes that are there, whatever the counts claim. Of a repeated tag the last one
        counts, as in Java.
        """
        remaining = np.zeros(len(self.position), np.int64)
        cursor.read_varint(remaining, "tag count")
        count, left = remaining[cursor.rows], cursor.left()
        cursor.drop(count > left, lambda i: f"tag count {count[i]} exceeds the {left[i]} bytes left")
        is_crowded = remaining[cursor.rows] > _ROUNDS
        crowded, cursor = cursor.select(is_crowded), cursor.select(~is_crowded & (remaining[cursor.rows] > 0))
        self._read_one_by_one(crowded, remaining)
        while len(cursor.rows):
            self._read_field(cursor)
            remaining[cursor.rows] -= 1
            self._check_ends(cursor.select(remaining[cursor.rows] == 0))
            cursor = cursor.select(remaining[cursor.rows] > 0)

    def _read_one_by_one(self, cursor: VectorCursor, remaining: NDArray[np.int64]) -> None:
        for row, position in zip(cursor.rows.tolist(), cursor.position.tolist(), strict=True):
            start = int(self._values.start[row])
            single = Cursor(self._values.row(row), "value")
            single.position = position - start
            try:
                span = single.tagged_fields(int(remaining[row])).get(TOPIC_ID_TAG)
            except DecodeError as problem:
                cursor.errors[row] = str(problem)
                continue
            if span is not None:
                self._note(np.array([row]), np.array([start + span.start]), np.array([span.stop - span.start]))
        self._check_ends(cursor)

    def _read_field(self, cursor: VectorCursor) -> None:
        tag, size = np.empty_like(self._size), np.empty_like(self._size)
        cursor.read_varint(tag, "tag")
        cursor.read_varint(size, "tag size")
        cursor.skip(size, "tagged field")
        is_topic_id = tag[cursor.rows] == TOPIC_ID_TAG
        rows = cursor.rows[is_topic_id]
        self._note(rows, cursor.position[is_topic_id] - size[rows], size[rows])

    def _note(self, rows: NDArray[np.intp], position: NDArray[np.int64], size: NDArray[np.int64]) -> None:
        self.position[rows], self._size[rows], self.is_present[rows] = position, size, True

    def _check_ends(self, cursor: VectorCursor) -> None:
        """Check the size in rows that are read to their end; before that a later field may replace the topic id."""
        size = self._size[cursor.rows]
        wrong = self.is_present[cursor.rows] & (size != TOPIC_ID_BYTES)
        cursor.drop(wrong, lambda i: f"topic id has {size[i]} bytes, not {TOPIC_ID_BYTES}")
