"""What is about to be written outlives the driver, until the history tells of it."""

from __future__ import annotations

from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from builders.commits import commit, take_in
from fakes.clusters import MemoryIndex
from fakes.reconciler_site import config_of
from offset_sync.state.own_writes import Intent
from offset_sync.state.sync_state import SyncState
from offset_sync.sync.intent_log import IntentLog, restore_intents
from offset_sync.tables.delta.filesystem import HadoopFiles

NINE, TEN = Intent("Y", "grün", "orders", 0, 9), Intent("Y", "other", "orders", 3, 10)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "intents"


def left(spark: SparkSession, folder: Path) -> list[Intent]:
    """What the next driver finds."""
    return sorted(IntentLog(HadoopFiles(spark), str(folder)).unfinished())


def files(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir() if path.suffix == ".json") if folder.exists() else []


def test_what_was_noted_is_found_by_the_next_driver(spark: SparkSession, folder: Path) -> None:
    assert left(spark, folder) == []
    intents = IntentLog(HadoopFiles(spark), f"{folder}/")
    intents.append([NINE, TEN])
    assert left(spark, folder) == sorted([NINE, TEN])
    assert not intents.is_empty


def test_a_file_is_deleted_when_nothing_in_it_is_needed_any_more(spark: SparkSession, folder: Path) -> None:
    intents = IntentLog(HadoopFiles(spark), str(folder))
    intents.append([NINE, TEN])
    intents.remove([NINE])
    assert len(files(folder)) == 1
    intents.remove([TEN, NINE])
    assert (files(folder), intents.is_empty) == ([], True)


def test_the_next_driver_keeps_what_it_found_until_the_history_tells_of_it(spark: SparkSession, folder: Path) -> None:
    IntentLog(HadoopFiles(spark), str(folder)).append([NINE])
    second = IntentLog(HadoopFiles(spark), str(folder))
    assert second.unfinished() == [NINE]
    assert left(spark, folder) == [NINE]
    second.remove([NINE])
    assert left(spark, folder) == []


def test_what_an_earlier_driver_left_is_over_when_another_value_is_known_to_stand_there(
    spark: SparkSession, folder: Path
) -> None:
    for each in (NINE, TEN):
        IntentLog(HadoopFiles(spark), str(folder)).append([each])
    second = IntentLog(HadoopFiles(spark), str(folder))
    second.unfinished()
    second.append([own := Intent("Y", "third", "orders", 0, 1)])
    second.remove([NINE._replace(offset=12), own._replace(offset=2)])
    assert left(spark, folder) == sorted([TEN, own]), "its own it keeps until that very value is told"


def test_a_newer_value_for_the_same_place_replaces_the_older_one(spark: SparkSession, folder: Path) -> None:
    intents = IntentLog(HadoopFiles(spark), str(folder))
    intents.append([NINE])
    intents.append([NINE._replace(offset=12)])
    intents.remove([NINE])
    assert left(spark, folder) == [NINE._replace(offset=12)]
    assert len(files(folder)) == 1


def test_what_is_noted_already_is_not_written_again(spark: SparkSession, folder: Path) -> None:
    intents = IntentLog(HadoopFiles(spark), str(folder))
    assert intents.append([NINE]) == [NINE]
    assert intents.append([NINE, TEN]) == [TEN]
    assert intents.append([TEN, NINE]) == []
    assert (left(spark, folder), len(files(folder))) == (sorted([NINE, TEN]), 2)


def test_nothing_to_note_costs_no_file(spark: SparkSession, folder: Path) -> None:
    IntentLog(HadoopFiles(spark), str(folder)).append([])
    assert files(folder) == []


def test_a_file_that_was_being_written_when_its_driver_died_is_dropped(spark: SparkSession, folder: Path) -> None:
    IntentLog(HadoopFiles(spark), str(folder)).append([NINE])
    (folder / "half.json").write_text('[["Y", "gr')
    assert left(spark, folder) == [NINE]
    assert "half.json" not in files(folder)


def test_what_a_dead_driver_may_have_written_passes_for_ours_and_only_there(spark: SparkSession, folder: Path) -> None:
    IntentLog(HadoopFiles(spark), str(folder)).append(
        [Intent("Y", "g", "orders", 0, 9), Intent("gone", "g", "orders", 0, 9)]
    )
    state = SyncState(config_of(["X", "Y"]), MemoryIndex())
    restore_intents(IntentLog(HadoopFiles(spark), str(folder)), state)
    committed = state.offsets
    assert take_in(committed, commit(9, 1, metadata="of the client"), alias="Y") == [True]
    assert take_in(committed, commit(9, 1, metadata="of the client"), alias="X") == [False]


def test_a_dry_run_leaves_the_files_to_the_driver_that_is_at_work_with_them(spark: SparkSession, folder: Path) -> None:
    IntentLog(HadoopFiles(spark), str(folder)).append([NINE])
    (folder / "half.json").write_text('[["Y", "gr')
    before, rehearsing = files(folder), IntentLog(HadoopFiles(spark), str(folder))
    assert rehearsing.unfinished(is_heir=False) == [NINE]
    rehearsing.remove([NINE])
    assert files(folder) == before
