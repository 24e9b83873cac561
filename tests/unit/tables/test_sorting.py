"""Files of a real table are put together into sorted ones: nobody reads other rows than before, by any reader."""

from __future__ import annotations

from contextlib import ExitStack
from datetime import timedelta

import pyarrow as pa
import pytest
from deltalake import DeltaTable

from builders.runs_in_tables import run
from offset_sync.config.prefix_names import PrefixNames
from offset_sync.config.stream_names import SAME_NAMES, MirroredNames
from offset_sync.tables import maintenance, sorted_compaction
from offset_sync.tables.catalog import RECORD_RUNS
from offset_sync.tables.maintenance import Maintainer
from offset_sync.tables.sorted_files import Block
from offset_sync.tables.store import TableStore

Row = tuple[str, int, int]
ROWS = [[("dc2", 1, 7), ("dc1", 0, 3)], [("dc1", 0, 1)], [("dc1", 1, 0), ("dc2", 1, 2), ("dc1", 0, 2)]]
SORTED = sorted(row for rows in ROWS for row in rows)


def append(tables: TableStore, *rows: Row) -> None:
    tables.append(RECORD_RUNS, pa.concat_tables([run(start, cluster, 1, number) for cluster, number, start in rows]))


def rows_in(found: pa.Table) -> list[Row]:
    return list(
        zip(*(found.column(name).to_pylist() for name in ("cluster", "partition", "start_offset")), strict=True)
    )


@pytest.fixture
def maintainer(tables: TableStore) -> Maintainer:
    made = Maintainer(tables, timedelta(hours=1))
    made.prepare(RECORD_RUNS)
    return made


def test_every_reader_finds_the_same_rows_sorted(tables: TableStore, maintainer: Maintainer) -> None:
    for rows in ROWS:
        append(tables, *rows)
    known, path = tables.version(RECORD_RUNS), tables.path(RECORD_RUNS)
    maintainer.sort(RECORD_RUNS)
    (file,) = DeltaTable(path).file_uris()
    assert "/sorted-" in file
    assert rows_in(DeltaTable(path).to_pyarrow_table()) == rows_in(tables.all_rows(RECORD_RUNS)) == SORTED
    (added,) = pa.table(DeltaTable(path).get_add_actions(flatten=True)).to_pylist()
    assert (added["num_records"], added["min.start_offset"], added["max.partition"]) == (6, 0, 1)
    assert tables.version(RECORD_RUNS) == known + 1
    assert tables.rows_since(RECORD_RUNS, known, known + 1).num_rows == 0  # nothing new in it


def test_blocks_come_of_sorted_files_and_rows_of_others_or_where_streams_have_names(
    tables: TableStore, maintainer: Maintainer
) -> None:
    for rows in ROWS:
        append(tables, *rows)
    maintainer.sort(RECORD_RUNS)
    append(tables, ("dc1", 0, 9))
    other = MirroredNames(PrefixNames({"dc1": "dc1", "dc2": "dc2"}, "."))
    for names, blocks in ((None, 1), (SAME_NAMES, 1), (other, 0)):
        store = TableStore(tables.root, names=names)
        with ExitStack() as opened:
            found = list(store.blocks(RECORD_RUNS, RECORD_RUNS.names, opened))
            read = [each.read() if isinstance(each, Block) else each for each in found]
        assert len([each for each in found if isinstance(each, Block)]) == blocks
        assert sorted(row for each in read for row in rows_in(each)) == sorted([*SORTED, ("dc1", 0, 9)])


def test_what_is_sorted_stays_until_there_is_more_and_old_files_until_nobody_needs_them(
    tables: TableStore, maintainer: Maintainer
) -> None:
    for rows in ROWS:
        append(tables, *rows)
    maintainer.sort(RECORD_RUNS)
    version = tables.version(RECORD_RUNS)
    maintainer.sort(RECORD_RUNS)
    assert tables.version(RECORD_RUNS, version) == version
    append(tables, ("dc1", 0, 0))
    maintainer.sort(RECORD_RUNS)
    assert rows_in(tables.all_rows(RECORD_RUNS)) == sorted([*SORTED, ("dc1", 0, 0)])
    maintainer.clean_up(RECORD_RUNS)
    assert rows_in(DeltaTable(tables.path(RECORD_RUNS), version=version).to_pyarrow_table()) == SORTED


def test_large_tables_get_several_files_each_of_its_time(
    tables: TableStore, maintainer: Maintainer, monkeypatch: pytest.MonkeyPatch
) -> None:
    for module in (maintenance, sorted_compaction):
        monkeypatch.setattr(module, "FILE_ROWS", 4)
    for start in range(0, 22, 2):
        append(tables, ("dc1", 0, start), ("dc1", 0, start + 1))
    maintainer.sort(RECORD_RUNS)
    actions = pa.table(DeltaTable(tables.path(RECORD_RUNS)).get_add_actions(flatten=True)).to_pylist()
    spans = sorted((each["min.start_offset"], each["max.start_offset"]) for each in actions)
    assert spans == [(0, 3), (4, 7), (8, 11), (12, 15), (16, 19), (20, 21)]


def test_a_sort_that_would_lose_rows_is_refused(
    tables: TableStore, maintainer: Maintainer, monkeypatch: pytest.MonkeyPatch
) -> None:
    for rows in ROWS:
        append(tables, *rows)
    version, sorted_parts = tables.version(RECORD_RUNS), maintenance.sorted_parts
    monkeypatch.setattr(maintenance, "sorted_parts", lambda files, paths, table: sorted_parts(files, paths[1:], table))
    with pytest.raises(RuntimeError, match=r"\d rows were written instead of 6; they stay as they are"):
        maintainer.sort(RECORD_RUNS)
    assert tables.version(RECORD_RUNS, version) == version
    assert sorted(rows_in(tables.all_rows(RECORD_RUNS))) == SORTED
