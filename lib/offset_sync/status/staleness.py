"""Since when each key of a pair has not been as it should be, from report to report."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from offset_sync.state.column_store import ColumnStore
from offset_sync.state.key_index import KeyRows
from offset_sync.translate.index.runs import Int64s

_NEVER = -1


class Watch:
    """What earlier reports have seen of one pair's keys; times in milliseconds since the epoch."""

    def __init__(self) -> None:
        self._columns = ColumnStore(
            {"reported_at_ms": _NEVER, "behind_since_ms": _NEVER, "standing": _NEVER, "indexed_at_ms": 0}
        )

    def behind_ms(
        self, key: KeyRows, is_behind: NDArray[np.bool_], committed_at_ms: Int64s, standing: Int64s, now_ms: int
    ) -> Int64s:
        """Return for how long the target has not had the translation of each key, 0 where it has; shape (keys,).

        Since the commit, where it came after the last report or no report is known, else since this report: what has
        come after the commit made the difference. A target that moves keeps up, and is waited for from there.
        """
        column = self._fit(key)
        since, reported = column["behind_since_ms"][key], column["reported_at_ms"][key]
        is_new = (committed_at_ms > reported) | (reported == _NEVER)
        is_moving = (since == _NEVER) | (column["standing"][key] != standing)
        since = np.where(is_moving, np.where(is_new, np.minimum(committed_at_ms, now_ms), now_ms), since)
        column["behind_since_ms"][key] = np.where(is_behind, since, _NEVER)
        column["standing"][key] = standing
        column["reported_at_ms"][key] = now_ms
        stale: Int64s = np.where(is_behind, np.maximum(now_ms - since, 1), 0)
        return stale

    def waiting_ms(self, key: KeyRows, is_waiting: NDArray[np.bool_], still_ms: int, now_ms: int) -> Int64s:
        """Return for how long the index has left each key's records unread, 0 where it has not; shape (keys,).

        Not longer than it has been still, nor since all was read: on a quiet cluster it is still for hours, rightly.
        """
        column = self._fit(key)
        waited = np.minimum(still_ms, now_ms - column["indexed_at_ms"][key])
        column["indexed_at_ms"][key[~is_waiting]] = now_ms
        waiting: Int64s = np.where(is_waiting, waited, 0)
        return waiting

    def _fit(self, key: KeyRows) -> ColumnStore:
        self._columns.fit(int(key.max(initial=-1)) + 1)
        return self._columns
