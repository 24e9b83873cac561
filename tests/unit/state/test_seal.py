"""Files of a real table are sealed and cut: every reader reads the same rows as before."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pyarrow as pa
import pytest

from builders.record_indexes import log_of
from builders.runs_in_tables import by_delta_rs, run
from offset_sync.model.errors import TableError
from offset_sync.state import record_index, seal
from offset_sync.tables import segments
from offset_sync.tables.catalog import RECORD_RUNS
from offset_sync.tables.maintenance import BEGINS_SCHEMA, Maintainer
from offset_sync.tables.segments import PREFIX
from offset_sync.tables.store import TableStore

HOUR = timedelta(hours=1)


def append(tables: TableStore, *rows: tuple[str, int], length: int = 1) -> None:
    tables.append(RECORD_RUNS, pa.concat_tables([run(start, cluster, length) for cluster, start in rows]))


def seal_all(tables: TableStore) -> int:
    return seal.seal(tables, tables.segments(RECORD_RUNS), HOUR, 1)


def begins(**by_cluster: int) -> pa.Table:
    rows = [{"cluster": c, "topic": "orders", "partition": 0, "begin": begin} for c, begin in by_cluster.items()]
    return pa.Table.from_pylist(rows, BEGINS_SCHEMA)


@pytest.fixture(autouse=True)
def _rows_may_go(tables: TableStore) -> None:
    Maintainer(tables, HOUR).prepare(RECORD_RUNS)


@pytest.fixture
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    """Have files of eight rows, in row groups of four."""
    monkeypatch.setattr(seal, "FILE_ROWS", 8)
    monkeypatch.setattr(segments, "GROUP_ROWS", 4)


@pytest.mark.usefixtures("small")
def test_sealed_files_are_cut_without_reading_those_of_which_nothing_goes(
    tables: TableStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    for first in (0, 80, 160, 240):
        append(tables, *(("dc1", first + 10 * n) for n in range(8)), length=10)
        seal_all(tables)
    append(tables, ("dc1", 320), ("dc2", 0), length=10)
    read, rows = list[str](), Maintainer.rows

    def seen(self: Maintainer, *arguments: Any) -> Any:
        read.extend(each.path for each in arguments[1])
        return rows(self, *arguments)

    monkeypatch.setattr(Maintainer, "rows", seen)
    assert seal.cut(tables, begins(dc1=120), HOUR) == 12
    assert len({each for each in read if each.startswith(PREFIX)}) == 2
    assert by_delta_rs(tables) == [*(("dc1", n) for n in range(120, 330, 10)), ("dc2", 0)]
    assert [seal.cut(tables, begins(**by), HOUR) for by in ({"dc1": 120}, {"dc2": 10}, {"dc1": 500})] == [0, 1, 21]
    assert by_delta_rs(tables) == []


@pytest.mark.usefixtures("small")
@pytest.mark.parametrize("hinders", ["", "may write nothing", PermissionError("may not write"), TableError("no room")])
def test_a_start_seals_first_if_too_much_is_not_sealed_and_if_it_cannot_reads_it_all_the_same(
    tables: TableStore, monkeypatch: pytest.MonkeyPatch, hinders: str | Exception
) -> None:
    monkeypatch.setattr(record_index, "MOST_UNSEALED", 10)
    append(tables, *(("dc1", n) for n in range(16)))
    if isinstance(hinders, Exception):
        monkeypatch.setattr(record_index, "seal", lambda *_: (_ for _ in ()).throw(hinders))
    version = tables.version(RECORD_RUNS)
    index = record_index.RecordIndex(tables, keep=None if hinders == "may write nothing" else HOUR)
    index.refresh()
    log = log_of(index, ("dc1", "orders", 0))
    assert (log.frontier, tables.version(RECORD_RUNS) > version) == (16, not hinders)
