"""Rows of elections in real tables: removed where everything that was committed is known, and only then."""

from __future__ import annotations

import json
from datetime import datetime, timedelta, timezone
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from offset_sync.ingest.checkpoint import Checkpoint
from offset_sync.jobs.maintain_tables import RetireElections
from offset_sync.model.errors import ClusterError
from offset_sync.tables.catalog import ELECTED, LOG_INCARNATIONS, OFFSET_COMMITS
from offset_sync.tables.definition import Table
from offset_sync.tables.maintenance import Maintainer
from offset_sync.tables.store import TableStore

NOW = datetime(2026, 11, 24, tzinfo=timezone.utc)
WHERE = {"cluster": "X", "topic": "orders", "partition": 0}


def election(days_ago: float, epoch: int, end: int, **how: str | None) -> dict[str, Any]:
    told = {"leader_epoch": epoch, "begins_at": end, "noticed_at": NOW - timedelta(days=days_ago)}
    return WHERE | {"topic_id": "id", "reason": ELECTED} | told | how


def add(tables: TableStore, table: Table, *rows: dict[str, Any]) -> None:
    empty = dict.fromkeys(table.names)
    tables.append(table, pa.Table.from_pylist([empty | row for row in rows], table.arrow_schema))


@pytest.mark.parametrize(
    ("read_to", "ends", "left"),
    [
        ({0: 5, 1: 7}, [5, 7], [4, 5, 7, 9]),
        ({0: 5, 1: 6}, [5, 7], None),
        ({0: 5, 1: 7}, [5, None], None),
        ({0: 5, 1: 7}, [], None),
        ({0: 5, 1: 9}, [5, 7], None),
        ({0: 5, 1: 7}, None, None),
    ],
    ids=["all is read", "a commit is unread", "no leader", "no such topic", "another log than was read", "no answer"],
)
def test_what_no_commit_is_judged_by_goes_and_nothing_while_a_commit_may_be_unread(
    tables: TableStore, tmp_path: Path, read_to: dict[int, int], ends: list[int | None] | None, left: list[int] | None
) -> None:
    others = [election(9, 9, 100, cluster="gone"), election(9, 4, 0, reason=None)]
    add(tables, LOG_INCARNATIONS, election(9, 5, 100), election(8, 6, 200), election(1, 7, 300), *others)
    for epoch, offset in ((4, 150), (4, None), (None, 999), (6, 999)):
        commit = {"group_id": "g", "leader_epoch": epoch, "committed_offset": offset, "captured_at": NOW}
        add(tables, OFFSET_COMMITS, WHERE | commit)
    offset = json.dumps({"__consumer_offsets": {str(number): each for number, each in read_to.items()}})
    for name, text in (("offsets", f"v1\n{{}}\n{offset}"), ("commits", "v1\n{}")):
        (tmp_path / name).mkdir()
        (tmp_path / name / "0").write_text(text)

    def answer(alias: str) -> list[int | None]:
        if ends is None:
            raise ClusterError(alias, "does not answer")
        return ends

    maintainer = Maintainer(tables, timedelta(hours=1))
    maintainer.prepare(LOG_INCARNATIONS)
    done = {"X": Checkpoint(tables.files, str(tmp_path))}
    retire = RetireElections(tables, done, answer, 0.3)
    for removed in [0, 0] if left is None else [1, 0]:
        assert retire.cut(maintainer, NOW) == removed
    epochs = tables.all_rows(LOG_INCARNATIONS).column("leader_epoch").to_pylist()
    assert sorted(epochs) == (left or [4, 5, 6, 7, 9])
