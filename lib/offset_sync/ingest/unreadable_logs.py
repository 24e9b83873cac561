"""Logs that cannot be read on: a batch is corrupt, or their leader does not answer.

The folder of the query's checkpoint has the offset from which each is unread, because Spark's plans pass it. Later
micro-batches leave the log out, so its index ends there. When it can be read again, the query is restarted from that
offset. Errs to reading twice.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Collection, Mapping

from offset_sync.ingest.checkpoint import Checkpoint, Offsets
from offset_sync.kafka.cluster_admin import ClusterAdmin
from offset_sync.kafka.log_reader import RangeReader
from offset_sync.kafka.requests import Reach
from offset_sync.model.errors import ClusterError
from offset_sync.model.values import OffsetRange, Stop, TopicPartition

logger = logging.getLogger(__name__)
_SILENT = "its leader does not answer; start that broker"
_REMEDY = "if the batch is corrupt, restore it or delete the records up to its end (docs/operations.md)"


class UnreadableLogs:
    """Those of one query at the cluster of *admin*; *reader* reads as the query does."""

    def __init__(self, admin: ClusterAdmin, reader: RangeReader) -> None:
        self.alias, self._admin, self._reader = admin.alias, admin, reader
        self._logs: dict[TopicPartition, Stop] = {}
        self._silent: frozenset[TopicPartition] = frozenset()
        self._every: frozenset[TopicPartition] = frozenset()

    def begin(
        self, checkpoint: Checkpoint, is_read: Callable[[str], bool]
    ) -> tuple[Mapping[TopicPartition, Reach], Collection[TopicPartition] | None]:
        """Prepare the *checkpoint* of a query that reads streams by *is_read*; it must not be running.

        Return how far logs can be read, and which to assign; None: all, and those of later topics. Raises ClusterError.
        """
        self._checkpoint, self._is_read = checkpoint, is_read
        every, reaches = self._all(), self._admin.reaches(is_read)
        if every and not reaches:
            raise ClusterError(self.alias, "no leader answers")
        self._every, self._silent = every, silent = every, every - reaches.keys()
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
            if self._silent and self._all() != self._every:
                return True
            reaches = self._admin.reaches(lambda topic: any(topic == log.topic for log in logs)) if logs else {}
            ranges = {log: OffsetRange(logs[log].offset, each.stable) for log, each in reaches.items() if log in logs}
            return any(end <= start for start, end in ranges.values()) or self._is_readable(ranges)
        except ClusterError:
            return False

    def _is_readable(self, ranges: Mapping[TopicPartition, OffsetRange]) -> bool:
        for _ in self._reader.read(ranges):
            return True
        return bool(ranges)  # all of it is deleted by now

    def lines(self) -> list[str]:
        """Return one line for each."""
        return [self._line(log) for log in sorted(self._logs)]

    def _line(self, log: TopicPartition) -> str:
        return f"clusters.{self.alias}: {self._logs[log].at(self._checkpoint.name_of(log))}"

    def _all(self) -> frozenset[TopicPartition]:
        topics = {topic: each for topic, each in self._admin.topics().items() if self._is_read(topic)}
        return frozenset(TopicPartition(topic, n) for topic, each in topics.items() for n in range(each.partitions))

    def _keep(self, logs: dict[TopicPartition, Stop]) -> None:
        fresh, self._logs = sorted(logs.keys() - self._logs.keys()), logs
        if logs != self._checkpoint.unreadable():
            self._checkpoint.keep_unreadable(logs)
        if fresh:
            more = f" (and {len(fresh) - 1} more)" if len(fresh) > 1 else ""
            logger.error("%s%s", self._line(fresh[0]), more)


def _without(offsets: Offsets, logs: Collection[TopicPartition]) -> Offsets:
    return {log: offset for log, offset in offsets.items() if log not in logs}
