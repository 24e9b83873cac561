"""The number of the format: state of another one is refused in a line, that of the same one goes on."""

from __future__ import annotations

from pathlib import Path

import pytest
from deltalake import DeltaTable

from builders.claims import claims
from offset_sync.model.errors import FormatError
from offset_sync.tables.catalog import CUTOVERS, DRIVERS, TABLES
from offset_sync.tables.files import Files
from offset_sync.tables.format import FORMAT, PROPERTY, check_checkpoints
from offset_sync.tables.store import TableStore

REMEDY = f"this version has format {FORMAT}; give tables.root and tables.checkpoints new places"


@pytest.mark.parametrize("number", ["", str(FORMAT - 1), str(FORMAT + 1)])
def test_tables_of_another_format_are_neither_read_nor_written(tmp_path: Path, number: str) -> None:
    tables = TableStore(str(tmp_path))
    tables.create([*TABLES, CUTOVERS])
    tables.append(DRIVERS, claims(1))
    for table in (*TABLES, CUTOVERS):
        DeltaTable(tables.path(table)).alter.set_table_properties({PROPERTY: number}, raise_if_not_exists=False)
    before = {path: path.stat().st_mtime_ns for path in tmp_path.rglob("*")}
    for act in (TableStore(tables.root).create, lambda: TableStore(tables.root).all_rows(DRIVERS)):
        with pytest.raises(FormatError, match=f"^[^\n]*{REMEDY}[^\n]*$"):
            act()
    assert {path: path.stat().st_mtime_ns for path in tmp_path.rglob("*")} == before


@pytest.mark.parametrize("number", [None, str(FORMAT - 1), str(FORMAT + 1)])
def test_checkpoints_of_another_format_are_refused(tmp_path: Path, number: str | None) -> None:
    (tmp_path / "index_records" / "dc1" / "offsets").mkdir(parents=True)
    (tmp_path / "index_records" / "dc1" / "offsets" / "0").write_text("v1\n")
    if number is not None:
        (tmp_path / PROPERTY).write_text(number)
    with pytest.raises(FormatError, match=REMEDY):
        check_checkpoints(Files(), str(tmp_path))


def test_checkpoints_of_the_same_format_go_on_also_of_a_job_that_begins_meanwhile(tmp_path: Path) -> None:
    (tmp_path / "of another program").touch()
    check_checkpoints(Files(), f"{tmp_path}/new")
    (tmp_path / "new" / "sync_offsets.ids").touch()
    check_checkpoints(Files(), f"{tmp_path}/new")

    class Overtaken(Files):
        def below(self, folder: str) -> list[str]:
            check_checkpoints(Files(), folder)
            (tmp_path / "index_records.cluster_ids.json").touch()
            return super().below(folder)

    check_checkpoints(Overtaken(), str(tmp_path))
