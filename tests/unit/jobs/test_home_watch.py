"""What is looked at beside the commits: partitions of ``__consumer_offsets``, and keys that are over."""

from __future__ import annotations

import threading
from collections.abc import Mapping
from types import SimpleNamespace
from typing import Any, cast

import numpy as np
import pytest

from fakes.clusters import MemoryIndex
from fakes.reconciler_site import config_of
from fakes.tables import MemoryTables
from offset_sync.jobs import sync_offsets
from offset_sync.jobs.sync_offsets import SyncJob
from offset_sync.jobs.watches import PartitionWatch
from offset_sync.kafka.requests import TopicInfo
from offset_sync.model.errors import ClusterError
from offset_sync.model.values import CONSUMER_OFFSETS
from offset_sync.state.commit_log_incarnations import CommitLogIncarnations
from offset_sync.state.sync_state import SyncState

ALIASES = ("X", "Y")


class Watched:
    """X and Y, and how many partitions their logs of commits have (None: they do not answer)."""

    def __init__(self) -> None:
        self.partitions: dict[str, int | None] = dict.fromkeys(ALIASES, 1)
        self.grown, self.tables = list[str](), cast(Any, MemoryTables())
        self.lives = CommitLogIncarnations(self.tables)
        self.state = SyncState(config_of(ALIASES), MemoryIndex())
        admins = {alias: _Admin(self, alias) for alias in ALIASES}
        self.growth = PartitionWatch(self.state, admins, self.lives, lambda: None, self.grown.append)


class _Admin:
    def __init__(self, watched: Watched, alias: str) -> None:
        self._watched, self._alias = watched, alias

    def describe(self, topics: list[str]) -> Mapping[str, TopicInfo | ClusterError]:
        count = self._watched.partitions[self._alias]
        if count is None:
            raise ClusterError(self._alias, "does not answer")
        return {CONSUMER_OFFSETS: TopicInfo(CONSUMER_OFFSETS, count)}


@pytest.mark.parametrize("is_known", [False, True])
def test_partitions_that_are_added_are_noted_for_order_and_start_the_query_again_once(is_known: bool) -> None:
    """Though the state may have learned it from the tables; a cluster that does not answer keeps what it had."""
    watched = Watched()
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
