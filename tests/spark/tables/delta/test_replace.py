"""A table of which only the newest rows count: readers see the old ones or the new ones, never both nor none."""

from __future__ import annotations

import threading
from contextlib import nullcontext
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from deltalake import DeltaTable
from pyspark.sql import SparkSession

from offset_sync.tables.delta.jvm import JavaError
from offset_sync.tables.delta.kernel import Kernel, Snapshot
from offset_sync.tables.delta.replace import DeltaReplacer
from offset_sync.tables.report_tables import SYNC_STATUS
from offset_sync.tables.store import TableStore

NOW = datetime(2026, 11, 21, 12, tzinfo=timezone.utc)


@pytest.fixture
def tables(spark: SparkSession, tmp_path: Path) -> TableStore:
    made = TableStore(spark, str(tmp_path))
    made.create([SYNC_STATUS])
    return made


def rows(*groups: str, version: int = 0) -> pa.Table:
    """One row per group; *version* stands in a column."""
    found: list[dict[str, Any]] = [
        {"reported_at": NOW, "group_id": group, "status": "InSync", "source_offset": version, "reason": None}
        for group in groups
    ]
    return pa.Table.from_pylist(found, SYNC_STATUS.arrow_schema)


def by_delta_rs(tables: TableStore) -> list[dict[str, Any]]:
    table = DeltaTable(tables.path(SYNC_STATUS)).to_pyarrow_table()
    return sorted(table.to_pylist(), key=lambda row: str(row["group_id"]))


def by_spark(tables: TableStore) -> list[dict[str, Any]]:
    table = tables.all_rows(SYNC_STATUS)
    return sorted(table.to_pylist(), key=lambda row: str(row["group_id"]))


def test_the_new_rows_stand_in_the_place_of_the_old_ones_for_every_reader(tables: TableStore) -> None:
    tables.replace(SYNC_STATUS, rows("a", "b"))
    assert [row["group_id"] for row in by_spark(tables)] == ["a", "b"]
    tables.replace(SYNC_STATUS, rows("c", version=2))
    for found in (by_spark(tables), by_delta_rs(tables)):
        assert [(row["group_id"], row["source_offset"], row["reason"]) for row in found] == [("c", 2, None)]
        assert found[0]["reported_at"] == NOW
    assert by_delta_rs(tables)[0].keys() == set(SYNC_STATUS.names)
    before = DeltaTable(tables.path(SYNC_STATUS), version=1).to_pyarrow_table()
    assert sorted(before.column("group_id").to_pylist()) == ["a", "b"]


def test_no_rows_may_be_the_new_ones(tables: TableStore) -> None:
    tables.replace(SYNC_STATUS, rows("a"))
    tables.replace(SYNC_STATUS, rows())
    assert by_spark(tables) == by_delta_rs(tables) == []


def test_columns_come_in_the_tables_order_and_keep_their_comments(tables: TableStore, spark: SparkSession) -> None:
    shuffled = rows("a").select(SYNC_STATUS.names[::-1])
    tables.replace(SYNC_STATUS, shuffled)
    described = spark.sql(f"DESCRIBE TABLE delta.`{tables.path(SYNC_STATUS)}`").toArrow().to_pylist()
    assert [row["col_name"] for row in described][: len(SYNC_STATUS.names)] == list(SYNC_STATUS.names)
    assert all(row["comment"] for row in described[: len(SYNC_STATUS.names)])


def test_who_reads_meanwhile_sees_one_report_whole(tables: TableStore) -> None:
    groups = [str(number) for number in range(500)]
    tables.replace(SYNC_STATUS, rows(*groups, version=0))
    seen: list[tuple[int, set[int]]] = []
    is_over = threading.Event()

    def read() -> None:
        while not is_over.is_set():
            table = DeltaTable(tables.path(SYNC_STATUS)).to_pyarrow_table(columns=["source_offset"])
            seen.append((table.num_rows, set(table.column("source_offset").to_pylist())))

    reader = threading.Thread(target=read)
    reader.start()
    for version in range(1, 20):
        tables.replace(SYNC_STATUS, rows(*groups, version=version))
    is_over.set()
    reader.join()
    assert {count for count, _ in seen} == {500}
    assert all(len(versions) == 1 for _, versions in seen)
    assert len(set.union(*(versions for _, versions in seen))) > 1


def test_who_replaces_at_the_same_moment_elsewhere_is_found_out_and_replaced_in_turn(
    tables: TableStore, spark: SparkSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where no lock of this machine helps: another writer commits after this one has looked, before it writes."""
    tables.replace(SYNC_STATUS, rows("first"))
    monkeypatch.setattr("offset_sync.tables.delta.replace.table_lock", lambda table: nullcontext())
    path, newest, looks = tables.path(SYNC_STATUS), Kernel.newest, []

    def look(self: Kernel, path: str) -> Snapshot:
        snapshot = newest(self, path)
        looks.append(path)
        if len(looks) == 1:
            tables.replace(SYNC_STATUS, rows("theirs", "theirs too"))
        return snapshot

    ours = DeltaReplacer(spark)
    monkeypatch.setattr(Kernel, "newest", look)
    ours.replace(path, rows("ours").select(SYNC_STATUS.names))
    assert [row["group_id"] for row in by_delta_rs(tables)] == ["ours"]
    assert len(looks) == 3, "ours, theirs, ours again"


def test_reports_of_one_machine_wait_for_each_other(tables: TableStore, spark: SparkSession) -> None:
    groups = [str(number) for number in range(50)]

    def write(version: int) -> None:
        DeltaReplacer(spark).replace(tables.path(SYNC_STATUS), rows(*groups, version=version).select(SYNC_STATUS.names))

    writers = [threading.Thread(target=write, args=(version,)) for version in range(8)]
    for each in writers:
        each.start()
    for each in writers:
        each.join()
    found = by_delta_rs(tables)
    assert [row["group_id"] for row in found] == sorted(groups)
    assert len({row["source_offset"] for row in found}) == 1
    assert tables.version(SYNC_STATUS) == len(writers)


def test_a_table_that_cannot_be_written_is_an_error(spark: SparkSession, tmp_path: Path) -> None:
    with pytest.raises(JavaError, match="TableNotFound"):
        DeltaReplacer(spark).replace(str(tmp_path / "no-table"), rows("a"))
