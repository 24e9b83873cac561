"""last_known has topics as their clusters call them: under other names they are other streams, and other keys."""

from __future__ import annotations

from datetime import datetime, timezone
from pathlib import Path
from typing import Any

import pyarrow as pa

from fakes.clusters import MemoryIndex
from fakes.reconciler_site import config_of
from offset_sync.state.commit_log_incarnations import CommitLogIncarnations
from offset_sync.state.last_known import LastKnown
from offset_sync.state.sync_state import SyncState
from offset_sync.tables.catalog import LAST_KNOWN, OFFSET_COMMITS, TABLES
from offset_sync.tables.store import TableStore

NOON = datetime(2026, 9, 1, 12, tzinfo=timezone.utc)
COMMIT = {
    "cluster": "dc3",
    "group_id": "g",
    "topic": "dc2.dc1.orders",
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

AT_DC2 = {"cluster": "dc2", "topic": "orders"}


def committed(folder: Path, copy_at_dc3: str) -> set[str]:
    """Return the streams in which a group has offsets at dc3, as known at a start, which writes last_known."""
    config = config_of(
        ["dc1", "dc2", "dc3"], mirror={"names": "mm2"}, tables={"root": f"{folder}/t", "checkpoints": f"{folder}/c"}
    )
    assert not config.names.problems({"dc3": [copy_at_dc3]})
    tables = TableStore(config.tables.root, names=config.names)
    tables.create(TABLES)
    if tables.version(OFFSET_COMMITS) == 0:
        TableStore(tables.root).append(OFFSET_COMMITS, pa.Table.from_pylist([COMMIT], OFFSET_COMMITS.arrow_schema))
    state = SyncState(config, MemoryIndex())
    last_known: Any = LastKnown(tables, config, replaces=True)
    last_known.restore(state, CommitLogIncarnations(tables))
    genuine = state.offsets.clusters["dc3"].columns["genuine_offset"]
    return {key.topic for row, key in enumerate(state.offsets.keys) if genuine[row] == 7}


def test_a_commit_on_a_copy_that_came_by_another_way_is_none_on_the_one_of_now(tmp_path: Path) -> None:
    assert committed(tmp_path, "dc2.dc1.orders") == {"dc1.orders"}
    assert TableStore(f"{tmp_path}/t").all_rows(LAST_KNOWN)["topic"].to_pylist() == ["dc2.dc1.orders"]
    assert committed(tmp_path, "dc2.dc1.orders") == {"dc1.orders"}
    assert committed(tmp_path, "dc1.orders") == {"dc2.dc1.orders at dc3"}
    assert committed(tmp_path, "dc1.orders") == {"dc2.dc1.orders at dc3"}
    assert committed(tmp_path, "dc2.dc1.orders") == {"dc1.orders"}


def topics_known(folder: Path, names: str) -> set[str]:
    """Return the topics of the keys that a start knows, which folds what it has read."""
    config = config_of(
        ["dc1", "dc2"], mirror={"names": names}, tables={"root": f"{folder}/t", "checkpoints": f"{folder}/c"}
    )
    tables = TableStore(config.tables.root, names=config.names)
    tables.create(TABLES)
    if tables.version(OFFSET_COMMITS) == 0:
        TableStore(tables.root).append(
            OFFSET_COMMITS, pa.Table.from_pylist([COMMIT | AT_DC2], OFFSET_COMMITS.arrow_schema)
        )
    state = SyncState(config, MemoryIndex())
    last_known: Any = LastKnown(tables, config, replaces=True)
    last_known.restore(state, CommitLogIncarnations(tables))
    return {key.topic for key in state.offsets.keys}


def test_the_keys_of_a_start_are_those_of_the_names_of_now(tmp_path: Path) -> None:
    assert topics_known(tmp_path, "same") == {"orders"}
    assert topics_known(tmp_path, "mm2") == {"dc2.orders"}
    assert topics_known(tmp_path, "mm2") == {"dc2.orders"}
    assert topics_known(tmp_path, "same") == {"orders"}
