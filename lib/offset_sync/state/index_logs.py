"""The logs of the index, built from rows of ``record_runs``, with what a cut has taken, and gaps between rows."""

from __future__ import annotations

import logging
from collections.abc import Callable
from dataclasses import replace

from offset_sync.model.values import ClusterPartition
from offset_sync.state.index_rows import IndexRows, with_gaps
from offset_sync.translate.index.log_index import LogIndex
from offset_sync.translate.index.time_index import TimeIndex

logger = logging.getLogger(__name__)


class IndexLogs:
    """One :class:`LogIndex` per (cluster, topic, partition); *is_timed* says of which topics timestamps are kept."""

    def __init__(self, is_timed: Callable[[str], bool]) -> None:
        self.is_timed = is_timed
        self.logs: dict[ClusterPartition, LogIndex] = {}
        self.partitions: dict[tuple[str, str], int] = {}

    def take_in(self, of_log: ClusterPartition, rows: IndexRows) -> bool:
        """Take in *rows* of a log, which are in order; there is at least one.

        Return whether the log has two different records for one offset now, and had not before.
        """
        runs = rows.runs
        log = self.logs.get(of_log) or self.begin(of_log, int(runs.start[0]))
        was_contradicted = log.is_contradicted
        if (is_lost := runs.length < 0).any():
            lost = runs.take(is_lost)
            log.lose(replace(lost, length=-lost.length))
        whole = with_gaps(runs, log.frontier)
        if whole.length.sum() > runs.length.sum():
            logger.warning("clusters.%s: %s-%d: not all of it is in the index; its gaps are repeated", *of_log)
        log.extend(whole, int(runs.end.max()))
        _note_times(log, rows, is_timed=self.is_timed(of_log.topic))
        return log.is_contradicted and not was_contradicted

    def begin(self, of_log: ClusterPartition, first: int) -> LogIndex:
        """Begin the index of a log at its offset *first*."""
        log = self.logs[of_log] = LogIndex(first)
        self.partitions[of_log[:2]] = self.partitions.get(of_log[:2], 0) + 1
        return log


def _note_times(log: LogIndex, rows: IndexRows, *, is_timed: bool) -> None:
    is_known = rows.length >= 0
    known_ms = rows.complete_ms[is_known & (rows.complete_ms > 0)]
    if len(known_ms):  # the last row counts, not the latest time: a clock may have been set back
        log.complete_until_ms = int(known_ms[-1])
    if is_timed:
        log.times = log.times or TimeIndex()
        columns = (rows.start, rows.length, rows.least_ms, rows.most_ms)
        log.times.extend(*(column[is_known] for column in columns))
