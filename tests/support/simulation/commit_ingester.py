"""Reads commits as they were planned and writes them down, in the place of the job's ingester."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from offset_sync.ingest.mirror_commits import NO_MIRROR_COMMITS

from fakes.clusters import to_records
from offset_sync.ingest.commit_log_check import Looked
from offset_sync.model.values import GroupPartition
from offset_sync.state.committed_offsets import CommitRecords
from offset_sync.state.key_index import KeyRows
from offset_sync.state.sync_state import SyncState
from simulation.commit_checks import COMMITS
from simulation.index_driver import PatchedTime

if TYPE_CHECKING:
    from simulation.sync_driver import SyncDriver


class Read(NamedTuple):
    """A micro-batch of commits, as ``SyncBatch`` takes it from its ingester."""

    batch_id: int
    looked: Looked
    keys: list[GroupPartition]
    commit_records: CommitRecords


class Ingester:
    """Reads what was planned and writes it down; stands for CommitIngester, which does the same with bytes."""

    mirrors = NO_MIRROR_COMMITS

    def __init__(self, driver: SyncDriver, alias: str) -> None:
        self.driver, self.alias = driver, alias
        self.taken_in = driver.persisted.last_done(alias)
        self.taking_in = threading.Lock()

    def has_all(self, state: SyncState) -> bool:
        """Take in what an overtaken driver has ended since this one began; False while a micro-batch is taken in."""
        if self.taking_in.locked():
            return False
        done = self.driver.persisted.last_done(self.alias)
        if done > self.taken_in:
            self.restore_missed(state, done + 1)
            self.taken_in = done
        return True

    def restore_missed(self, state: SyncState, batch_id: int) -> KeyRows:
        """Take in what another driver has read and written down since this one began."""
        driver, before = self.driver, self.taken_in
        return driver.persisted.restore_between(state, self.alias, driver.lives, before, batch_id)

    def note_taken_in(self, batch_id: int) -> None:
        self.taken_in = batch_id

    def decode(self, records: Any, batch_id: int) -> Read:
        driver, (first, end) = self.driver, records
        log = driver.world.clusters[self.alias].log
        rows = log[first:end]
        if "shrink" in driver.world.shape.faults:
            driver.pause()
        PatchedTime.now_ms = driver.now_ms()
        looked = driver.checks[self.alias].check.look(batch_id)
        if looked.again:
            first, end = looked.again[COMMITS]
            rows = log[first:end]
        keys = [GroupPartition(each.group_id, *each.place) for each in rows]
        return Read(batch_id, looked, keys, to_records(rows, [], first))

    def restore_lost(self, state: SyncState, batch: Read) -> None:
        if not batch.looked.is_certain:
            state.offsets.clusters[self.alias].forget_acknowledged()
        self.driver.lives.refresh()
        if self.driver.lives.is_new(self.alias):
            self.driver.persisted.restore_commits(state, self.alias, self.driver.lives)

    def write(self, batch: Read, is_own: np.ndarray[Any, Any]) -> dict[str, int]:
        self.driver.pause()
        self.driver.lease.renew()
        self.driver.persisted.note_commits(self.alias, batch, is_own.tolist())
        self.driver.checks[self.alias].check.was_read_again(batch.looked)
        return {}


class NoMetrics:
    @contextmanager
    def batch(self, alias: str) -> Iterator[None]:
        yield

    def count_records(self, alias: str, counts: dict[str, int]) -> None:
        """Count nothing."""
