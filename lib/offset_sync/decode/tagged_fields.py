"""Tagged fields of many values at once, of which only the topic id is kept; unknown tags are skipped by size."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from offset_sync.decode.arrow_buffers import ByteRows
from offset_sync.decode.cursor import Cursor, DecodeError
from offset_sync.decode.record_layouts import TOPIC_ID_BYTES, TOPIC_ID_TAG
from offset_sync.decode.vector_cursor import VectorCursor

# A round costs the same for one row as for a thousand, so values with more fields than that go one by one:
# no version has more than one, and a megabyte of empty ones must not take half a minute.
_ROUNDS = 8


class TopicIds:
    """Where the topic id of each value stands: *position*, full size, -1 where there is none."""

    def __init__(self, values: ByteRows) -> None:
        self.position: NDArray[np.int64] = np.full(len(values), -1, np.int64)
        self._size = np.zeros(len(values), np.int64)
        self._values = values

    def read(self, walk: VectorCursor) -> None:
        """Read the tagged fields of all rows of *walk*, round by round: one field of every row that has one left.

        The work is bounded by the bytes there are, whatever the counts claim. Of a repeated tag the last one counts.
        """
        remaining = np.zeros(len(self.position), np.int64)
        walk.read_varint(remaining, "tag count")
        count, left = remaining[walk.rows], walk.left()
        walk.drop(count > left, lambda i: f"tag count {count[i]} exceeds the {left[i]} bytes left")
        is_crowded = remaining[walk.rows] > _ROUNDS
        crowded, walk = walk.where(is_crowded), walk.where(~is_crowded & (remaining[walk.rows] > 0))
        self._read_one_by_one(crowded, remaining)
        while len(walk.rows):
            self._read_field(walk)
            remaining[walk.rows] -= 1
            self._check_ends(walk.where(remaining[walk.rows] == 0))
            walk = walk.where(remaining[walk.rows] > 0)

    def _read_one_by_one(self, walk: VectorCursor, remaining: NDArray[np.int64]) -> None:
        for row, position in zip(walk.rows.tolist(), walk.position.tolist(), strict=True):
            start = int(self._values.start[row])
            cursor = Cursor(self._values.row(row), "value")
            cursor.position = position - start
            try:
                place = cursor.tagged_fields(int(remaining[row])).get(TOPIC_ID_TAG)
            except DecodeError as problem:
                walk.errors[row] = str(problem)
                continue
            if place is not None:
                self.position[row], self._size[row] = start + place.start, place.stop - place.start
        self._check_ends(walk)

    def _read_field(self, walk: VectorCursor) -> None:
        tag, size = np.empty_like(self._size), np.empty_like(self._size)
        walk.read_varint(tag, "tag")
        walk.read_varint(size, "tag size")
        walk.skip(size, "tagged field")
        is_topic_id = tag[walk.rows] == TOPIC_ID_TAG
        rows = walk.rows[is_topic_id]
        self._size[rows] = size[rows]
        self.position[rows] = walk.position[is_topic_id] - size[rows]

    def _check_ends(self, walk: VectorCursor) -> None:
        """Check the size only of rows at their end, because a later field may replace the topic id."""
        size = self._size[walk.rows]
        wrong = (self.position[walk.rows] >= 0) & (size != TOPIC_ID_BYTES)
        walk.drop(wrong, lambda i: f"topic id has {size[i]} bytes, not {TOPIC_ID_BYTES}")
