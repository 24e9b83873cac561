"""A start from last_known is a start from all of the history, and what does not fit is not believed."""

from __future__ import annotations

import json
import logging
from collections.abc import Sequence
from datetime import timedelta
from pathlib import Path
from typing import Any

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
from offset_sync.state.replay import restore_commits
from offset_sync.state.restore import fill_answers, last_answers
from offset_sync.state.sync_state import SyncState
from offset_sync.tables.catalog import LAST_KNOWN, OFFSET_COMMITS, OFFSET_TRANSLATIONS
from offset_sync.tables.store import TableStore

DAY_MS = 24 * 3600 * 1000
KEY = GroupPartition("g", "orders", 0)


def seen(state: SyncState, captured_ms: int) -> tuple[object, ...]:
    """Return what a new driver knows: commits, answers, writes that may be on their way, and until when."""
    return known(state), answers_in(state), last_writes(state), captured_ms


def whole(tables: TableStore) -> tuple[object, ...]:
    """Start from the whole history."""
    state = new_state()
    captured_ms = restore_commits(tables, state, CommitLogIncarnations(tables))
    fill_answers(state, last_answers(tables))
    return seen(state, captured_ms)


def by_last_known(tables: TableStore, config: Config, *, is_owner: bool = True) -> tuple[object, ...]:
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
    return config_of(["X", "Y"], tables={"root": f"{tmp_path}/tables", "checkpoints": f"{tmp_path}/checkpoints"})


@pytest.fixture(autouse=True)
def every_version_is_many(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(last_known, "MANY_VERSIONS", 1)


def append(tables: TableStore, history: dict[Any, pa.Table], *shares: float) -> None:
    """Append the rows between two *shares* of each table."""
    for table, rows in history.items():
        first, end = (int(share * rows.num_rows) for share in shares)
        tables.append(table, rows.slice(first, end - first))


def spoil(kind: str, tables: TableStore) -> None:
    """Make what was known something that is not to be believed."""
    rows = tables.all_rows(LAST_KNOWN)
    (file,) = (Path(tables.path(LAST_KNOWN), each.path) for each in tables.newest(LAST_KNOWN).files())
    told = json.loads(rows["stands_on"][0].as_py())
    if kind == "a file is empty":
        file.write_bytes(b"")
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


def after(
    tables: TableStore, config: Config, commits: Sequence[tuple[str, int | None, str, int]], is_folded: bool
) -> SyncState:
    """Return the state of the second driver after *commits* at X, Y or Z: cluster, offset, group, and on which day."""
    for place, (alias, offset, group, day) in enumerate(commits):
        row = KEY._asdict() | {"group_id": group, "cluster": alias, "committed_offset": offset, "metadata": ""}
        row |= {"is_tombstone": offset is None, "is_own": False, "log_partition": 0, "log_offset": place}
        row |= dict.fromkeys(("committed_at", "made_at", "captured_at"), BEGINS + timedelta(days=day))
        tables.append(OFFSET_COMMITS, pa.Table.from_pylist([row], OFFSET_COMMITS.arrow_schema))
    for _ in range(2):
        state = new_state("XYZ")
        if is_folded:
            LastKnown(tables, config, replaces=True).restore(state, CommitLogIncarnations(tables))
        else:
            restore_commits(tables, state, CommitLogIncarnations(tables))
    return state


@pytest.mark.parametrize("is_folded", [False, True], ids=["whole", "folded"])
def test_a_cluster_that_was_away_does_not_get_the_last_word(
    tables: TableStore, config: Config, is_folded: bool
) -> None:
    """The group's last word was at X, and was deleted; then Z answers again, which has an older commit of it."""
    state = after(tables, config, [("X", 20, "g", 0), ("X", None, "g", 1), ("X", 5, "other", 8)], is_folded)
    state.record("Z", [KEY], to_records([commit(500, round(BEGINS.timestamp() * 1000) - DAY_MS)], [], 7))
    assert state.homes_of(state.offsets.ids([KEY])).home.tolist() == [0]


def test_a_group_that_is_gone_is_dropped_once_every_log_was_read_for_two_weeks_beyond_it(
    tables: TableStore, config: Config
) -> None:
    rows = [(alias, offset, "other", day) for alias in "XYZ" for day, offset in ((0, 5), (16, 6))]
    state = after(tables, config, [("X", 20, "g", 0), ("X", None, "g", 1), *rows], is_folded=True)
    assert state.offsets.keys == [KEY._replace(group_id="other")]
