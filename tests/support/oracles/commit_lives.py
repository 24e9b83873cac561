"""What is known of a cluster's commits where its log has begun other lives: row by row, without SQL."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from offset_sync.model.values import ABSENT, GroupPartition
from offset_sync.state.commit_log_incarnations import CommitLogIncarnations, _compared
from offset_sync.state.own_writes import OwnWrites
from offset_sync.state.replay import to_commit_records
from offset_sync.state.sync_state import SyncState
from offset_sync.tables.catalog import OFFSET_COMMITS

_NUMBERS = (
    *("log_partition", "log_offset", "actual_offset", "actual_at_ms", "actual_made_ms", "actual_epoch", "last_offset"),
    *("genuine_offset", "genuine_at_ms", "genuine_made_ms", "genuine_epoch", "rewound_ms", "captured_ms"),
)
_DEFAULTS: dict[str, Any] = dict.fromkeys(_NUMBERS, ABSENT) | {"actual_is_own": False, "is_deleted": False}
Row = dict[str, Any]


def replay(state: SyncState, alias: str, rows: pa.Table, lives: CommitLogIncarnations) -> None:
    """Have *state* know of the cluster *alias* what its *rows* of offset_commits say, one after the other.

    First lost commits, incarnation by incarnation; then deleted ones; then present ones.
    """
    commits = state.offsets.clusters[alias]
    commits.forget_acknowledged()
    for name, value in _DEFAULTS.items():
        commits.columns[name][:] = value
    marked = rows.append_column("life", pa.array(_life_ms(lives, rows)))
    marked = marked.append_column("gone", pa.array(lives.lineage().gone_ms(rows))).to_pylist()
    marked.sort(key=lambda row: (row["life"], row["log_offset"], row["captured_at"]))
    newest = {_key(row): row for row in marked}
    pending, commits.own_writes = commits.own_writes, OwnWrites()  # these rows have had theirs
    gone = [row for row in marked if row["gone"] != ABSENT]
    for row in gone:
        if row["is_own"] and not row["is_tombstone"]:
            continue  # of what we wrote there nothing is left
        commits.columns["log_offset"][:] = ABSENT
        _take_in(state, alias, row)
    for name in ("log_partition", "log_offset", "actual_offset", "actual_epoch"):
        commits.columns[name][:] = ABSENT
    commits.columns["actual_is_own"][:] = False
    for row in gone:
        for name in ("actual_at_ms", "actual_made_ms"):
            key = state.offsets.ids([_key(row)])  # which may make room for it
            commits.columns[name][key] = row["gone"]
    for row in marked:
        if row["gone"] == ABSENT:
            _take_in(state, alias, row)
    commits.own_writes = pending
    for key, row in newest.items():
        commits.columns["is_deleted"][state.offsets.ids([key])] &= row["is_tombstone"]


def _key(row: Row) -> GroupPartition:
    return GroupPartition(row["group_id"], row["topic"], row["partition"])


def _take_in(state: SyncState, alias: str, row: Row) -> None:
    one = pa.Table.from_pylist([row], OFFSET_COMMITS.arrow_schema)
    state.record_known(alias, to_commit_records(one, state.offsets.ids([_key(row)])), np.array([row["is_own"]]))


def _life_ms(lives: CommitLogIncarnations, rows: pa.Table) -> NDArray[np.int64]:
    """Return since when the place of each row of ``offset_commits`` had had the life it was read in; 0: ever."""
    found = np.zeros(rows.num_rows, np.int64)
    for life, is_above, is_later in _compared(lives._incarnations, rows):
        found[is_above & is_later] = life.noticed_ms
    return found
