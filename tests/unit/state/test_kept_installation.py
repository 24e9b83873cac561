"""Tables and checkpoints that jobs of this format have left, as files: today's code goes on from them as they are.

After a change of the format they are taken anew, from what ``pytest tests/broker/test_mirror_names.py --basetemp=DIR``
leaves in the folders ``checkpoints`` and ``tables``, without ``drivers``, ``cutovers`` and reports.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from builders.kept_installation import kept_installation
from offset_sync.config import Config
from offset_sync.ingest.checkpoint import Checkpoint
from offset_sync.model.values import CONSUMER_OFFSETS
from offset_sync.state.commit_log_incarnations import CommitLogIncarnations
from offset_sync.state.last_known import LastKnown
from offset_sync.state.record_index import RecordIndex
from offset_sync.state.sync_state import SyncState
from offset_sync.tables.catalog import DRIVERS, OFFSET_COMMITS, RECORD_RUNS, TABLES
from offset_sync.tables.files import Files
from offset_sync.tables.format import check_checkpoints
from offset_sync.tables.store import TableStore

TAKEN = [table for table in TABLES if table is not DRIVERS]


@pytest.fixture
def config(tmp_path: Path) -> Config:
    return kept_installation(tmp_path)


@pytest.fixture
def tables(config: Config) -> TableStore:
    return TableStore.of(config, config.names)


def test_nothing_has_to_be_changed_for_a_start(config: Config, tables: TableStore) -> None:
    before = [tables.version(table) for table in TAKEN]
    tables.create()
    check_checkpoints(Files(), config.tables.checkpoints)
    assert [tables.version(table) for table in TAKEN] == before


def test_the_index_knows_every_log_to_its_end(tables: TableStore) -> None:
    index = RecordIndex(tables)
    index.refresh()
    ends: dict[tuple[str, str, int], int] = {}
    for row in tables.all_rows(RECORD_RUNS).to_pylist():
        log = row["cluster"], row["topic"], row["partition"]
        ends[log] = max(ends.get(log, 0), row["start_offset"] + row["length"])
    assert {tuple(log): each.frontier for log, each in index.all_logs().items()} == ends
    assert not any(each.is_contradicted for each in index.all_logs().values())


def test_the_last_commit_of_every_group_is_known_and_whose_it_is(config: Config, tables: TableStore) -> None:
    state = SyncState(config, RecordIndex(tables))
    LastKnown(tables, config).restore(state, CommitLogIncarnations(tables))
    last = {
        (row["cluster"], row["group_id"], row["topic"], row["partition"]): (row["committed_offset"], row["is_own"])
        for row in sorted(tables.all_rows(OFFSET_COMMITS).to_pylist(), key=lambda row: row["log_offset"])
    }
    assert {is_own for _, is_own in last.values()} == {False, True}
    found = {}
    for alias, cluster in state.offsets.clusters.items():
        for row, key in enumerate(state.offsets.keys):
            offset, is_own = (cluster.columns[name][row].item() for name in ("actual_offset", "actual_is_own"))
            if offset >= 0:
                found[alias, *key] = offset, is_own
    assert found == last


@pytest.mark.parametrize("query", ["index_records/dc1", "index_records/dc2", "sync_offsets/dc1", "sync_offsets/dc2"])
def test_each_query_goes_on_from_where_it_was(config: Config, query: str) -> None:
    checkpoint = Checkpoint(Files(), f"{config.tables.checkpoints}/{query}", query[-3:], config.names)
    checkpoint.repair()
    last = checkpoint.last_committed()
    assert last is not None
    topics = {place.topic for place, end in checkpoint.end_offsets(last).items() if end}
    assert topics == ({CONSUMER_OFFSETS} if query.startswith("sync") else {"dc1.named", "dc2.named"})
