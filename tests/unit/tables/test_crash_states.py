"""States that a crash, a pause or a lost answer leaves: what returned stays, what did not comes again once."""

from __future__ import annotations

import json
import shutil
import time
from datetime import timedelta
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from deltalake import DeltaTable

from builders.claims import claims, epochs
from builders.spark_tables import checkpoint_every_tenth
from offset_sync.model.errors import TableError
from offset_sync.tables import files as whole_files
from offset_sync.tables import log_repair, table_log
from offset_sync.tables.catalog import DRIVERS, SYNC_STATUS
from offset_sync.tables.log_repair import alone
from offset_sync.tables.maintenance import Maintainer
from offset_sync.tables.store import TableStore
from tools.late_entries import lose_answer
from tools.stored_names import note_stored

HOUR = timedelta(hours=1)


def log_of(tables: TableStore) -> Path:
    return Path(tables.path(DRIVERS), "_delta_log")


def entry(version: int) -> str:
    return f"{version:020d}.json"


def test_an_entry_that_ends_with_a_line_before_its_last_is_not_whole(tables: TableStore) -> None:
    tables.append(DRIVERS, claims(1), ("query", 1))
    tables.append(DRIVERS, claims(2), ("query", 2))
    lines = (log_of(tables) / entry(2)).read_text().splitlines(keepends=True)
    for count in range(len(lines)):
        (log_of(tables) / entry(2)).write_text("".join(lines[:count]))
        again = TableStore(tables.root)
        again.create([DRIVERS])
        for _ in range(2):
            again.append(DRIVERS, claims(2), ("query", 2))
        assert epochs(again.all_rows(DRIVERS)) == [1, 2]


def test_an_entry_of_another_writer_that_is_one_line_stays(tables: TableStore) -> None:
    """As that of a VACUUM: its number must not come again, for followers have seen it."""
    said = {"commitInfo": {"timestamp": 1, "operation": "VACUUM END", "operationParameters": {}}}
    (log_of(tables) / entry(1)).write_text(json.dumps(said))
    again = TableStore(tables.root)
    again.create([DRIVERS])
    again.append(DRIVERS, claims(5))
    assert again.version(DRIVERS) == 2


def test_an_entry_of_ours_with_more_than_it_says_stays(tables: TableStore) -> None:
    tables.append(DRIVERS, claims(1), ("query", 1))
    newest = log_of(tables) / entry(1)
    newest.write_text(newest.read_text() + "\n" + json.dumps({"domainMetadata": {}}))
    TableStore(tables.root).repair()
    assert newest.exists()


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


def test_an_answer_was_lost_and_the_file_put_together_since(
    tables: TableStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Without a writer's number nothing but the entry itself tells that it is there."""
    tables.append(DRIVERS, claims(1))
    lose_answer(monkeypatch, lambda: Maintainer(TableStore(tables.root), HOUR).compact(DRIVERS))
    tables.append(DRIVERS, claims(2))
    assert epochs(TableStore(tables.root).all_rows(DRIVERS)) == [1, 2]


def test_numbers_of_writers_do_not_expire(tables: TableStore) -> None:
    """By a clock that was years behind they would at once."""
    tables.append(DRIVERS, claims(1), ("query", 1))
    said = [json.loads(line) for line in (log_of(tables) / entry(1)).read_text().splitlines()]
    far_ms = (time.time() + 100 * 365 * 86400) * 1000
    assert [each["txn"]["lastUpdated"] > far_ms for each in said if "txn" in each] == [True]


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


def test_a_file_that_is_entered_once_more_has_no_new_row(tables: TableStore) -> None:
    tables.append(DRIVERS, claims(1))
    newest = log_of(tables) / entry(1)
    said = [json.loads(line) for line in newest.read_text().splitlines()]
    for each in said:
        each.get("add", {})["dataChange"] = False
    (log_of(tables) / entry(2)).write_text("\n".join(json.dumps(each) for each in said if "add" in each))
    assert epochs(tables.read_added(DRIVERS, 0, 2)) == [1]


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


def test_a_repetition_stores_the_entry_that_it_relies_on(tables: TableStore, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its writer may have been killed before that."""
    with monkeypatch.context() as killed:
        killed.setattr(whole_files, "fsync", lambda _path: None)
        tables.append(DRIVERS, claims(1), ("query", 1))
    stored = note_stored(monkeypatch)
    TableStore(tables.root).append(DRIVERS, claims(1), ("query", 1))
    assert stored == ["rows", "drivers", entry(1), "_delta_log"]


@pytest.mark.parametrize("act", ["compact", "replace"])
def test_a_file_that_another_maintenance_may_have_taken_is_not_entered(
    tables: TableStore, monkeypatch: pytest.MonkeyPatch, act: str
) -> None:
    """As of a process that was paused between writing and entering."""
    tables.create([SYNC_STATUS])
    for number in (1, 2):
        tables.append(DRIVERS, claims(number))
    commit = table_log.TableLog.commit

    def after_a_pause(self: table_log.TableLog, decide: Any) -> Any:
        now = time.time() + 7200
        with monkeypatch.context() as paused:
            paused.setattr(time, "time", lambda: now)
            return commit(self, decide)

    monkeypatch.setattr(table_log.TableLog, "commit", after_a_pause)
    report = pa.Table.from_pylist([{"group_id": "g"}], SYNC_STATUS.arrow_schema)
    acts = {
        "compact": lambda: Maintainer(tables, HOUR).compact(DRIVERS),
        "replace": lambda: tables.replace(SYNC_STATUS, report),
    }
    with pytest.raises(TimeoutError, match="no entry within"):
        acts[act]()
    assert TableStore(tables.root).all_rows(SYNC_STATUS).num_rows == 0
    assert epochs(TableStore(tables.root).all_rows(DRIVERS)) == [1, 2]


def test_a_checkpoint_rests_on_a_stored_entry(tables: TableStore, monkeypatch: pytest.MonkeyPatch) -> None:
    with monkeypatch.context() as killed:
        killed.setattr(whole_files, "fsync", lambda _path: None)
        TableStore(tables.root).append(DRIVERS, claims(1))
    stored = note_stored(monkeypatch)
    Maintainer(TableStore(tables.root), HOUR).clean_up(DRIVERS)
    assert stored[:2] == [entry(1), "_delta_log"]
