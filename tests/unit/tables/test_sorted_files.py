"""Sorted files of ``record_runs``: the same rows, in order, and what a file says of its row groups is so."""

from __future__ import annotations

import random
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from datetime import timedelta
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from builders.index_rows import EPOCH, run
from offset_sync.model.values import ClusterPartition
from offset_sync.tables import sorted_files
from offset_sync.tables.catalog import RECORD_RUNS
from offset_sync.tables.files import Files
from offset_sync.tables.sorted_files import Block, Part, SortedRows, parts_in, read_blocks

NAMES = RECORD_RUNS.names


def some_rows(rng: random.Random, count: int) -> list[dict[str, Any]]:
    """Rows of logs with one row and with many, in any order, some of them equal but for the time."""
    places = [("dc1", "orders", 0)] * 6 + [("dc2", "orders", n) for n in range(3)] + [("dc1", "ä", 11), ("dc1", "b", 0)]
    found = [run(rng.randrange(40), 1, place=rng.choice(places), seen_ms=number) for number in range(count)]
    rng.shuffle(found)
    return found


def table(rows: list[dict[str, Any]]) -> pa.Table:
    return pa.Table.from_pylist(rows, RECORD_RUNS.arrow_schema)


@pytest.fixture(autouse=True)
def few_rows_to_a_group(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sorted_files, "GROUP_ROWS", 10)
    monkeypatch.setattr(sorted_files, "_ALONE", 4)


@pytest.mark.parametrize("seed", range(20))
def test_the_same_rows_come_out_in_order_and_each_group_is_what_its_parts_say(seed: int, tmp_path: Path) -> None:
    rng = random.Random(seed)
    rows = some_rows(rng, rng.choice([0, 1, 7, 80]))
    SortedRows.of(table(rows)).write(tmp_path / "f")
    file = pq.ParquetFile(tmp_path / "f")
    wanted = sorted(rows, key=lambda row: (row["cluster"], row["topic"], row["partition"], row["start_offset"]))
    assert [{name: row[name] for name in rows[0]} for row in file.read().to_pylist()] == wanted  # equal ones as before
    groups = parts_in(file)
    assert groups is not None
    for number, group in enumerate(groups):
        found = file.read_row_group(number).to_pylist()
        assert len(found) <= 10
        by_log: dict[ClusterPartition, list[dict[str, Any]]] = {}
        for row in found:
            by_log.setdefault(ClusterPartition(row["cluster"], row["topic"], row["partition"]), []).append(row)
        newest = {log: max(each["indexed_at"] for each in mine) for log, mine in by_log.items()}
        ms = timedelta(milliseconds=1)
        assert group == [
            Part(log, mine[0]["start_offset"], len(mine), (newest[log] - EPOCH) // ms) for log, mine in by_log.items()
        ]
    sizes = {log: sum(p.rows for g in groups for p in g if p.log == log) for log in {p.log for g in groups for p in g}}
    assert all(len(group) == 1 for group in groups for part in group if sizes[part.log] >= 4)


def test_logs_with_few_rows_share_a_group() -> None:
    rows = SortedRows.of(table([run(0, 1, place=("dc1", "orders", number)) for number in range(20)]))
    assert [len(group) for group in rows.groups] == [10, 10]


def test_of_a_file_that_says_nothing_or_something_else_all_rows_come_as_rows(tmp_path: Path) -> None:
    rows, files = SortedRows.of(table(some_rows(random.Random(1), 40))), Files()
    rows.write(tmp_path / "sorted")
    files.write_parquet(str(tmp_path / "plain"), rows.rows)
    said = pq.ParquetFile(tmp_path / "sorted").metadata.metadata[sorted_files._KEY]
    torn = {f"torn{at}": said[:at] for at in (0, 1, len(said) // 2, len(said) - 1)}
    odd = {"list": b"[1]", "null": b"null", "logs": said.replace(b'"logs":[', b'"logs":[7,')}
    others = {"next": said.replace(b'"version":1', b'"version":2'), "else": said, **torn, **odd}
    for name, text in others.items():
        with pq.ParquetWriter(tmp_path / name, rows.rows.schema) as writer:
            writer.write_table(rows.rows)
            writer.add_key_value_metadata({sorted_files._KEY: text})
    with ExitStack() as opened:
        for name in ("plain", *others):
            found = list(read_blocks(files, [str(tmp_path / name)], NAMES, opened))
            assert not any(isinstance(each, Block) for each in found)
            assert pa.concat_tables(found).num_rows == 40
        blocks = list(read_blocks(files, [str(tmp_path / "sorted")], NAMES, opened))
        assert all(isinstance(each, Block) for each in blocks)
        (tmp_path / "sorted").unlink()  # whoever has opened it reads on
        with ThreadPoolExecutor(4) as threads:
            parts = list(threads.map(lambda block: block.read(), [*blocks, *blocks]))
    assert [part.num_rows for part in parts] == 2 * [block.rows for block in blocks]
    assert sum(block.rows for block in blocks) == 40


def test_columns_that_a_file_has_not_got_are_null(tmp_path: Path) -> None:
    rows = table(some_rows(random.Random(1), 40)).drop_columns(["bound"])
    SortedRows.of(rows).write(tmp_path / "f")
    with ExitStack() as opened:
        for block in read_blocks(Files(), [str(tmp_path / "f")], NAMES, opened):
            assert isinstance(block, Block)
            found = block.fitted(RECORD_RUNS.arrow_schema).read()
            assert found.column_names == NAMES
            assert found.column("bound").null_count == found.num_rows == block.rows


def test_it_takes_a_fraction_of_the_room(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.undo()
    rows = table([run(3 * n, 1 + n % 3, "XY"[n % 2], 2 * n, place=("dc1", "orders", n % 2)) for n in range(20_000)])
    Files().write_parquet(str(tmp_path / "plain"), rows)
    SortedRows.of(rows).write(tmp_path / "sorted")
    assert (tmp_path / "sorted").stat().st_size * 4 < (tmp_path / "plain").stat().st_size
