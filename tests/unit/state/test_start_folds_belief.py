"""Folds are believed both or none, and written by whoever holds the lease alone."""

from __future__ import annotations

import itertools
import threading
from pathlib import Path

import pytest

from fakes.short_life import DAY_MS, KEY, Life
from offset_sync.model.errors import TakenOverError
from offset_sync.state import start_folds
from offset_sync.state.commit_log_lives import CommitLogLives
from offset_sync.state.lease import Lease
from offset_sync.state.start_folds import StartFolds
from offset_sync.tables.store import TableStore


@pytest.fixture(autouse=True)
def every_version_is_many(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(start_folds, "MANY_VERSIONS", 1)


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


def test_folds_of_two_moments_are_not_believed(tables: TableStore, tmp_path: Path) -> None:
    """A driver that died between the two files has left the commits of before, and the answers of later."""
    life = Life(tables, tmp_path, "XY")
    life.commit("X", 0, 100, 0)
    life.answer(100, 10)
    life.start(is_folded=True)
    folds = tmp_path / "sync_offsets" / "folds"
    before = {each.name: each.read_bytes() for each in folds.iterdir()}
    life.answer(90, 20)
    life.start(is_folded=True)
    for name, content in before.items():
        if name.startswith("offset_commits"):
            (folds / name).write_bytes(content)
    assert StartFolds(tables, life.site.config)._believed((1, 2), CommitLogLives(tables)) is None


def test_who_was_taken_over_folds_nothing(tables: TableStore, tmp_path: Path) -> None:
    life = Life(tables, tmp_path, "XY")
    life.commit("X", 0, 100, 0)
    mine = Lease(tables, "sync_offsets", threading.Event(), now=itertools.count(step=60).__next__)
    mine.claim()
    Lease(tables, "sync_offsets", threading.Event()).claim()
    with pytest.raises(TakenOverError):
        StartFolds(tables, life.site.config, mine).restore(life.site.state, CommitLogLives(tables))
    assert not (tmp_path / "sync_offsets" / "folds").exists()


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
