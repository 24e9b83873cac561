"""What is decided after a start from last_known is what is decided after a start from all of the history.

Each case is a short life of one group, told in rows; the final offset is worked out by hand. Commits and answers of
last_known are of one moment, and replaced only by the holder of the lease.
"""

from __future__ import annotations

import threading
from pathlib import Path

import pyarrow as pa
import pytest

from fakes.clock import HandClock
from fakes.clusters import MemoryIndex
from fakes.reconciler_site import config_of
from fakes.short_life import DAY_MS, KEY, Life, at
from offset_sync.model.errors import TakenOverError
from offset_sync.state import last_known
from offset_sync.state.commit_log_incarnations import CommitLogIncarnations
from offset_sync.state.last_known import LastKnown
from offset_sync.state.lease import FencedTables, Lease
from offset_sync.state.restore import restore_commits
from offset_sync.state.sync_state import SyncState
from offset_sync.tables.catalog import LAST_KNOWN, LOG_INCARNATIONS, OFFSET_COMMITS, TABLES
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


@pytest.mark.parametrize("why", ["as it was", "many versions", "it was emptied"])
def test_what_was_dropped_and_what_is_known_are_of_one_moment(
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
        monkeypatch.setattr(last_known, "TOO_MANY_VERSIONS", 2)
        for number in range(3):
            life.answer(5, 8 * DAY_MS + number, "other")
    elif why == "it was emptied":
        tables.replace(LAST_KNOWN, LAST_KNOWN.no_rows)
    life.start(is_folded=True)
    life.site.pass_time(8 * DAY_MS + 5000)
    life.says("X", 50, 100)
    assert life.stands("Y") == 100, "there was no offset"


def test_who_was_taken_over_replaces_nothing(tables: TableStore, tmp_path: Path) -> None:
    life = Life(tables, tmp_path, "XY")
    life.commit("X", 0, 100, 0)
    clock = HandClock()
    mine = Lease(tables, "sync_offsets", threading.Event(), clock)
    mine.claim()
    Lease(tables, "sync_offsets", threading.Event()).claim()
    clock.seconds += 60
    last_known = LastKnown(FencedTables(tables.root, mine), life.site.config, replaces=True)
    with pytest.raises(TakenOverError):
        last_known.restore(life.site.state, CommitLogIncarnations(tables))
    assert not tables.all_rows(LAST_KNOWN).num_rows


def test_a_table_that_cannot_be_replaced_prevents_no_start(
    tables: TableStore, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    life = Life(tables, tmp_path, "XY")
    life.commit("X", 0, 100, 0)

    def refuse(*_: object) -> None:
        raise OSError("no space left on device")

    monkeypatch.setattr(tables, "replace", refuse)
    life.start(is_folded=True)
    assert life.site.offsets.keys == [KEY]
    assert [each.getMessage() for each in caplog.records] == ["last_known was not replaced: no space left on device"]


COMMIT = {"group_id": "g", "partition": 0, "committed_offset": 7, "metadata": "", "is_tombstone": False}
COMMIT |= {"is_own": False, "log_partition": 1, "log_offset": 3}
COMMIT |= dict.fromkeys(("committed_at", "captured_at", "made_at"), at(0))


def streams(folder: Path, aliases: list[str], names: str, copy: tuple[str, str]) -> set[str]:
    """Return the streams of a group's only commit, as known at a start that writes last_known."""
    places = {"root": f"{folder}/t", "checkpoints": f"{folder}/c"}
    config = config_of(aliases, mirror={"names": names}, tables=places)
    assert not config.names.problems({copy[0]: [copy[1]]})
    tables = TableStore(config.tables.root, names=config.names)
    tables.create(TABLES)
    if tables.version(OFFSET_COMMITS) == 0:
        row = COMMIT | {"cluster": copy[0], "topic": copy[1]}
        TableStore(tables.root).append(OFFSET_COMMITS, pa.Table.from_pylist([row], OFFSET_COMMITS.arrow_schema))
    state = SyncState(config, MemoryIndex())
    LastKnown(tables, config, replaces=True).restore(state, CommitLogIncarnations(tables))
    return {key.topic for key in state.offsets.keys}


def test_under_other_names_topics_are_other_streams(tmp_path: Path) -> None:
    """last_known has topics as their clusters call them."""
    for names, wanted in (("same", "orders"), ("mm2", "dc2.orders"), ("mm2", "dc2.orders"), ("same", "orders")):
        assert streams(tmp_path / "names", ["dc1", "dc2"], names, ("dc2", "orders")) == {wanted}
    of_now, other = ("dc3", "dc2.dc1.orders"), ("dc3", "dc1.orders")
    known = [streams(tmp_path, ["dc1", "dc2", "dc3"], "mm2", copy) for copy in (of_now, of_now, other, other, of_now)]
    assert known == [{"dc1.orders"}] * 2 + [{"dc2.dc1.orders at dc3"}] * 2 + [{"dc1.orders"}]
