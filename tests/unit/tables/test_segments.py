"""What a sealed file of ``record_runs`` says of its row groups counts only if it was written with them.

``histories`` and ``state/test_seal.py`` compare what is read by it with the rows.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from builders.index_rows import run
from offset_sync.state.seal import sealed
from offset_sync.tables import segments
from offset_sync.tables.catalog import RECORD_RUNS
from offset_sync.tables.files import Files
from offset_sync.tables.segments import Directory, Segments, write_sealed
from offset_sync.tables.transaction_log import DataFile

NAME = "sealed-1.snappy.parquet"


def write(folder: Path) -> tuple[Path, Directory]:
    """Write rows of logs with one row and with many as a sealed file."""
    places = [("dc1", "orders", 0)] * 36 + [("dc2", "orders", 1), ("dc1", "ä", 11)]
    found = [run(number, 1, place=place, seen_ms=number) for number, place in enumerate(places)]
    rows, directory = sealed(pa.Table.from_pylist(found, RECORD_RUNS.arrow_schema))
    write_sealed(Files(), str(folder), rows, directory, NAME)
    return folder / NAME, directory


def segments_of(path: Path) -> Segments:
    listed = [(str(path), DataFile(path.name, 0, 0))]
    return Segments(Files(), lambda: (7, listed), lambda rows: rows, lambda _cluster, topic: topic)


def test_a_directory_that_is_torn_or_of_another_file_or_version_is_none(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(segments, "GROUP_ROWS", 32)
    path, directory = write(tmp_path)
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
    path, _ = write(tmp_path)
    path.write_bytes(path.read_bytes()[:-9])
    with pytest.raises(OSError, match=f"{NAME}: .*; a copy of it, or an earlier version of the table, has its rows"):
        segments_of(path).newest()
