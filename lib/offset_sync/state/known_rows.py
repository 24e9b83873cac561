"""What is known of the commits as rows, one per cluster and key, and which keys are over: nothing is left of them."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from offset_sync.model.values import ABSENT, GroupPartition
from offset_sync.state.committed_offsets import ClusterOffsets, CommittedOffsets
from offset_sync.state.key_index import KeyRows
from offset_sync.state.last_commits import KEY
from offset_sync.tables.catalog import LAST_KNOWN

_Column = NDArray[Any] | list[Any]
KEPT_MS = 7 * 24 * 3600 * 1000
"""So long a key is kept after its last commit or deletion."""
_NUMBERS = (
    *("log_partition", "log_offset", "actual_offset", "actual_at_ms", "actual_made_ms", "actual_epoch", "last_offset"),
    *("genuine_offset", "genuine_at_ms", "genuine_made_ms", "genuine_epoch", "rewound_ms", "captured_ms", "first_ms"),
)
_OF_COMMITS = ("cluster", *KEY, *_NUMBERS, "actual_is_own", "is_deleted", "topic_id")
COMMITS_SCHEMA = pa.schema([LAST_KNOWN.arrow_schema.field(name) for name in _OF_COMMITS])
_COLUMNS = list(zip(COMMITS_SCHEMA.names, COMMITS_SCHEMA.types, strict=True))


def to_rows(offsets: CommittedOffsets) -> pa.Table:
    """Return what is known, as ``fill_commits`` takes it in again.

    For a state that nobody writes by: what was acknowledged and not read back is not told apart from what was read.
    """
    parts = [_columns_of(alias, commits, offsets) for alias, commits in offsets.clusters.items()]
    columns = [pa.array(_joined([part[name] for part in parts]), kind) for name, kind in _COLUMNS]
    return pa.table(columns, schema=COMMITS_SCHEMA)


def is_over(offsets: CommittedOffsets, kept_ms: int = KEPT_MS) -> NDArray[np.bool_]:
    """Return which keys were deleted wherever a group has committed them, and stand nowhere; shape (keys,).

    What we wrote and have not read back stands. And every cluster's log of commits was read for *kept_ms* beyond the
    last that was heard of them, by the times in it: what a cluster that was away has to say is not known yet. Whoever
    commits such a key again begins anew, as with a key that was never there: then a commit below the one before the
    deletion is no rewind. A commit that is gone with its log, and was not deleted, is all that is known. Errs to False.
    """
    is_kept = (offsets.column("genuine_at_ms") != ABSENT) & (offsets.column("is_deleted") == 0)
    stands = ((offsets.column("actual_offset") != ABSENT) | is_kept).any(axis=0)
    heard_ms = np.maximum(offsets.column("actual_at_ms"), offsets.column("genuine_at_ms")).max(axis=0, initial=ABSENT)
    read_until_ms = offsets.column("actual_at_ms").max(axis=1, initial=ABSENT).min()
    over: NDArray[np.bool_] = ~stands & (heard_ms < read_until_ms - kept_ms)
    return over


def heard_of_dropped_until_ms(rows: pa.Table, clusters: Collection[str]) -> int:
    """Return the time, in ms, before which the last was heard of every key that *rows* once had and have no more."""
    newest = rows.group_by("cluster").aggregate([("actual_at_ms", "max")]).column("actual_at_ms_max").to_pylist()
    # Of each cluster its newest row stays, so one without rows never had any, and then nothing was dropped.
    return min(newest) - KEPT_MS if len(newest) == len(clusters) > 0 else ABSENT


def without(rows: pa.Table, gone: Sequence[GroupPartition]) -> pa.Table:
    """Return those of *rows*, which have the columns of a key, that are of none of the keys that are *gone*."""
    if not gone:
        return rows
    columns = {name: pa.array([getattr(key, name) for key in gone], rows.schema.field(name).type) for name in KEY}
    return rows.join(pa.table(columns), KEY, join_type="left anti", use_threads=False).select(rows.column_names)


def _joined(parts: Sequence[_Column]) -> _Column:
    if parts and isinstance(parts[0], np.ndarray):
        return np.concatenate(parts)
    return [value for part in parts for value in part]


def _columns_of(alias: str, commits: ClusterOffsets, offsets: CommittedOffsets) -> dict[str, _Column]:
    columns = commits.columns
    is_known = columns["is_deleted"].copy()
    for name in _NUMBERS[:-1]:
        is_known |= columns[name] != ABSENT
    key: KeyRows = is_known.nonzero()[0]
    keys = [offsets.keys[row] for row in key.tolist()]
    found: dict[str, _Column] = {"cluster": [alias] * len(key)}
    found |= {name: [getattr(each, name) for each in keys] for name in KEY}
    found |= {name: columns[name][key] for name in (*_NUMBERS, "actual_is_own", "is_deleted")}
    found["topic_id"] = [commits.topic_id.get(row) for row in key.tolist()]
    return found
