"""The index is read while Spark starts, where that is possible; whoever comes later reads on from there."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from deltalake import DeltaTable

from builders.index_rows import run
from offset_sync.config import Config, parse_config
from offset_sync.jobs.early_index import begin_to_read, taken_over
from offset_sync.jobs.open_tables import open_tables
from offset_sync.model.errors import TableError
from offset_sync.tables.catalog import LOG_INCARNATIONS, RECORD_RUNS
from offset_sync.tables.delta import delta_rs
from offset_sync.tables.delta.local_files import LocalFiles
from offset_sync.tables.local_store import LocalTables

PLACE = ("dc1", "orders", 0)


def config(root: Path | str, **mirror: Any) -> Config:
    ends = {f"dc{n}": {"kafka": {"bootstrap.servers": f"127.0.0.1:{n}"}} for n in (1, 2)}
    places = {"root": str(root), "checkpoints": f"{root}-checkpoints"}
    return parse_config({"clusters": ends, "topics": {"include": ["orders"]}, "tables": places, **mirror}, {})


def append(tables: LocalTables, start: int) -> None:
    """Append a run as index_records does."""
    folder = Path(tables.path(RECORD_RUNS))
    rows = pa.Table.from_pylist([run(start, 10, "dc1", start, place=PLACE)], RECORD_RUNS.arrow_schema)
    name, version = f"part-{start}.parquet", int(tables.version(RECORD_RUNS)) + 1
    _, size = LocalFiles().write_parquet(str(folder / name), rows)
    added = {"path": name, "partitionValues": {}, "size": size, "modificationTime": 0, "dataChange": True}
    (folder / "_delta_log" / f"{version:020d}.json").write_text(json.dumps({"add": added}))


@pytest.fixture
def tables(tmp_path: Path) -> LocalTables:
    made = LocalTables(str(tmp_path))
    made.create()
    append(made, 0)
    return made


def test_the_index_is_read_and_whoever_takes_it_over_reads_on(tables: LocalTables, tmp_path: Path) -> None:
    begun = begin_to_read(config(tmp_path), {})
    assert begun is not None
    later = LocalTables(str(tmp_path))
    index = taken_over(begun, config(tmp_path), later)
    assert index is begun
    append(tables, 10)
    index.refresh()
    log = index.log(*PLACE)
    assert log is not None
    assert (log.run_count, log.frontier) == (1, 20)
    assert index._tables is later


def test_nothing_is_read_where_spark_or_a_cluster_has_to_be_asked(
    tables: LocalTables, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert begin_to_read(config(tmp_path / "none"), {}) is None
    assert begin_to_read(config("s3a://bucket/a"), {}) is None
    assert begin_to_read(config(tmp_path), {"HADOOP_CONF_DIR": "/etc/hadoop"}) is None
    assert begin_to_read(config(tmp_path, mirror={"names": "mm2"}), {}) is None
    monkeypatch.setattr(delta_rs, "has_all_rows", lambda table: not table.endswith("log_incarnations"))
    assert begin_to_read(config(tmp_path), {}) is None


@pytest.mark.parametrize("name", [RECORD_RUNS.name, LOG_INCARNATIONS.name])
@pytest.mark.parametrize("left", ["", "\n", "{", "\0" * 300])
def test_what_a_power_failure_left_of_a_log_is_removed_before_its_number_is_remembered(
    tables: LocalTables, tmp_path: Path, left: str, name: str
) -> None:
    torn = tmp_path / name / "_delta_log" / f"{2 if name == RECORD_RUNS.name else 1:020d}.json"
    torn.write_text(left)
    begun = begin_to_read(config(tmp_path), {})
    assert begun is not None
    begun.refresh()
    assert not torn.exists()
    tables.create()
    for start in (10, 20):  # what was to be entered comes again, under the same number
        append(tables, start)
        taken_over(begun, config(tmp_path), tables).refresh()
    log = begun.log(*PLACE)
    assert log is not None
    assert (log.run_count, log.frontier, log.last_unknown) == (1, 30, -1)


def test_a_log_that_cannot_be_mended_is_left_to_whoever_makes_the_tables(tables: LocalTables, tmp_path: Path) -> None:
    append(tables, 10)
    (tmp_path / RECORD_RUNS.name / "_delta_log" / f"{1:020d}.json").write_text("")
    assert begin_to_read(config(tmp_path), {}) is None
    with pytest.raises(TableError):
        tables.create()


def test_without_an_index_that_was_begun_there_is_a_new_one(tables: LocalTables, tmp_path: Path) -> None:
    index = taken_over(None, config(tmp_path), tables)
    index.refresh()
    assert index.log(*PLACE) is not None


def test_tables_with_rows_that_are_gone_from_their_files_are_not_read_without_spark(
    tables: LocalTables, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As of a table for which somebody has switched deletion vectors on."""
    assert tables.readable_by_spark_alone() == []
    entry = Path(tables.path(RECORD_RUNS)) / "_delta_log" / f"{2:020d}.json"
    features = '"readerFeatures":["deletionVectors"],"writerFeatures":["deletionVectors"]'
    entry.write_text(f'{{"protocol":{{"minReaderVersion":3,"minWriterVersion":7,{features}}}}}\n')
    assert DeltaTable(tables.path(RECORD_RUNS)).protocol().reader_features == ["deletionVectors"]
    assert tables.readable_by_spark_alone() == [RECORD_RUNS.name]
    asked = []

    def open_spark(*given: str) -> Any:
        asked.append(given)
        raise InterruptedError

    monkeypatch.setattr("offset_sync.jobs.open_tables.open_spark", open_spark)
    with pytest.raises(InterruptedError), open_tables(config(tmp_path), "name"):
        pass
    assert asked == [("name", "tables.root", str(tmp_path))]
