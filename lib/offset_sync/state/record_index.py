"""The record index in the driver's memory; it follows ``record_runs`` by reading only what was added."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Mapping, Sequence, Set
from datetime import timedelta
from functools import cache

import pyarrow as pa

from offset_sync.model.errors import TableError
from offset_sync.model.values import ClusterPartition, EpochEnd, TopicPartition
from offset_sync.state.cluster_clock import ClockOffset, system_now_ms
from offset_sync.state.incarnations import KnownIncarnations
from offset_sync.state.index_logs import IndexLogs
from offset_sync.state.index_pages import PageCache, PartReader
from offset_sync.state.index_rows import COLUMNS, NO_ROWS, UNTIMED, RowReader
from offset_sync.state.index_start import IndexStart
from offset_sync.state.seal import MOST_UNSEALED, seal
from offset_sync.state.sealed_parts import SealedParts
from offset_sync.tables.catalog import RECORD_RUNS
from offset_sync.tables.segments import TableFiles
from offset_sync.tables.store import TableStore
from offset_sync.tables.transaction_log import Added
from offset_sync.translate.index.log_index import LogIndex
from offset_sync.translate.index.runs import UNKNOWN_ORIGIN
from offset_sync.translate.partition_log import Incarnation

logger = logging.getLogger(__name__)
_NO_RUNS = RECORD_RUNS.no_rows
_TRIES = 3


class RecordIndex:
    """One :class:`LogIndex` per (cluster, topic, partition).

    ``lock`` guards the logs: they grow in the threads that call :meth:`refresh`. *is_timed* says of which topics the
    timestamps are kept too (None: of none). Memory holds unsealed rows, and recently read pages in a share of
    *memory_bytes* (None: all of them). A start seals first where too much is unsealed; *keep* is how long versions are
    kept (None: nothing may be written).
    """

    def __init__(
        self,
        tables: TableStore,
        is_timed: Callable[[str], bool] | None = None,
        now_ms: Callable[[], int] = system_now_ms,
        memory_bytes: int | None = None,
        keep: timedelta | None = timedelta(0),
    ) -> None:
        self.lock = threading.RLock()
        self._tables, self._segments = tables, tables.segments(RECORD_RUNS)
        self._is_timed = cache(is_timed or (lambda topic: False))
        names = UNTIMED if is_timed is None else COLUMNS
        self._schema = pa.schema([RECORD_RUNS.arrow_schema.field(name) for name in names])
        self._cache, self._keep = PageCache(memory_bytes), keep
        self._taken = IndexLogs(self._is_timed)
        self._codes: dict[str, int] = {"": UNKNOWN_ORIGIN}
        self._version: int | None = None
        self._grown: set[TopicPartition] = set()
        self._incarnations = KnownIncarnations()
        self._now_ms = now_ms
        self.clock_offset = ClockOffset()
        self._rebuilt: dict[TopicPartition, int] = {}
        self._reading = threading.Lock()
        self._coding = threading.Lock()
        self._reader = RowReader(self.code)
        self._parts = PartReader(self._segments, self._reader, self._schema)
        self._is_stale = False

    def refresh(self) -> None:
        """Read what was added to the tables since the last call; the lock is held only to take it in, all at once.

        Where rows were moved into other files the table is read as at a start, of which the directories are most.
        """
        with self._reading:
            version = self._tables.version(RECORD_RUNS)
            is_set_back = self._version is not None and version < self._version
            if self._version is None or is_set_back or self._is_stale:
                return self._read_all()
            added = Added(_NO_RUNS)
            if version != self._version:
                try:
                    added = self._tables.added(RECORD_RUNS, self._version, version)
                except FileNotFoundError as problem:
                    logger.info("reading all of record_runs again: %s", problem)
                    return self._read_all()
            if added.is_moved:
                return self._read_all(is_cut=added.is_cut)
            self._follow(version, added.rows)

    def _follow(self, version: int, rows: pa.Table) -> None:
        """Take in the *rows* that were added up to *version*."""
        # Read after the runs and written before them: no run is visible without its topic's id.
        incarnations = self._incarnations.caught_up(self._tables)
        added = self._reader.read(rows.select(COLUMNS)).in_order()
        with self.lock:
            self._compare_clocks(int(added.seen_ms.max()) if len(added) else None)
            for number, of_log in added.by_log():
                log = self._reader.logs[number]
                self._grown.add(log.topic_partition)
                # In another order the rows may agree: read as at a start, once.
                self._is_stale |= self._taken.take_in(log, of_log)
            # After the logs, because readers of leader epochs take no lock.
            self._incarnations, self._version = incarnations, version

    def _read_all(self, *, is_cut: bool = True) -> None:
        """Read all of the tables again; readers see what was known before, or nothing, meanwhile.

        Unless it *is_cut* or may be, the index has the same records and maybe more: bounds on earlier answers hold.
        Records that came late are counted anew, so theirs do not.
        """
        before_runs = self._incarnations.caught_up(self._tables)
        for _ in range(_TRIES):
            try:
                files, start, taken = self._all_logs()
                break
            except FileNotFoundError as problem:
                logger.warning("retrying the read of record_runs: %s", problem)
        else:
            files, start, taken = self._all_logs()
        incarnations = before_runs.caught_up(self._tables)
        with self.lock:
            before, self._taken = self._taken, taken
            self._compare_clocks(start.newest_ms)
            logs = [*before.logs.items(), *taken.logs.items()]
            self._grown |= {place.topic_partition for place, _ in logs}
            if self._version is not None:
                void = {place.topic_partition for place, log in logs if is_cut or log.reorder_count()}
                self._rebuilt |= {each: self.rebuilt(each) + 1 for each in void}
            self._incarnations, self._version = incarnations, files.version
        self._is_stale = False

    def _all_logs(self) -> tuple[TableFiles, IndexStart, IndexLogs]:
        """Read the directories of sealed files, and all rows of others."""
        files, taken = self._sealed_enough(), IndexLogs(self._is_timed)
        rows = NO_ROWS.followed_by(*map(self._reader.read, self._segments.rows(files, self._schema)))
        parts = SealedParts.of(files.sealed.values(), self._reader, self.code)
        start = IndexStart(self._parts, self._cache, parts, rows.in_order())
        for number in range(len(self._reader.logs)):
            start.take_in(taken, number)
        return files, start, taken

    def _sealed_enough(self) -> TableFiles:
        """Return the files now; where too much is unsealed, seal it first, unless another process does."""
        files, before = self._segments.newest(), 1 << 62
        while self._keep is not None and MOST_UNSEALED < files.unsealed_rows < before:
            before = files.unsealed_rows
            logger.info("record_runs: sealing %d rows first", before)
            try:
                seal(self._tables, self._segments, self._keep)
            except RuntimeError as problem:
                logger.info("record_runs is being sealed by another process: %s", problem)
            except (OSError, TableError) as problem:
                logger.warning("record_runs cannot be sealed, and is read into memory: %s", problem)
            files = self._segments.newest()
        return files

    @property
    def is_loaded(self) -> bool:
        """Whether the tables were read once."""
        return self._version is not None

    def take_grown(self) -> set[TopicPartition]:
        """Return the partitions of which any cluster's index has grown since the last call."""
        with self.lock:
            grown, self._grown = self._grown, set()
            return grown

    def log(self, cluster: str, topic: str, partition: int) -> LogIndex | None:
        """Return what is indexed of a partition, None if nothing is."""
        return self._taken.logs.get(ClusterPartition(cluster, topic, partition))

    def all_logs(self) -> Mapping[ClusterPartition, LogIndex]:
        """Return all that is indexed, by cluster, topic and partition."""
        return self._taken.logs

    def topic_ids(self, cluster: str, topic: str) -> Set[str]:
        """Return the ids of a topic that were indexed."""
        return self._incarnations.topic_ids(cluster, topic)

    def partitions(self, cluster: str, topic: str) -> int:
        """Return how many partitions of a topic are indexed, empty ones included."""
        return self._taken.partitions.get((cluster, topic), 0)

    def incarnations(self, log: ClusterPartition) -> Sequence[Incarnation]:
        """Return the incarnations of a log but the first, in the order they were noticed."""
        return self._incarnations.of(log)

    def epoch_ends(self, log: ClusterPartition) -> Sequence[EpochEnd]:
        """Return the ends of the records of a log's earlier leaders."""
        return self._incarnations.epoch_ends(log)

    def leader_epoch(self, log: ClusterPartition) -> tuple[str, int] | None:
        """Return the topic id and the leader epoch under which a log was last checked; None: unknown."""
        return self._incarnations.leader_epoch(log)

    def is_uncut(self, log: ClusterPartition) -> bool:
        """Return whether the runs of a log may be of an earlier incarnation: the index is not read as cut yet."""
        return self._incarnations.is_uncut(log)

    def rebuilt(self, partition: TopicPartition) -> int:
        """Return how often the logs of a partition were rebuilt here, which voids all bounds on them."""
        return self._rebuilt.get(partition, 0)

    def code(self, origin: str) -> int:
        """Return the code that *origin* has in the logs."""
        if (known := self._codes.get(origin)) is not None:
            return known
        with self._coding:
            return self._codes.setdefault(origin, len(self._codes) - 1)

    def _compare_clocks(self, newest_ms: int | None) -> None:
        if newest_ms is not None:
            self.clock_offset.observe(newest_ms, self._now_ms())
