"""The logs of the index, built from rows of ``record_runs``: with incarnations, and with gaps between rows."""

from __future__ import annotations

import logging
from collections.abc import Collection

from offset_sync.model.values import ClusterPartition, TopicPartition
from offset_sync.state.incarnations import KnownIncarnations, Lost, to_edges
from offset_sync.state.index_rows import IndexRows, with_gaps
from offset_sync.translate.index.log_index import LogIndex
from offset_sync.translate.index.runs import NO_RUNS, Int64s, Runs
from offset_sync.translate.index.time_index import TimeIndex

logger = logging.getLogger(__name__)


class IndexLogs:
    """One :class:`LogIndex` per (cluster, topic, partition)."""

    def __init__(self) -> None:
        self.logs: dict[ClusterPartition, LogIndex] = {}
        self.partitions: dict[tuple[str, str], int] = {}
        self._lost: dict[ClusterPartition, list[Lost]] = {}

    def take_in(
        self, of_log: ClusterPartition, rows: IndexRows, incarnations: KnownIncarnations, *, is_timed: bool
    ) -> None:
        """Take in *rows* of a log, which are in order; note what a cut has removed as lost."""
        edges = NO_RUNS
        if incarnations.concern(of_log):
            runs = rows.runs
            self.lose(of_log, incarnations.lost(of_log, runs))
            edges = to_edges(incarnations.known_to_the_cut(of_log, runs))
        self.take_in_part(of_log, rows, incarnations, edges, is_timed=is_timed)

    def lose(self, of_log: ClusterPartition, lost: Lost) -> None:
        """Note what a log has lost; it is applied when the index of the log begins."""
        if len(lost.copies) or lost.own_records:
            self._lost.setdefault(of_log, []).append(lost)

    def take_in_part(
        self, of_log: ClusterPartition, rows: IndexRows, incarnations: KnownIncarnations, edges: Runs, *, is_timed: bool
    ) -> None:
        """Take in some *rows* of a log, which are in order, and *edges* among them."""
        kept, runs = valid_runs(of_log, rows, incarnations, edges)
        if len(runs) == 0:
            return
        log = self.logs.get(of_log)
        if log is None:
            log = self.begin(of_log, int(runs.start[0]))
        whole = with_gaps(runs, log.frontier)
        if whole.length.sum() > runs.length.sum():
            logger.warning("clusters.%s: %s-%d: not all of it is in the index; its gaps are repeated", *of_log)
        log.extend(whole, int(runs.end.max()))
        _note_times(log, rows, kept, is_timed=is_timed)

    def is_contradicted(self, of_log: ClusterPartition) -> bool:
        """Return whether a log has two different records for one offset."""
        return of_log in self.logs and self.logs[of_log].is_contradicted

    def begin(self, of_log: ClusterPartition, first: int) -> LogIndex:
        """Begin the index of a log at its offset *first*."""
        log = LogIndex(first)
        for before in self._lost.get(of_log, []):
            log.lose(*before)
        self.logs[of_log] = log
        self.partitions[of_log[:2]] = self.partitions.get(of_log[:2], 0) + 1
        return log

    def adopt(self, others: IndexLogs) -> None:
        """Take over the logs of *others*, none of which is known here."""
        self.logs |= others.logs
        self._lost |= others._lost
        for topic, count in others.partitions.items():
            self.partitions[topic] = self.partitions.get(topic, 0) + count

    def forget(self, partitions: Collection[TopicPartition]) -> None:
        """Forget all logs of *partitions*, which are rebuilt."""
        for lost in [each for each in self._lost if each.topic_partition in partitions]:
            del self._lost[lost]
        for known in [each for each in self.logs if each.topic_partition in partitions]:
            del self.logs[known]
            self.partitions[known[:2]] -= 1


def valid_runs(
    of_log: ClusterPartition, rows: IndexRows, incarnations: KnownIncarnations, edges: Runs
) -> tuple[Int64s, Runs]:
    """Return how much of each of *rows*, which are in order, is still true, and these runs; -1: nothing.

    By the *incarnations* of the partition's logs.
    """
    return incarnations.live(of_log, rows.runs, edges) if incarnations.concern(of_log) else (rows.length, rows.runs)


def _note_times(log: LogIndex, rows: IndexRows, kept: Int64s, *, is_timed: bool) -> None:
    is_kept = kept >= 0
    known_ms = rows.complete_ms[is_kept & (rows.complete_ms > 0)]
    if len(known_ms):  # the last row counts, not the latest time: a clock may have been set back
        log.complete_until_ms = int(known_ms[-1])
    if is_timed:
        log.times = log.times or TimeIndex()
        log.times.extend(rows.start[is_kept], kept[is_kept], rows.least_ms[is_kept], rows.most_ms[is_kept])
