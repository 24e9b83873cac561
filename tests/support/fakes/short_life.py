"""A short life of one group, told in rows of the tables, and the driver that starts on them."""

from __future__ import annotations

from datetime import datetime, timezone
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from builders.logs import log
from fakes.reconciler_site import STARTED_MS, Site, config_of
from offset_sync.model.values import GroupPartition
from offset_sync.state.commit_log_incarnations import CommitLogIncarnations
from offset_sync.state.committed_offsets import CommitRecords
from offset_sync.state.last_known import LastKnown
from offset_sync.state.restore import restore_answers, restore_commits
from offset_sync.tables.catalog import OFFSET_COMMITS
from offset_sync.tables.definition import Table
from offset_sync.tables.store import TableStore

DAY_MS = 24 * 3600 * 1000
KEY = GroupPartition("g", "orders", 0)


class Life:
    """Clusters that all hold 600 records of X, the tables, and the driver that starts on them."""

    def __init__(self, tables: TableStore, folder: Path, clusters: str, **sync: Any) -> None:
        config = config_of(list(clusters), sync=sync)
        places = config.tables.model_copy(update={"checkpoints": str(folder)})
        self.tables, self.site = tables, Site(config.model_copy(update={"tables": places}))
        for alias in clusters:
            self.site.put(log(alias, "X0:600"))

    def add(self, table: Table, **row: Any) -> None:
        self.tables.append(table, pa.Table.from_pylist([row], table.arrow_schema))

    def commit(self, cluster: str, place: int, offset: int | None, ms: int, group: str = "g") -> None:
        """Have a row of offset_commits; what Y has of a group that commits at X is ours."""
        is_own = cluster == "Y" and group == "ours at Y"
        row: dict[str, Any] = {"cluster": cluster, "group_id": "g" if is_own else group, "topic": "orders"}
        row |= {
            "partition": 0,
            "log_partition": 0,
            "log_offset": place,
            "committed_at": at(ms),
            "made_at": at(ms),
            "is_own": is_own,
        }
        row |= {"committed_offset": offset, "is_tombstone": offset is None, "captured_at": at(ms + 1)}
        row |= {"leader_epoch": None if place % 3 == 0 else place}
        self.add(OFFSET_COMMITS, **row, metadata="", topic_id=None)

    def start(self, *, is_folded: bool) -> None:
        """Start a driver."""
        self.site.restart()
        lives = CommitLogIncarnations(self.tables)
        if is_folded:
            LastKnown(self.tables, self.site.config, replaces=True).restore(self.site.state, lives)
        else:
            restore_commits(self.tables, self.site.state, lives)
            restore_answers(self.tables, self.site.state)

    def says(self, cluster: str, place: int, offset: int, *, days_ago: int = 0) -> None:
        """Have the running driver read a commit of the group."""
        at_ms = np.array([self.site.clock_ms[0] - days_ago * DAY_MS])
        none, places = np.zeros(1, np.intp), (np.zeros(1, np.int64), np.array([place]))
        records = CommitRecords(
            none, np.array([offset]), np.array([False]), at_ms, at_ms, *places, [None], np.array([-1])
        )
        self.site.state.record(cluster, [KEY], records)

    def stands(self, cluster: str) -> int | None:
        """Reconcile everything a few times; return the offset at *cluster*."""
        for _ in range(4):
            self.site.pass_time(1000)
            self.site.reconciler.reconcile_all()
        return self.site.target_offset(cluster, "g")


def at(ms: int) -> datetime:
    return datetime.fromtimestamp((STARTED_MS + ms) / 1000, timezone.utc)
