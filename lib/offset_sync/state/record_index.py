"""The record index in the driver's memory, kept up with ``record_runs`` by reading only what was added."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Mapping, Sequence
from itertools import pairwise

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from offset_sync.model.values import ClusterPartition, EpochEnd, TopicPartition
from offset_sync.state.clock_offset import ClockOffset, system_now_ms
from offset_sync.state.incarnations import KnownIncarnations, Lost
from offset_sync.state.index_pages import IndexPages
from offset_sync.state.index_rows import borders, int64s, readable, with_gaps
from offset_sync.tables.catalog import INDEXED_TOPICS, RECORD_RUNS
from offset_sync.tables.protocol import Tables
from offset_sync.translate.index.incarnations import Incarnation
from offset_sync.translate.index.log_index import LogIndex
from offset_sync.translate.index.runs import UNKNOWN_ORIGIN, Runs
from offset_sync.translate.index.time_index import TimeIndex

logger = logging.getLogger(__name__)
_TIMES = ["indexed_at", "min_timestamp", "max_timestamp", "complete_until"]
_COLUMNS = ["cluster", "topic", "partition", "start_offset", "length", "origin", "origin_start", *_TIMES]


class RecordIndex:
    """One :class:`LogIndex` per (cluster, topic, partition); about 50 bytes per joined run.

    ``lock`` guards the logs: they grow whenever the tables are read, in the thread of whoever asks for it.
    *is_timed* says of which topics the timestamps are kept too, *pages* how much of it stays in memory.
    """

    def __init__(
        self,
        tables: Tables,
        is_timed: Callable[[str], bool] = lambda topic: False,
        now_ms: Callable[[], int] = system_now_ms,
        pages: IndexPages | None = None,
    ) -> None:
        self.lock = threading.RLock()
        self._tables = tables
        self._is_timed = is_timed
        self._pages = pages or IndexPages()
        self._logs: dict[ClusterPartition, LogIndex] = {}
        self._partitions: dict[tuple[str, str], int] = {}
        self._codes: dict[str, int] = {"": UNKNOWN_ORIGIN}
        self._version: int | None = None
        self._topics_version: int | None = None
        self._ids: dict[tuple[str, str], set[str]] = {}
        self._grown: set[TopicPartition] = set()
        self._incarnations = KnownIncarnations(tables, self.code)
        self._leader_epochs: dict[ClusterPartition, tuple[str, int]] = {}
        self._lost: dict[ClusterPartition, list[Lost]] = {}
        self._now_ms = now_ms
        self.clock_offset = ClockOffset()
        self._rebuilt: dict[TopicPartition, int] = {}
        self._reading = threading.Lock()

    def refresh(self) -> None:
        """Read what was added to the tables since the last call; the lock is held only to take it in, all at once."""
        with self._reading:
            version = self._tables.version(RECORD_RUNS, self._version)
            rows = RECORD_RUNS.arrow_schema.empty_table().select(_COLUMNS)
            if version != self._version:
                rows = self._tables.rows_since(RECORD_RUNS, self._version, version).select(_COLUMNS)
                self._compare_clocks(rows)
            lives, again = self._lives_after(rows)
            # The ids come after the runs and are written before them: no run is seen without its topic's id.
            topics_version = self._tables.version(INDEXED_TOPICS, self._topics_version)
            topics = []
            if topics_version != self._topics_version:
                topics = self._tables.rows_since(INDEXED_TOPICS, self._topics_version, topics_version).to_pylist()
            rows, again = _in_order(rows), {each: _in_order(of_topic) for each, of_topic in again.items()}
            with self.lock:
                # Nobody sees a life without its rows, or rows without their lives.
                self._incarnations = lives
                self._take_in(rows)
                self._rebuild(again)
                self._pages.make_room(self._logs.values())
                # Last, for who asks for them does not wait: of what was cut nothing is left in the logs now.
                self._leader_epochs = lives.leader_epochs()
                for row in topics:
                    self._ids.setdefault((row["cluster"], row["topic"]), set()).add(row["topic_id"])
                self._version, self._topics_version = version, topics_version

    def _lives_after(self, rows: pa.Table) -> tuple[KnownIncarnations, dict[TopicPartition, pa.Table]]:
        """Return the lives that are known after *rows* were read, and all rows of partitions that have another one.

        Lives come after the runs: every row is taken for what it was when it was written.
        """
        lives, again = self._incarnations, dict[TopicPartition, pa.Table]()
        while True:
            lives, changed = lives.caught_up()
            fresh = (changed | lives.overtaken(rows)) - again.keys()
            if self._version is None or not fresh:
                return lives, again
            for topic in {each.topic for each in fresh}:
                mine = {each.partition: each for each in fresh if each.topic == topic}
                of_one = {"partition": next(iter(mine))} if len(mine) == 1 else {}
                found = self._tables.rows_where(RECORD_RUNS, {"topic": topic, **of_one}).select(_COLUMNS)
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
        return self._partitions.get((cluster, topic), 0)

    def incarnations(self, log: ClusterPartition) -> Sequence[Incarnation]:
        """Return the lives of a log after its first, as they were noticed."""
        return self._incarnations.of(log)

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
        return self._codes.setdefault(origin, len(self._codes) - 1)

    def _compare_clocks(self, rows: pa.Table) -> None:
        if rows.num_rows:
            last_ms = int(pc.max(rows.column("indexed_at").cast(pa.int64())).as_py()) // 1000
            self.clock_offset.observe(last_ms, self._now_ms())

    def _rebuild(self, rows: Mapping[TopicPartition, pa.Table]) -> None:
        """Take in all *rows* of partitions again, for a log of theirs has another life than was known before."""
        for lost in [each for each in self._lost if each.topic_partition in rows]:
            del self._lost[lost]
        for known in [each for each in self._logs if each.topic_partition in rows]:
            self._pages.forget(self._logs.pop(known))
            self._partitions[known[:2]] -= 1
        for partition, of_partition in rows.items():
            self._rebuilt[partition] = self.rebuilt(partition) + 1
            self._grown.add(partition)
            self._take_in(of_partition)

    def _take_in(self, rows: pa.Table) -> None:
        if rows.num_rows == 0:
            return
        origin = self._to_codes(rows.column("origin"))
        start, length, origin_start = (int64s(rows.column(n)) for n in ("start_offset", "length", "origin_start"))
        seen_ms, least_ms, most_ms, complete_ms = (int64s(rows.column(n).cast(pa.int64())) // 1000 for n in _TIMES)
        edges = borders(rows)
        for first, end in pairwise(edges):
            of_log = ClusterPartition(*(rows.column(name)[first].as_py() for name in ("cluster", "topic", "partition")))
            part = slice(first, end)
            self._grown.add(of_log.topic_partition)
            runs = readable(Runs.of(start[part], length[part], origin[part], origin_start[part], seen_ms[part]))
            lost = self._incarnations.lost(of_log, runs)
            if len(lost.copies) or lost.own_records:
                self._lost.setdefault(of_log, []).append(lost)
            kept, runs = self._incarnations.live(of_log, runs)
            if len(runs) == 0:
                continue
            log = self._logs.get(of_log)
            if log is None:
                log = self._logs[of_log] = LogIndex(int(runs.start[0]))
                for before in self._lost.get(of_log, []):
                    log.lose(*before)
                self._partitions[of_log[:2]] = self._partitions.get(of_log[:2], 0) + 1
            whole = with_gaps(runs, log.frontier)
            if whole.length.sum() > runs.length.sum():
                logger.warning("clusters.%s: %s-%d: not all of it is in the index; what lacks is repeated", *of_log)
            log.extend(whole, int(runs.end.max()))
            is_kept = kept >= 0
            told_ms = complete_ms[part][is_kept & (complete_ms[part] > 0)]
            if len(told_ms):  # the last word counts, not the latest time: a clock may have been set back
                log.complete_until_ms = int(told_ms[-1])
            if self._is_timed(of_log.topic):
                log.times = log.times or TimeIndex()
                log.times.extend(start[part][is_kept], kept[is_kept], least_ms[part][is_kept], most_ms[part][is_kept])

    def _to_codes(self, origins: pa.ChunkedArray) -> NDArray[np.int32]:
        encoded = origins.combine_chunks().dictionary_encode()
        codes = np.array([self.code(name) for name in encoded.dictionary.to_pylist()], np.int32)
        taken: NDArray[np.int32] = codes[encoded.indices.to_numpy(zero_copy_only=False)]
        return taken


def _in_order(rows: pa.Table) -> pa.Table:
    """Return rows of ``record_runs`` by partition and offset.

    Where one micro-batch has ended before the next one begins: its end comes first.
    """
    order = [(name, "ascending") for name in ("cluster", "topic", "partition", "start_offset", "length")]
    return rows.sort_by([*order, ("origin_start", "descending")]).combine_chunks()
