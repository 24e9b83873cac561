"""What is left of ``record_runs`` once a log has other records from some offset on; in real files too."""

from __future__ import annotations

import random
from datetime import timedelta
from typing import Any

import pyarrow as pa
import pytest

from builders.index_histories import cuts, history
from builders.index_rows import add, begin, run
from fakes.tables import MemoryTables
from offset_sync.ingest.incarnation_log import Cuts
from offset_sync.ingest.run_cuts import RowCutter, cut_logs
from offset_sync.model.values import ClusterPartition
from offset_sync.state import record_index, seal
from offset_sync.tables import segments
from offset_sync.tables.catalog import RECORD_RUNS
from offset_sync.tables.maintenance import Maintainer
from offset_sync.tables.store import TableStore
from offset_sync.translate.index.origin_positions import NO_LIMIT
from offset_sync.translate.partition_log import Incarnation

HOUR = timedelta(hours=1)
LOG = ClusterPartition("Y", "orders", 0)
NEVER = Incarnation(NO_LIMIT, 0, "id", is_recreated=False)


def rows_of(*rows: dict[str, Any]) -> pa.Table:
    tables = MemoryTables()
    add(tables, RECORD_RUNS, *rows)
    return tables.all_rows(RECORD_RUNS)


def records(rows: pa.Table) -> list[tuple[Any, ...]]:
    """Return every record, and every row without one: its log, its offset, and its origin and offset there."""
    found = list[tuple[Any, ...]]()
    for row in rows.to_pylist():
        log, start, length = (row["cluster"], row["topic"], row["partition"]), row["start_offset"], row["length"]
        if length < 0:
            found += [(log, "lost", row["origin"], row["origin_start"] + n) for n in range(-length)]
        elif length == 0:
            found.append((log, start, row["origin_start"]))
        found += [(log, start + n, row["origin"], row["origin_start"] + n) for n in range(length)]
    return sorted(found, key=str)


def left(row: dict[str, Any], begun: Cuts) -> list[tuple[Any, ...]]:
    """Return what is to be left of a row, record by record."""
    log = ClusterPartition(row["cluster"], row["topic"], row["partition"])
    cut, there = (begun.get(log._replace(cluster=alias), NEVER) for alias in (log.cluster, row["origin"]))
    if row["length"] == 0:
        return [(tuple(log), row["start_offset"], row["origin_start"])] if row["start_offset"] <= cut.begins_at else []
    found = list[tuple[Any, ...]]()
    for n in range(row["length"]):
        offset, number, is_of_others = row["start_offset"] + n, row["origin_start"] + n, row["origin"] != log.cluster
        if offset >= cut.begins_at:
            found += [(tuple(log), "lost", row["origin"], number)] if is_of_others and not cut.is_recreated else []
        else:  # copies of the log's own records may have come back
            is_unknown = (is_of_others or number != offset) and number >= there.begins_at
            found.append((tuple(log), offset, *(("", offset) if is_unknown else (row["origin"], number))))
    return found


@pytest.mark.parametrize("seed", range(80))
def test_from_the_cut_on_a_log_is_empty_its_copies_are_unknown_and_what_it_had_copied_is_lost(seed: int) -> None:
    """It is read again from where its last row ends. Below the cut there may be offsets without a record."""
    rng = random.Random(seed)
    rows, begun = rows_of(*history(rng, steps_back=False)), cuts(rng)
    cutter = RowCutter(begun)
    found = rows if (changed := cutter.cut(rows, rows)) is None else changed
    assert records(found) == sorted((each for row in rows.to_pylist() for each in left(row, begun)), key=str)
    kept = [(ClusterPartition(*[*row.values()][:3]), row) for row in found.to_pylist() if row["length"] >= 0]
    ends = {log: [row["start_offset"] + row["length"] for at, row in kept if at == log] for log in begun}
    assert cutter.ends == {log: max(each) for log, each in ends.items() if each}
    assert RowCutter(begun).cut(found, found) is None, "it may be cut again"


# In files


@pytest.fixture
def small(monkeypatch: pytest.MonkeyPatch, tables: TableStore) -> None:
    monkeypatch.setattr(seal, "FILE_ROWS", 8)
    monkeypatch.setattr(segments, "GROUP_ROWS", 4)
    Maintainer(tables, HOUR).prepare(RECORD_RUNS)


def append(tables: TableStore, cluster: str, first: int, count: int) -> None:
    place = (cluster, "orders", 0)
    rows = [
        run(n, 1, "Y", n, place=place) if n % 2 else run(n, 1, "X", n, place=place) for n in range(first, first + count)
    ]
    tables.append(RECORD_RUNS, pa.concat_tables([RECORD_RUNS.no_rows, rows_of(begin(first, place=place), *rows)]))


@pytest.mark.usefixtures("small")
@pytest.mark.parametrize("meanwhile", ["nothing", "append", "seal", "fail"])
def test_all_files_are_cut_in_one_entry_whatever_is_appended_or_sealed_meanwhile(
    tables: TableStore, monkeypatch: pytest.MonkeyPatch, meanwhile: str
) -> None:
    for cluster in "YX":
        for first in (0, 10, 20):
            append(tables, cluster, first, 10)
            seal_all(tables)
    append(tables, "Y", 30, 5)
    follower, before = record_index.RecordIndex(tables), records(tables.all_rows(RECORD_RUNS))
    follower.refresh()
    acts = {"append": lambda: append(tables, "Y", 35, 5), "seal": lambda: seal_all(tables), "fail": no_room}
    whole, read = Maintainer.whole, list[str]()

    def interrupted(maintainer: Maintainer, table: Any, file: Any) -> pa.Table:
        read.append(file.path)
        acts.pop(meanwhile, dict)() if len(read) == 3 else None
        return whole(maintainer, table, file)

    monkeypatch.setattr(Maintainer, "whole", interrupted)
    begun = {LOG: Incarnation(15, 0, "id", is_recreated=False)}
    if meanwhile == "fail":
        with pytest.raises(OSError, match="no room"):
            cut_logs(tables, HOUR, begun)
        assert records(tables.all_rows(RECORD_RUNS)) == before
    assert cut_logs(tables, HOUR, begun) == {LOG: 15}
    rows = records(tables.all_rows(RECORD_RUNS))
    assert max(each[1] for each in rows if each[0] == tuple(LOG) and each[1] != "lost") == 14
    lost = 12 if meanwhile == "append" else 10
    assert sum(each[1] == "lost" for each in rows) == lost
    assert [each[1] for each in rows if each[0][0] == "X" and each[2] == ""] == list(range(15, 30, 2))
    assert len(set(read)) == 5 + (meanwhile in ("append", "seal")), "two files hold nothing from there on"
    follower.refresh()
    log = follower.log(*LOG)
    assert log is not None
    assert (log.frontier, log.lowest_lost(follower.code("X")), log.lost_records) == (15, 16, lost)


def seal_all(tables: TableStore) -> None:
    seal.seal(tables, tables.segments(RECORD_RUNS), HOUR, 1)


def no_room() -> None:
    raise OSError("no room")
