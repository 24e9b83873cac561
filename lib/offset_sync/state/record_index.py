"""The record index in the driver's memory; it follows ``record_runs`` by reading only what was added."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Collection, Mapping, Sequence, Set
from datetime import timedelta
from typing import Any

import numpy as np
import pyarrow as pa

from offset_sync.model.errors import TableError
from offset_sync.model.values import ClusterPartition, EpochEnd, TopicPartition
from offset_sync.state.cluster_clock import ClockOffset, system_now_ms
from offset_sync.state.incarnations import KnownIncarnations
from offset_sync.state.index_logs import IndexLogs
from offset_sync.state.index_pages import MisstatedError, PageCache, PartReader, SealedPages, Source
from offset_sync.state.index_rows import COLUMNS, NO_ROWS, UNTIMED, RowReader, joined
from offset_sync.state.index_start import IndexStart
from offset_sync.state.seal import MOST_UNSEALED, seal
from offset_sync.state.sealed_parts import SealedParts
from offset_sync.tables.catalog import INDEXED_TOPICS, RECORD_RUNS
from offset_sync.tables.segments import Sealed, TableFiles
from offset_sync.tables.store import TableStore
from offset_sync.tables.transaction_log import Added
from offset_sync.translate.index.incarnations import Incarnation
from offset_sync.translate.index.log_index import LogIndex
from offset_sync.translate.index.runs import UNKNOWN_ORIGIN

logger = logging.getLogger(__name__)
_NO_RUNS = RECORD_RUNS.no_rows
_TRIES = 3
_MOST_FILES = 4
"""With more newly sealed files, a re-read by directories is faster than reading their pages, and needs less memory."""


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
        self._is_timed = is_timed or (lambda topic: False)
        names = UNTIMED if is_timed is None else COLUMNS
        self._schema = pa.schema([RECORD_RUNS.arrow_schema.field(name) for name in names])
        self._memory_bytes, self._cache, self._keep = memory_bytes, PageCache(memory_bytes), keep
        self._taken = IndexLogs()
        self._codes: dict[str, int] = {"": UNKNOWN_ORIGIN}
        self._version: int | None = None
        self._topics_version: int | None = None
        self._ids: dict[tuple[str, str], set[str]] = {}
        self._grown: set[TopicPartition] = set()
        self._incarnations = KnownIncarnations(self.code)
        self._leader_epochs: dict[ClusterPartition, tuple[str, int]] = {}
        self._now_ms = now_ms
        self.clock_offset = ClockOffset()
        self._rebuilt: dict[TopicPartition, int] = {}
        self._reading = threading.Lock()
        self._coding = threading.Lock()
        self._reader = RowReader(self.code, self._is_timed)
        self._parts = PartReader(self._segments, self._reader, self._schema)
        self._sealed: Set[str] = frozenset()
        self._is_stale = False

    def refresh(self) -> None:
        """Read what was added to the tables since the last call; the lock is held only to take it in, all at once."""
        with self._reading:
            version = self._tables.version(RECORD_RUNS, self._version)
            is_set_back = self._version is not None and version < self._version
            if self._version is None or is_set_back or self._parts.is_misstated or self._is_stale:
                return self._read_all()
            try:
                added = Added(_NO_RUNS)
                if version != self._version:
                    added = self._tables.added(RECORD_RUNS, self._version, version)
                incarnations, again = self._incarnations_after(added.rows)
                if not (added.is_moved or again):
                    return self._follow(version, added.rows, incarnations, {}, [])
                # Which rows there are and in which files has to be of one version.
                files = self._segments.newest()
                rows = self._tables.read_added(RECORD_RUNS, self._version, files.version)
                incarnations, again = self._incarnations_after(rows)
                sealed = [each for path, each in files.sealed.items() if path not in self._sealed]
                if not self._sealed <= files.sealed.keys() or len(sealed) > _MOST_FILES:
                    return self._read_all()
                start = self._start(files, again) if again else None
                rebuilt = {place: self._taken_in(start, incarnations, place) for place in again} if start else {}
                self._follow(files.version, rows, incarnations, rebuilt, self._sealed_pages(sealed, incarnations))
            except (FileNotFoundError, MisstatedError) as problem:
                logger.info("reading all of record_runs again: %s", problem)
                return self._read_all()
            self._sealed = files.sealed.keys()

    def _follow(
        self,
        version: int,
        rows: pa.Table,
        incarnations: KnownIncarnations,
        rebuilt: Mapping[TopicPartition, IndexLogs],
        sealed: Sequence[SealedPages],
    ) -> None:
        """Take in what was read up to *version*; incarnations and their rows become visible together."""
        # Topic ids are read after the runs and written before them: no run is visible without its topic's id.
        topics_version, topics = self._topics_after()
        if (version, topics_version, incarnations) == (self._version, self._topics_version, self._incarnations):
            return
        added = self._reader.read(rows.select(COLUMNS)).in_order()
        with self.lock:
            self._compare_clocks(int(added.seen_ms.max()) if len(added) else None)
            # First what cannot fail: rows that are known already may need a page to be read and compared.
            self._incarnations = incarnations
            self._taken.forget(rebuilt.keys())
            for partition, taken in rebuilt.items():
                self._taken.adopt(taken)
                self._rebuilt[partition] = self.rebuilt(partition) + 1
                self._grown.add(partition)
            for number, of_log in added.by_log():
                if (log := self._reader.logs[number]).topic_partition not in rebuilt:
                    self._grown.add(log.topic_partition)
                    was_contradicted = self._taken.is_contradicted(log)
                    self._taken.take_in(log, of_log, incarnations, is_timed=self._is_timed(log.topic))
                    # In another order the rows may agree: read as at a start, once.
                    self._is_stale |= self._taken.is_contradicted(log) and not was_contradicted
            for each in sealed:
                if each.place.topic_partition not in rebuilt:
                    self._let_go(each)
            self._note(version, topics_version, topics)

    def _read_all(self) -> None:
        """Read all of the tables again; readers see what was known before, or nothing, meanwhile."""
        self._cache = PageCache(self._memory_bytes)  # former pages are not used any more
        for _ in range(_TRIES):
            try:
                files, start, incarnations, taken = self._all_logs()
                break
            except (FileNotFoundError, MisstatedError) as problem:
                logger.warning("retrying the read of record_runs: %s", problem)
        else:
            files, start, incarnations, taken = self._all_logs()
        topics_version, topics = self._topics_after()
        with self.lock:
            before, self._taken, self._incarnations = self._taken, taken, incarnations
            self._compare_clocks(start.newest_ms)
            places = {each.topic_partition for each in (*before.logs, *taken.logs)}
            self._grown |= places
            if self._version is not None:
                self._rebuilt |= {each: self.rebuilt(each) + 1 for each in places}
            self._note(files.version, topics_version, topics)
        self._sealed, self._parts.is_misstated, self._is_stale = files.sealed.keys(), False, False

    def _all_logs(self) -> tuple[TableFiles, IndexStart, KnownIncarnations, IndexLogs]:
        """Read the directories of sealed files, all rows of others, and then the incarnations that judge them."""
        files = self._sealed_enough()
        start = self._start(files)
        incarnations, _ = self._incarnations.caught_up(self._tables)
        taken = IndexLogs()
        for number in range(len(self._reader.logs)):
            start.take_in(taken, number, incarnations)
        return files, start, incarnations, taken

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

    def _start(self, files: TableFiles, only: Collection[TopicPartition] | None = None) -> IndexStart:
        """Return what *files* have; of unsealed rows those of some partitions *only*."""
        rows = [NO_ROWS]
        for piece in self._segments.rows(files, self._schema) if only is None or only else ():
            found = self._reader.read(piece)
            if only is not None:
                wanted = [number for number, log in enumerate(self._reader.logs) if log.topic_partition in only]
                found = found.take(np.isin(found.log, wanted))
            rows.append(found)
        parts = SealedParts.of(files.sealed.values(), self._reader, self.code)
        return IndexStart(self._parts, self._cache, parts, joined(rows).in_order())

    def _taken_in(self, start: IndexStart, incarnations: KnownIncarnations, place: TopicPartition) -> IndexLogs:
        """Return the logs of a partition, built by *incarnations*."""
        taken = IndexLogs()
        for number, log in enumerate(self._reader.logs):
            if log.topic_partition == place:
                start.take_in(taken, number, incarnations)
        return taken

    def _sealed_pages(self, files: Sequence[Sealed], incarnations: KnownIncarnations) -> list[SealedPages]:
        """Read newly sealed files, whose rows are still in memory, page by page."""
        parts = SealedParts.of(files, self._reader, self.code)
        return [
            SealedPages.of(Source(self._reader.logs[number], self._parts, parts, incarnations), parts.of_log(number))
            for number in dict.fromkeys(parts.columns["log"].tolist())
        ]

    def _let_go(self, sealed: SealedPages) -> None:
        """Keep only the directory of runs that are *sealed* now; where they differ, all of the tables is read again."""
        log = self._taken.logs.get(sealed.place)
        if log is not None and not sealed.take_over(log, self._cache):
            text = "clusters.%s: %s-%d: sealed rows differ from memory: reading all of record_runs again"
            logger.info(text, *sealed.place)
            self._is_stale = True

    def _topics_after(self) -> tuple[int, list[dict[str, Any]]]:
        rows, version = self._tables.rows_since(INDEXED_TOPICS, self._topics_version)
        return version, rows.select(["cluster", "topic", "topic_id"]).to_pylist()

    def _note(self, version: int, topics_version: int, topics: Sequence[Mapping[str, Any]]) -> None:
        # Last, because readers of leader epochs take no lock: nothing that was cut is left in the logs now.
        self._leader_epochs = self._incarnations.leader_epochs()
        for row in topics:
            self._ids.setdefault((row["cluster"], row["topic"]), set()).add(row["topic_id"])
        self._version, self._topics_version = version, topics_version

    def _incarnations_after(self, rows: pa.Table) -> tuple[KnownIncarnations, set[TopicPartition]]:
        """Return the incarnations known after *rows* were read, and the partitions to rebuild.

        Incarnations are read after the runs: every row is judged by what was known when it was written.
        """
        incarnations, changed = self._incarnations.caught_up(self._tables)
        return incarnations, changed | incarnations.overtaken(rows)

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

    def topic_ids(self, cluster: str, topic: str) -> set[str]:
        """Return the ids of a topic that were indexed."""
        return self._ids.get((cluster, topic), set())

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
        return self._leader_epochs.get(log)

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
