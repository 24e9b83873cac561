"""Which files are put together, and that nothing of them is left out."""

from __future__ import annotations

import random
from pathlib import Path

import pyarrow as pa
import pytest

from builders.index_rows import run
from offset_sync.tables import sorted_compaction
from offset_sync.tables.catalog import RECORD_RUNS
from offset_sync.tables.files import Files
from offset_sync.tables.sorted_compaction import TableFile, new_name, sorted_parts, to_put_together


@pytest.fixture(autouse=True)
def few_rows_to_a_file(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sorted_compaction, "FILE_ROWS", 100)


def names(*found: tuple[str, int]) -> list[list[str]]:
    files = [TableFile(name, rows, number) for number, (name, rows) in enumerate(found)]
    random.Random(1).shuffle(files)
    return [[file.name for file in group] for group in to_put_together(files)]


def test_files_are_put_together_as_they_were_written_until_one_is_full() -> None:
    assert names(("a", 40), ("b", 50), ("c", 20), ("d", 1)) == [["a", "b"], ["c", "d"]]


def test_a_large_sorted_file_stays_and_a_small_one_is_joined() -> None:
    assert names(("sorted-1", 50), ("sorted-2", 49), ("a", 3), ("b", 4)) == [["sorted-2", "a", "b"]]


def test_what_is_sorted_and_alone_stays_as_it_is() -> None:
    assert names(("sorted-1", 70), ("sorted-2", 49)) == []


def test_a_file_is_sorted_though_it_is_alone_and_however_large_it_is() -> None:
    assert names(("a", 3)) == [["a"]]
    assert names(("sorted-1", 20), ("a", 500), ("b", 3)) == [["sorted-1"], ["a"], ["b"]][1:]


def test_what_was_made_is_known_again() -> None:
    assert TableFile(new_name(), 1, 0).is_sorted
    assert new_name() != new_name()


@pytest.mark.parametrize("count", [1, 99, 100, 101, 350])
def test_all_rows_come_a_bounded_number_at_a_time(count: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sorted_compaction, "BATCH_ROWS", 30)
    rows = [run(number, 1, place=("dc1", "orders", number % 3)) for number in range(count)]
    random.Random(count).shuffle(rows)
    table, files = pa.Table.from_pylist(rows, RECORD_RUNS.arrow_schema), Files()
    files.write_parquet(str(tmp_path / "a"), table.slice(0, count // 2).drop_columns(["bound"]))
    files.write_parquet(str(tmp_path / "b"), table.slice(count // 2))
    parts = list(sorted_parts(files, [str(tmp_path / "a"), str(tmp_path / "b")], RECORD_RUNS))
    assert all(part.rows.num_rows < 130 for part in parts)
    assert all(part.rows.schema.equals(RECORD_RUNS.arrow_schema) for part in parts)
    found = [row["start_offset"] for part in parts for row in part.rows.to_pylist()]
    assert sorted(found) == list(range(count))
