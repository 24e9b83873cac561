"""Commits and answers of last_known are believed together, and replaced only by the holder of the lease."""

from __future__ import annotations

import threading
from pathlib import Path

import pytest

from fakes.clock import HandClock
from fakes.short_life import DAY_MS, KEY, Life
from offset_sync.model.errors import TakenOverError
from offset_sync.state import last_known
from offset_sync.state.commit_log_incarnations import CommitLogIncarnations
from offset_sync.state.last_known import LastKnown
from offset_sync.state.lease import FencedTables, Lease
from offset_sync.tables.catalog import LAST_KNOWN
from offset_sync.tables.store import TableStore


@pytest.fixture(autouse=True)
def every_version_is_many(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(last_known, "MANY_VERSIONS", 1)


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
