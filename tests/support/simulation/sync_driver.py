"""``sync_offsets``: the real state, reconciler and micro-batches between the clusters of a world."""

from __future__ import annotations

import threading
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import contextmanager
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np

from fakes.clusters import to_records
from fakes.reconciler_site import config_of
from fakes.tables import MemoryTables
from offset_sync.config import Config
from offset_sync.ingest.commit_log_check import Looked
from offset_sync.jobs.sync_batch import SyncBatch
from offset_sync.kafka.retry import Clock
from offset_sync.model.errors import ClusterError
from offset_sync.model.values import GroupPartition, OffsetWrite, Outcome, TopicPartition, WriteOutcome
from offset_sync.state.cluster_metadata import ClusterMetadata
from offset_sync.state.commit_log_lives import CommitLogLives
from offset_sync.state.committed_offsets import CommitRecords
from offset_sync.state.fence import OpenFence
from offset_sync.state.key_index import KeyRows
from offset_sync.state.record_index import RecordIndex
from offset_sync.state.sync_state import SyncState
from offset_sync.sync.offset_writer import write_offsets
from offset_sync.sync.reconciler import Reconciler
from offset_sync.sync.reconciliation import Reconciliation
from offset_sync.sync.write_ahead import WriteAheadWriter
from simulation.commit_checks import COMMITS, CommitChecks
from simulation.index_driver import PatchedTime
from simulation.oracle import Oracle
from simulation.persisted import Persisted
from simulation.unread_commits import Answered, UnreadCommits
from simulation.world import Position, World


@lru_cache(maxsize=64)
def _config(clusters: tuple[str, ...], metadata: str) -> Config:
    return config_of(list(clusters), sync={"metadata": metadata})


class Read(NamedTuple):
    """A micro-batch of commits, as ``SyncBatch`` takes it from its ingester."""

    batch_id: int
    looked: Looked
    keys: list[GroupPartition]
    commit_records: CommitRecords


class _Ingester:
    """Reads what was planned and writes it down; stands for CommitIngester, which does the same with bytes."""

    def __init__(self, driver: SyncDriver, alias: str) -> None:
        self.driver, self.alias = driver, alias

    def restore_missed(self, state: SyncState, batch_id: int) -> KeyRows:
        """Return nothing: there is one driver."""
        return np.empty(0, np.intp)

    def note_taken_in(self, batch_id: int | None) -> None:
        """Note nothing."""

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
        self.driver.persisted.note_commits(self.alias, batch, is_own.tolist())
        self.driver.checks[self.alias].check.was_read_again(batch.looked)
        return {}


class _NoMetrics:
    @contextmanager
    def batch(self, alias: str) -> Iterator[None]:
        yield

    def count_records(self, alias: str, counts: dict[str, int]) -> None:
        """Count nothing."""


class _Writer:
    """Commits at one target through the real decisions."""

    def __init__(self, driver: SyncDriver, target: str) -> None:
        self.driver, self.target = driver, target

    def write(self, writes: Sequence[OffsetWrite]) -> list[WriteOutcome]:
        self.driver.pause()
        world = self.driver.world
        clock = Clock(lambda: world.clock_ms[0] / 1000, self._sleep)
        cluster: Any = world.clusters[self.target]
        outcomes = write_offsets(writes, cluster, fence=OpenFence(), dry_run=False, deadline=1.0, clock=clock)
        self.driver.pause()
        return outcomes

    def _sleep(self, seconds: float) -> None:
        self.driver.world.clock_ms[0] += int(seconds * 1000) + 1


class SyncDriver:
    """One process of the job; *pause* is called wherever it waits, and may let others act or end it."""

    def __init__(
        self,
        world: World,
        oracle: Oracle,
        tables: MemoryTables,
        persisted: Persisted,
        pause: Callable[[SyncDriver], None],
    ) -> None:
        self.world, self.oracle, self.tables, self.persisted = world, oracle, tables, persisted
        self._pause = pause
        self.skew_ms = 0
        self.answered: Answered = set()
        self.config = _config(world.shape.clusters, "carry" if "carry" in world.shape.faults else "tag")
        self.restart()

    def pause(self) -> None:
        """Wait for somebody."""
        self._pause(self)

    def now_ms(self) -> int:
        """The clock of this driver."""
        return self.world.clock_ms[0] + self.skew_ms

    def restart(self) -> None:
        """Begin as a new process does: from the tables, the checkpoints and the files of intents."""
        index: Any = RecordIndex(self.tables, now_ms=self.now_ms)  # type: ignore[arg-type]
        self.state = SyncState(self.config, index, self.now_ms)
        self.answers: list[Reconciliation] = []
        writers: dict[str, Any] = {alias: _Writer(self, alias) for alias in self.world.clusters}
        if "carry" in self.world.shape.faults:
            intents: Any = self.persisted.intents
            writers = {a: WriteAheadWriter(a, self.state, writer, intents) for a, writer in writers.items()}
        self.reconciler = Reconciler(self.config, self.state, self, writers, self)
        self.is_ready, self.is_first, self.is_busy = threading.Event(), True, False
        self.waiting: list[tuple[str, Any, int]] = []
        metrics: Any = _NoMetrics()
        self.batches = {}
        for alias in self.world.clusters:
            ingester: Any = _Ingester(self, alias)
            self.batches[alias] = SyncBatch(ingester, self.state, self, metrics, self.is_ready)
        tables: Any = self.tables
        self.lives = CommitLogLives(tables)
        self.checks = {a: CommitChecks(self.world, a, tables, self.persisted) for a in self.world.clusters}
        self.persisted.restore(self.state, self.lives)
        self.state.unread.begin(self.world.clusters)
        self.unread_commits = UnreadCommits(self.world, self.state, self.answered)

    def sync(self, alias: str, most: int) -> None:
        """Run the next micro-batch of *alias*."""
        if self.world.clusters[alias].is_unreadable:
            return
        plan = self.persisted.plan(alias, len(self.world.clusters[alias].log), most)
        if plan is not None:
            batch_id, first, end = plan
            try:
                self.batches[alias]((first, end), batch_id)  # type: ignore[arg-type]
            except ClusterError:
                return  # nobody can tell what was read: it comes again
            self.persisted.finish(alias)
        clusters = self.world.clusters.items()
        unreadable = {a for a, cluster in clusters if cluster.is_unreadable}
        read = {a for a, cluster in clusters if self.persisted.position(a) >= len(cluster.log)} - unreadable
        if self.is_ready.is_set() or read | unreadable == self.world.clusters.keys():
            self.state.unread.note_read(read)
            self.is_ready.set()

    def reconcile_batch(self, source: str, rows: Any, batch_id: int) -> list[str]:
        """Reconcile, or wait for whoever is at it: each target has one lock."""
        if self.is_busy:
            self.waiting.append((source, rows, batch_id))
            return []
        self._alone(lambda: self.reconciler.reconcile_batch(source, rows, batch_id))
        return []

    def grown(self) -> None:
        """Make the pass that follows the growing index."""
        if self.is_ready.is_set() and not self.is_first:
            self._alone(self.reconciler.reconcile_waiting_for_index)

    def full(self) -> None:
        """Make the regular pass; the first one looks at everything."""
        if self.is_ready.is_set() and not self.is_busy:
            is_first, self.is_first = self.is_first, False
            self._alone(lambda: self.reconciler.reconcile_all(is_first=is_first))

    def _alone(self, action: Callable[[], object]) -> None:
        if self.is_busy:
            return
        self.is_busy = True
        try:
            action()
        finally:
            self.is_busy = False
        while self.waiting:
            self.reconcile_batch(*self.waiting.pop(0))

    def fetch(
        self, aliases: Collection[str], partitions: Collection[TopicPartition]
    ) -> dict[str, ClusterMetadata | ClusterError]:
        """Ask the clusters; things happen before and after they answer."""
        self.pause()
        said = {alias: self.world.clusters[alias].answer() for alias in aliases}
        self.pause()
        return said

    def append(self, reconciliation: Reconciliation) -> None:
        """Judge what was answered, and keep it for the history."""
        moved, keys = reconciliation.translated, self.state.offsets.keys
        wanted, commits = moved.answers.wanted.tolist(), moved.commits
        stands = (reconciliation.outcome == Outcome.COMMITTED) | (reconciliation.outcome == Outcome.UNCHANGED)
        for row in np.flatnonzero(stands & (moved.answers.wanted >= 0)).tolist():
            group, topic, partition = keys[int(commits.key[row])]
            where = Position(moved.source, group, TopicPartition(topic, partition))
            offset, at_ms = int(commits.offset[row]), int(commits.at_ms[row])
            self.oracle.check_answer(where, offset, at_ms, moved.target, wanted[row])
        self.unread_commits.check(reconciliation)
        self.answers.append(reconciliation)

    def flush(self) -> None:
        """Have the history written."""
        answers, self.answers = self.answers, []
        self.persisted.note_answers(answers, self.state.offsets.keys, self.config)
