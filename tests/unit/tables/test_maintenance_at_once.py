"""Maintenance beside writers, followers and other maintenance: no row is lost and none comes twice."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta

import pytest

from builders.runs_in_tables import by_delta_rs, fill, run
from offset_sync.state.seal import seal
from offset_sync.tables.catalog import RECORD_RUNS
from offset_sync.tables.maintenance import Maintainer
from offset_sync.tables.store import TableStore
from tools.background import going_on

HOUR = timedelta(hours=1)


def seal_all(maintainer: Maintainer) -> None:
    tables = maintainer._tables
    seal(tables, tables.segments(RECORD_RUNS), HOUR, least_rows=1)


def test_two_that_put_the_same_files_together_at_once_double_no_row(tables: TableStore) -> None:
    """One of them is refused, again and again, and leaves all as it is."""
    Maintainer(tables, HOUR).prepare(RECORD_RUNS)
    fill(tables, *range(0, 50, 10))
    refused, made, written = list[str](), list[int](), list[int]()

    def put_together(number: int) -> None:
        own = Maintainer(TableStore(tables.root), HOUR)
        for _ in range(12):
            try:
                seal_all(own) if number % 2 else own.compact(RECORD_RUNS)
                made.append(number)
            except RuntimeError as problem:
                refused.append(str(problem))

    def write(_number: int) -> None:
        start = 1000 + 10 * len(written)
        tables.append(RECORD_RUNS, run(start))
        written.append(start)

    with going_on(write) as errors, ThreadPoolExecutor(3) as pool:
        list(pool.map(put_together, range(3)))
    assert errors == []
    assert {*refused} == {"record_runs: another process has removed files; try again"}
    assert made
    wanted = [("dc1", n) for n in [*range(0, 50, 10), *written]] + [("dc2", n) for n in range(0, 50, 10)]
    assert by_delta_rs(tables) == wanted


def test_who_reads_in_pieces_is_told_that_files_are_gone(tables: TableStore, monkeypatch: pytest.MonkeyPatch) -> None:
    fill(tables, 0)
    monkeypatch.setattr(TableStore, "data_files", lambda *_: [(f"{tables.path(RECORD_RUNS)}/gone.parquet", 1)])
    with pytest.raises(FileNotFoundError):
        list(tables.batches(RECORD_RUNS))
    with pytest.raises(FileNotFoundError):
        tables.all_rows(RECORD_RUNS)
