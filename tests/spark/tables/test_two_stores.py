"""The same tables by Spark's JVM and without one: each reads, follows and respects what the other has written."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from datetime import timedelta
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyspark.sql import SparkSession

from builders.spark_tables import checkpoint_every_tenth
from offset_sync.tables.catalog import DRIVERS, RECORD_RUNS
from offset_sync.tables.create import create_elsewhere
from offset_sync.tables.definition import Table
from offset_sync.tables.local_store import LocalTables
from offset_sync.tables.maintenance import Maintainer
from offset_sync.tables.protocol import Tables
from offset_sync.tables.report_tables import ALL_TABLES, CUTOVERS, SYNC_STATUS
from offset_sync.tables.store import TableStore


def claims(*epochs: int) -> pa.Table:
    return pa.Table.from_pylist([{"job": "j", "epoch": epoch} for epoch in epochs], DRIVERS.arrow_schema)


def epochs(rows: pa.Table) -> list[int]:
    return sorted(rows.column("epoch").to_pylist())


def by_spark(tables: TableStore, table: Table = DRIVERS) -> pa.Table:
    return tables.spark.read.format("delta").load(tables.path(table)).toArrow()


def own_actions(root: Path, table: Table) -> dict[str, Any]:
    """Return what the first entry says, without what differs from one table to another."""
    lines = (root / table.name / "_delta_log" / f"{0:020d}.json").read_text().splitlines()
    actions = {name: said for line in lines for name, said in json.loads(line).items()}
    commit, meta = actions["commitInfo"], actions["metaData"]
    for said, names in ((commit, ("timestamp", "txnId", "engineInfo")), (meta, ("id", "createdTime"))):
        for name in names:
            said.pop(name)
    commit["operationParameters"]["properties"] = json.loads(commit["operationParameters"]["properties"])
    commit["operationParameters"]["clusterBy"] = json.loads(commit["operationParameters"]["clusterBy"])
    meta["schemaString"] = json.loads(meta["schemaString"])
    if "domainMetadata" in actions:
        actions["domainMetadata"]["configuration"] = json.loads(actions["domainMetadata"]["configuration"])
    return actions


@pytest.mark.parametrize("table", [RECORD_RUNS, DRIVERS, SYNC_STATUS], ids=lambda table: table.name)
def test_a_table_made_without_spark_says_what_one_made_by_spark_says(
    spark: SparkSession, tmp_path: Path, table: Table
) -> None:
    LocalTables(str(tmp_path / "local")).create([table])
    create_elsewhere(spark, str(tmp_path / "spark" / table.name), table, 0)
    assert own_actions(tmp_path / "local", table) == own_actions(tmp_path / "spark", table)


@pytest.fixture
def local(tables: TableStore) -> LocalTables:
    """The same tables without a JVM."""
    return LocalTables(tables.root)


def test_each_reads_and_follows_what_the_other_appends_through_checkpoints_and_compactions(
    tables: TableStore, local: LocalTables
) -> None:
    checkpoint_every_tenth(tables.spark, tables.path(DRIVERS))
    maintainer = Maintainer(tables.spark, timedelta(hours=1))
    both: tuple[Tables, Tables] = (tables, local)
    version = tables.version(DRIVERS)
    for number in range(32):
        both[number % 2].append(DRIVERS, claims(number), ("writer", number))
        for each in both:
            assert epochs(each.rows_since(DRIVERS, version, each.version(DRIVERS, version))) == [number]
        version = local.version(DRIVERS)
        assert version == tables.version(DRIVERS)
        if number == 14:
            maintainer.compact(tables.path(DRIVERS))
            version = local.version(DRIVERS)
    log = Path(tables.path(DRIVERS), "_delta_log")
    assert len(list(log.glob("*.checkpoint*.parquet"))) >= 3
    for found in (tables.all_rows(DRIVERS), local.all_rows(DRIVERS), by_spark(tables)):
        assert epochs(found) == list(range(32))
    assert epochs(local.rows_where(DRIVERS, {"epoch": 7})) == [7]
    for each in both:
        assert epochs(pa.concat_tables(each.batches(DRIVERS, ["epoch"]))) == list(range(32))


def test_what_one_has_entered_for_a_writer_the_other_does_not_append_again(
    tables: TableStore, local: LocalTables
) -> None:
    checkpoint_every_tenth(tables.spark, tables.path(DRIVERS))
    both: tuple[Tables, Tables] = (tables, local)
    for number in range(24):
        first, second = both[number % 2], both[1 - number % 2]
        first.append(DRIVERS, claims(number), ("writer", number))
        second.append(DRIVERS, claims(100 + number), ("writer", number))
        TableStore(tables.spark, tables.root).append(DRIVERS, claims(200 + number), ("writer", max(0, number - 3)))
    assert epochs(by_spark(tables)) == list(range(24))


def test_each_replaces_what_the_other_has_put_there(tables: TableStore, local: LocalTables) -> None:
    tables.create(ALL_TABLES)
    both: tuple[Tables, Tables] = (tables, local)
    for number in range(6):
        rows = pa.Table.from_pylist([{"group_id": f"g{number}"}] * (number % 3), SYNC_STATUS.arrow_schema)
        both[number % 2].replace(SYNC_STATUS, rows)
        for found in (tables.all_rows(SYNC_STATUS), local.all_rows(SYNC_STATUS), by_spark(tables, SYNC_STATUS)):
            assert found.column("group_id").to_pylist() == [f"g{number}"] * (number % 3)
    comments = [row["comment"] for row in tables.spark.sql(f"DESCRIBE delta.`{tables.path(SYNC_STATUS)}`").collect()]
    assert comments[: len(SYNC_STATUS.columns)] == [column.comment for column in SYNC_STATUS.columns]


@pytest.mark.parametrize("turns", ["jl", "lj", "l"], ids=["checkpoints of one", "of the other", "one writer"])
def test_a_log_is_cleaned_up_whoever_has_written_it(tables: TableStore, local: LocalTables, turns: str) -> None:
    """By turns with a JVM and locally; every tenth version, which gets a checkpoint, is even."""
    path, writers = Path(tables.path(DRIVERS)), {"j": tables, "l": local}
    maintainer = Maintainer(tables.spark, timedelta(seconds=1))
    maintainer.prepare(str(path), DRIVERS)
    checkpoint_every_tenth(tables.spark, str(path))
    first = tables.version(DRIVERS) + 1
    for number in range(40):
        writers[turns[(first + number) % len(turns)]].append(DRIVERS, claims(number))
    an_hour_ago = time.time() - 3600
    for number, entry in enumerate(sorted((path / "_delta_log").glob("0*"))):
        os.utime(entry, (an_hour_ago + number, an_hour_ago + number))
    time.sleep(1.1)
    maintainer.clean_up(str(path))
    assert len(list((path / "_delta_log").glob("0*.json"))) <= 13
    for found in (tables.all_rows(DRIVERS), local.all_rows(DRIVERS), by_spark(tables)):
        assert epochs(found) == list(range(40))
    for number, each in enumerate((tables, local), 40):
        each.append(DRIVERS, claims(number))
    assert epochs(by_spark(tables)) == list(range(42))


_APPENDS = """
import sys
import pyarrow as pa
from offset_sync.tables.catalog import DRIVERS
from offset_sync.tables.local_store import LocalTables
tables, first = LocalTables(sys.argv[1]), int(sys.argv[2])
for number in range(first, first + 40):
    tables.append(DRIVERS, pa.Table.from_pylist([{"job": "j", "epoch": number}], DRIVERS.arrow_schema))
"""


def test_processes_of_both_kinds_that_append_at_once_lose_nothing(tables: TableStore) -> None:
    """The log of a local disk refuses no second entry of a number where Spark writes it: the lock does."""
    lib = str(Path(__file__).resolve().parents[3] / "lib")
    others = [
        subprocess.Popen([sys.executable, "-c", _APPENDS, tables.root, str(first)], env={"PYTHONPATH": lib})
        for first in (100, 200)
    ]
    for number in range(40):
        tables.append(DRIVERS, claims(number))
    assert [other.wait(120) for other in others] == [0, 0]
    wanted = [first + number for first in (0, 100, 200) for number in range(40)]
    assert epochs(by_spark(tables)) == wanted
    assert epochs(LocalTables(tables.root).all_rows(DRIVERS)) == wanted


def test_large_tables_that_lie_elsewhere_are_read_in_pieces_by_spark(
    tables: TableStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    for number in range(5):
        tables.append(DRIVERS, claims(number))
    monkeypatch.setattr("offset_sync.tables.store._FILES_AT_ONCE", 2)
    paths = tables._appender.kernel.data_files(tables._appender.kernel.newest(tables.path(DRIVERS)), 9)
    assert paths is not None
    schema = pa.schema([("epoch", pa.int64()), ("not_yet", pa.string())])
    pieces = list(tables._pieces_by_spark(paths, schema, ("epoch", 3)))
    assert len(pieces) == 3
    assert epochs(pa.concat_tables(pieces)) == [3, 4]


def test_steps_of_a_cutover_are_kept_as_they_are_told(tables: TableStore, local: LocalTables) -> None:
    tables.create([CUTOVERS])
    row = {"cutover_id": "a", "topic": "orders", "partition": 3, "detail": "ä" * 300}
    local.append(CUTOVERS, pa.Table.from_pylist([row], CUTOVERS.arrow_schema))
    assert by_spark(tables, CUTOVERS).select(list(row)).to_pylist() == [row]
