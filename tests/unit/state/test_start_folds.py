"""A start from the folded history is a start from all of it, and what does not fit is not believed."""

from __future__ import annotations

import json
import logging
import random
from functools import partial
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pytest

from fakes.driver import MINUTES_MS, Driver, driver, live, read_to_the_end
from fakes.starts import files, folded, whole
from offset_sync.config import Config
from offset_sync.model.values import GroupPartition, Outcome
from offset_sync.state import start_folds
from offset_sync.state.fold_rows import is_over
from offset_sync.tables.catalog import LOG_INCARNATIONS, OFFSET_COMMITS, OFFSET_TRANSLATIONS
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
    monkeypatch.setattr(start_folds, "MANY_VERSIONS", 1)


def append(tables: TableStore, history: dict[Any, pa.Table], *shares: float) -> None:
    """Append what lies between two *shares* of each table's rows."""
    for table, rows in history.items():
        first, end = (int(share * rows.num_rows) for share in shares)
        tables.append(table, rows.slice(first, end - first))


@pytest.fixture
def no_whole_history(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let whoever reads all of it fail."""

    def refuse(*_: Any) -> None:
        raise AssertionError("all of the history was read")

    monkeypatch.setattr(start_folds, "restore_commits", refuse)
    monkeypatch.setattr(start_folds, "last_answers", refuse)


def test_a_start_from_folds_of_folds_knows_what_a_start_from_all_of_it_knows(
    tables: TableStore, made: Driver, history: dict[Any, pa.Table], request: pytest.FixtureRequest
) -> None:
    append(tables, history, 0, 0.3)
    assert folded(tables, made.config) == whole(tables, made.config)
    request.getfixturevalue("no_whole_history")
    for shares in ((0.3, 0.31), (0.31, 1)):
        append(tables, history, *shares)
        found = folded(tables, made.config)
        assert found == whole(tables, made.config)
    assert len(files(made.config)) == 4, "files that are over are deleted"
    assert folded(tables, made.config, is_owner=False) == found
    assert len(found.commits) > 60
    assert len(found.answers) > 20
    assert any(found.pending.values())


def test_who_is_no_owner_writes_nothing(tables: TableStore, made: Driver, history: dict[Any, pa.Table]) -> None:
    append(tables, history, 0, 0.3)
    assert folded(tables, made.config, is_owner=False) == whole(tables, made.config)
    assert files(made.config) == []


def test_a_dry_run_in_between_answers_nothing(tables: TableStore, made: Driver, history: dict[Any, pa.Table]) -> None:
    append(tables, history, 0, 0.5)
    folded(tables, made.config)
    rows = history[OFFSET_TRANSLATIONS].slice(0, 40)
    place = rows.schema.get_field_index("outcome")
    dry = rows.set_column(place, "outcome", pa.array([Outcome.DRY_RUN.name] * rows.num_rows))
    later = pc.add(dry.column("translated_at"), pa.scalar(10**12, pa.duration("us")))
    tables.append(
        OFFSET_TRANSLATIONS, dry.set_column(dry.schema.get_field_index("translated_at"), "translated_at", later)
    )
    assert folded(tables, made.config) == whole(tables, made.config)


def test_a_life_that_a_log_has_begun_since_is_seen_in_what_was_folded_before(
    tables: TableStore, made: Driver, history: dict[Any, pa.Table], request: pytest.FixtureRequest
) -> None:
    append(tables, history, 0, 0.6)
    folded(tables, made.config)
    rows = history[OFFSET_COMMITS].slice(0, int(0.6 * history[OFFSET_COMMITS].num_rows))
    of_x = rows.filter(pc.equal(rows.column("cluster"), "X"))
    life = {"cluster": "X", "topic": "__consumer_offsets", "partition": of_x["log_partition"][0].as_py()}
    life |= {"topic_id": "t", "leader_epoch": 1, "begins_at": 5, "reason": "LOG_TRUNCATED"}
    life["noticed_at"] = pc.max(rows.column("captured_at")).as_py()
    before = whole(tables, made.config)
    tables.append(LOG_INCARNATIONS, pa.Table.from_pylist([life], LOG_INCARNATIONS.arrow_schema))
    found = folded(tables, made.config)
    assert found == whole(tables, made.config) != before
    request.getfixturevalue("no_whole_history")
    assert folded(tables, made.config) == found


def spoil(kind: str, tables: TableStore, config: Config) -> None:
    """Make what was folded something that is not to be believed."""
    folder = Path(config.tables.checkpoints, "sync_offsets", "folds")
    for note in folder.glob("*.json"):
        told = json.loads(note.read_text())
        rows = folder / told["file"]
        if kind == "a file is empty":
            rows.write_bytes(b"")
        elif kind == "a file is gone":
            rows.unlink()
        elif kind == "the note is cut off":
            note.write_text(note.read_text()[:40])
        elif kind == "another number of rows":
            note.write_text(json.dumps(told | {"rows": told["rows"] + 1}))
        elif kind == "of a later version":
            note.write_text(json.dumps(told | {"format": 99}))
        else:
            entry = Path(tables.path(OFFSET_COMMITS).removeprefix("file:")).parent / note.stem
            path = entry / "_delta_log" / f"{told['version']:020d}.json"
            path.write_text(path.read_text().rstrip("\n") + " \n")


@pytest.mark.parametrize(
    "kind",
    [
        "a file is empty",
        "a file is gone",
        "the note is cut off",
        "another number of rows",
        "of a later version",
        "a table that was set back has another entry",
    ],
)
def test_what_does_not_fit_is_not_believed_and_written_anew(
    kind: str, tables: TableStore, made: Driver, history: dict[Any, pa.Table], caplog: pytest.LogCaptureFixture
) -> None:
    append(tables, history, 0, 0.3)
    folded(tables, made.config)
    spoil(kind, tables, made.config)
    append(tables, history, 0.3, 0.4)
    with caplog.at_level(logging.INFO):
        assert folded(tables, made.config) == whole(tables, made.config)
    said = [record.getMessage() for record in caplog.records if "not used" in record.getMessage()]
    assert len(said) == (0 if kind == "a file is gone" else 2)
    caplog.clear()
    assert folded(tables, made.config) == whole(tables, made.config)
    assert not caplog.records


def test_a_table_that_was_cleaned_up_since_is_read_whole(
    tables: TableStore, made: Driver, history: dict[Any, pa.Table], monkeypatch: pytest.MonkeyPatch
) -> None:
    append(tables, history, 0, 0.3)
    folded(tables, made.config)
    append(tables, history, 0.3, 0.4)

    read_added = tables.read_added

    def overtaken(table: Any, after: int, until: int) -> pa.Table:
        if after:
            raise FileNotFoundError("an entry")
        return read_added(table, after, until)

    monkeypatch.setattr(tables, "read_added", overtaken)
    assert folded(tables, made.config) == whole(tables, made.config)


def test_with_other_clusters_all_is_read(
    tables: TableStore, made: Driver, history: dict[Any, pa.Table], monkeypatch: pytest.MonkeyPatch
) -> None:
    append(tables, history, 0, 0.3)
    without_z = {alias: each for alias, each in made.config.clusters.items() if alias != "Z"}
    folded(tables, made.config.model_copy(update={"clusters": without_z}))
    assert folded(tables, made.config) == whole(tables, made.config)


def is_left(known_of_it: dict[str, Any]) -> bool:
    is_undeleted = known_of_it["genuine_at_ms"] >= 0 and not known_of_it["is_deleted"]
    return is_undeleted or known_of_it["actual_offset"] >= 0


def test_keys_of_which_nothing_is_left_are_dropped_after_a_while(
    tables: TableStore, made: Driver, history: dict[Any, pa.Table], monkeypatch: pytest.MonkeyPatch
) -> None:
    append(tables, history, 0, 0.5)
    rows = history[OFFSET_COMMITS]
    key = {name: rows.column(name)[0].as_py() for name in ("group_id", "topic", "partition")}
    place = {"log_partition": 0, "log_offset": 1_000_000, "is_tombstone": True, "is_own": False}
    at = pc.max(rows.column("captured_at")).as_py()
    deleted = [key | place | {"cluster": alias, "committed_at": at, "captured_at": at} for alias in "XYZ"]
    tables.append(OFFSET_COMMITS, pa.Table.from_pylist(deleted, OFFSET_COMMITS.arrow_schema))
    before, gone = whole(tables, made.config), GroupPartition(**key)
    assert folded(tables, made.config) == folded(tables, made.config) == before, "it may be asked for yet"
    monkeypatch.setattr(start_folds, "is_over", partial(is_over, kept_ms=-1))
    append(tables, history, 0.5, 0.5 + 1 / rows.num_rows)
    folded(tables, made.config)
    found = folded(tables, made.config)
    after = whole(tables, made.config)
    kept = {key for (_, key), each in after.commits.items() if is_left(each)}
    over = {key for _, key in after.commits} - kept
    assert gone in over
    assert gone in {place[2] for place in after.answers}
    assert found.commits == {place: each for place, each in after.commits.items() if place[1] not in over}
    assert found.answers == {place: each for place, each in after.answers.items() if place[2] not in over}
