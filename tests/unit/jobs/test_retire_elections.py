"""Rows of elections in real tables: removed where everything that was committed is known, and only then."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
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
Ends = Callable[[str], Sequence[int | None]]


def election(days_ago: float, epoch: int, end: int, **how: str | None) -> dict[str, Any]:
    where = {"cluster": "X", "topic": "orders", "partition": 0, "topic_id": "id", "reason": ELECTED}
    return where | {"leader_epoch": epoch, "begins_at": end, "noticed_at": NOW - timedelta(days=days_ago)} | how


def commit(epoch: int | None, offset: int | None) -> dict[str, Any]:
    where = {"cluster": "X", "group_id": "g", "topic": "orders", "partition": 0}
    return where | {"leader_epoch": epoch, "committed_offset": offset, "captured_at": NOW}


class Site:
    """Tables with elections at 9, 8 and 1 days ago in X's log, and how far its two logs of commits were read."""

    def __init__(self, tables: TableStore, folder: Path) -> None:
        self.tables, self._folder = tables, folder
        self.ends: Ends = lambda alias: [5, 7]
        self.read_to({0: 5, 1: 7})
        self.add(LOG_INCARNATIONS, election(9, 5, 100), election(8, 6, 200), election(1, 7, 300))

    def add(self, table: Table, *rows: dict[str, Any]) -> None:
        empty = dict.fromkeys(table.names)
        self.tables.append(table, pa.Table.from_pylist([empty | row for row in rows], table.arrow_schema))

    def read_to(self, offsets: dict[int, int]) -> None:
        """Note in the checkpoint that this was read."""
        offset = json.dumps({"__consumer_offsets": {str(number): each for number, each in offsets.items()}})
        for name, text in (("offsets", f"v1\n{{}}\n{offset}"), ("commits", "v1\n{}")):
            (self._folder / "X" / name).mkdir(parents=True, exist_ok=True)
            (self._folder / "X" / name / "0").write_text(text)

    def cut(self) -> tuple[int, list[int]]:
        """Return how many rows were removed, and the epochs of those that are left."""
        maintainer = Maintainer(self.tables, timedelta(hours=1))
        maintainer.prepare(LOG_INCARNATIONS)
        done = {"X": Checkpoint(self.tables.files, f"{self._folder}/X")}
        removed = RetireElections(self.tables, done, lambda alias: self.ends(alias), 0.3).cut(maintainer, NOW)
        return removed, sorted(self.tables.all_rows(LOG_INCARNATIONS).column("leader_epoch").to_pylist())


@pytest.fixture
def site(tables: TableStore, tmp_path: Path) -> Site:
    return Site(tables, tmp_path / "checkpoints")


def test_what_no_commit_is_judged_by_goes_and_everything_else_stays(site: Site) -> None:
    others = [election(9, 5, 100, cluster="gone"), election(1, 9, 100, cluster="gone"), election(9, 4, 0, reason=None)]
    site.add(LOG_INCARNATIONS, *others)
    site.add(OFFSET_COMMITS, commit(4, 150), commit(4, None), commit(None, 999), commit(6, 999))
    assert site.cut() == (1, [4, 5, 5, 7, 9])
    assert site.cut() == (0, [4, 5, 5, 7, 9])


@pytest.mark.parametrize(
    ("read_to", "ends"),
    [
        ({0: 5, 1: 6}, [5, 7]),
        ({0: 5, 1: 7}, [5, None]),
        ({0: 5, 1: 7}, []),
        ({0: 5, 1: 9}, [5, 7]),
        ({0: 5, 1: 7}, None),
    ],
    ids=["a commit is unread", "no leader", "no such topic", "another log than was read", "no answer"],
)
def test_nothing_goes_while_a_commit_may_be_unread(
    site: Site, read_to: dict[int, int], ends: list[int | None] | None
) -> None:
    def answer(alias: str) -> list[int | None]:
        if ends is None:
            raise ClusterError(alias, "does not answer")
        return ends

    site.read_to(read_to)
    site.ends = answer
    assert site.cut() == (0, [5, 6, 7])
