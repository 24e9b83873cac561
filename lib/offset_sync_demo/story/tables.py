"""The tables during the demo: how far the index has read, captured commits, and answers."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from operator import itemgetter
from typing import Any

from offset_sync.model.errors import OffsetSyncError
from offset_sync.tables.catalog import OFFSET_COMMITS, OFFSET_TRANSLATIONS, RECORD_RUNS
from offset_sync.tables.definition import Table
from offset_sync.tables.store import TableStore
from offset_sync_demo.kafka.clients import Partition

GroupPartition = tuple[str, str, int]


@dataclass(frozen=True)
class Answer:
    """The newest answer to a commit."""

    source_offset: int
    target_offset: int | None
    state: str
    outcome: str
    duplicates: int
    duplicates_at_most: int
    lost: int


class StoryTables:
    """Follows the tables that the jobs write; *check* is called while waiting and raises if a job has ended."""

    def __init__(self, tables: TableStore, check: Callable[[], None]) -> None:
        self._tables = tables
        self._check = check
        self._versions = {OFFSET_TRANSLATIONS: 0, OFFSET_COMMITS: 0, RECORD_RUNS: 0}
        self._answers: dict[tuple[str, str], dict[GroupPartition, Answer]] = {}
        self._captured: dict[str, dict[GroupPartition, tuple[int, int]]] = {}
        self._frontiers: dict[str, dict[Partition, int]] = {}

    def answers(self, source: str, target: str) -> dict[GroupPartition, Answer]:
        """Return the newest answer for every key from *source* to *target*."""
        names = list(Answer.__annotations__)
        for row in sorted(self._added(OFFSET_TRANSLATIONS), key=itemgetter("translated_at")):
            if row["duplicates"] is None:
                continue  # withheld, failed, or the group has left: no answer
            found = self._answers.setdefault((row["source_cluster"], row["target_cluster"]), {})
            found[row["group_id"], row["topic"], row["partition"]] = Answer(**{name: row[name] for name in names})
        return dict(self._answers.get((source, target), {}))

    def captured(self, cluster: str) -> dict[GroupPartition, int]:
        """Return the last captured genuine commit of every key."""
        for row in self._added(OFFSET_COMMITS):
            if not row["is_own"] and not row["is_tombstone"]:
                found = self._captured.setdefault(row["cluster"], {})
                key = (row["group_id"], row["topic"], row["partition"])
                found[key] = max(found.get(key, (-1, -1)), (row["log_offset"], row["committed_offset"]))
        return {key: offset for key, (_, offset) in self._captured.get(cluster, {}).items()}

    def frontiers(self, cluster: str) -> dict[Partition, int]:
        """Return how far the index has read each partition."""
        for row in self._added(RECORD_RUNS):
            found, place = self._frontiers.setdefault(row["cluster"], {}), (row["topic"], row["partition"])
            found[place] = max(found.get(place, 0), row["start_offset"] + row["length"])
        return dict(self._frontiers.get(cluster, {}))

    def _added(self, table: Table) -> list[dict[str, Any]]:
        """Return the rows added since the last call."""
        before = self._versions[table]
        self._versions[table] = self._tables.version(table)
        rows: list[dict[str, Any]] = self._tables.read_added(table, before, self._versions[table]).to_pylist()
        return rows

    def wait_for_index(self, cluster: str, ends: Mapping[Partition, int], timeout: float = 60.0) -> None:
        """Return when the index of *cluster* covers *ends*."""

        def is_covered() -> bool:
            frontiers = self.frontiers(cluster)
            return all(frontiers.get(place, 0) >= end for place, end in ends.items())

        self.wait_until(is_covered, f"the index covers {cluster}", timeout)

    def wait_until_steady(self, source: str, target: str, seconds: float, timeout: float = 90.0) -> None:
        """Return when no answer from *source* to *target* has changed for *seconds*."""
        last, since = self.answers(source, target), time.monotonic()

        def is_steady() -> bool:
            nonlocal last, since
            now = self.answers(source, target)
            if now != last:
                last, since = now, time.monotonic()
            return time.monotonic() - since >= seconds

        self.wait_until(is_steady, f"the answers from {source} to {target} are final", timeout)

    def wait_until(self, is_true: Callable[[], bool], what: str, timeout: float) -> None:
        """Return when *is_true*; raises OffsetSyncError if that takes longer than *timeout* seconds."""
        deadline = time.monotonic() + timeout
        while not is_true():
            self._check()
            if time.monotonic() > deadline:
                raise OffsetSyncError(f"waited {timeout:.0f} s until {what}, without success; see the logs of the jobs")
            time.sleep(0.5)
