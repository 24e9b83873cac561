"""Logs that cannot be read on: a batch is corrupt, or their leader does not answer.

The folder of the query's checkpoint has the offset from which each is unread, because Spark's plans pass it. Later
micro-batches leave the log out, so its index ends there. When it can be read again, the query is restarted from that
offset. Errs to reading twice.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Collection, Iterator, Mapping

import pyarrow as pa

from offset_sync.ingest.checkpoint import Checkpoint, OffsetRanges, Offsets
from offset_sync.ingest.commit_batch import LogRows, RowsOf
from offset_sync.ingest.kept_runs import Cut
from offset_sync.ingest.map_batches import MapBatches
from offset_sync.kafka.cluster_admin import ClusterAdmin
from offset_sync.kafka.log_reader import RangeReader, UnreadError
from offset_sync.kafka.requests import Reach
from offset_sync.model.errors import ClusterError
from offset_sync.model.values import OffsetRange, Stop, TopicPartition

logger = logging.getLogger(__name__)
_SILENT = "its leader does not answer; start that broker"
_SYMPTOMS = ("ArithmeticException", "kafka010", "org.apache.kafka")
_REMEDY = "if the batch is corrupt, restore it or delete the records up to its end (docs/operations.md)"


class UnreadableLogs:
    """Those of one query at the cluster of *admin*; *reader* reads as the query does."""

    def __init__(self, admin: ClusterAdmin, reader: RangeReader) -> None:
        self.alias, self._admin, self._reader = admin.alias, admin, reader
        self._logs: dict[TopicPartition, Stop] = {}

    def begin(
        self, checkpoint: Checkpoint, is_read: Callable[[str], bool]
    ) -> tuple[Mapping[TopicPartition, Reach], Collection[TopicPartition] | None]:
        """Prepare the *checkpoint* of a query that reads streams by *is_read*; it must not be running.

        Return how far logs can be read, and which to assign; None: all, and those of later topics. Raises ClusterError.
        """
        self._checkpoint, self._is_read = checkpoint, is_read
        self._every = every = self._all()
        reaches = self._admin.reaches(is_read)
        if every and not reaches:
            raise ClusterError(self.alias, "no leader answers")
        silent = every - reaches.keys()
        begins = checkpoint.leave_out(lambda log: not is_read(log.topic) or log in silent)
        known = {log: stop for log, stop in checkpoint.unreadable().items() if log in every}
        if checkpoint.set_back({log: stop.offset for log, stop in known.items() if log not in silent}):
            known = {log: stop for log, stop in known.items() if log in silent}
        self._keep({log: Stop(begins.get(log, 0), _SILENT) for log in silent} | known)
        return reaches, every - silent if silent else None

    def left_out(self, start: Offsets, end: Offsets) -> tuple[Offsets, Offsets]:
        """Return what to read of a micro-batch that Spark has planned."""
        passed = {log for log, stop in self._logs.items() if start.get(log, 0) > stop.offset}
        return _without(start, passed), _without(end, passed)

    def note(self, end: Offsets, stopped: Mapping[TopicPartition, Stop]) -> None:
        """Note that a stored micro-batch reads up to *end*, where it had to leave those that *stopped*."""
        logs = {log: stop for log, stop in self._logs.items() if end.get(log, 0) <= stop.offset}
        logs |= {log: Stop(end[log], f"{stop.why}; {_REMEDY}") for log, stop in stopped.items()}
        if logs != self._logs:
            self._keep(logs)

    def can_be_read(self) -> bool:
        """Return whether a restarted query would read on, or read other topics."""
        logs = dict(self._logs)
        try:
            if not logs or self._all() != self._every:
                return bool(logs)
            reaches = self._admin.reaches(self._is_read)
            ranges = [(log, OffsetRange(logs[log].offset, reaches[log].stable)) for log in logs.keys() & reaches.keys()]
            return any(self._is_readable(log, each) for log, each in ranges)
        except ClusterError:
            return False

    def _is_readable(self, log: TopicPartition, wanted: OffsetRange) -> bool:
        """Return whether a record can be read of *wanted*, or none is left there."""
        try:
            next(iter(self._reader.read({log: wanted})), None)
        except UnreadError:
            return False
        return True

    def lines(self) -> list[str]:
        """Return one line for each."""
        logs = sorted(self._logs.items())
        return [f"clusters.{self.alias}: {stop.at(self._checkpoint.name_of(log))}" for log, stop in logs]

    def _all(self) -> frozenset[TopicPartition]:
        topics = {topic: each for topic, each in self._admin.topics().items() if self._is_read(topic)}
        return frozenset(TopicPartition(topic, n) for topic, each in topics.items() for n in range(each.partitions))

    def _keep(self, logs: dict[TopicPartition, Stop]) -> None:
        self._logs = logs
        if logs != self._checkpoint.unreadable():
            self._checkpoint.keep_unreadable(logs)
        if logs:
            logger.error("%s (%d such logs)", self.lines()[0], len(logs))


def _without(offsets: Offsets, logs: Collection[TopicPartition]) -> Offsets:
    return {log: offset for log, offset in offsets.items() if log not in logs}


class SecondReader(LogRows):
    """Reads what Spark's source fails on at the cluster of *admin*, and knows the *unreadable* logs."""

    def __init__(self, admin: ClusterAdmin, reader: RangeReader, to_rows: RowsOf) -> None:
        super().__init__(admin.alias, reader, to_rows)
        self.unreadable = UnreadableLogs(admin, reader)

    def map(
        self, by_spark: Callable[[], Cut] | None, function: MapBatches, schema: pa.Schema, ranges: OffsetRanges
    ) -> Cut:
        """Return what *by_spark* returns; if its source fails, what *function* makes of the same records.

        While records keep arriving whose timestamps fail it, Spark is not tried first, or every micro-batch would be
        read twice. Raises ClusterError if nothing comes of any log.
        """
        if by_spark is not None and not self._is_beyond:
            try:
                return by_spark()
            except Exception as problem:
                if not is_of_source(problem):
                    raise
        stopped: dict[TopicPartition, Stop] = {}
        rows = pa.Table.from_batches(list(function(self._readable(ranges, stopped))), schema)
        return Cut(rows, stopped=stopped)

    def _readable(self, ranges: OffsetRanges, stopped: dict[TopicPartition, Stop]) -> Iterator[pa.RecordBatch]:
        try:
            yield from self.rows(ranges)
        except UnreadError as problem:
            if problem.is_silent:
                raise
            stopped |= problem.stops


def is_of_source(problem: Exception) -> bool:
    """Return whether Spark's Kafka source failed: on a timestamp that Spark cannot hold, or in Kafka's client."""
    return any(symptom in str(problem) or symptom in type(problem).__name__ for symptom in _SYMPTOMS)
