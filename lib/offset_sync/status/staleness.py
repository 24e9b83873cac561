"""Tracks since when a key has been stale, from one observation to the next."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from offset_sync.model.values import ABSENT
from offset_sync.state.key_index import KeyRows
from offset_sync.translate.index.columns import ColumnStore
from offset_sync.translate.index.runs import Int64s


class StalenessTracker:
    """Since when the target has not had the translation of each key's newest commit; not thread-safe.

    A key keeps the time at which it became stale, even if it commits again, until the target has caught up.
    """

    def __init__(self) -> None:
        self._columns = ColumnStore({"since_ms": ABSENT})

    def observe(self, key: KeyRows, is_stale: NDArray[np.bool_], begins_ms: Int64s) -> Int64s:
        """Note which of *key* are stale; return since when, :data:`ABSENT` where they are not; shape (keys,).

        *begins_ms* is for the keys that were not stale before.
        """
        column = self._column(key)
        since: Int64s = np.where(column[key] == ABSENT, begins_ms, column[key])
        column[key] = np.where(is_stale, since, ABSENT)
        found: Int64s = column[key]
        return found

    def restart(self, key: KeyRows) -> None:
        """Restart the staleness of *key*, if any, with the next observation."""
        self._column(key)[key] = ABSENT

    def keep_only(self, key: KeyRows) -> None:
        """Restart all keys but *key*."""
        column = self._column(key)
        is_other = np.ones(len(column), np.bool_)
        is_other[key] = False
        column[is_other] = ABSENT

    def since_ms(self, key: KeyRows) -> Int64s:
        """Return since when each key is stale, :data:`ABSENT` where it is not."""
        found: Int64s = self._column(key)[key].copy()
        return found

    def _column(self, key: KeyRows) -> Int64s:
        self._columns.fit(int(key.max(initial=-1)) + 1)
        column: Int64s = self._columns["since_ms"]
        return column


class ReportStaleness:
    """The observations of reports on one pair of clusters; times in milliseconds since the epoch."""

    def __init__(self) -> None:
        self._tracker = StalenessTracker()
        self._columns = ColumnStore({"reported_at_ms": ABSENT, "target_offset": ABSENT, "indexed_at_ms": 0})

    def behind_ms(
        self, key: KeyRows, is_behind: NDArray[np.bool_], committed_at_ms: Int64s, target_offset: Int64s, now_ms: int
    ) -> Int64s:
        """Return for how long the target has not had the translation of each key, 0 where it has; shape (keys,).

        Counts from the commit if it came after the last report, or if this is the first one; else from this report, as
        something other than the commit changed. A target that moves keeps up, so its staleness restarts;
        *target_offset* is :data:`ABSENT` where the group has none there.
        """
        column = self._fit(key)
        reported = column["reported_at_ms"][key]
        self._tracker.restart(key[column["target_offset"][key] != target_offset])
        is_new = (committed_at_ms > reported) | (reported == ABSENT)
        begins_ms = np.where(is_new, np.minimum(committed_at_ms, now_ms), now_ms)
        since = self._tracker.observe(key, is_behind, begins_ms)
        column["target_offset"][key] = target_offset
        column["reported_at_ms"][key] = now_ms
        behind: Int64s = np.where(is_behind, np.maximum(now_ms - since, 1), 0)
        return behind

    def waiting_ms(self, key: KeyRows, is_waiting: NDArray[np.bool_], still_ms: int, now_ms: int) -> Int64s:
        """Return for how long the index has left each key's records unread, 0 where it has not; shape (keys,).

        At most *still_ms*, for which the index has read nothing, and at most the time since all was read: on a quiet
        cluster the index correctly reads nothing for hours.
        """
        column = self._fit(key)
        waited = np.minimum(still_ms, now_ms - column["indexed_at_ms"][key])
        column["indexed_at_ms"][key[~is_waiting]] = now_ms
        waiting: Int64s = np.where(is_waiting, waited, 0)
        return waiting

    def _fit(self, key: KeyRows) -> ColumnStore:
        self._columns.fit(int(key.max(initial=-1)) + 1)
        return self._columns
