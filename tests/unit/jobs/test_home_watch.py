"""What is looked at beside the commits: members, partitions, what only coordinators hold, and keys that are over."""

from __future__ import annotations

import threading
from collections.abc import Mapping
from types import SimpleNamespace
from typing import Any, cast

import numpy as np
import pytest

from fakes.clusters import MemoryIndex
from fakes.reconciler_site import STARTED_MS, config_of
from fakes.tables import MemoryTables
from offset_sync.jobs import sync_offsets
from offset_sync.jobs.sync_offsets import SyncJob
from offset_sync.jobs.watches import HomeWatch, PartitionWatch
from offset_sync.kafka.requests import TopicInfo
from offset_sync.model.errors import ClusterError
from offset_sync.model.values import CONSUMER_OFFSETS, GroupPartition
from offset_sync.state.commit_log_incarnations import CommitLogIncarnations
from offset_sync.state.members import Members
from offset_sync.state.moves import Moves
from offset_sync.state.sync_state import SyncState

SILENT = ClusterError("X", "does not answer")
ALIASES = ("X", "Y")
AFTER_ALL_SILENCE_MS = STARTED_MS + 3_600_000


class Watched:
    """X and Y, who has members there (None: they do not answer), and how many partitions their topics have."""

    def __init__(self, home_silence: str = "5m") -> None:
        self.members: dict[str, frozenset[str] | None] = dict.fromkeys(ALIASES, frozenset())
        self.partitions: dict[str, int | None] = dict.fromkeys(ALIASES, 1)
        self.orders, self.asked, self.changes, self.grown = 1, 0, 0, list[str]()
        self.tables: Any = MemoryTables()
        self.lives = CommitLogIncarnations(self.tables)
        config = config_of(ALIASES, sync={"home_silence": home_silence})
        self.state = SyncState(config, MemoryIndex(), lambda: AFTER_ALL_SILENCE_MS)
        admins, members = {alias: _Admin(self, alias) for alias in ALIASES}, cast(Members, _Members(self))
        self.watch = HomeWatch(self.state, members, Moves(self.tables), self._changed)
        self.growth = PartitionWatch(self.state, admins, self.lives, self._changed, self.grown.append)

    def _changed(self) -> None:
        self.changes += 1

    def commit(self, alias: str, at_ms: int, group: str = "g") -> None:
        rows = self.state.offsets.ids([GroupPartition(group, "orders", 0)])
        self.state.homes.note_commits(alias, rows, np.array([at_ms]))

    def home(self, group: str = "g") -> str | None:
        """Return the home, None where two clusters are active."""
        home, is_contested = self.state.homes_of(self.state.offsets.ids([GroupPartition(group, "orders", 0)]))
        return None if is_contested[0] else ALIASES[int(home[0])]


class _Admin:
    def __init__(self, watched: Watched, alias: str) -> None:
        self._watched, self._alias = watched, alias

    def describe(self, topics: list[str]) -> Mapping[str, TopicInfo | ClusterError]:
        counted = {CONSUMER_OFFSETS: self._watched.partitions[self._alias], "orders": self._watched.orders}
        if counted[CONSUMER_OFFSETS] is None:
            raise SILENT
        return {name: TopicInfo(name, counted[name] or 0) for name in topics if name in counted}


class _Members:
    def __init__(self, watched: Watched) -> None:
        self._watched = watched

    def refresh(self) -> None:
        self._watched.asked += 1

    def of(self, alias: str) -> frozenset[str] | None:
        return self._watched.members[alias]


@pytest.fixture
def watched() -> Watched:
    found = Watched()
    found.commit("X", STARTED_MS)
    found.commit("Y", STARTED_MS + 60_000)
    return found


def test_members_are_asked_for_and_keep_their_cluster_active(watched: Watched) -> None:
    """Also those of a group of which the log tells only after the look, as at the first start."""
    assert watched.home() == "Y"
    watched.members["X"] = frozenset({"g", "late"})
    watched.watch.ask_members()
    assert watched.home() == "X"
    watched.commit("X", STARTED_MS, "late")
    watched.commit("Y", STARTED_MS + 60_000, "late")
    assert watched.home("late") == "X"
    watched.members["Y"] = frozenset({"g", "other"})
    watched.watch.ask_members()
    assert watched.home() is None


@pytest.mark.parametrize("is_known", [False, True])
def test_partitions_that_are_added_are_noted_for_order_and_start_the_query_again_once(
    watched: Watched, is_known: bool
) -> None:
    """Though the state may have learned it from the tables; a cluster that does not answer keeps what it had."""
    for alias in ALIASES:
        watched.growth.note_partitions(alias)
    watched.growth.note_growth()
    assert watched.grown == []
    watched.partitions = {"X": None, "Y": 2}
    if is_known:
        watched.state.offsets.clusters["Y"].partitions = 2
    for _ in range(2):
        watched.growth.note_growth()
    assert watched.grown == ["Y"]
    assert [watched.state.offsets.clusters[alias].partitions for alias in ALIASES] == [1, 2]
    fresh = CommitLogIncarnations(watched.tables)
    fresh.refresh()
    assert [fresh.partitions(alias) for alias in ALIASES] == [1, 2], "as the next driver has it"


@pytest.mark.parametrize(
    ("known", "gone", "is_due"),
    [
        (30_000, 20_000, True),
        (20_000, 10_000, False),  # no more than there are
        (9_999, 9_999, False),  # not worth while
        (10_000, 10_000, True),
    ],
)
def test_it_is_over_when_most_keys_are(known: int, gone: int, is_due: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    state = SimpleNamespace(offsets=SimpleNamespace(keys=range(known)), lock=threading.RLock())
    monkeypatch.setattr(sync_offsets, "is_over", lambda offsets: np.arange(len(offsets.keys)) < gone)
    job: Any = SimpleNamespace(_state=state, _over=threading.Event())
    SyncJob._renew(job)
    assert job._over.is_set() == is_due
