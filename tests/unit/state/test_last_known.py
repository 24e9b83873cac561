"""A start from last_known is a start from all of the history, and what does not fit is not believed."""

from __future__ import annotations

import json
import logging
import random
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from fakes.driver import MINUTES_MS, Driver, driver, live, read_to_the_end
from fakes.short_life import DAY_MS, KEY, Life
from fakes.starts import by_last_known, whole
from offset_sync.state import last_known
from offset_sync.tables.catalog import LAST_KNOWN, OFFSET_COMMITS, OFFSET_TRANSLATIONS
from offset_sync.tables.store import TableStore


@pytest.fixture(scope="module")
def history() -> dict[Any, pa.Table]:
    """Rows of a long life, in the order in which they were written."""
    made = driver()
    live(made, random.Random(11), 300)
    read_to_the_end(made)
    made.pass_time(2 * MINUTES_MS)
    made.commit("X", "late", 4, metadata="of the client")
    made.ingest("X", 50)
    made.history.close()
    by = {OFFSET_COMMITS: "captured_at", OFFSET_TRANSLATIONS: "translated_at"}
    return {table: made.written.all_rows(table).sort_by(name) for table, name in by.items()}


@pytest.fixture
def made(tmp_path: Path) -> Driver:
    found = driver()
    tree = found.config.tables.model_copy(update={"checkpoints": str(tmp_path / "checkpoints")})
    found.config = found.config.model_copy(update={"tables": tree})
    return found


@pytest.fixture(autouse=True)
def every_version_is_many(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(last_known, "MANY_VERSIONS", 1)


def append(tables: TableStore, history: dict[Any, pa.Table], *shares: float) -> None:
    """Append the rows between two *shares* of each table."""
    for table, rows in history.items():
        first, end = (int(share * rows.num_rows) for share in shares)
        tables.append(table, rows.slice(first, end - first))


@pytest.fixture
def no_whole_history(monkeypatch: pytest.MonkeyPatch) -> None:
    """Make reads of the whole table fail."""

    def refuse(*_: Any) -> None:
        raise AssertionError("all of the history was read")

    monkeypatch.setattr(last_known, "restore_commits", refuse)
    monkeypatch.setattr(last_known, "last_answers", refuse)


def test_a_start_from_what_was_known_time_and_again_knows_what_a_start_from_all_of_it_knows(
    tables: TableStore, made: Driver, history: dict[Any, pa.Table], request: pytest.FixtureRequest
) -> None:
    append(tables, history, 0, 0.3)
    assert by_last_known(tables, made.config) == whole(tables, made.config)
    request.getfixturevalue("no_whole_history")
    for shares in ((0.3, 0.31), (0.31, 1)):
        append(tables, history, *shares)
        found = by_last_known(tables, made.config)
        assert found == whole(tables, made.config)
    assert by_last_known(tables, made.config, is_owner=False) == found
    assert len(found.commits) > 60
    assert len(found.answers) > 20
    assert any(found.pending.values())


def spoil(kind: str, tables: TableStore) -> None:
    """Make what was known something that is not to be believed."""
    rows = tables.all_rows(LAST_KNOWN)
    (file,) = (Path(path.removeprefix("file:")) for path, _ in tables.data_files(LAST_KNOWN))
    told = json.loads(rows["stands_on"][0].as_py())
    if kind == "a file is empty":
        file.write_bytes(b"")
    elif kind == "a file is gone":
        file.unlink()
    elif kind == "a row is gone":
        tables.replace(LAST_KNOWN, rows.slice(1))
    elif kind == "it rests on other commits":
        told_by(tables, rows, "{}")
    elif kind == "it knows more than there is":
        told_by(tables, rows, json.dumps(told | {"versions": [each + 50 for each in told["versions"]]}))
    else:
        folder = Path(tables.path(OFFSET_COMMITS).removeprefix("file:"))
        path = folder / "_delta_log" / f"{told['versions'][0]:020d}.json"
        path.write_text(path.read_text().rstrip("\n") + " \n")


def told_by(tables: TableStore, rows: pa.Table, text: str) -> None:
    place = rows.schema.get_field_index("stands_on")
    tables.replace(LAST_KNOWN, rows.set_column(place, "stands_on", pa.array([text] * rows.num_rows)))


@pytest.mark.parametrize(
    "kind",
    [
        "a file is empty",
        "a file is gone",
        "it rests on other commits",
        "a row is gone",
        "it knows more than there is",
        "a table that was set back has another entry",
    ],
)
def test_what_does_not_fit_is_not_believed_and_replaced(
    kind: str, tables: TableStore, made: Driver, history: dict[Any, pa.Table], caplog: pytest.LogCaptureFixture
) -> None:
    append(tables, history, 0, 0.3)
    by_last_known(tables, made.config)
    spoil(kind, tables)
    append(tables, history, 0.3, 0.4)
    with caplog.at_level(logging.INFO):
        assert by_last_known(tables, made.config) == whole(tables, made.config)
    assert len([record for record in caplog.records if "not used" in record.getMessage()]) == 1
    caplog.clear()
    with caplog.at_level(logging.INFO):
        assert by_last_known(tables, made.config) == whole(tables, made.config)
    assert not [record for record in caplog.records if "not used" in record.getMessage()]


def test_a_commit_that_arrives_late_counts_in_its_place(
    tables: TableStore, made: Driver, history: dict[Any, pa.Table]
) -> None:
    """A driver that was paused records what a later one has passed already."""
    append(tables, history, 0, 0.15)
    append(tables, history, 0.19, 0.4)
    by_last_known(tables, made.config)
    append(tables, history, 0.15, 0.19)
    assert by_last_known(tables, made.config) == whole(tables, made.config)


BOTH_STARTS = pytest.mark.parametrize("is_folded", [False, True], ids=["whole", "folded"])


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
