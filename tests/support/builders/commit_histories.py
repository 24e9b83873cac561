"""Rows that drivers have left in the tables, by a seed, and what a new driver knows that has read them."""

from __future__ import annotations

import random
from datetime import datetime, timedelta, timezone
from typing import Any

import pyarrow as pa

from builders.commits import state as state_of
from fakes.clusters import MemoryIndex
from fakes.reconciler_site import config_of
from offset_sync.model.values import CONSUMER_OFFSETS
from offset_sync.state.sync_state import SyncState
from offset_sync.tables.catalog import LOG_INCARNATIONS, OFFSET_COMMITS, OFFSET_TRANSLATIONS
from offset_sync.tables.store import TableStore

BEGINS = datetime(2026, 11, 20, tzinfo=timezone.utc)
STEP = timedelta(seconds=1)
Rows = list[dict[str, Any]]
ANSWERED = ("source_offset", "source_at_ms", "wanted", "state", "outcome", "duplicates", "duplicates_at_most", "lost")


class History:
    """Two clusters whose logs of two partitions grow, are cut and recreated; *ends* is how far they are read."""

    def __init__(self, seed: int, *, cuts: bool = True) -> None:
        self.random, self.now, self._cuts = random.Random(seed), BEGINS, cuts
        self.commits: Rows = []
        self.answers: Rows = []
        self.lives: Rows = []
        self.ends = {(alias, number): 0 for alias in "XY" for number in (0, 1)}

    def go_on(self, steps: int) -> None:
        """Have something happen so many times, a second apart."""
        for _ in range(steps):
            self.now += STEP
            log = self.random.choice(list(self.ends))
            if self.random.random() < 0.9:
                self._read(*log)
            elif self._cuts:
                self._cut(*log)

    def _read(self, alias: str, number: int) -> None:
        offset = self.random.choice([None, -1, *range(9), *range(9)])
        key = {"group_id": f"g{number}-{self.random.randrange(6)}", "topic": "orders", "partition": 0}
        is_own = self.random.random() < 0.4
        self.commits.append(
            {
                **key,
                "cluster": alias,
                "committed_offset": offset,
                "metadata": self.random.choice(["", "m"]),
                "topic_id": self.random.choice([None, "id"]),
                "committed_at": self.now + number * STEP,
                "made_at": self.now,
                "is_tombstone": offset is None,
                "is_own": is_own,
                "log_partition": number,
                "log_offset": self.ends[alias, number],
                "captured_at": self.now + timedelta(milliseconds=1),
            }
        )
        self.ends[alias, number] += 1
        if offset is not None and (is_own or self.random.random() < 0.2):
            self._answer(key, alias, offset, is_read=is_own)

    def _answer(self, key: dict[str, Any], target: str, offset: int, *, is_read: bool) -> None:
        """Have answered with *offset* before its record was read, if it *is_read*, or else just now."""
        source = "X" if target == "Y" else "Y"
        at = self.now - STEP / 2 if is_read else self.now + STEP / 2
        row = {**key, "source_cluster": source, "target_cluster": target, "source_offset": offset + 1}
        row |= {"source_committed_at": at, "translated_at": at, "committed_at": at, "target_offset": offset}
        row |= {"strategy": "exact", "state": "EXACT", "outcome": "COMMITTED", "stream": "orders"}
        self.answers.append(row | dict.fromkeys(("duplicates", "duplicates_at_most", "lost"), offset))

    def _cut(self, alias: str, number: int) -> None:
        begins_at = self.random.choice([0, self.random.randint(0, self.ends[alias, number])])
        life = {"cluster": alias, "topic": CONSUMER_OFFSETS, "partition": number, "topic_id": "id"}
        reason = "LOG_TRUNCATED" if begins_at else "TOPIC_RECREATED"
        self.lives.append(life | {"begins_at": begins_at, "reason": reason, "noticed_at": self.now})
        self.ends[alias, number] = begins_at

    def write(self, tables: TableStore) -> None:
        """Append the commits that are new, after the lives that are new."""
        tables.append(LOG_INCARNATIONS, pa.Table.from_pylist(self.lives, LOG_INCARNATIONS.arrow_schema))
        tables.append(OFFSET_COMMITS, self.table_of_commits())
        self.lives, self.commits = [], []

    def table_of_commits(self) -> pa.Table:
        """Return the commits not yet written."""
        return pa.Table.from_pylist(self.commits, OFFSET_COMMITS.arrow_schema)

    def table_of_answers(self) -> pa.Table:
        """Return all answers."""
        return pa.Table.from_pylist(self.answers, OFFSET_TRANSLATIONS.arrow_schema)


def new_state(aliases: str = "XY") -> SyncState:
    """Return that of a driver that knows nothing yet."""
    return SyncState(config_of([*aliases]), MemoryIndex())


def known(state: SyncState) -> dict[tuple[str, Any], dict[str, Any]]:
    """Return everything that is known of the commits of every key at every cluster."""
    offsets = state.offsets
    return {(alias, key): each for alias in offsets.clusters for key, each in state_of(offsets, alias).items()}


def answers_in(state: SyncState) -> dict[Any, tuple[int, ...]]:
    """Return what is known of earlier answers, by pair and key."""
    found = {}
    for pair in state.last_translations:
        columns = state.last(*pair).columns
        for row, key in enumerate(state.offsets.keys):
            if columns["outcome"][row] >= 0:
                found[(*pair, key)] = tuple(int(columns[name][row]) for name in ANSWERED)
    return found


def last_writes(state: SyncState) -> dict[tuple[str, Any], int]:
    """Return the last write of each key that was not read back; of those before it last_known knows nothing."""
    return {
        (alias, state.offsets.keys[row]): writes[-1].offset
        for alias, each in state.offsets.clusters.items()
        for row, writes in each.own_writes._pending.items()
    }
