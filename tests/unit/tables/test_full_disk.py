"""A disk that is full, wherever in an append it happens: an error, and with room again it comes once."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from deltalake import DeltaTable

from builders.claims import claims, epochs
from offset_sync.tables.catalog import DRIVERS
from offset_sync.tables.store import TableStore
from tools.small_disk import SmallDisk, small_disk


@pytest.fixture
def disk(tmp_path: Path) -> Iterator[SmallDisk]:
    with small_disk(tmp_path / "small") as made:
        yield made


def test_an_append_that_finds_no_room_at_any_of_its_writes_is_an_error_and_comes_again_once(disk: SmallDisk) -> None:
    tables = TableStore(str(disk.folder / "tables"))
    tables.create([DRIVERS])
    said = []
    for number in range(12):
        disk.leave(number)
        try:
            tables.append(DRIVERS, claims(number), ("query", number))
        except Exception as problem:  # of Python or of delta-rs, by whose write it is
            said.append(str(problem))
        disk.clear()
        if number % 2:
            tables = TableStore(tables.root)
            tables.create([DRIVERS])
        tables.append(DRIVERS, claims(number), ("query", number))
    assert 2 <= len(said) < 12
    assert [text for text in said if "No space left on device" not in text] == []
    assert epochs(DeltaTable(tables.path(DRIVERS)).to_pyarrow_table()) == list(range(12))
