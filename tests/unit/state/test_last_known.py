"""A start from last_known is a start from all of the history, and what does not fit is not believed."""

from __future__ import annotations

import json
import logging
from datetime import timedelta
from pathlib import Path
from typing import Any, NamedTuple

import pyarrow as pa
import pytest

from builders.commit_histories import BEGINS, History, answers_in, known, last_writes, new_state
from builders.commits import commit
from fakes.clusters import to_records
from fakes.reconciler_site import config_of
from offset_sync.config import Config
from offset_sync.model.values import GroupPartition
from offset_sync.state import last_known
from offset_sync.state.commit_log_incarnations import CommitLogIncarnations
from offset_sync.state.last_known import LastKnown
from offset_sync.state.restore import restore_answers, restore_commits
from offset_sync.state.sync_state import SyncState
from offset_sync.tables.catalog import LAST_KNOWN, OFFSET_COMMITS, OFFSET_TRANSLATIONS
from offset_sync.tables.store import TableStore

DAY_MS = 24 * 3600 * 1000


class Start(NamedTuple):
    """What a new driver knows."""

    commits: dict[Any, Any]
    answers: dict[Any, Any]
    pending: dict[Any, int]
    captured_ms: int


def seen(state: SyncState, captured_ms: int) -> Start:
    return Start(known(state), answers_in(state), last_writes(state), captured_ms)


def whole(tables: TableStore) -> Start:
    """Start from the whole history."""
    state = new_state()
    captured_ms = restore_commits(tables, state, CommitLogIncarnations(tables))
    restore_answers(tables, state)
    return seen(state, captured_ms)


def by_last_known(tables: TableStore, config: Config, *, is_owner: bool = True) -> Start:
    """Start from the table last_known, which is replaced by an owner."""
    state = new_state()
    return seen(state, LastKnown(tables, config, replaces=is_owner).restore(state, CommitLogIncarnations(tables)))


@pytest.fixture(scope="module")
def history() -> dict[Any, pa.Table]:
    """Rows of a long life, in the order in which they were written."""
    made = History(11, cuts=False)
    made.go_on(400)
    by = {OFFSET_COMMITS: made.table_of_commits(), OFFSET_TRANSLATIONS: made.table_of_answers()}
    return {
        table: rows.sort_by("captured_at" if table is OFFSET_COMMITS else "translated_at") for table, rows in by.items()
    }


@pytest.fixture
def config(tmp_path: Path) -> Config:
    found = config_of(["X", "Y"])
    tables = found.tables.model_copy(update={"checkpoints": str(tmp_path / "checkpoints")})
    return found.model_copy(update={"tables": tables})


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
    tables: TableStore, config: Config, history: dict[Any, pa.Table], request: pytest.FixtureRequest
) -> None:
    append(tables, history, 0, 0.3)
    assert by_last_known(tables, config) == whole(tables)
    request.getfixturevalue("no_whole_history")
    for shares in ((0.3, 0.31), (0.31, 1)):
        append(tables, history, *shares)
        found = by_last_known(tables, config)
        assert found == whole(tables)
    assert by_last_known(tables, config, is_owner=False) == found
    assert len(found.commits) == len(found.answers) == 24
    assert found.pending


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
    kind: str, tables: TableStore, config: Config, history: dict[Any, pa.Table], caplog: pytest.LogCaptureFixture
) -> None:
    append(tables, history, 0, 0.3)
    by_last_known(tables, config)
    spoil(kind, tables)
    append(tables, history, 0.3, 0.4)
    with caplog.at_level(logging.INFO):
        assert by_last_known(tables, config) == whole(tables)
    assert len([record for record in caplog.records if "not used" in record.getMessage()]) == 1
    caplog.clear()
    with caplog.at_level(logging.INFO):
        assert by_last_known(tables, config) == whole(tables)
    assert not [record for record in caplog.records if "not used" in record.getMessage()]


def test_a_commit_that_arrives_late_counts_in_its_place(
    tables: TableStore, config: Config, history: dict[Any, pa.Table]
) -> None:
    """A driver that was paused records what a later one has passed already."""
    append(tables, history, 0, 0.15)
    append(tables, history, 0.19, 0.4)
    by_last_known(tables, config)
    append(tables, history, 0.15, 0.19)
    assert by_last_known(tables, config) == whole(tables)


@pytest.mark.parametrize("is_folded", [False, True], ids=["whole", "folded"])
def test_a_cluster_that_was_away_does_not_get_the_last_word(
    tables: TableStore, config: Config, is_folded: bool
) -> None:
    """The group's last word was at X, and was deleted; then Z answers again, which has an older commit of it."""
    key = GroupPartition("g", "orders", 0)
    for place, (offset, group, at_ms) in enumerate([(20, "g", 1000), (None, "g", 2000), (5, "other", 8 * DAY_MS)]):
        at = BEGINS + timedelta(milliseconds=at_ms)
        row = key._asdict() | {"group_id": group, "cluster": "X", "committed_offset": offset, "metadata": ""}
        row |= {"is_tombstone": offset is None, "is_own": False, "log_partition": 0, "log_offset": place}
        row |= dict.fromkeys(("committed_at", "made_at", "captured_at"), at)
        tables.append(OFFSET_COMMITS, pa.Table.from_pylist([row], OFFSET_COMMITS.arrow_schema))
    for _ in range(2):
        state = new_state("XYZ")
        if is_folded:
            LastKnown(tables, config, replaces=True).restore(state, CommitLogIncarnations(tables))
        else:
            restore_commits(tables, state, CommitLogIncarnations(tables))
    state.record("Z", [key], to_records([commit(500, round(BEGINS.timestamp() * 1000) - DAY_MS)], [], 7))
    assert state.homes_of(state.offsets.ids([key])).home.tolist() == [0]


def test_a_table_that_cannot_be_replaced_prevents_no_start(
    tables: TableStore,
    config: Config,
    history: dict[Any, pa.Table],
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    append(tables, history, 0, 0.1)

    def refuse(*_: object) -> None:
        raise OSError("no space left on device")

    monkeypatch.setattr(tables, "replace", refuse)
    assert by_last_known(tables, config) == whole(tables)
    assert [each.getMessage() for each in caplog.records] == ["last_known was not replaced: no space left on device"]
