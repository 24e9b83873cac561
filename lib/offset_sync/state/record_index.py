"""The record index in the driver's memory, kept up with ``record_runs`` by reading only what was added."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from offset_sync.model.values import ClusterPartition, EpochEnd, State, TopicPartition
from offset_sync.state.clock_offset import ClockOffset, system_now_ms
from offset_sync.state.incarnations import KnownIncarnations
from offset_sync.state.index_logs import IndexLogs
from offset_sync.state.index_pages import IndexPages
from offset_sync.state.index_rows import COLUMNS, UNTIMED, IndexRows, RowReader
from offset_sync.state.index_start import IndexStart
from offset_sync.state.staged_rows import MisstatedError
from offset_sync.tables.catalog import INDEXED_TOPICS, RECORD_RUNS
from offset_sync.tables.sorted_files import Block
from offset_sync.tables.store import TableStore
from offset_sync.translate.index.incarnations import Incarnation
from offset_sync.translate.index.log_index import LogIndex
from offset_sync.translate.index.runs import UNKNOWN_ORIGIN

logger = logging.getLogger(__name__)
_NO_ROWS = RECORD_RUNS.no_rows.select(COLUMNS)
_TRIES = 3


class RecordIndex:
    """One :class:`LogIndex` per (cluster, topic, partition).

    ``lock`` guards the logs: they grow whenever the tables are read, in the thread of whoever asks for it.
    *is_timed* says of which topics the timestamps are kept too (None: of none), *pages* how much of it stays in memory.
    """

    def __init__(
        self,
        tables: TableStore,
        is_timed: Callable[[str], bool] | None = None,
        now_ms: Callable[[], int] = system_now_ms,
        pages: IndexPages | None = None,
    ) -> None:
        self.lock = threading.RLock()
        self._tables = self._read_later = tables
        self._is_timed = is_timed or (lambda topic: False)
        self._names = UNTIMED if is_timed is None else COLUMNS
        self._pages = pages or IndexPages()
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
        self._reading, self._coding = threading.Lock(), threading.Lock()
        self._reader = RowReader(self.code, self._is_timed)

    def refresh(self) -> None:
        """Read what was added to the tables since the last call; the lock is held only to take it in, all at once."""
        with self._reading:
            self._tables = self._read_later
            version = self._tables.version(RECORD_RUNS, self._version)
            if self._version is None:
                return self._read_all(version)
            rows = _NO_ROWS
            if version != self._version:
                try:
                    rows = self._tables.read_added(RECORD_RUNS, self._version, version).select(COLUMNS)
                except FileNotFoundError:
                    logger.info("record_runs was compacted and cleaned up since it was read: reading all of it")
                    return self._read_all(version)
            lives, again = self._lives_after(rows)
            # The ids come after the runs and are written before them: no run is seen without its topic's id.
            topics_version, topics = self._topics_after()
            if (version, topics_version, lives) == (self._version, self._topics_version, self._incarnations):
                return
            added, again_rows = self._read(rows), {each: self._read(of_topic) for each, of_topic in again.items()}
            with self.lock:
                # Nobody sees a life without its rows, or rows without their lives.
                self._compare_clocks(added)
                self._incarnations = lives
                self._take_in(added)
                self._rebuild(again_rows)
                self._pages.make_room(self._logs.values())
                self._note(version, topics_version, topics)

    def read_from(self, tables: TableStore) -> None:
        """Read the same tables by others' means, from the next refresh on; waits for nobody."""
        self._read_later = tables

    def _read_all(self, version: int) -> None:
        """Take all of the tables in anew, log by log; who asks meanwhile sees what was known before, or nothing."""
        start, lives, taken = self._all_rows()
        topics_version, topics = self._topics_after()
        with self.lock:
            before, self._taken, self._incarnations = self._taken, taken, lives
            if start.newest_ms is not None:
                self.clock_offset.observe(start.newest_ms, self._now_ms())
            places = {each.topic_partition for each in (*before.logs, *taken.logs)}
            self._grown |= places
            if self._version is not None:
                self._rebuilt |= {each: self.rebuilt(each) + 1 for each in places}
            self._pages.make_room(self._logs.values())
            self._note(version, topics_version, topics)

    def _all_rows(self) -> tuple[IndexStart, KnownIncarnations, IndexLogs]:
        for _ in range(_TRIES - 1):
            try:
                return self._start(by_blocks=True)
            except FileNotFoundError as gone:
                logger.info("record_runs was compacted and cleaned up while it was read, once more: %s", gone)
            except MisstatedError as problem:
                logger.warning("record_runs: %s; it is read once more, and sorted here", problem)
                break
        return self._start(by_blocks=False)

    def _start(self, *, by_blocks: bool) -> tuple[IndexStart, KnownIncarnations, IndexLogs]:
        """Read all rows, and then the lives, by which they are taken in."""
        with ExitStack() as opened:
            parts: Iterator[pa.Table | Block]
            if by_blocks:
                parts = self._tables.blocks(RECORD_RUNS, self._names, opened)
            else:
                parts = self._tables.batches(RECORD_RUNS, self._names, encoded=True)
            start = IndexStart(self._reader, self._pages, parts)
            lives, _ = self._incarnations.caught_up(self._tables)
            return start, lives, start.taken_in(lives)

    def _topics_after(self) -> tuple[int, list[dict[str, Any]]]:
        version = self._tables.version(INDEXED_TOPICS, self._topics_version)
        if version == self._topics_version:
            return version, []
        rows = self._tables.rows_since(INDEXED_TOPICS, self._topics_version, version)
        return version, rows.select(["cluster", "topic", "topic_id"]).to_pylist()

    def _note(self, version: int, topics_version: int, topics: Sequence[Mapping[str, Any]]) -> None:
        # Last, for who asks for them does not wait: of what was cut nothing is left in the logs now.
        self._leader_epochs = self._incarnations.leader_epochs()
        for row in topics:
            self._ids.setdefault((row["cluster"], row["topic"]), set()).add(row["topic_id"])
        self._version, self._topics_version = version, topics_version

    def _lives_after(self, rows: pa.Table) -> tuple[KnownIncarnations, dict[TopicPartition, pa.Table]]:
        """Return the lives that are known after *rows* were read, and all rows of partitions that have another one.

        Lives come after the runs: every row is taken for what it was when it was written.
        """
        lives = self._incarnations
        again: dict[TopicPartition, pa.Table] = {}
        while True:
            lives, changed = lives.caught_up(self._tables)
            fresh = (changed | lives.overtaken(rows)) - again.keys()
            if not fresh:
                return lives, again
            for topic in {each.topic for each in fresh}:
                mine = {each.partition: each for each in fresh if each.topic == topic}
                of_one = {"partition": next(iter(mine))} if len(mine) == 1 else {}
                found = self._tables.rows_where(RECORD_RUNS, {"topic": topic, **of_one}).select(COLUMNS)
                again |= {place: found.filter(pc.equal(found.column("partition"), n)) for n, place in mine.items()}

    def take_grown(self) -> set[TopicPartition]:
        """Return the partitions of which any cluster's index has grown since the last call."""
        with self.lock:
            grown, self._grown = self._grown, set()
            return grown

    def log(self, cluster: str, topic: str, partition: int) -> LogIndex | None:
        """Return what is indexed of a partition, None if nothing is."""
        return self._logs.get(ClusterPartition(cluster, topic, partition))

    def all_logs(self) -> Mapping[ClusterPartition, LogIndex]:
        """Return all that is indexed, by cluster, topic and partition."""
        return self._logs

    def topic_ids(self, cluster: str, topic: str) -> set[str]:
        """Return the incarnations of a topic that the index has met."""
        return self._ids.get((cluster, topic), set())

    def partitions(self, cluster: str, topic: str) -> int:
        """Return how many partitions of a topic the index has met; it meets empty ones too."""
        return self._taken.partitions.get((cluster, topic), 0)

    def incarnations(self, log: ClusterPartition) -> Sequence[Incarnation]:
        """Return the lives of a log after its first, as they were noticed."""
        return self._incarnations.of(log)

    def is_copied(self, log: ClusterPartition) -> bool:
        """Return whether *log* was indexed as a copy byte for byte, whatever it is by the configuration now."""
        return self._incarnations.is_copied(log)

    def is_written(self, log: ClusterPartition) -> bool:
        """Return whether *log*, a copy byte for byte, has been written to, as far as the tables know."""
        return self._incarnations.is_written(log)

    def doubt(self, log: ClusterPartition) -> State | None:
        """Return why copies in *log* cannot be told by their contents, if so; as far as the tables know."""
        return self._incarnations.doubt(log)

    def epoch_ends(self, log: ClusterPartition) -> Sequence[EpochEnd]:
        """Return where the records of a log's earlier leaders ended."""
        return self._incarnations.epoch_ends(log)

    def leader_epoch(self, log: ClusterPartition) -> tuple[str, int] | None:
        """Return the topic id and the leader epoch under which a log was last looked at; None: nobody knows."""
        return self._leader_epochs.get(log)

    def rebuilt(self, partition: TopicPartition) -> int:
        """Return how often the logs of a partition were made anew here, so that all bounds on them are void."""
        return self._rebuilt.get(partition, 0)

    def code(self, origin: str) -> int:
        """Return the code that *origin* has in the logs."""
        if (known := self._codes.get(origin)) is not None:
            return known
        with self._coding:
            return self._codes.setdefault(origin, len(self._codes) - 1)

    @property
    def _logs(self) -> dict[ClusterPartition, LogIndex]:
        return self._taken.logs

    def _compare_clocks(self, rows: IndexRows) -> None:
        if len(rows):
            self.clock_offset.observe(int(rows.seen_ms.max()), self._now_ms())

    def _read(self, rows: pa.Table) -> IndexRows:
        return self._reader.read(rows).in_order()

    def _rebuild(self, rows: Mapping[TopicPartition, IndexRows]) -> None:
        """Take in all *rows* of partitions again, for a log of theirs has another life than was known before."""
        self._taken.forget(rows.keys())
        for partition, of_partition in rows.items():
            self._rebuilt[partition] = self.rebuilt(partition) + 1
            self._grown.add(partition)
            self._take_in(of_partition)

    def _take_in(self, rows: IndexRows) -> None:
        for number, of_log in rows.by_log():
            log = self._reader.logs[number]
            self._grown.add(log.topic_partition)
            self._taken.take_in(log, of_log, self._incarnations, is_timed=self._is_timed(log.topic))
