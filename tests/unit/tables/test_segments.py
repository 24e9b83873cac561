"""Sealed files of ``record_runs``: the same rows, in order, and what a file says of its row groups is so."""

from __future__ import annotations

import random
from collections.abc import Mapping
from datetime import timedelta
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from builders.index_rows import EPOCH, run
from offset_sync.state.seal import sealed
from offset_sync.tables import segments
from offset_sync.tables.catalog import RECORD_RUNS
from offset_sync.tables.files import Files
from offset_sync.tables.segments import Directory, Segments, directory_of, write_sealed
from offset_sync.tables.transaction_log import DataFile

NAME = "sealed-1.snappy.parquet"
SCHEMA = RECORD_RUNS.arrow_schema


def some_rows(rng: random.Random, count: int) -> list[dict[str, Any]]:
    """Rows of logs with one row and with many, in any order, some of them equal but for the time."""
    places = [("dc1", "orders", 0)] * 6 + [("dc2", "orders", n) for n in range(3)] + [("dc1", "ä", 11), ("dc1", "b", 0)]
    found = [run(rng.randrange(40), 1, place=rng.choice(places), seen_ms=number) for number in range(count)]
    rng.shuffle(found)
    return found


def table(rows: list[dict[str, Any]]) -> pa.Table:
    return pa.Table.from_pylist(rows, SCHEMA)


def write(folder: Path, rows: pa.Table) -> tuple[Path, Directory]:
    """Write *rows* as a sealed file."""
    rows, directory = sealed(rows)
    write_sealed(Files(), str(folder), rows, directory, NAME)
    return folder / NAME, directory


def segments_of(*paths: Path) -> Segments:
    listed = [(str(path), DataFile(path.name, 0, 0)) for path in paths]
    return Segments(Files(), lambda: (7, listed), lambda rows: rows, lambda _cluster, topic: topic)


@pytest.fixture(autouse=True)
def few_rows_to_a_group(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(segments, "GROUP_ROWS", 32)


@pytest.mark.parametrize("seed", range(20))
def test_the_same_rows_come_out_in_order_and_each_part_is_what_the_directory_says(seed: int, tmp_path: Path) -> None:
    rng = random.Random(seed)
    rows = some_rows(rng, rng.choice([1, 7, 80]))
    path, _ = write(tmp_path, table(rows))
    file = pq.ParquetFile(path)
    said = directory_of(file, str(path))
    assert said is not None
    assert sorted(map(str, file.read().to_pylist())) == sorted(map(str, table(rows).to_pylist()))
    sizes = dict.fromkeys(said.logs, 0)
    for number, first in enumerate(said.first_rows().tolist()):
        part = {name: int(column[number]) for name, column in said.parts.items()}
        group = file.read_row_group(part["group"]).slice(first, part["rows"]).to_pylist()
        log = said.logs[part["log"]]
        sizes[log] += len(group)
        assert {(row["cluster"], row["topic"], row["partition"]) for row in group} == {tuple(log)}
        starts, ms = [row["start_offset"] for row in group], timedelta(milliseconds=1)
        assert starts == sorted(starts)
        seen = [(row["indexed_at"] - EPOCH) // ms for row in group]
        assert (part["start"], part["end"], part["oldest_ms"]) == (starts[0], starts[-1] + 1, min(seen))
        assert (part["newest_ms"], part["records"]) == (max(seen), len(set(starts)))
    alone = [log for log, size in sizes.items() if size >= 4]
    groups = [{*said.parts["log"][said.parts["group"] == group].tolist()} for group in range(file.num_row_groups)]
    assert all(len(group) == 1 for group in groups if any(said.logs[log] in alone for log in group))


def test_a_directory_that_is_torn_or_of_another_file_or_version_is_none(tmp_path: Path) -> None:
    path, directory = write(tmp_path, table(some_rows(random.Random(1), 40)))
    rows, said = pq.read_table(path), directory.to_text(NAME).encode()
    size, value = len(said), said.index(b'"oldest_ms":[') + len(b'"oldest_ms":[')
    other: Mapping[str, bytes] = {
        **{f"torn{at}": said[:at] for at in (0, size // 2)},
        "digit": said[:value] + (b"2" if said[value : value + 1] == b"1" else b"1") + said[value + 1 :],
        "null": b"null",
        "name": said.replace(NAME.encode(), b"sealed-2.snappy.parquet"),
        "log": said.replace(b'"log":[', b'"log":[99,', 1),
    }
    sizes = np.bincount(directory.parts["group"], directory.parts["rows"]).astype(int).tolist()
    for name, text in {"itself": said, **other}.items():
        with pq.ParquetWriter(path, rows.schema) as writer:
            for number, count in enumerate(sizes):
                writer.write_table(rows.slice(sum(sizes[:number]), count))
            writer.add_key_value_metadata({segments._KEY: text})
        files = segments_of(path).newest()
        wanted = ([str(path)], []) if name == "itself" else ([], [str(path)])
        assert ([*files.sealed], [each for each, _ in files.unsealed]) == wanted, name
    path.rename(tmp_path / "part-1.parquet")  # without the name of one it is not looked up
    assert segments_of(tmp_path / "part-1.parquet").newest().sealed == {}


def test_a_file_that_is_no_parquet_file_is_named(tmp_path: Path) -> None:
    path, _ = write(tmp_path, table(some_rows(random.Random(1), 20)))
    path.write_bytes(path.read_bytes()[:-9])
    with pytest.raises(OSError, match=f"{NAME}: .*; a copy of it, or an earlier version of the table, has its rows"):
        segments_of(path).newest()
