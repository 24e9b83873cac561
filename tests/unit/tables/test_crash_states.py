"""States that a crash, a pause or a lost answer leaves: what returned stays, what did not comes again once."""

from __future__ import annotations

import json
import shutil
from datetime import timedelta
from pathlib import Path

import pytest
from deltalake import DeltaTable

from builders.claims import claims, epochs
from builders.spark_tables import checkpoint_every_tenth
from offset_sync.model.errors import TableError
from offset_sync.tables import log_repair
from offset_sync.tables.catalog import DRIVERS
from offset_sync.tables.log_repair import alone
from offset_sync.tables.maintenance import Maintainer
from offset_sync.tables.store import TableStore

HOUR = timedelta(hours=1)


def log_of(tables: TableStore) -> Path:
    return Path(tables.path(DRIVERS), "_delta_log")


def entry(version: int) -> str:
    return f"{version:020d}.json"


def test_an_entry_of_another_writer_that_is_one_line_stays(tables: TableStore) -> None:
    """As that of a VACUUM: its number must not come again, for followers have seen it."""
    said = {"commitInfo": {"timestamp": 1, "operation": "VACUUM END", "operationParameters": {}}}
    (log_of(tables) / entry(1)).write_text(json.dumps(said))
    again = TableStore(tables.root)
    again.create([DRIVERS])
    again.append(DRIVERS, claims(5))
    assert again.version(DRIVERS) == 2


def test_no_writer_waits_for_a_process_that_is_stopped_in_a_checkpoint_or_a_clean_up(tables: TableStore) -> None:
    checkpoint_every_tenth(tables, DRIVERS)
    with alone(Path(tables.path(DRIVERS))) as is_alone:
        assert is_alone
        for number in range(12):
            tables.append(DRIVERS, claims(number))
        Maintainer(tables, HOUR).clean_up(DRIVERS)
        assert not list(log_of(tables).glob("*.checkpoint*"))
    for number in range(12, 22):
        tables.append(DRIVERS, claims(number))
    assert list(log_of(tables).glob("*.checkpoint*"))
    assert epochs(TableStore(tables.root).all_rows(DRIVERS)) == list(range(22))


def test_a_repair_that_waits_for_long_says_what_to_do(tables: TableStore, monkeypatch: pytest.MonkeyPatch) -> None:
    tables.append(DRIVERS, claims(1))
    (log_of(tables) / entry(1)).write_text("")
    monkeypatch.setattr(log_repair, "_PATIENCE_SECONDS", 0.1)
    with alone(Path(tables.path(DRIVERS))), pytest.raises(TableError, match="hangs, end it"):
        tables.repair()
    tables.repair()
    assert not (log_of(tables) / entry(1)).exists()


def test_a_checkpoint_is_not_removed_where_nothing_else_says_the_same(tables: TableStore) -> None:
    for number in range(3):
        tables.append(DRIVERS, claims(number))
    DeltaTable(tables.path(DRIVERS)).create_checkpoint()
    (found,) = log_of(tables).glob("*.checkpoint.parquet")
    whole = found.read_bytes()
    found.write_bytes(whole[:50])
    copy = shutil.copytree(tables.path(DRIVERS), Path(tables.root, "copy", "drivers"))
    assert epochs(mended(tables.root).all_rows(DRIVERS)) == [0, 1, 2]
    (copy / "_delta_log" / entry(1)).unlink()  # cleaned up
    with pytest.raises(TableError, match="the entries before it are gone"):
        mended(str(copy.parent))
    (copy / "_delta_log" / found.name).write_bytes(whole)
    assert epochs(mended(str(copy.parent)).all_rows(DRIVERS)) == [0, 1, 2]


def mended(root: str) -> TableStore:
    found = TableStore(root)
    found.create([DRIVERS])
    return found


def test_clustering_alone_is_taken_away(tables: TableStore) -> None:
    """Not what another writer has added, by which files are read otherwise."""
    first = log_of(tables) / entry(0)
    for features, version in ((["clustering", "domainMetadata"], 1), (["clustering", "rowTracking"], 0)):
        lines = [json.loads(line) for line in first.read_text().splitlines()]
        protocol = {"protocol": {"minReaderVersion": 1, "minWriterVersion": 7, "writerFeatures": features}}
        first.write_text("\n".join(json.dumps(protocol if "protocol" in line else line) for line in lines))
        for later in log_of(tables).glob(f"*{1:09d}.json"):
            later.unlink()
        again = TableStore(tables.root)
        again.log(DRIVERS).make(DRIVERS)
        assert again.version(DRIVERS) == version
