"""Data files and their statistics: a reader that skips a file by them never misses a row.

No reader sees files that tasks write before their entry, and they are stored by then.
"""

from __future__ import annotations

import json
from datetime import datetime, timedelta, timezone
from itertools import chain, pairwise
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from builders.claims import claims, epochs
from fakes.tables import MemoryFrame
from generators.hypothesis_strategies import law
from offset_sync.tables.catalog import DRIVERS
from offset_sync.tables.store import TableStore
from offset_sync.tables.task_files import write_by_tasks
from offset_sync.tables.transaction_log import DataFile, statistics_of
from tools.stored_names import note_stored

UTC = timezone.utc
MICROSECONDS = pa.timestamp("us", tz="UTC")
EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def written(*pieces: pa.Table) -> dict[str, Any]:
    """Return the statistics of a file with so many row groups."""
    footers = list[pq.FileMetaData]()
    with pq.ParquetWriter(pa.BufferOutputStream(), pieces[0].schema, metadata_collector=footers) as writer:
        for each in pieces:
            writer.write_table(each)
    return statistics_of(footers[0])


def stats(values: list[Any], type_: pa.DataType) -> tuple[Any, Any, int]:
    found = written(pa.table({"x": pa.array(values, type_)}))
    assert found["numRecords"] == len(values)
    return found["minValues"].get("x"), found["maxValues"].get("x"), found["nullCount"]["x"]


@law(200)
@given(st.lists(st.integers(-62_135_596_799_000_000, 253_402_300_799_000_000), min_size=1, max_size=5))
def test_times_are_within_their_bounds_and_these_within_a_millisecond(micros: list[int]) -> None:
    least, most, _ = stats(micros, MICROSECONDS)
    first, last = (EPOCH + timedelta(microseconds=extreme(micros)) for extreme in (min, max))
    millisecond = timedelta(milliseconds=1)
    assert first - millisecond < datetime.fromisoformat(least.replace("Z", "+00:00")) <= first
    end = datetime.fromisoformat(most.replace("Z", "+00:00"))
    assert last <= end
    assert end - last < millisecond


@law(100)
@given(
    st.lists(st.tuples(st.none() | st.integers(-9, 9), st.none() | st.text("aé", max_size=3) | st.just("x" * 257))),
    st.lists(st.integers(0, 8), max_size=4),
)
def test_of_a_file_that_comes_in_pieces_they_are_those_of_the_whole(
    rows: list[tuple[int | None, str | None]], cuts: list[int]
) -> None:
    schema = pa.schema([("n", pa.int64()), ("text", pa.string()), ("at", MICROSECONDS), ("raw", pa.binary())])
    made = [
        {"n": n, "text": text, "at": EPOCH + timedelta(microseconds=1500 * n) if n else None, "raw": b"x"}
        for n, text in rows
    ]
    whole = pa.Table.from_pylist(made, schema)
    places = [0, *sorted(min(each, len(rows)) for each in cuts), len(rows)]
    found = written(*(whole.slice(first, end - first) for first, end in pairwise(places)))
    assert found == written(whole)
    assert found["numRecords"] == len(rows)
    numbers, texts = [n for n, _ in rows if n is not None], [text for _, text in rows if text is not None]
    assert found["nullCount"] == {"n": len(rows) - len(numbers), "text": len(rows) - len(texts), "raw": 0} | {
        "at": sum(not n for n, _ in rows)
    }
    assert found["minValues"].get("n") == min(numbers, default=None)
    assert found["maxValues"].get("n") == max(numbers, default=None)
    bounds = (min(texts), max(texts)) if texts and max(len(min(texts)), len(max(texts))) <= 256 else (None, None)
    assert (found["minValues"].get("text"), found["maxValues"].get("text")) == bounds


# Of tasks


def write(tables: TableStore, *rows: pa.Table) -> list[DataFile]:
    """Have a task write each of *rows*, which have a column of no table too."""
    frames: list[Any] = [MemoryFrame(each.append_column("more", pa.nulls(each.num_rows)), 3) for each in rows]
    make = [write_by_tasks(tables, DRIVERS, frame, lambda found: found.select(DRIVERS.names)) for frame in frames]
    return list(chain(*make))


def test_a_file_holds_all_rows_of_a_task_and_tells_what_its_statistics_are(tables: TableStore) -> None:
    rows = [claims(*range(8)), claims(), claims(20)]
    written = write(tables, *rows)
    folder = Path(tables.path(DRIVERS))
    assert [(each.rows, each.size) for each in written] == [
        (count, (folder / each.path).stat().st_size) for count, each in zip((8, 1), written, strict=True)
    ]
    said = [json.loads(each.statistics) for each in written]
    assert [(each["minValues"]["epoch"], each["maxValues"]["epoch"]) for each in said] == [(0, 7), (20, 20)]
    assert sorted(each.name for each in folder.glob("*.parquet")) == sorted(each.path for each in written)
    assert epochs(tables.all_rows(DRIVERS)) == []
    tables.append(DRIVERS, claims(30), ("query", 1), written)
    assert epochs(tables.all_rows(DRIVERS)) == [*range(8), 20, 30]
    assert tables.version(DRIVERS) == 1


def test_files_are_stored_before_their_entry(tables: TableStore, monkeypatch: pytest.MonkeyPatch) -> None:
    tables.append(DRIVERS, claims(0))
    stored = note_stored(monkeypatch)
    written = write(tables, claims(1), claims(2))
    assert stored == ["rows", "drivers"] * 2
    tables.append(DRIVERS, DRIVERS.no_rows, None, written)
    assert stored[4:] == [f"{2:020d}.json", "_delta_log"]
