"""What was folded under other names of topics is not believed: its keys are keys of something else."""

from __future__ import annotations

import threading
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

import pyarrow as pa

from fakes.clusters import MemoryIndex
from fakes.reconciler_site import config_of
from offset_sync.state.commit_log_lives import CommitLogLives
from offset_sync.state.lease import NoLease
from offset_sync.state.start_folds import StartFolds
from offset_sync.state.sync_state import SyncState
from offset_sync.tables.catalog import OFFSET_COMMITS, TABLES
from offset_sync.tables.store import TableStore

NOON = datetime(2026, 9, 1, 12, tzinfo=timezone.utc)
COMMIT = {
    "cluster": "dc2",
    "group_id": "g",
    "topic": "orders",
    "partition": 0,
    "committed_offset": 7,
    "metadata": "",
    "is_tombstone": False,
    "is_own": False,
    "log_partition": 1,
    "log_offset": 3,
    "committed_at": NOON,
    "captured_at": NOON,
    "made_at": NOON,
}


def topics_known(folder: Path, names: str) -> set[str]:
    """Return the topics of the keys that a start knows, which folds what it has read."""
    config = config_of(
        ["dc1", "dc2"], mirror={"names": names}, tables={"root": f"{folder}/t", "checkpoints": f"{folder}/c"}
    )
    tables = TableStore(config.tables.root, names=config.names)
    tables.create(TABLES)
    if tables.version(OFFSET_COMMITS) == 0:
        TableStore(tables.root).append(OFFSET_COMMITS, pa.Table.from_pylist([COMMIT], OFFSET_COMMITS.arrow_schema))
    state, lease = SyncState(config, MemoryIndex()), NoLease(threading.Event())
    folds: Any = StartFolds(tables, config, lease)
    folds.restore(state, CommitLogLives(tables))
    return {key.topic for key in state.offsets.keys}


def test_the_keys_of_a_start_are_those_of_the_names_of_now(tmp_path: Path) -> None:
    assert topics_known(tmp_path, "same") == {"orders"}
    assert (tmp_path / "c" / "sync_offsets" / "folds").exists()
    assert topics_known(tmp_path, "mm2") == {"dc2.orders"}
    assert topics_known(tmp_path, "mm2") == {"dc2.orders"}
    assert topics_known(tmp_path, "same") == {"orders"}
