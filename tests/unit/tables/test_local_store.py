"""Tables on a local disk without a JVM: what is stored in which order, and what comes again after a power failure."""

from __future__ import annotations

import subprocess
import sys
import threading
from pathlib import Path

import pyarrow as pa
import pytest
from deltalake import DeltaTable

from offset_sync.model.errors import TableError
from offset_sync.tables.catalog import DRIVERS, RECORD_RUNS
from offset_sync.tables.delta.lock import table_lock
from offset_sync.tables.local_store import LocalTables
from offset_sync.tables.report_tables import ALL_TABLES, SYNC_STATUS
from tools.stored_names import note_stored

LIB = str(Path(__file__).resolve().parents[3] / "lib")


def claims(*epochs: int) -> pa.Table:
    return pa.Table.from_pylist([{"job": "j", "epoch": epoch} for epoch in epochs], DRIVERS.arrow_schema)


def epochs(rows: pa.Table) -> list[int]:
    return sorted(rows.column("epoch").to_pylist())


@pytest.fixture
def tables(tmp_path: Path) -> LocalTables:
    """Empty tables."""
    made = LocalTables(str(tmp_path / "tables"))
    made.create(ALL_TABLES)
    return made


@pytest.fixture
def stored(tables: LocalTables, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The names of what was stored, in order."""
    return note_stored(monkeypatch)


def test_rows_are_stored_before_their_entry_and_both_before_a_write_returns(
    tables: LocalTables, stored: list[str]
) -> None:
    tables.append(DRIVERS, claims(1))
    assert stored == ["rows", "drivers", f"{1:020d}.json", "_delta_log"]
    stored.clear()
    tables.replace(SYNC_STATUS, pa.Table.from_pylist([{"group_id": "g"}], SYNC_STATUS.arrow_schema))
    assert stored == ["rows", "sync_status", f"{1:020d}.json", "_delta_log"]


def test_a_table_is_stored_before_its_making_returns(tables: LocalTables, stored: list[str]) -> None:
    other = LocalTables(f"{tables.root}/more")
    other.create([DRIVERS])
    written, *folders = stored
    assert written.endswith(".tmp")
    assert folders == ["_delta_log", "drivers", "more"]


@pytest.mark.parametrize("left", [0, 40], ids=["empty", "cut off"])
def test_an_append_whose_entry_was_not_stored_comes_again_and_is_there_once(tables: LocalTables, left: int) -> None:
    for number in (1, 2):
        tables.append(DRIVERS, claims(number), ("query", number))
    entry = Path(tables.path(DRIVERS), "_delta_log", f"{2:020d}.json")
    entry.write_bytes(entry.read_bytes()[:left])
    again = LocalTables(tables.root)
    again.create([DRIVERS])
    assert again.version(DRIVERS) == 1
    for number in (2, 2, 3):
        again.append(DRIVERS, claims(number), ("query", number))
    assert epochs(again.all_rows(DRIVERS)) == [1, 2, 3]


def test_what_a_writer_has_written_is_not_written_again_be_it_its_first_version(tables: LocalTables) -> None:
    for version in (0, 0, 1, 0, 1):
        tables.append(DRIVERS, claims(version), ("query", version))
        tables.append(DRIVERS, claims(10 + version), ("other", version))
    assert epochs(tables.all_rows(DRIVERS)) == [0, 1, 10, 11]


def test_writers_are_remembered_beyond_a_checkpoint(tables: LocalTables) -> None:
    tables.append(DRIVERS, claims(0), ("query", 7))
    for number in range(1, 52):
        tables.append(DRIVERS, claims(number))
    log = Path(tables.path(DRIVERS), "_delta_log")
    assert (log / f"{50:020d}.checkpoint.parquet").exists()
    for old in sorted(log.glob("*.json"))[:50]:
        old.unlink()  # as maintenance does, in time
    again = LocalTables(tables.root)
    again.append(DRIVERS, claims(99), ("query", 7))
    again.create([DRIVERS])
    assert epochs(again.all_rows(DRIVERS)) == list(range(52))
    assert again.version(DRIVERS, 3) == 52
    assert epochs(again.rows_since(DRIVERS, 3, 52)) == list(range(52))


def test_nothing_is_written_while_somebody_else_has_the_lock(tables: LocalTables) -> None:
    begun = threading.Event()
    writer = threading.Thread(target=lambda: (begun.set(), tables.append(DRIVERS, claims(1))))
    with table_lock(Path(tables.path(DRIVERS))):
        writer.start()
        assert begun.wait(60)
        writer.join(0.3)
        assert writer.is_alive()
        assert tables.version(DRIVERS) == 0
    writer.join(60)
    assert tables.version(DRIVERS) == 1


def test_a_table_that_delta_rs_cannot_write_is_refused_by_name(tables: LocalTables) -> None:
    with pytest.raises(TableError, match=r"record_runs: .*[Cc]luster"):
        tables.append(RECORD_RUNS, pa.Table.from_pylist([{"topic": "t"}], RECORD_RUNS.arrow_schema))
    assert tables.all_rows(RECORD_RUNS).num_rows == 0


def test_what_somebody_was_killed_in_front_of_a_first_version_is_no_hindrance(tmp_path: Path) -> None:
    left_over = tmp_path / "drivers" / "_delta_log" / ".00000000000000000000.json.tmp"
    left_over.parent.mkdir(parents=True)
    left_over.write_text("half a ver")
    LocalTables(str(tmp_path)).create([DRIVERS])
    assert DeltaTable(str(tmp_path / "drivers")).version() == 0


def test_a_folder_with_somebody_elses_files_is_left_alone(tmp_path: Path) -> None:
    theirs = tmp_path / "drivers" / "theirs.parquet"
    theirs.parent.mkdir()
    theirs.write_text("not ours")
    with pytest.raises(TableError, match="drivers"):
        LocalTables(str(tmp_path)).create([DRIVERS])
    assert [each.name for each in theirs.parent.iterdir()] == ["theirs.parquet"]


def test_a_file_that_was_cleaned_up_while_the_table_was_read_has_another_in_its_place(
    tables: LocalTables, monkeypatch: pytest.MonkeyPatch
) -> None:
    tables.append(DRIVERS, claims(1))
    missing, batches = [True], LocalTables.batches

    def read(self: LocalTables, *given: object) -> object:
        if missing and missing.pop():
            raise FileNotFoundError("part-1")
        return batches(self, *given)  # type: ignore[arg-type]

    monkeypatch.setattr(LocalTables, "batches", read)
    assert epochs(tables.all_rows(DRIVERS)) == [1]


_WRITES = """
import sys
import pyarrow as pa
from offset_sync.tables.catalog import DRIVERS
from offset_sync.tables.local_store import LocalTables
tables = LocalTables(sys.argv[1])
tables.create()
for number in range(20):
    tables.append(DRIVERS, pa.Table.from_pylist([{"job": "j", "epoch": number}], DRIVERS.arrow_schema), ("q", number))
assert not {"pyspark", "py4j"} & sys.modules.keys()
"""


def test_processes_that_create_and_append_at_once_write_each_version_of_a_writer_once(tmp_path: Path) -> None:
    command = [sys.executable, "-c", _WRITES, str(tmp_path / "new")]
    others = [subprocess.Popen(command, env={"PYTHONPATH": LIB}) for _ in range(3)]
    assert [other.wait(120) for other in others] == [0, 0, 0]
    assert epochs(LocalTables(str(tmp_path / "new")).all_rows(DRIVERS)) == list(range(20))
