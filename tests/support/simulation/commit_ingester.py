"""Reads commits as they were planned and writes them down, in the place of the job's ingester."""

from __future__ import annotations

import threading
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from offset_sync.ingest.commit_batch import Looked
from offset_sync.model.values import OWN_GROUPS, GroupPartition
from offset_sync.state.committed_offsets import CommitRecords
from offset_sync.state.key_index import KeyRows
from offset_sync.state.sync_state import SyncState
from offset_sync.translate.index.runs import Int64s
from simulation.index_driver import PatchedTime
from simulation.judge import AnyJudge, Judge, begin_again, genuine
from simulation.logs import SimRecord

if TYPE_CHECKING:
    from simulation.sync_driver import SyncDriver


@dataclass(frozen=True)
class Read:
    """A micro-batch of commits, as ``SyncBatch`` takes it from its ingester; *records* are what was read."""

    batch_id: int
    looked: Looked
    keys: list[GroupPartition]
    commit_records: CommitRecords
    records: list[SimRecord]
    is_polled: bool = False

    @property
    def timestamp_ms(self) -> Int64s:
        """When the coordinator wrote each commit, by the cluster's clock."""
        return self.commit_records.committed_at_ms

    def with_made(self, made_ms: Int64s) -> Read:
        """Return the batch with when each commit was made by our clock."""
        return replace(self, commit_records=replace(self.commit_records, made_ms=made_ms))


def to_records(records: list[SimRecord]) -> CommitRecords:
    """Return *records* as a batch of commits, without the rows of their keys."""
    names = ("offset", "at_ms", "log_partition", "log_offset", "leader_epoch")
    columns = (np.array([getattr(each, name) for each in records], np.int64) for name in names)
    (offset, at_ms, partition, log_offset, epoch), topic_id = columns, [each.topic_id for each in records]
    return CommitRecords(np.empty(0, np.intp), offset, offset < 0, at_ms, at_ms, partition, log_offset, topic_id, epoch)


class Ingester:
    """Reads the planned records and writes them to the tables, as CommitIngester does with bytes."""

    def __init__(self, driver: SyncDriver, alias: str) -> None:
        self.driver, self.alias, self.persisted = driver, alias, driver.persisted
        self.taken_in = self.persisted.of[alias].last_done
        self.taking_in = threading.Lock()
        self.judge: AnyJudge = Judge(driver, alias)
        self.told = self.persisted.reaches(alias)

    def has_all(self, state: SyncState) -> bool:
        """Take in what an overtaken driver has ended since this one began; False while a micro-batch is taken in."""
        if self.taking_in.locked():
            return False
        done = self.persisted.of[self.alias].last_done
        if done > self.taken_in:
            self.restore_missed(state, done + 1)
            self.taken_in = done
        return True

    def is_whole(self, batch_id: int) -> bool:
        """Return whether a micro-batch reads all that there was when it was planned."""
        plan = self.persisted.of[self.alias].plan
        return plan.is_whole and plan.number == batch_id

    def restore_missed(self, state: SyncState, batch_id: int) -> KeyRows:
        """Take in what another driver has read and written down since this one began."""
        driver, before = self.driver, self.taken_in
        if batch_id <= before + 1:
            return np.empty(0, np.intp)
        driver.lives.refresh()
        self.persisted.restore_commits(state, driver.lives, [self.alias])
        for batch, is_own in self.persisted.between(self.alias, before, batch_id):
            begin_again(batch, self.judge.reach)
            driver.knowledge.note(self.alias, genuine(batch, is_own, self.judge.reach))
            self.judge.note_read(batch)
        return state.all_rows()

    def note_taken_in(self, batch_id: int) -> None:
        self.taken_in = batch_id

    def decode(self, _records: Any, batch_id: int) -> Read:
        driver, plan = self.driver, self.persisted.of[self.alias].plan
        ranges = {number: (plan.first[number], end) for number, end in plan.end.items()}
        check = driver.checks[self.alias].check
        check.before_reading(batch_id)
        records = self._read(ranges)
        if "shrink" in driver.world.shape.faults:
            driver.pause()
        PatchedTime.now_ms = driver.now_ms()
        looked = check.look(batch_id)
        if looked.again:
            records = self._read(ranges | {place.partition: tuple(each) for place, each in looked.again.items()})
        return Read(batch_id, looked, [each.where.key for each in records], to_records(records), records)

    def _read(self, ranges: dict[int, tuple[int, ...]]) -> list[SimRecord]:
        parts = self.driver.world.clusters[self.alias].parts
        read = [record for number, (first, end) in ranges.items() for record in parts[number][first:end]]
        return [record for record in read if not record.where.group.startswith(OWN_GROUPS)]

    def restore_lost(self, state: SyncState, batch: Read) -> None:
        if not batch.looked.is_certain:
            state.offsets.clusters[self.alias].forget_acknowledged(state.now_ms())
        self.driver.lives.refresh()
        if self.driver.lives.is_new(self.alias):
            self.persisted.restore_commits(state, self.driver.lives, [self.alias])

    def write(self, batch: Read, is_own: np.ndarray[Any, Any]) -> dict[str, int]:
        self.judge.look(batch, is_own.tolist())
        begin_again(batch, self.told)
        self.write_down(batch, is_own.tolist(), {} if batch.looked.again else self.told)
        for each in batch.records:
            each.is_heard = True
        self.driver.checks[self.alias].check.was_read_again(batch.looked)
        return {}

    def write_down(self, batch: Any, is_own: list[bool], told: Mapping[int, int]) -> None:
        """Write commits to the tables; the driver knows them before."""
        self.driver.knowledge.note(self.alias, genuine(batch, is_own, told))
        self.driver.pause()
        self.driver.lease.renew()
        self.persisted.note_commits(self.alias, batch, is_own)
