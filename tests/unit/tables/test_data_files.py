"""Data files: no reader sees files that tasks write before their entry, and they are stored by then."""

from __future__ import annotations

from datetime import datetime, timezone
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from builders.claims import claims
from builders.index_rows import run
from fakes.tables import MemoryFrame
from offset_sync.config.prefix_names import PrefixNames
from offset_sync.state.seal import sealed
from offset_sync.tables import segments
from offset_sync.tables.catalog import DRIVERS, OFFSET_TRANSLATIONS, RECORD_RUNS
from offset_sync.tables.files import Files
from offset_sync.tables.segments import Directory, Segments, write_sealed
from offset_sync.tables.store import TableStore
from offset_sync.tables.task_files import write_by_tasks
from offset_sync.tables.transaction_log import DataFile
from tools.stored_names import note_stored


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
    said = directory.to_text(NAME).encode()
    others = (said[: len(said) // 2], b"", b"null", said.replace(b'"oldest_ms":[', b'"oldest_ms":[1'))
    for text in others:
        assert Directory.of_text(text, NAME) is None, text
    assert Directory.of_text(said, "sealed-2.snappy.parquet") is None

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
