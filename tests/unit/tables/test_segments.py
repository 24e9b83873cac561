"""What a sealed file of ``record_runs`` says of its row groups counts only if it was written with them.

``histories`` and ``state/test_seal.py`` compare what is read by it with the rows.
"""

from __future__ import annotations

import zlib
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

from builders.index_rows import run
from offset_sync.state.seal import sealed
from offset_sync.tables import segments
from offset_sync.tables.catalog import RECORD_RUNS
from offset_sync.tables.files import Files
from offset_sync.tables.segments import Directory, Segments, write_sealed
from offset_sync.tables.transaction_log import DataFile

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
