"""A job's view of the table ``log_incarnations``."""

from __future__ import annotations

import logging
from collections.abc import Collection, Mapping
from datetime import datetime, timezone
from typing import Any, NamedTuple

import pyarrow as pa

from offset_sync.model.values import CONSUMER_OFFSETS, ClusterPartition, EpochEnd, TopicPartition
from offset_sync.state.cluster_clock import epoch_ms, to_datetime
from offset_sync.state.incarnations import end_of_epoch, log_of
from offset_sync.tables.catalog import (
    ARRIVED,
    ELECTED,
    INDEXED_TOPICS,
    LOG_INCARNATIONS,
    READ_AGAIN,
    RECREATED,
    TRUNCATED,
)
from offset_sync.tables.store import TableStore
from offset_sync.translate.partition_log import Incarnation

logger = logging.getLogger(__name__)
Cuts = Mapping[ClusterPartition, Incarnation]
"""The incarnations that the index is cut by, one of a log."""
_REASONS = {RECREATED: "topic recreated", TRUNCATED: "log truncated"}


class IncarnationRow(NamedTuple):
    """A row: the log continues, or (*begins_at*, *reason*) has other records; see the table's description."""

    log: ClusterPartition
    topic_id: str
    leader_epoch: int | None
    begins_at: int | None = None
    reason: str | None = None

    @property
    def is_new(self) -> bool:
        """Whether the log has other records from *begins_at* on."""
        return self.reason in _REASONS


class KnownLog(NamedTuple):
    """The last recorded state of a log; *unread_from* is the offset from which it must be re-read.

    *ended* are the ends of earlier epochs, of the topic's present incarnation. *uncut*: the index may have rows from
    before this incarnation.
    """

    topic_id: str
    leader_epoch: int | None
    unread_from: int | None = None
    ended: tuple[EpochEnd, ...] = ()
    uncut: Incarnation | None = None

    def ended_by(self, entry: IncarnationRow) -> tuple[EpochEnd, ...]:
        """Return *ended* as it is once *entry* was recorded."""
        if entry.topic_id != self.topic_id:
            return ()
        if entry.reason not in (ELECTED, TRUNCATED) or entry.leader_epoch is None:
            return self.ended
        return *self.ended, end_of_epoch(entry.leader_epoch, entry.begins_at or 0, self.leader_epoch)


class IncarnationLog:
    """The table as first loaded, and what was written since; not thread-safe.

    It has the logs of topics, or *of_commits*, whichever this job writes. *moment* counts writes. *begun* are the
    incarnations of all logs of a partition, each with its cluster, the newest one last; *arrived* says of a log when
    its end was last recorded as ARRIVED, in ms, and that end. *last_begun_ms* is when the newest incarnation of all was
    noticed.
    """

    def __init__(self, tables: TableStore, *, of_commits: bool) -> None:
        self._tables, self._of_commits = tables, of_commits
        self._logs: dict[ClusterPartition, KnownLog] = {}
        self._indexed_ids: dict[tuple[str, str], set[str]] = {}
        self._noticed_ms = self._latest_ms = self.last_begun_ms = 0
        self._noticed_at: dict[ClusterPartition, int] = {}
        self.moment = 0
        self.begun: dict[TopicPartition, list[tuple[str, Incarnation]]] = {}
        self.arrived: dict[ClusterPartition, tuple[int, int]] = {}
        self._is_loaded = False

    def known(self, log: ClusterPartition) -> KnownLog | None:
        """Return the state of *log*; a partition without rows is of the only incarnation of its topic that is known."""
        self._load()
        known, ids = self._logs.get(log), self._indexed_ids.get((log.cluster, log.topic), set())
        return KnownLog(next(iter(ids)), None) if known is None and len(ids) == 1 else known

    def topic_id(self, log: ClusterPartition) -> str:
        """Return the id of the topic of *log* as it is known, empty where it is not."""
        known = self.known(log)
        return known.topic_id if known is not None else ""

    def unread(self, alias: str) -> dict[TopicPartition, int]:
        """Return the offsets from which logs of a cluster must be re-read."""
        self._load()
        found = {log: known.unread_from for log, known in self._logs.items() if log.cluster == alias}
        return {log.topic_partition: offset for log, offset in found.items() if offset is not None}

    def uncut(self) -> Cuts:
        """Return the logs by whose last incarnation the index is still to be cut."""
        self._load()
        return {log: known.uncut for log, known in self._logs.items() if known.uncut is not None}

    def begun_ms(self, partition: TopicPartition) -> int:
        """Return when the newest incarnation of any log of *partition* after its first was noticed, in ms; 0: none."""
        self._load()
        begun = self.begun.get(partition)
        return begun[-1][1].noticed_ms if begun else 0

    def noticed_since(self, log: ClusterPartition, moment: int) -> bool:
        """Return whether an incarnation of *log* was recorded after *moment*."""
        return self._noticed_at.get(log, 0) > moment

    def now(self) -> datetime:
        """Return the time, or 1 ms after the last row if the clock was set back since."""
        self._load()
        now = max(datetime.now(timezone.utc), to_datetime(self._noticed_ms + 1))
        self.begin_after(epoch_ms(now))
        return now

    def begin_after(self, at_ms: int) -> None:
        """Date no later row before *at_ms*: records read until then were read before it."""
        self._latest_ms = max(self._latest_ms, at_ms)

    def write(self, entries: list[IncarnationRow]) -> None:
        """Append rows to the table and to this view of it."""
        if not entries:
            return
        now = max(self.now(), to_datetime(self._latest_ms))
        rows: list[dict[str, Any]] = [
            {**entry.log._asdict(), **entry._asdict(), "noticed_at": now} for entry in entries
        ]
        self._tables.append(LOG_INCARNATIONS, pa.Table.from_pylist(rows, LOG_INCARNATIONS.arrow_schema))
        self.moment += 1
        for entry in entries:
            self._take_in(entry, epoch_ms(now))
            if entry.is_new:
                self._noticed_at[entry.log] = self.moment
                logger.error(
                    "clusters.%s: %s-%d: %s; re-reading from offset %d on, where its records have been replaced",
                    *entry.log,
                    _REASONS[str(entry.reason)],
                    entry.begins_at,
                )

    def is_behind(self, logs: Collection[ClusterPartition]) -> bool:
        """Reload the table; return whether another driver has recorded a change of any of *logs* meanwhile.

        A driver that was paused and resumed may have: it indexed records under a leader that is unknown here.
        """
        before = [self._logs.get(log) for log in logs]
        self._logs.clear()
        self.begun.clear()
        self._is_loaded = False
        self._load()
        return before != [self._logs.get(log) for log in logs]

    def _load(self) -> None:
        if self._is_loaded:
            return
        for row in self._tables.all_rows(INDEXED_TOPICS).to_pylist():
            if row["topic"] == CONSUMER_OFFSETS:  # there for its number of partitions
                continue
            self._indexed_ids.setdefault((row["cluster"], row["topic"]), set()).add(row["topic_id"])
        rows = self._tables.all_rows(LOG_INCARNATIONS).to_pylist()
        for row in sorted(rows, key=lambda row: row["noticed_at"]):
            log = log_of(row)
            if (log.topic == CONSUMER_OFFSETS) != self._of_commits:
                continue
            entry = IncarnationRow(log, row["topic_id"], row["leader_epoch"], row["begins_at"], row["reason"])
            self._take_in(entry, epoch_ms(row["noticed_at"]))
        self._is_loaded = True

    def _take_in(self, entry: IncarnationRow, noticed_ms: int) -> None:
        self._noticed_ms = max(self._noticed_ms, noticed_ms)
        if entry.reason == ARRIVED:
            self.arrived[entry.log] = noticed_ms, entry.begins_at or 0
            return
        before = self._logs.get(entry.log)
        unread_from, uncut = (before.unread_from, before.uncut) if before is not None else (None, None)
        if entry.is_new:
            begins_at = entry.begins_at or 0
            uncut = Incarnation(begins_at, noticed_ms, entry.topic_id, entry.reason == RECREATED)
            self.begun.setdefault(entry.log.topic_partition, []).append((entry.log.cluster, uncut))
            self.last_begun_ms = noticed_ms
            unread_from = begins_at if unread_from is None else min(begins_at, unread_from)
        elif entry.reason == READ_AGAIN:
            unread_from, uncut = entry.begins_at, None
        ended = before.ended_by(entry) if before is not None else ()
        self._logs[entry.log] = KnownLog(entry.topic_id, entry.leader_epoch, unread_from, ended, uncut)
