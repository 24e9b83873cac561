"""What is decided after a start from last_known is what is decided after a start from all of the history.

Each case is a short life of one group, told in rows; the final offset is worked out by hand. Commits and answers of
last_known are of one moment, and replaced only by the holder of the lease.
"""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pytest

from fakes.clusters import MemoryIndex
from fakes.reconciler_site import config_of
from fakes.short_life import DAY_MS, KEY, Life, at
from offset_sync.state import last_known
from offset_sync.state.commit_log_incarnations import CommitLogIncarnations
from offset_sync.state.last_known import LastKnown
from offset_sync.state.sync_state import SyncState
from offset_sync.tables.catalog import OFFSET_COMMITS, TABLES
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
