"""Commits that an older version could not read: today's decoder enters them where they belong, each once."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta, timezone

import pyarrow as pa
import pytest

from builders.offset_records import commit_key, commit_value
from fakes.clusters import MemoryIndex
from fakes.reconciler_site import config_of
from fakes.tables import PowerFailure
from offset_sync.ingest.quarantine_replay import REPLAYED, replay_quarantine
from offset_sync.model.values import GroupPartition
from offset_sync.state.commit_log_incarnations import CommitLogIncarnations
from offset_sync.state.restore import restore_commits
from offset_sync.state.sync_state import SyncState
from offset_sync.tables.catalog import OFFSET_COMMITS, OFFSET_TRANSLATIONS, QUARANTINE
from offset_sync.tables.definition import Table
from offset_sync.tables.store import TableStore
from offset_sync.tables.transaction_log import DataFile

SEEN_AT = datetime(2026, 1, 2, tzinfo=timezone.utc)
OLD_ERROR = "value version 4 is unknown for record type 1"
Row = dict[str, object]


class Dying(TableStore):
    """Loses power before its first append to quarantine."""

    def append(
        self,
        table: Table,
        rows: pa.Table,
        writer: tuple[str, int] | None = None,
        written: Sequence[DataFile] = (),
    ) -> None:
        if table is QUARANTINE:
            raise PowerFailure
        super().append(table, rows, writer, written)


def quarantined(cluster: str, offset: int, key: bytes, value: bytes, topic: str = "__consumer_offsets") -> Row:
    row = {"cluster": cluster, "topic": topic, "partition": 3, "offset": offset, "key": key, "value": value}
    return row | {"error": OLD_ERROR, "seen_at": SEEN_AT}


def fill(tables: TableStore) -> None:
    key = commit_key("g", "t", 0)
    rows = [
        quarantined("X", 7, key, commit_value(5)),
        quarantined("X", 9, key, commit_value(6)),
        quarantined("Y", 7, key, commit_value(4)),
        quarantined("Y", 8, key, commit_value(4, version=99)),
        quarantined("X", 2, b"dc2", b"12x", topic="orders"),
    ]
    written = {"source_cluster": "Y", "target_cluster": "X", "group_id": "g", "topic": "t", "partition": 0}
    written |= {"source_offset": 4, "source_committed_at": SEEN_AT, "target_offset": 6, "state": "EXACT"}
    written |= {"outcome": "COMMITTED", "translated_at": SEEN_AT}
    tables.append(OFFSET_TRANSLATIONS, pa.Table.from_pylist([written], OFFSET_TRANSLATIONS.arrow_schema))
    for _ in range(2):  # a record that was read twice is there twice
        tables.append(QUARANTINE, pa.Table.from_pylist(rows, QUARANTINE.arrow_schema))


def commits(tables: TableStore) -> list[tuple[object, ...]]:
    names = ("cluster", "log_partition", "log_offset", "group_id", "committed_offset", "is_own")
    return sorted(tuple(row[name] for name in names) for row in tables.all_rows(OFFSET_COMMITS).to_pylist())


def marks(tables: TableStore) -> list[tuple[object, ...]]:
    rows = tables.all_rows(QUARANTINE).to_pylist()
    return sorted((row["cluster"], row["offset"]) for row in rows if row["error"] == REPLAYED)


EXPECTED = [("X", 3, 7, "g", 5, False), ("X", 3, 9, "g", 6, True), ("Y", 3, 7, "g", 4, False)]


def test_what_can_be_read_by_now_is_entered_once_and_marked(tables: TableStore) -> None:
    fill(tables)
    assert [replay_quarantine(tables) for _ in range(3)] == [3, 0, 0]
    assert commits(tables) == EXPECTED
    assert marks(tables) == [("X", 7), ("X", 9), ("Y", 7)]
    state = SyncState(config_of(["X", "Y"]), MemoryIndex())
    restore_commits(tables, state, CommitLogIncarnations(tables))
    (row,) = state.offsets.ids([GroupPartition("g", "t", 0)])
    genuine = {alias: int(each.columns["genuine_offset"][row]) for alias, each in state.offsets.clusters.items()}
    assert genuine == {"X": 5, "Y": 4}


def test_killed_between_the_commits_and_the_mark_each_is_there_once(tables: TableStore) -> None:
    fill(tables)
    with pytest.raises(PowerFailure):
        replay_quarantine(Dying(tables.root))
    assert (commits(tables), marks(tables)) == (EXPECTED, [])
    assert replay_quarantine(tables) == 0
    assert (commits(tables), marks(tables)) == (EXPECTED, [("X", 7), ("X", 9), ("Y", 7)])


def test_a_record_of_another_life_of_the_log_is_entered_too_as_read_when_it_was_seen(
    tables: TableStore,
) -> None:
    fill(tables)
    assert replay_quarantine(tables) == 3
    later = quarantined("X", 7, commit_key("h", "t", 0), commit_value(8))
    seen_at = datetime.now(timezone.utc) + timedelta(seconds=5)
    tables.append(QUARANTINE, pa.Table.from_pylist([later | {"seen_at": seen_at}], QUARANTINE.arrow_schema))
    assert replay_quarantine(tables) == 1
    rows = tables.all_rows(OFFSET_COMMITS).to_pylist()
    times = {row["group_id"]: row["captured_at"].astimezone(timezone.utc) for row in rows}
    assert times == {"g": SEEN_AT, "h": seen_at}


def test_without_a_quarantine_nothing_is_done(tables: TableStore) -> None:
    assert replay_quarantine(tables) == 0
    assert (tables.version(OFFSET_COMMITS), tables.version(QUARANTINE)) == (0, 0)
