"""A job's view of the table ``log_incarnations``."""

from __future__ import annotations

import logging
from collections.abc import Collection, Mapping
from datetime import datetime, timezone

import pyarrow as pa

from offset_sync.model.values import ClusterPartition, TopicPartition
from offset_sync.state.cluster_clock import epoch_ms, to_datetime
from offset_sync.state.incarnations import IncarnationRow, KnownIncarnations, KnownLog
from offset_sync.tables.catalog import LOG_INCARNATIONS, RECREATED, TRUNCATED
from offset_sync.tables.store import TableStore
from offset_sync.translate.partition_log import Incarnation

logger = logging.getLogger(__name__)
Cuts = Mapping[ClusterPartition, Incarnation]
"""The incarnations that the index is cut by, one of a log."""
_REASONS = {RECREATED: "topic recreated", TRUNCATED: "log truncated"}


class IncarnationLog:
    """The table as first loaded, and with what was written since; not thread-safe.

    It has the logs of topics, or *of_commits*, whichever this job writes.
    """

    def __init__(self, tables: TableStore, *, of_commits: bool) -> None:
        self._tables, self._known = tables, KnownIncarnations(of_commits=of_commits)
        self._latest_ms, self._is_loaded = 0, False

    @property
    def table(self) -> KnownIncarnations:
        """What the table says."""
        if not self._is_loaded:
            self._catch_up()
        return self._known

    def begun_ms(self, partition: TopicPartition) -> int:
        """Return when the newest incarnation of any log of *partition* after its first was noticed, in ms; 0: none."""
        return max((each.noticed_ms for _, each in self.table.begun.get(partition, ())), default=0)

    @property
    def last_begun_ms(self) -> int:
        """When the newest incarnation of all was noticed."""
        return max(map(self.begun_ms, self.table.begun), default=0)

    def known(self, log: ClusterPartition) -> KnownLog | None:
        """Return the state of *log*; a partition without rows is of the only incarnation of its topic that is known."""
        known, ids = self.table.logs.get(log), self.table.topic_ids(log.cluster, log.topic)
        return KnownLog(next(iter(ids))) if known is None and len(ids) == 1 else known

    def topic_id(self, log: ClusterPartition) -> str:
        """Return the id of the topic of *log* as it is known, empty where it is not."""
        known = self.known(log)
        return known.topic_id if known is not None else ""

    def unread(self, alias: str) -> dict[TopicPartition, int]:
        """Return the offsets from which logs of a cluster must be re-read."""
        found = {log: known.unread_from for log, known in self.table.logs.items() if log.cluster == alias}
        return {log.topic_partition: offset for log, offset in found.items() if offset is not None}

    def uncut(self) -> Cuts:
        """Return the logs by whose last incarnation the index is still to be cut."""
        return {log: known.uncut for log, known in self.table.logs.items() if known.uncut is not None}

    def noticed_since(self, log: ClusterPartition, moment: datetime) -> bool:
        """Return whether an incarnation of *log* was recorded since *moment*, an answer of :meth:`now`."""
        return any(each.noticed_ms >= epoch_ms(moment) for each in self.table.of(log))

    def now(self) -> datetime:
        """Return the time, or 1 ms after the last row if the clock was set back since."""
        now = max(datetime.now(timezone.utc), to_datetime(self.table.noticed_ms + 1))
        self.begin_after(epoch_ms(now))
        return now

    def begin_after(self, at_ms: int) -> None:
        """Date no later row before *at_ms*: records read until then were read before it."""
        self._latest_ms = max(self._latest_ms, at_ms)

    def write(self, entries: list[IncarnationRow]) -> None:
        """Append rows to the table."""
        if not entries:
            return
        now = max(self.now(), to_datetime(self._latest_ms))
        rows = [{**entry.log._asdict(), **entry._asdict(), "noticed_at": now} for entry in entries]
        self._tables.append(LOG_INCARNATIONS, pa.Table.from_pylist(rows, LOG_INCARNATIONS.arrow_schema))
        for entry in entries:
            if entry.is_new:
                logger.error(
                    "clusters.%s: %s-%d: %s; re-reading from offset %d on, where its records have been replaced",
                    *entry.log,
                    _REASONS[str(entry.reason)],
                    entry.begins_at,
                )
        self._catch_up()

    def is_behind(self, logs: Collection[ClusterPartition]) -> bool:
        """Catch up; return whether another driver has recorded a change of any of *logs* meanwhile.

        A driver that was paused and resumed may have: it indexed records under a leader that is unknown here.
        """
        before = [self.table.logs.get(log) for log in logs]
        self._catch_up()
        return before != [self.table.logs.get(log) for log in logs]

    def _catch_up(self) -> None:
        self._known, self._is_loaded = self._known.caught_up(self._tables), True
