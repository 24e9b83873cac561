"""The index in memory over real tables: kept up version by version, it is the same as read in one."""

from __future__ import annotations

import random
from datetime import datetime, timedelta, timezone

import pyarrow as pa
import pytest

from offset_sync.state.record_index import RecordIndex
from offset_sync.tables.catalog import INDEXED_TOPICS, RECORD_RUNS
from offset_sync.tables.definition import Table
from offset_sync.tables.maintenance import Maintainer
from offset_sync.tables.store import TableStore

NOW = datetime(2026, 11, 21, tzinfo=timezone.utc)
PLACES = [(cluster, "orders", partition) for cluster in ("X", "Y") for partition in range(3)]
Row = dict[str, object]


def batch(rng: random.Random, ends: dict[tuple[str, str, int], int]) -> pa.Table:
    """What an indexer appends next: a few runs of some partitions, with markers between."""
    rows: list[Row] = []
    for place in rng.sample(PLACES, 4):
        for _ in range(rng.randint(1, 5)):
            start = ends.get(place, 0) + rng.choice([0, 0, 1])
            length, origin = rng.randint(0, 9), rng.choice(["X", "Y", ""])
            rows.append(
                dict(
                    zip(
                        RECORD_RUNS.names,
                        (*place, start, length, origin, start + 100, *[NOW] * 3, None, None),
                        strict=True,
                    )
                )
            )
            ends[place] = start + length
    return pa.Table.from_pylist(rows, RECORD_RUNS.arrow_schema)


def content(cache: RecordIndex) -> dict[tuple[str, str, int], object]:
    names = {code: name for name, code in cache._codes.items()}
    found: dict[tuple[str, str, int], object] = {}
    for place in PLACES:
        if (log := cache.log(*place)) is not None:
            runs = log.runs
            columns = [column.tolist() for column in (runs.start, runs.length, runs.origin_start, runs.indexed_at_ms)]
            found[place] = (log.begin, log.frontier, [names[code] for code in runs.origin.tolist()], *columns)
    return found


def test_kept_up_version_by_version_it_is_the_same_as_read_in_one_also_across_a_compaction(
    tables: TableStore,
) -> None:
    rng, ends = random.Random(3), dict[tuple[str, str, int], int]()
    kept_up = RecordIndex(tables)
    for number in range(4):
        tables.append(RECORD_RUNS, batch(rng, ends), ("query", number))
        if number % 2:
            kept_up.refresh()
    Maintainer(tables, timedelta(hours=1)).compact(RECORD_RUNS)
    assert len(tables.data_files(RECORD_RUNS)) == 1
    row = dict(zip(INDEXED_TOPICS.names, ("X", "orders", "id", 3, NOW), strict=True))
    tables.append(INDEXED_TOPICS, pa.Table.from_pylist([row], INDEXED_TOPICS.arrow_schema))
    kept_up.refresh()
    tables.append(RECORD_RUNS, batch(rng, ends), ("query", 4))
    kept_up.refresh()
    fresh = RecordIndex(tables)
    fresh.refresh()
    assert content(kept_up) == content(fresh)
    assert {place: end[1] for place, end in content(fresh).items()} == ends  # type: ignore[index]
    assert (kept_up.topic_ids("X", "orders"), kept_up.topic_ids("Y", "orders")) == ({"id"}, set())


def test_where_retention_has_overtaken_the_reader_the_whole_table_is_read(
    tables: TableStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    rng, ends = random.Random(5), dict[tuple[str, str, int], int]()
    kept_up, late = (RecordIndex(tables) for _ in range(2))
    tables.append(RECORD_RUNS, batch(rng, ends))
    kept_up.refresh()
    tables.append(RECORD_RUNS, batch(rng, ends))

    read_added = tables.read_added

    def gone(table: Table, after: int, until: int) -> pa.Table:
        if after:
            raise FileNotFoundError(f"{table.name} {after} {until}")
        return read_added(table, after, until)

    monkeypatch.setattr(tables, "read_added", gone)
    kept_up.refresh()
    late.refresh()
    assert content(kept_up) == content(late) != {}
    assert max(frontier for _, frontier, *_ in content(late).values()) == max(ends.values())  # type: ignore[misc,attr-defined]
