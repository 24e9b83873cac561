"""Data files and their statistics: a reader that skips a file by them never misses a row.

No reader sees files that tasks write before their entry, and they are stored by then.
"""

from __future__ import annotations

import zlib
from datetime import datetime, timedelta, timezone
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from builders.claims import claims
from builders.index_rows import run
from fakes.tables import MemoryFrame
from generators.hypothesis_strategies import law
from offset_sync.config.prefix_names import PrefixNames
from offset_sync.state.seal import sealed
from offset_sync.tables import segments
from offset_sync.tables.catalog import DRIVERS, OFFSET_TRANSLATIONS, RECORD_RUNS
from offset_sync.tables.files import Files
from offset_sync.tables.segments import Directory, Segments, write_sealed
from offset_sync.tables.store import TableStore
from offset_sync.tables.task_files import write_by_tasks
from offset_sync.tables.transaction_log import DataFile, statistics_of
from tools.stored_names import note_stored

UTC = timezone.utc
MICROSECONDS = pa.timestamp("us", tz="UTC")
EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
TEXTS = st.none() | st.text("aé", max_size=3) | st.just("x" * 257)


def micros(moment: datetime) -> int:
    return (moment - EPOCH) // timedelta(microseconds=1)


def written(*pieces: pa.Table) -> dict[str, Any]:
    """Return the statistics of a file with so many row groups."""
    footers = list[pq.FileMetaData]()
    with pq.ParquetWriter(pa.BufferOutputStream(), pieces[0].schema, metadata_collector=footers) as writer:
        for each in pieces:
            writer.write_table(each)
    return statistics_of(footers[0])


@law(200)
@given(
    st.lists(st.tuples(st.none() | st.integers(-62_135_596_799_000_000, 253_402_300_799_000_000), TEXTS)),
    st.lists(st.integers(0, 8), max_size=4),
)
def test_they_bound_the_values_of_a_file_whose_times_are_wider_by_less_than_a_millisecond(
    rows: list[tuple[int | None, str | None]], cuts: list[int]
) -> None:
    times, texts = ([row[n] for row in rows] for n in (0, 1))
    columns = [pa.array(times, pa.int64()), pa.array(times, MICROSECONDS), pa.array(texts, pa.string())]
    whole = pa.table([*columns, pa.array([b"x"] * len(rows), pa.binary())], ["n", "at", "text", "raw"])
    places = [0, *sorted(min(each, len(rows)) for each in cuts), len(rows)]
    found = written(*(whole.slice(first, end - first) for first, end in pairwise(places)))
    assert found["numRecords"] == len(rows)
    assert found["nullCount"] == {"n": times.count(None), "at": times.count(None), "text": texts.count(None), "raw": 0}
    least, most, known = found["minValues"], found["maxValues"], [each for each in texts if each is not None]
    if known and max(map(len, (min(known), max(known)))) <= 256:
        assert (least.pop("text"), most.pop("text")) == (min(known), max(known))
    if numbers := [each for each in times if each is not None]:
        assert (least.pop("n"), most.pop("n")) == (min(numbers), max(numbers))
        first, end = (datetime.fromisoformat(each.pop("at").replace("Z", "+00:00")) for each in (least, most))
        slack = (min(numbers) - micros(first), micros(end) - max(numbers))
        assert all(0 <= each < 1000 for each in slack)
    assert least == most == {}


def test_files_of_tasks_are_stored_before_their_entry(tables: TableStore, monkeypatch: pytest.MonkeyPatch) -> None:
    rows = claims(1, 2).append_column("more", pa.nulls(2))  # a column of no table
    frame: Any = MemoryFrame(rows, 3)
    stored = note_stored(monkeypatch)
    written = write_by_tasks(tables, DRIVERS, frame, lambda found: found.select(DRIVERS.names))
    assert stored == ["rows", "drivers"]
    tables.append(DRIVERS, DRIVERS.no_rows, None, written)
    assert stored[-2:] == [f"{1:020d}.json", "_delta_log"]
    assert tables.all_rows(DRIVERS).num_rows == 2


NAME = "sealed-1.snappy.parquet"


def test_a_directory_that_is_torn_or_of_another_file_is_none_and_a_torn_file_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(segments, "GROUP_ROWS", 32)
    places = [("dc1", "orders", 0)] * 36 + [("dc2", "orders", 1), ("dc1", "ä", 11)]
    found = [run(number, 1, place=place, seen_ms=number) for number, place in enumerate(places)]
    rows, directory = sealed(pa.Table.from_pylist(found, RECORD_RUNS.arrow_schema))
    sizes = np.bincount(directory.parts["group"], directory.parts["rows"]).astype(np.int64)
    said = directory.to_text(NAME).encode()
    of_no_log = said[8:].replace(b'"log":[', b'"log":[99,', 1)
    others = (said[: len(said) // 2], b"", b"null", said.replace(b'"oldest_ms":[', b'"oldest_ms":[1'))
    for text in (*others, b"%08x" % zlib.crc32(of_no_log) + of_no_log):
        assert Directory.of_text(text, NAME, sizes) is None, text
    assert Directory.of_text(said, "sealed-2.snappy.parquet", sizes) is None
    assert Directory.of_text(said, NAME, sizes + 1) is None

    write_sealed(Files(), str(tmp_path), rows, directory, NAME)
    path = tmp_path / NAME

    def newest() -> set[str]:
        listed = [(str(path), DataFile(path.name, 0, 0))]
        made = Segments(Files(), lambda: (7, listed), lambda rows: rows, lambda _cluster, topic: topic)
        return {*made.newest().sealed}

    assert newest() == {str(path)}
    path.write_bytes(path.read_bytes()[:-9])
    with pytest.raises(OSError, match=f"{NAME}: .*; a copy of it, or an earlier version of the table, has its rows"):
        newest()
    path = path.rename(tmp_path / "part-1.parquet")
    assert newest() == set(), "without the name of one it is not looked up"


MM2 = PrefixNames({"dc1": "dc1", "dc2": "dc2"}, ".")


def test_answers_under_another_name_at_the_target_are_left_out(tmp_path: Path) -> None:
    same = {"source_cluster": "dc1", "target_cluster": "dc2", "translated_at": datetime.now(timezone.utc)}
    rows = [
        same | dict(zip(("topic", "stream", "target_topic"), each, strict=True))
        for each in (
            ("orders", "orders", "orders"),
            ("orders", "dc1.orders", "dc1.orders"),
            ("orders", "dc1.orders", "dc1-orders"),
            ("dc2.orders", "dc2.orders", "orders"),
        )
    ]
    plain, named = TableStore(str(tmp_path)), TableStore(str(tmp_path), names=MM2)
    plain.create([OFFSET_TRANSLATIONS])
    plain.append(OFFSET_TRANSLATIONS, pa.Table.from_pylist(rows, OFFSET_TRANSLATIONS.arrow_schema))
    assert named.all_rows(OFFSET_TRANSLATIONS).column("target_topic").to_pylist() == ["dc1.orders", "orders"]
    (part,) = named.batches(OFFSET_TRANSLATIONS, ["topic", "translated_at"])
    assert (part.column_names, part.num_rows) == (["topic", "translated_at"], 2)
