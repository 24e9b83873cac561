"""What no version of a table needs any more goes, after the time that it is kept, and nothing else."""

from __future__ import annotations

import os
import time
from datetime import timedelta
from pathlib import Path

import pytest
from deltalake import DeltaTable

from builders.runs_in_tables import by_delta_rs, fill, rows_in
from builders.spark_tables import checkpoint_every_tenth
from offset_sync.tables.catalog import RECORD_RUNS
from offset_sync.tables.maintenance import Maintainer
from offset_sync.tables.store import TableStore
from tools.stored_names import note_stored

HOUR = timedelta(hours=1)


def age(*paths: Path, hours: float = 2) -> None:
    """Have files been written long ago, in this order."""
    for number, each in enumerate(paths):
        at = time.time() - 3600 * hours + number
        os.utime(each, (at, at))


@pytest.fixture
def path(tables: TableStore) -> Path:
    Maintainer(tables, HOUR).prepare(RECORD_RUNS)
    checkpoint_every_tenth(tables, RECORD_RUNS)
    return Path(tables.path(RECORD_RUNS))


def log_of(path: Path) -> list[Path]:
    return sorted((path / "_delta_log").glob("0*"))


def test_what_no_version_needs_any_more_goes_and_a_follower_that_was_away_reads_the_whole_table(
    tables: TableStore, path: Path
) -> None:
    maintainer, follower = Maintainer(tables, timedelta(seconds=1)), TableStore(tables.root)
    maintainer.prepare(RECORD_RUNS)
    fill(tables, *range(0, 120, 10))
    away_since, current = 4, follower.version(RECORD_RUNS)
    maintainer.compact(RECORD_RUNS)
    before = maintainer.size(RECORD_RUNS).on_disk
    fill(tables, *range(120, 240, 10))
    maintainer.compact(RECORD_RUNS)
    age(*log_of(path))
    time.sleep(1.1)
    newest = tables.version(RECORD_RUNS)
    maintainer.clean_up(RECORD_RUNS)
    assert [each.name for each in log_of(path)] == [f"{newest:020d}.checkpoint.parquet", f"{newest:020d}.json"]
    assert len(list(path.glob("*.parquet"))) == 1
    assert maintainer.size(RECORD_RUNS).on_disk < before
    assert follower.version(RECORD_RUNS, away_since) == tables.version(RECORD_RUNS) > current
    with pytest.raises(FileNotFoundError):
        follower.read_added(RECORD_RUNS, away_since, newest)
    missed, version = follower.rows_since(RECORD_RUNS, away_since)
    assert version == newest
    assert len(rows_in(missed)) == 48 == len(set(rows_in(missed)))
    fill(follower, 240)
    assert len(by_delta_rs(tables)) == 50


def test_files_without_an_entry_go_when_they_are_old(tables: TableStore, path: Path) -> None:
    fill(tables, 0, 10)
    (path / "below").mkdir()
    of_table, names = [*path.glob("*.parquet")], ("old.parquet", "a b%20ä.parquet", "below/old.parquet")
    old, young = [path / name for name in names], path / "young.parquet"
    for file in (young, *old):
        file.write_bytes(b"no entry of the log has this")
    age(*of_table, *old)
    Maintainer(tables, HOUR).clean_up(RECORD_RUNS)
    assert [each for each in (*old, young, *of_table) if each.exists()] == [young, *of_table]
    assert len(by_delta_rs(tables)) == 4


def test_a_checkpoint_is_stored_before_the_entries_go_that_say_the_same(
    tables: TableStore, path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A power failure would leave neither."""
    fill(tables, *range(0, 50, 10))
    age(*log_of(path))
    stored, clean_up = note_stored(monkeypatch), DeltaTable.cleanup_metadata
    at_that_moment = list[tuple[list[str], bool]]()

    def noted(self: DeltaTable) -> None:
        at_that_moment.append(([*stored], log_of(path)[0].name.endswith(f"{0:020d}.json")))
        clean_up(self)

    monkeypatch.setattr(DeltaTable, "cleanup_metadata", noted)
    Maintainer(tables, HOUR).clean_up(RECORD_RUNS)
    assert at_that_moment == [(["rows", "_delta_log", "_last_checkpoint", "_delta_log"], True)]
    assert not log_of(path)[0].name.endswith(f"{0:020d}.json")
