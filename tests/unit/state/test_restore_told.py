"""What a start, a follower and an overtaken driver know by rows of the tables, each case told in a line.

Of what a driver before has written and not read back: ours, where the log brings it to the next one. Of partitions
added to ``__consumer_offsets``: with one partition a group commits 300 four times, then there are two and it commits
10 in the other one, where log offsets begin again.
"""

from __future__ import annotations

from datetime import datetime, timedelta, timezone
from typing import Any

import pyarrow as pa
import pytest

from builders.commits import commit, take_in
from fakes.clusters import MemoryIndex
from fakes.reconciler_site import config_of
from fakes.tables import MemoryTables
from offset_sync.model.values import CONSUMER_OFFSETS, GroupPartition
from offset_sync.state.commit_log_incarnations import CommitLogIncarnations
from offset_sync.state.restore import follow_commits, recent_writes, restore_answers, restore_commits, restore_missed
from offset_sync.state.sync_state import SyncState
from offset_sync.state.topic_partitions import TopicPartitions
from offset_sync.tables.catalog import LOG_INCARNATIONS, OFFSET_COMMITS, OFFSET_TRANSLATIONS
from offset_sync.tables.definition import Table

BEGAN = datetime(2026, 11, 20, tzinfo=timezone.utc)
KEY = GroupPartition("g", "orders", 0)
"""Of one partition of the log its group's coordinator leads 0, of two 1."""


class History:
    """Tables of a driver that writes at Y what the group commits at X, and what another one knows that starts then."""

    def __init__(self, tables: Any = None, config: Any = None) -> None:
        self.tables: Any = MemoryTables() if tables is None else tables
        self.config = config or config_of(["X", "Y"])
        self.now, self.log_offset, self.behind = BEGAN, -1, timedelta(0)
        self.topics = TopicPartitions(self.tables)
        self.topics.note("X", {CONSUMER_OFFSETS: ("id", 1)})

    def _add(self, table: Table, row: dict[str, Any]) -> None:
        self.tables.append(table, pa.Table.from_pylist([row], table.arrow_schema))

    def capture(self, log_partition: int, log_offset: int, offset: int, cluster: str = "X", **other: Any) -> None:
        """Write down a commit: where it is in the log, and what it commits."""
        self.now += timedelta(milliseconds=500)
        row = {**KEY._asdict(), "cluster": cluster, "committed_offset": offset, "is_own": False, "is_tombstone": False}
        row |= {"log_partition": log_partition, "log_offset": log_offset, "committed_at": self.now}
        self._add(OFFSET_COMMITS, row | {"captured_at": self.now, "made_at": self.now - self.behind} | other)

    def read(self, *commits: tuple[int, bool]) -> None:
        """Have captured commits of Y's log: the offset, and whether it is ours."""
        for offset, is_own in commits:
            self.log_offset += 1
            self.capture(0, self.log_offset, offset, "Y", is_own=is_own)

    def write(self, *offsets: int, outcome: str = "COMMITTED", target: str = "Y") -> None:
        """Have written offsets at Y, a second after each other."""
        for offset in offsets:
            self.now += timedelta(seconds=1)
            row = {**KEY._asdict(), "source_cluster": "X", "target_cluster": target, "source_offset": offset}
            row |= {"source_committed_at": self.now, "state": "EXACT", "target_offset": offset, "outcome": outcome}
            row |= {"duplicates": 0, "duplicates_at_most": 0, "lost": 0, "translated_at": self.now}
            self._add(OFFSET_TRANSLATIONS, row)

    def cut(self, begins_at: int) -> None:
        """Write down that X's log has other records from there on."""
        self.now += timedelta(minutes=1)
        life = {"cluster": "X", "topic": CONSUMER_OFFSETS, "partition": 0, "topic_id": "id", "leader_epoch": 1}
        life |= {"begins_at": begins_at, "reason": "LOG_TRUNCATED", "noticed_at": self.now}
        self._add(LOG_INCARNATIONS, life)

    def grow(self) -> None:
        """Have two partitions, and say so before anything is written down of the second one."""
        self.topics.note("X", {CONSUMER_OFFSETS: ("id", 2)})

    def started(self) -> tuple[SyncState, CommitLogIncarnations]:
        state, lives = SyncState(self.config, MemoryIndex()), CommitLogIncarnations(self.tables)
        restore_commits(self.tables, state, lives)
        restore_answers(self.tables, state)
        return state, lives

    def claims(self, *offsets: int) -> list[bool]:
        """Start, and read what the log of Y brings then; return which of it is ours."""
        return take_in(self.started()[0].offsets, *map(commit, offsets), first=self.log_offset + 1, alias="Y")

    def version(self) -> int:
        return int(self.tables.version(OFFSET_COMMITS))


def held(state: SyncState, alias: str = "X") -> tuple[int, int, bool]:
    """Return what *alias* holds, what the group itself has committed last, and whether it went back."""
    (row,) = state.offsets.ids([KEY]).tolist()
    columns = state.offsets.clusters[alias].columns
    actual, genuine, rewound_ms = (int(columns[n][row]) for n in ("actual_offset", "genuine_offset", "rewound_ms"))
    return actual, genuine, rewound_ms >= 0


# What was written and not read back
OURS, THEIRS = True, False
Told = list[int | tuple[int, bool]]


@pytest.mark.parametrize(
    ("told", "brought", "are_ours"),
    [
        ([100, (100, OURS), 120], [120, 120, 100], [OURS, THEIRS, THEIRS]),
        ([100, 120], [100, 120, 120], [OURS, OURS, THEIRS]),
        ([100, 120, (100, OURS), (120, OURS)], [120, 100], [THEIRS, THEIRS]),
        ([100, (100, OURS), (150, THEIRS)], [100], [THEIRS]),
        ([100, (100, OURS), (90, THEIRS), 120], [120, 120], [OURS, THEIRS]),
        ([100, 120, (100, OURS), (120, OURS), 100], [100, 100], [OURS, THEIRS]),
        ([60, (60, OURS), 60], [60, 60], [OURS, THEIRS]),
    ],
)
def test_a_write_that_was_not_read_back_is_ours_once_where_the_log_brings_it(
    told: Told, brought: list[int], are_ours: list[bool]
) -> None:
    """*told* are writes, and with their authors commits that were read back."""
    history = History()
    for each in told:
        if isinstance(each, int):
            history.write(each)
        else:
            history.read(each)
    assert history.claims(*brought) == are_ours


@pytest.mark.parametrize("outcome", ["DRY_RUN", "FAILED", "NOT_FORWARD", "UNCHANGED", "WITHHELD"])
def test_what_was_not_written_or_elsewhere_is_not_ours(outcome: str) -> None:
    history = History()
    history.write(100, outcome=outcome)
    history.write(120, target="X")
    assert history.claims(100, 120) == [THEIRS, THEIRS]


def test_writes_of_long_before_the_last_one_have_been_read_back_or_compacted_away() -> None:
    history = History()
    history.write(100)
    history.now += timedelta(hours=2)
    history.write(120)
    assert recent_writes(history.tables.batches(OFFSET_TRANSLATIONS)).column("target_offset").to_pylist() == [120]
    assert history.claims(100, 120) == [THEIRS, OURS]


# A log of commits that has begun another life


# A log of commits that has got another partition
AS_IT_WAS, AS_IT_IS = (300, 300, False), (10, 10, True)
OLD = [(0, number, 300) for number in range(4)]


def told_old() -> History:
    history = History()
    for each in OLD:
        history.capture(*each)
    return history


@pytest.mark.parametrize("order", [slice(None), slice(None, None, -1)], ids=["in order", "backwards"])
def test_a_start_knows_the_commit_in_the_partition_of_now(order: slice) -> None:
    history = History()
    history.grow()
    for each in [*OLD, (1, 0, 10)][order]:
        history.capture(*each)
    assert held(history.started()[0])[:2] == AS_IT_IS[:2]


@pytest.mark.parametrize("is_at_once", [False, True])
def test_who_follows_the_tables_takes_the_commit_in_the_new_partition_for_the_newer_one(is_at_once: bool) -> None:
    history = told_old()
    state, lives = history.started()
    version = history.version()
    history.grow()
    assert held(state) == held(history.started()[0]) == AS_IT_WAS
    if not is_at_once:
        version = follow_commits(history.tables, state, version, lives)
    history.capture(1, 0, 10)
    version = follow_commits(history.tables, state, version, lives)
    assert held(state) == AS_IT_IS
    history.capture(0, 4, 400)  # late, from quarantine
    history.capture(1, 1, 20)
    follow_commits(history.tables, state, version, lives)
    assert held(state) == (20, 20, True)


def test_an_overtaken_driver_takes_in_what_another_one_has_read_of_the_new_partition() -> None:
    history = told_old()
    state, lives = history.started()
    history.grow()
    history.capture(1, 0, 10)
    restore_missed(history.tables, state, "X", {0: 4}, {0: 4, 1: 1}, lives)
    assert held(state) == AS_IT_IS
