"""What is decided after a start from folds is what is decided after a start from all of the history.

Each case is a short life of one group, told in rows; what has to stand in the end is worked out by hand.
"""

from __future__ import annotations

import threading
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from builders.logs import log
from builders.offset_records import commit_key, commit_value
from fakes.reconciler_site import STARTED_MS, Site, config_of
from offset_sync.ingest.quarantine_replay import replay_quarantine
from offset_sync.model.values import GroupPartition
from offset_sync.state import start_folds
from offset_sync.state.commit_log_lives import CommitLogLives
from offset_sync.state.committed_offsets import OWN_TAG, CommitRecords
from offset_sync.state.lease import NoLease
from offset_sync.state.restore import restore_commits
from offset_sync.state.restore_answers import restore_answers
from offset_sync.state.start_folds import StartFolds
from offset_sync.tables.catalog import LOG_INCARNATIONS, OFFSET_COMMITS, OFFSET_TRANSLATIONS, QUARANTINE
from offset_sync.tables.definition import Table
from offset_sync.tables.store import TableStore

DAY_MS = 24 * 3600 * 1000
KEY = GroupPartition("g", "orders", 0)
BOTH_STARTS = pytest.mark.parametrize("is_folded", [False, True], ids=["whole", "folded"])


class Life:
    """Clusters that all hold 600 records of X, the tables, and the driver that starts on them."""

    def __init__(self, tables: TableStore, folder: Path, clusters: str, **sync: Any) -> None:
        config = config_of(list(clusters), sync=sync)
        places = config.tables.model_copy(update={"checkpoints": str(folder)})
        self.tables, self.site = tables, Site(config.model_copy(update={"tables": places}))
        for alias in clusters:
            self.site.put(log(alias, "X0:600"))

    def add(self, table: Table, **row: Any) -> None:
        self.tables.append(table, pa.Table.from_pylist([row], table.arrow_schema))

    def commit(self, cluster: str, place: int, offset: int | None, ms: int, group: str = "g") -> None:
        """Have a row of offset_commits; what Y has of a group that commits at X is ours."""
        is_own = cluster == "Y" and group == "ours at Y"
        row: dict[str, Any] = {"cluster": cluster, "group_id": "g" if is_own else group, "topic": "orders"}
        row |= {"partition": 0, "log_partition": 0, "log_offset": place, "committed_at": at(ms), "is_own": is_own}
        row |= {"committed_offset": offset, "is_tombstone": offset is None, "captured_at": at(ms + 1)}
        self.add(OFFSET_COMMITS, **row, metadata=OWN_TAG if is_own else "", topic_id=None)

    def answer(self, offset: int, ms: int, group: str = "g") -> None:
        """Have a row that says that X's commit was committed at Y."""
        row: dict[str, Any] = {"source_cluster": "X", "target_cluster": "Y", "group_id": group, "topic": "orders"}
        row |= {"partition": 0, "source_offset": offset, "source_committed_at": at(ms - 10), "target_offset": offset}
        row |= {"state": "EXACT", "outcome": "COMMITTED", "duplicates": 0, "duplicates_at_most": 0, "lost": 0}
        self.add(OFFSET_TRANSLATIONS, **row, translated_at=at(ms))

    def start(self, *, is_folded: bool) -> None:
        """Start a driver."""
        self.site.restart()
        lives = CommitLogLives(self.tables)
        if is_folded:
            StartFolds(self.tables, self.site.config, NoLease(threading.Event())).restore(self.site.state, lives)
        else:
            restore_commits(self.tables, self.site.state, lives)
            restore_answers(self.tables, self.site.state)

    def says(self, cluster: str, place: int, offset: int, *, days_ago: int = 0) -> None:
        """Have the running driver read a commit of the group."""
        at_ms = np.array([self.site.clock_ms[0] - days_ago * DAY_MS])
        texts: list[Any] = [""]
        none = np.zeros(1, np.intp)
        records = CommitRecords(none, np.array([offset]), np.array([False]), at_ms, np.array([place]), texts, [None])
        self.site.state.record(cluster, [KEY], records)

    def stands(self, cluster: str) -> int | None:
        """Reconcile everything a few times; return what stands at *cluster*."""
        for _ in range(4):
            self.site.pass_time(1000)
            self.site.reconciler.reconcile_all()
        return self.site.target_offset(cluster, "g")


def at(ms: int) -> datetime:
    return datetime.fromtimestamp((STARTED_MS + ms) / 1000, timezone.utc)


@pytest.fixture(autouse=True)
def every_version_is_many(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(start_folds, "MANY_VERSIONS", 1)


@BOTH_STARTS
def test_what_we_wrote_where_nobody_reads_is_remembered(tables: TableStore, tmp_path: Path, is_folded: bool) -> None:
    life = Life(tables, tmp_path, "XY")
    life.commit("X", 0, 100, 0)
    life.answer(100, 10)
    life.site.clusters["Y"].commit("g", next(iter(life.site.clusters["Y"].logs)), 100, OWN_TAG)
    life.commit("X", 1, None, 1000)
    life.commit("X", 2, 5, 8 * DAY_MS, "other")
    for _ in range(2):
        life.start(is_folded=is_folded)
    life.site.state.unread.begin(["X", "Y"])
    life.site.state.unread.note_read(["X"])
    life.site.pass_time(8 * DAY_MS + 5000)
    life.says("X", 50, 10)
    assert life.stands("Y") == 10, "the group came back lower"


@BOTH_STARTS
@pytest.mark.parametrize("clusters", ["XY", "XYZ"])
def test_a_commit_that_is_replayed_from_quarantine_counts(
    tables: TableStore, tmp_path: Path, clusters: str, is_folded: bool
) -> None:
    """The group was set back at X to 20 after it had been at 180 at Y; what it said then was not understood."""
    life = Life(tables, tmp_path, clusters)
    life.site.clusters["Y"].commit("g", next(iter(life.site.clusters["Y"].logs)), 180)
    order = [("Y", 0, 180, 0), ("X", 0, 100, 1000)] if clusters == "XY" else [("X", 0, 100, 0), ("Y", 0, 180, 1000)]
    for each in order:
        life.commit(*each)
    value = commit_value(20, committed_at_ms=STARTED_MS + 2000)
    row = {"cluster": "X", "topic": "__consumer_offsets", "partition": 0, "offset": 1, "value": value}
    life.add(QUARANTINE, **row, key=commit_key(*KEY), error="version 4 is unknown", seen_at=at(2001))
    life.commit("X", 2, 120 if clusters == "XY" else -1, 3000)
    life.start(is_folded=True)
    replay_quarantine(tables)
    life.start(is_folded=is_folded)
    life.site.pass_time(100_000)
    if clusters == "XY":
        assert life.stands("Y") == 120
    else:
        assert life.stands("Z") in (None, 20), "the newest word of the group is 20 at X"


@pytest.mark.parametrize("why", ["as it was", "many versions", "a note is gone"])
def test_both_folds_are_believed_or_none(
    tables: TableStore, tmp_path: Path, why: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    life = Life(tables, tmp_path, "XY", refresh_interval="30d")
    life.commit("X", 0, 100, 0)
    life.answer(100, 10)
    life.commit("Y", 0, 100, 20, "ours at Y")
    life.commit("X", 1, None, 1000)
    life.commit("Y", 1, None, 2000)
    for alias in "XY":
        life.commit(alias, 2, 5, 8 * DAY_MS, "other")
    life.start(is_folded=True)
    if why == "many versions":
        monkeypatch.setattr(start_folds, "TOO_MANY_VERSIONS", 2)
        for number in range(3):
            life.answer(5, 8 * DAY_MS + number, "other")
    elif why == "a note is gone":
        (tmp_path / "sync_offsets" / "folds" / "offset_translations.json").unlink()
    life.start(is_folded=True)
    life.site.pass_time(8 * DAY_MS + 5000)
    life.says("X", 50, 100)
    assert life.stands("Y") == 100, "nothing stood there"


@BOTH_STARTS
def test_a_cluster_that_was_away_does_not_get_the_last_word(
    tables: TableStore, tmp_path: Path, is_folded: bool
) -> None:
    life = Life(tables, tmp_path, "XYZ")
    life.commit("X", 0, 20, 1000)
    life.commit("X", 1, None, 2000)
    life.commit("X", 2, 5, 8 * DAY_MS, "other")
    for _ in range(2):
        life.start(is_folded=is_folded)
    life.site.pass_time(8 * DAY_MS)
    life.says("Z", 7, 500, days_ago=9)
    assert life.stands("X") is None, "the group's last word was 20 there, and then it was deleted"


@BOTH_STARTS
def test_a_key_that_comes_back_with_a_lost_tombstone_is_judged_by_all(
    tables: TableStore, tmp_path: Path, is_folded: bool
) -> None:
    life = Life(tables, tmp_path, "XY")
    for each in (("X", 10, 100, 0), ("Y", 5, 20, 1000), ("X", 11, None, 2000), ("Y", 6, None, 3000)):
        life.commit(*each)
    for alias in "XY":
        life.commit(alias, 12, 5, 8 * DAY_MS, "other")
    life.start(is_folded=True)
    if is_folded:
        life.start(is_folded=True)
        assert life.site.state.offsets.unknown([KEY]) == {KEY}, "it was over"
    cut = {"cluster": "X", "topic": "__consumer_offsets", "partition": 0, "topic_id": "t", "leader_epoch": 1}
    life.add(LOG_INCARNATIONS, **cut, begins_at=11, reason="LOG_TRUNCATED", noticed_at=at(8 * DAY_MS + 1000))
    restore_commits(tables, life.site.state, CommitLogLives(tables), ["X"])  # as the running driver does
    life.site.pass_time(8 * DAY_MS + 5000)
    assert life.stands("Y") is None, "the group's last word was 20 at Y, and then it was deleted"


def test_a_fold_that_cannot_be_written_keeps_nobody_from_starting(
    tables: TableStore, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    life = Life(tables, tmp_path, "XY")
    life.commit("X", 0, 100, 0)
    (tmp_path / "sync_offsets").mkdir()
    (tmp_path / "sync_offsets" / "folds").write_text("in the way")
    life.start(is_folded=True)
    assert life.site.offsets.keys == [KEY]
    assert [each.getMessage() for each in caplog.records if "was not folded" in each.getMessage()]
