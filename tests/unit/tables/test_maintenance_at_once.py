"""Maintenance beside writers, followers and other maintenance: no row is lost and none comes twice."""

from __future__ import annotations

import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta

import pyarrow as pa
import pytest

from builders.runs_in_tables import by_delta_rs, fill, rows_in, run
from builders.spark_tables import checkpoint_every_tenth
from offset_sync.state.seal import cut, seal
from offset_sync.tables import maintenance
from offset_sync.tables.catalog import RECORD_RUNS
from offset_sync.tables.maintenance import BEGINS_SCHEMA, Maintainer
from offset_sync.tables.store import TableStore
from tools.background import going_on

HOUR = timedelta(hours=1)
PutTogether = Callable[[Maintainer], None]


def seal_all(maintainer: Maintainer) -> None:
    tables = maintainer._tables
    seal(tables, tables.segments(RECORD_RUNS), HOUR, least_rows=1)


put_together_by = pytest.mark.parametrize(
    "put_together", [lambda made: made.compact(RECORD_RUNS), seal_all], ids=["join", "seal"]
)


def begin_of(begin: int) -> pa.Table:
    row = {"cluster": "dc1", "topic": "orders", "partition": 0, "begin": begin}
    return pa.Table.from_pylist([row], BEGINS_SCHEMA)


@put_together_by
def test_beside_writers_and_a_follower_no_row_is_lost_and_none_comes_twice(
    tables: TableStore, monkeypatch: pytest.MonkeyPatch, put_together: PutTogether
) -> None:
    monkeypatch.setattr(maintenance, "LEAST_SHARE", 0.0)  # one writer may be far ahead of the other
    checkpoint_every_tenth(tables, RECORD_RUNS)
    maintainer = Maintainer(TableStore(tables.root), HOUR)
    maintainer.prepare(RECORD_RUNS)
    written: dict[str, list[int]] = {"dc1": [], "dc2": []}
    followed, known = list[tuple[str, int]](), [tables.version(RECORD_RUNS)]

    def writer(cluster: str) -> Callable[[int], None]:
        own = TableStore(tables.root)

        def write(number: int) -> None:
            own.append(RECORD_RUNS, run(10 * number, cluster), (cluster, number))
            written[cluster].append(10 * number)

        return write

    def follow(_number: int) -> None:
        rows, known[0] = tables.rows_since(RECORD_RUNS, known[0])
        followed.extend(rows_in(rows))
        time.sleep(0.02)

    cut_at = 0
    with going_on(writer("dc1"), writer("dc2"), follow) as errors:
        for enough in (10, 20, 30):
            while min(map(len, written.values())) < enough and not errors:
                time.sleep(0.02)
            cut_at = max(cut_at + 10, 10 * (len(written["dc1"]) // 2))
            assert cut(tables, begin_of(cut_at), HOUR) > 0
            put_together(maintainer)
            maintainer.clean_up(RECORD_RUNS)
    assert errors == []
    follow(0)
    assert followed == sorted(set(followed), key=followed.index)
    assert sorted(followed) == sorted((cluster, n) for cluster, mine in written.items() for n in mine)
    left = [("dc1", n) for n in written["dc1"] if n >= cut_at] + [("dc2", n) for n in written["dc2"]]
    assert by_delta_rs(tables) == rows_in(tables.all_rows(RECORD_RUNS)) == left


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
