"""``sync_offsets``: the real state, reconciler and micro-batches between the clusters of a world."""

from __future__ import annotations

import threading
from collections.abc import Callable, Collection, Mapping
from contextlib import suppress
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from fakes.reconciler_site import config_of
from offset_sync.config import Config
from offset_sync.jobs.sync_batch import SyncBatch
from offset_sync.model.errors import ClusterError
from offset_sync.model.values import EpochChange, ReportedEnd, TopicPartition
from offset_sync.state.checked_metadata import CheckedMetadata
from offset_sync.state.cluster_metadata import ClusterMetadata, Snapshot
from offset_sync.state.commit_log_incarnations import CommitLogIncarnations
from offset_sync.state.last_translations import IS_HELD
from offset_sync.state.lease import FRESH_S, SETTLE_S, Lease, elapsed_s
from offset_sync.state.noted_writes import NotedWrites
from offset_sync.state.record_index import RecordIndex
from offset_sync.state.sync_state import SyncState, frontiers
from offset_sync.sync.read_lists import ReadLists
from offset_sync.sync.reconciled import Reconciliation
from offset_sync.sync.reconciler import Reconciler
from offset_sync.sync.reconciliation import ReconcilePass
from offset_sync.sync.write_plan import Translated
from simulation.commit_ingester import Ingester
from simulation.judge import UnreadCommits
from simulation.knowledge import Knowledge
from simulation.log_checks import CommitChecks, Epochs, note_forgotten
from simulation.logs import Of, Position, SimRecord
from simulation.persisted import Plan
from simulation.polls import PolledIngester
from simulation.shape import Shape
from simulation.target_writer import Slow, Writer
from simulation.watch import Watch

if TYPE_CHECKING:
    from simulation.simulation import Simulation


@lru_cache(maxsize=64)
def _config(shape: Shape, polled: frozenset[str], excluded: frozenset[str]) -> Config:
    most = 2 if len(shape.clusters) > 2 else "off"  # so passes there have many turns
    sync = {"poll_interval": "1s", "max_commits_per_second": most, "read_lists": {"groups": list(shape.listed)}}
    sync["home_silence"] = f"{shape.silence_ms // 1000}s"
    topics = {"include": ["orders", "pay-.*"]} | ({"strategy": "header"} if "by_header" in shape.faults else {})
    config = config_of(list(shape.clusters), sync=sync, groups={"exclude": sorted(excluded)}, topics=topics)
    commits = {alias: "admin" if alias in polled else "log" for alias in shape.clusters}
    clusters = {alias: each.model_copy(update={"commits": commits[alias]}) for alias, each in config.clusters.items()}
    return config.model_copy(update={"clusters": clusters})


_FEW_BYTES = 8 * 160
"""So many runs of pages are remembered: eight."""


class _AskedAtOnce(CheckedMetadata):
    """Waits for brokers asked for the end of an epoch, also for one that does not know it, by the world's clock."""

    def _ends(self, alias: str, changes: Mapping[TopicPartition, EpochChange]) -> dict[TopicPartition, ReportedEnd]:
        for _ in range(2):
            found = super()._ends(alias, changes)
            if alias in self._questions:
                self._questions[alias].join(60)
        return found


class NoLease(Lease):
    """That of the only driver that there can be: it claims nothing, and is never taken over."""

    def __init__(self, stop: threading.Event) -> None:
        self.stop, self._now, self._newer = stop, elapsed_s, None
        self._open_until, self._settled_at = float("inf"), float("-inf")


class SyncDriver:
    """One process of the job; *pause* is called wherever it waits, and may let others act or end it."""

    def __init__(self, simulation: Simulation) -> None:
        self.world, self.oracle, self.tables = simulation.world, simulation.oracle, simulation.tables
        self.persisted, self._pause = simulation.persisted, simulation.pause
        self.skew_ms, self.asked_lives = 0, dict[Of, int]()  # of logs when the clusters were asked last
        self._begin()

    def pause(self, asleep_ms: int = 0) -> None:
        """Wait for a broker; at least so long if anything happens meanwhile."""
        self._pause(self, asleep_ms)

    def now_ms(self) -> int:
        return self.world.clock_ms[0] + self.skew_ms

    def has_read(self, said: SimRecord) -> bool:
        """Return whether this driver has taken in a record of a cluster's log of commits, or one before it has."""
        ingester = self.ingesters[said.where.cluster]
        return any(said.log_offset < each.get(said.log_partition, 0) for each in (ingester.told, ingester.judge.reach))

    def said(self, moved: Translated, row: int) -> tuple[Position, SimRecord | None]:
        """Return whose position a row of answers is of, and the group's commit; None: it is of our own write."""
        group, *place = self.state.offsets.keys[int(moved.commits.key[row])]
        where = Position(moved.source, group, TopicPartition(*place))
        return where, self.world.made.get((where, int(moved.commits.offset[row]), int(moved.commits.at_ms[row])))

    def restart(self) -> None:
        """End, and begin as a new process does."""
        self.reconciler.close()
        self.persisted.reached.note_crash(self.process)
        self._begin()

    def _begin(self) -> None:
        self.process, self.began_ms = object(), self.world.clock_ms[0]
        tables: Any = self.tables
        world, self.lease = self.world, self._lease(tables)
        self.config = _config(world.shape, frozenset(world.polled), frozenset(world.excluded))
        index: Any = RecordIndex(self.tables, now_ms=self.now_ms, memory_bytes=_FEW_BYTES)  # type: ignore[arg-type]
        self.state = SyncState(self.config, index, self.now_ms)
        self.answers: list[Reconciliation] = []
        self.writers = {alias: Writer(self, alias) for alias in world.clusters}
        writers: dict[str, Any] = {**self.writers}
        epochs = {alias: Epochs(world, alias) for alias in world.clusters}
        self.fetcher = fetcher = _AskedAtOnce(self, index, epochs, patience_s=0)
        self._unlisted = set[Position]()  # where a list could not be written last
        holders: dict[str, Any] = {alias: self._list_holder(alias) for alias in world.clusters}
        lists = ReadLists(self.config, self.state, holders)
        self.reconciler = Reconciler(ReconcilePass(self.config, self.state, fetcher, writers, self, lists))
        self.is_ready, self.is_first, self.is_busy = threading.Event(), True, False
        self.waiting: list[tuple[str, Any, int]] = []
        self._polled = set[str]()  # since the start
        self.acknowledged: dict[Position, int] = {}  # and not polled since
        self._syncing: set[str] = set()
        self.lives = CommitLogIncarnations(tables, polled := self.config.polled())
        self.ingesters = {a: (PolledIngester if a in polled else Ingester)(self, a) for a in world.clusters}
        ingesters: dict[str, Any] = {**self.ingesters}
        rest = self.state, self.reconcile_batch, self.is_ready
        self.batches = {alias: SyncBatch(each, *rest) for alias, each in ingesters.items()}
        self.checks = {a: CommitChecks(world, a, tables, self.persisted) for a in world.clusters}
        clusters, shape = self.state.offsets.clusters, world.shape
        self.knowledge = Knowledge(shape.clusters, shape.silence_ms, lambda alias: clusters[alias].clock.uncertain_ms)
        self.knowledge.polled = polled
        self.watch = Watch(self)
        self.persisted.restore(self.state, self.lives)
        noted = NotedWrites(self.persisted.noted, self.config, next(self.persisted.epochs), self.state)
        noted.inherit()
        if not self.persisted.is_held_back:
            self.state.before_write = noted.note
        self.persisted.tell(self.knowledge)
        note_forgotten(world, self.persisted)
        self.watch.begin()
        self.state.unread.begin(self.world.clusters)
        self.unread_commits = UnreadCommits(self, self.persisted.answered)

    def snapshot(self, aliases: Collection[str], partitions: Collection[TopicPartition]) -> Snapshot:
        """Ask for the logs' ends, as commands do; the index is as far as it is."""
        known_to, asked_at_ms = frontiers(self.state.index, aliases, partitions), self.now_ms()
        return Snapshot(self.fetcher.fetch(aliases, partitions), known_to, asked_at_ms)

    def _list_holder(self, alias: str) -> Slow:
        """Return a cluster that is asked for its lists."""

        def note_known() -> None:
            self.writers[alias].note_known()
            self.pause()

        return Slow(self.world.clusters[alias], groups=self.pause, committed_offsets=note_known)

    def _lease(self, tables: Any) -> Lease:
        """Take over from the present driver, if there can be another one."""
        if "second" not in self.world.shape.faults:
            return NoLease(threading.Event())
        lease = Lease(tables, "sync_offsets", threading.Event(), lambda: self.world.clock_ms[0] / 1000)
        lease.claim()
        self.world.clock_ms[0] += int((FRESH_S + SETTLE_S) * 1000)  # it reads nothing before it is settled
        return lease

    def sync(self, alias: str, most: int) -> None:
        """Run the next micro-batch of *alias*; of one query they come one after the other, never one in another."""
        if alias in self._syncing or self.world.clusters[alias].is_unreadable:
            return
        self.watch.look()
        plan = self._plan(alias, most)
        if plan is not None:
            self._syncing.add(alias)
            try:
                self.batches[alias](None, plan.number)  # type: ignore[arg-type]
            except (ClusterError, OSError):
                self.waiting = [each for each in self.waiting if each[0] != alias]
                return  # it is unknown what was read, or a table cannot be read: it comes again
            finally:
                self._syncing.discard(alias)
            self.persisted.of[alias].finish(plan.number)
            self.ingesters[alias].judge.note_ended()
            self._polled |= {alias} & self.config.polled()
            self._alone(lambda: None)
        unreadable = {a for a, cluster in self.world.clusters.items() if cluster.is_unreadable}
        read = {a for a in self.world.clusters if self._is_read(a)} - unreadable
        if self.lease.is_settled and (self.is_ready.is_set() or read | unreadable == self.world.clusters.keys()):
            self.state.note_read({each for each in read if self.ingesters[each].has_all(self.state)})
            if not self.state.index.is_loaded:
                self.follow_index()
            if self.state.index.is_loaded:
                self.is_ready.set()

    def _plan(self, alias: str, most: int) -> Plan | None:
        if alias not in self.config.polled():
            return self.persisted.of[alias].read_on(self.watch.ends(alias), most)
        writing: Any = self.reconciler.writing_to(alias)
        return None if writing.locked() else self.persisted.of[alias].poll()  # a poll waits for what is written

    def _is_read(self, alias: str) -> bool:
        if alias in self.config.polled():
            return alias in self._polled
        return self.persisted.of[alias].is_read(self.watch.ends(alias))

    def catch_up(self) -> None:
        """Wait for the driver before, and read every log to its end."""
        self.world.clock_ms[0] += int((FRESH_S + SETTLE_S) * 1000)
        for alias in self.world.clusters:
            for _ in range(3):
                self.sync(alias, 1_000)
        self.full()

    def reconcile_batch(self, source: str, rows: Any, batch_id: int) -> None:
        """Have the directions do it once the micro-batch is written, and after what they have in hand."""
        self.waiting.append((source, rows, batch_id))

    def follow_index(self) -> None:
        """Take in what was indexed, as a thread of its own does; between its looks the index lags behind."""
        with suppress(OSError):
            self.state.index.refresh()

    def grown(self) -> None:
        """Follow the index, also in the midst of a pass; then make the pass of what has waited for it."""
        self.follow_index()
        if self.is_ready.is_set() and not self.is_first:
            with suppress(OSError):  # as the loop of the passes does
                self._alone(self.reconciler.reconcile_waiting_for_index)

    def full(self) -> None:
        """Make the regular pass; the first one looks at everything."""
        if self.is_ready.is_set() and not self.is_busy:
            self.watch.look()
            with suppress(OSError):
                self._alone(lambda: self.reconciler.reconcile_all(is_first=self.is_first))
                self.is_first = False

    def _alone(self, action: Callable[[], object]) -> None:
        if self.is_busy:
            return
        self.is_busy = True
        try:
            action()
            while self.waiting:
                self.reconciler.reconcile_batch(*self.waiting.pop(0))
        finally:
            self.is_busy = False

    def fetch(self, aliases: Collection[str], _partitions: object) -> dict[str, ClusterMetadata | ClusterError]:
        """Ask the clusters; things happen before and after they answer."""
        for writer in self.writers.values():
            writer.known.clear()
        self.pause()
        said = {alias: self.world.clusters[alias].answer() for alias in aliases}
        self.asked_lives = {where: log.life for where, log in self.world.logs.items()}
        self.pause()
        return said

    def append(self, reconciliation: Reconciliation) -> None:
        """Judge what was answered, but where a target was cut since it was asked; keep it for the history."""
        moved, wanted = reconciliation.translated, reconciliation.translated.answers.wanted.tolist()
        stands = IS_HELD[reconciliation.outcome]
        is_moved = reconciliation.previous != moved.answers.wanted
        for row in (stands & (moved.answers.wanted >= 0)).nonzero()[0].tolist():
            where, said = self.said(moved, row)
            there = moved.target, where.place
            if said is None:
                continue
            if self.asked_lives[there] == self.world.logs[there].life:
                self.oracle.check_answer(where, said.claimed, moved.target, wanted[row])
            self._heed(said, where._replace(cluster=moved.target), is_moved=bool(is_moved[row]))
        self.unread_commits.check(reconciliation)
        self.persisted.reached.note_answers(self.process, reconciliation, self.state.offsets.keys)
        self.answers.append(reconciliation)

    def _heed(self, said: SimRecord, there: Position, *, is_moved: bool) -> None:
        """Have a list be right now, if no member goes by it, and it could be written or its answer has moved."""
        if self.world.active.get(there.group) != there.cluster and (there not in self._unlisted or is_moved):
            self.world.memory.heed(there.of_group, [there.cluster], said.true_ms)
            self.world.memory.check_list(there)

    def note_list(self, where: Position, *, is_written: bool) -> None:
        (self._unlisted.discard if is_written else self._unlisted.add)(where)

    def flush(self) -> None:
        self.lease.renew()
        answers, self.answers = self.answers, []
        self.persisted.note_answers(answers, self.state.offsets.keys, self.config)
