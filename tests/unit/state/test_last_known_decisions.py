"""What is decided after a start from last_known is what is decided after a start from all of the history.

Each case is a short life of one group, told in rows; the final offset is worked out by hand.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from fakes.short_life import DAY_MS, KEY, Life, at
from offset_sync.state import last_known
from offset_sync.state.commit_log_incarnations import CommitLogIncarnations
from offset_sync.state.restore import restore_commits
from offset_sync.tables.catalog import LOG_INCARNATIONS
from offset_sync.tables.store import TableStore

BOTH_STARTS = pytest.mark.parametrize("is_folded", [False, True], ids=["whole", "folded"])


@pytest.fixture(autouse=True)
def every_version_is_many(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(last_known, "MANY_VERSIONS", 1)


@BOTH_STARTS
def test_writes_at_a_cluster_that_is_not_read_are_remembered(
    tables: TableStore, tmp_path: Path, is_folded: bool
) -> None:
    life = Life(tables, tmp_path, "XY")
    life.commit("X", 0, 100, 0)
    life.answer(100, 10)
    life.site.clusters["Y"].commit("g", next(iter(life.site.clusters["Y"].logs)), 100)
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
    restore_commits(tables, life.site.state, CommitLogIncarnations(tables), ["X"])  # as the running driver does
    life.site.pass_time(8 * DAY_MS + 5000)
    assert life.stands("Y") is None, "the group's last word was 20 at Y, and then it was deleted"
