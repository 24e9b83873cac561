"""Convergence: f(t) - g(t), the offsets of a group at the source less those at the target.

While the sync works the two rise together and their difference hardly changes; when it is broken the difference grows
by all that the group reads. So its change over a window longer than any pause is the signal, not the value, which
depends on how the logs are filled::

    f - g    |      __/          change over the window   |      /^^^
             |_____/             (10 minutes by default)  |_____/
                  ^ the sync stops                             ^
"""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from offset_sync.status.report import GROUP, PAIR
from offset_sync.tables.catalog import SYNC_DRIFT

_PARTITION = (*GROUP, "topic", "partition")
_SUMS = ("source_offset", "target_offset", "drift", "change", "windowed_change")


class DriftWindow:
    """Keeps what was seen for *window*; a group has converged within *threshold* records, a pair within their sum."""

    def __init__(self, window: timedelta, threshold: int) -> None:
        self._window, self._threshold = window, threshold
        self._seen: dict[tuple[Any, ...], deque[tuple[datetime, int]]] = {}

    def add(self, status: pa.Table, now: datetime) -> pa.Table:
        """Take in rows of sync_status; return rows of sync_drift, of the pairs and then of their groups.

        Partitions count that have an offset at both clusters. One that is seen for the first time has not changed.
        """
        rows = status.filter(pc.is_valid(status["target_offset"]))
        drift = pc.subtract(rows["source_offset"], rows["target_offset"])
        keys = list(zip(*(rows[name].to_pylist() for name in _PARTITION), strict=True))
        self._seen = {key: self._seen.get(key, deque()) for key in keys}
        changes = [self._changes(key, each, now) for key, each in zip(keys, drift.to_pylist(), strict=True)]
        change, windowed = np.array(changes, np.int64).reshape(-1, 2).T
        columns = {"drift": drift, "change": pa.array(change), "windowed_change": pa.array(windowed)}
        rows = pa.table({name: rows[name] for name in (*GROUP, "source_offset", "target_offset")} | columns)
        return pa.concat_tables([self._series(rows, by, now) for by in (PAIR, GROUP)])

    def _changes(self, key: tuple[Any, ...], drift: int, now: datetime) -> tuple[int, int]:
        """Return the change of a partition's drift since the row before, and over the window."""
        seen = self._seen[key]
        before = seen[-1][1] if seen else drift
        seen.append((now, drift))
        # The last one before the window stays: the change over the window is counted from there.
        while len(seen) > 2 and seen[1][0] <= now - self._window:
            seen.popleft()
        return drift - before, drift - seen[0][1]

    def _series(self, rows: pa.Table, by: Sequence[str], now: datetime) -> pa.Table:
        wanted = [*((name, "sum") for name in _SUMS), ("group_id", "count_distinct"), ([], "count_all")]
        names = [*by, "source_offsets", "target_offsets", *_SUMS[2:], "groups", "partitions"]
        found = rows.group_by(list(by)).aggregate(wanted).rename_columns(names)
        found = found.sort_by([(name, "ascending") for name in by])
        is_converged = pc.less_equal(pc.abs(found["windowed_change"]), pc.multiply(found["groups"], self._threshold))
        added = {"at": pa.repeat(now, len(found)), "is_converged": is_converged}
        if "group_id" not in by:
            added["group_id"] = pa.nulls(len(found), pa.string())
        for name, values in added.items():
            found = found.append_column(name, values)
        return found.select(SYNC_DRIFT.names).cast(SYNC_DRIFT.arrow_schema)
