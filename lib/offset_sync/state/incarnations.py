"""Incarnations of logs and their leader epochs, kept up with ``log_incarnations``.

Each change of a leader adds a row ELECTED per partition, with the offset where the records of earlier leaders end.
Commits above it that name an earlier epoch are withheld::

    leader_epoch 5, begins_at 100        commits of epoch 4 and below:  ... 100 valid │ 101 ... lost with the election

A row may be deleted where all three hold:

1. It is older than a week, and everything that its cluster's groups have committed until now is in ``offset_commits``.
   Kafka's clients refresh leaders every five minutes, so no later commit was read under a leader of then.
2. It is not the newest of its log, which has the leader epoch of the last check.
3. No commit in all of the history names a lower epoch and a higher offset: an older one counts again where a newer one
   is lost with its log.

The start of the epoch is forgotten with its row. A replica that was away for so long and returns by an unclean election
is then believed as to where its records and those of later leaders diverge (``EpochChange.end``).
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any, NamedTuple

import pyarrow as pa
import pyarrow.compute as pc

from offset_sync.model.values import CONSUMER_OFFSETS, ClusterPartition, EpochEnd, TopicPartition
from offset_sync.state.cluster_clock import epoch_ms
from offset_sync.tables.catalog import (
    ARRIVED,
    ELECTED,
    LOG_INCARNATIONS,
    OFFSET_COMMITS,
    READ_AGAIN,
    RECREATED,
    TRUNCATED,
)
from offset_sync.tables.store import TableStore
from offset_sync.translate.partition_log import Incarnation

_BEGINNINGS = frozenset({RECREATED, TRUNCATED})
KEPT = timedelta(days=7)
"""Every row is kept for so long."""
LOG = ("cluster", "topic", "partition")


def incarnations_of(rows: pa.Table, *, of_commits: bool = False) -> list[tuple[ClusterPartition, Incarnation]]:
    """Return the incarnations that begin in rows of ``log_incarnations``: of topics, or *of_commits*."""
    if _BEGINNINGS.isdisjoint(rows.column("reason").to_pylist()):
        return []
    return [
        (
            log_of(row),
            Incarnation(row["begins_at"], epoch_ms(row["noticed_at"]), row["topic_id"], row["reason"] == RECREATED),
        )
        for row in rows.to_pylist()
        if row["reason"] in _BEGINNINGS and (row["topic"] == CONSUMER_OFFSETS) == of_commits
    ]


def log_of(row: Mapping[str, Any]) -> ClusterPartition:
    """Return the log of a *row*."""
    return ClusterPartition(row["cluster"], row["topic"], row["partition"])


class IncarnationRow(NamedTuple):
    """A row: the log continues, or (*begins_at*, *reason*) has other records; see the table's description."""

    log: ClusterPartition
    topic_id: str
    leader_epoch: int | None
    begins_at: int | None = None
    reason: str | None = None

    @classmethod
    def of(cls, row: Mapping[str, Any]) -> IncarnationRow:
        """Return a *row* of the table."""
        return cls(log_of(row), row["topic_id"], row["leader_epoch"], row["begins_at"], row["reason"])

    @property
    def is_new(self) -> bool:
        """Whether the log has other records from *begins_at* on."""
        return self.reason in _BEGINNINGS


class KnownLog(NamedTuple):
    """The last recorded state of a log; *unread_from* is the offset from which it must be re-read.

    *uncut*: the index may have rows from before this incarnation. *incarnations* are all but the first, in the order
    they were noticed. *checked* are the topic id and the leader epoch under which the log was last checked by a broker
    that names epochs. *all_ended* are the ends of earlier epochs, each with its topic id.
    """

    topic_id: str
    leader_epoch: int | None = None
    unread_from: int | None = None
    uncut: Incarnation | None = None
    incarnations: tuple[Incarnation, ...] = ()
    checked: tuple[str, int] | None = None
    all_ended: tuple[tuple[str, EpochEnd], ...] = ()

    @property
    def ended(self) -> list[EpochEnd]:
        """The ends of earlier epochs, of the topic's present incarnation."""
        return [end for topic_id, end in self.all_ended if topic_id == self.topic_id]

    def followed_by(self, row: IncarnationRow, noticed_ms: int) -> KnownLog:
        """Return the state after *row*, which may come again."""
        now = self._replace(topic_id=row.topic_id, leader_epoch=row.leader_epoch)
        if row.leader_epoch is not None:
            now = now._replace(checked=(row.topic_id, row.leader_epoch))
            if row.reason in (ELECTED, TRUNCATED):
                before = self.leader_epoch if self.topic_id == row.topic_id else None
                known = before if before is not None and before < row.leader_epoch else None
                end = EpochEnd(row.leader_epoch, row.begins_at or 0, known)
                now = now._replace(all_ended=(*self.all_ended, (row.topic_id, end)))
        if row.reason == READ_AGAIN:
            return now._replace(unread_from=row.begins_at, uncut=None)
        begins_at = row.begins_at or 0
        begun = Incarnation(begins_at, noticed_ms, row.topic_id, row.reason == RECREATED)
        if not row.is_new or begun in self.incarnations:
            return now
        unread_from = begins_at if self.unread_from is None else min(begins_at, self.unread_from)
        return now._replace(unread_from=unread_from, uncut=begun, incarnations=(*self.incarnations, begun))


class KnownIncarnations:
    """What the table says of all logs of topics, or *of_commits*. It does not change once it is made.

    It is caught up *after* the runs were read: an incarnation is recorded before its first run. That the index was cut
    is recorded after the cut, so it counts once the runs were read *after* that: with the next catch-up. Until then the
    log :meth:`is_uncut`, and its runs may be of an earlier incarnation.

    *begun* are the incarnations of all logs of a partition but the first, each with its cluster. *arrived* says of a
    log when its end was last recorded as ARRIVED, in ms, and that end. *noticed_ms* is the time of the newest row: one
    job writes all rows of one kind, each later than those before.
    """

    def __init__(self, *, of_commits: bool = False) -> None:
        self._of_commits = of_commits
        self.logs: dict[ClusterPartition, KnownLog] = {}
        self.begun: dict[TopicPartition, tuple[tuple[str, Incarnation], ...]] = {}
        self.arrived: dict[ClusterPartition, tuple[int, int]] = {}
        self.noticed_ms = 0
        self._topic_ids: dict[tuple[str, str], frozenset[str]] = {}
        self._uncut: frozenset[ClusterPartition] = frozenset()
        self._uncut_now: frozenset[ClusterPartition] = frozenset()
        self._version: int | None = None

    def of(self, log: ClusterPartition) -> Sequence[Incarnation]:
        """Return the incarnations of *log* but the first, in the order they were noticed."""
        return self.logs[log].incarnations if log in self.logs else ()

    def is_uncut(self, log: ClusterPartition) -> bool:
        """Return whether the runs that were read may be from before the last cut of *log*."""
        return log in self._uncut

    def topic_ids(self, cluster: str, topic: str) -> frozenset[str]:
        """Return the ids of a topic under which any of its logs was checked."""
        return self._topic_ids.get((cluster, topic), frozenset())

    def caught_up(self, tables: TableStore) -> KnownIncarnations:
        """Return the state by the table now, for runs that were read since the last time."""
        rows, version = tables.rows_since(LOG_INCARNATIONS, self._version)
        if version == self._version and self._uncut == self._uncut_now:
            return self
        found = KnownIncarnations(of_commits=self._of_commits)
        found.logs, found.begun, found.arrived = dict(self.logs), dict(self.begun), dict(self.arrived)
        found._topic_ids = dict(self._topic_ids)
        found._version, found.noticed_ms, found._uncut = version, self.noticed_ms, self._uncut_now
        for row in sorted(rows.to_pylist(), key=lambda row: row["noticed_at"]):
            found._take_in(IncarnationRow.of(row), epoch_ms(row["noticed_at"]))
        found._uncut_now = frozenset(log for log, each in found.logs.items() if each.uncut is not None)
        return found

    def _take_in(self, row: IncarnationRow, noticed_ms: int) -> None:
        log, is_of_commits = row.log, row.log.topic == CONSUMER_OFFSETS
        if is_of_commits != self._of_commits or noticed_ms < self.noticed_ms:  # all rows may come again
            return
        self.noticed_ms = noticed_ms
        if row.reason == ARRIVED:
            self.arrived[log] = noticed_ms, row.begins_at or 0
            return
        self._topic_ids[log.cluster, log.topic] = self.topic_ids(log.cluster, log.topic) | {row.topic_id}
        known = self.logs[log] = self.logs.get(log, KnownLog(row.topic_id)).followed_by(row, noticed_ms)
        if row.is_new:
            self._uncut |= {log}
            begun = self.begun.get(log.topic_partition, ())
            self.begun[log.topic_partition] = *begun, (log.cluster, known.incarnations[-1])

    def epoch_ends(self, log: ClusterPartition) -> Sequence[EpochEnd]:
        """Return the ends of earlier leaders' records, of the present incarnation of the topic."""
        return self.logs[log].ended if log in self.logs else ()

    def leader_epoch(self, log: ClusterPartition) -> tuple[str, int] | None:
        """Return topic id and leader epoch under which *log* was last checked; None: unknown."""
        return self.logs[log].checked if log in self.logs else None


class NamedEpochs:
    """The highest committed offset by log and leader epoch: *rows* with ``LOG``, leader_epoch and committed_offset."""

    schema = pa.schema([OFFSET_COMMITS.arrow_schema.field(name) for name in (*LOG, "leader_epoch", "committed_offset")])

    def __init__(self, rows: pa.Table) -> None:
        self._highest: dict[ClusterPartition, dict[int, int]] = {}
        for row in rows.to_pylist():
            of_log, epoch = self._highest.setdefault(log_of(row), {}), row["leader_epoch"]
            of_log[epoch] = max(row["committed_offset"], of_log.get(epoch, 0))

    def highest_below(self, log: ClusterPartition, epoch: int) -> int:
        """Return the highest offset that was committed in an epoch below *epoch*; 0 where none was."""
        return max((offset for each, offset in self._highest.get(log, {}).items() if each < epoch), default=0)


def retired_elections(rows: pa.Table, named: NamedEpochs, old_before: datetime, read: Collection[str]) -> pa.Table:
    """Return those *rows* of ``log_incarnations`` that may be deleted; errs to fewer.

    *old_before* is a week ago. *read* are the clusters of which *named* has every commit made until now.
    """
    newest = _newest(rows)
    elected = rows.filter(pc.equal(rows.column("reason"), ELECTED)).to_pylist()
    return pa.Table.from_pylist(
        [row for row in elected if row["cluster"] in read and _may_go(row, newest, named, old_before)],
        LOG_INCARNATIONS.arrow_schema,
    )


def _newest(rows: pa.Table) -> Mapping[ClusterPartition, datetime]:
    """Return when each log was last checked under a known leader; rows ARRIVED do not count."""
    is_look = pc.and_(
        pc.is_valid(rows.column("leader_epoch")), pc.fill_null(pc.not_equal(rows["reason"], ARRIVED), True)
    )
    found = rows.filter(is_look).group_by(LOG).aggregate([("noticed_at", "max")])
    return {log_of(row): row["noticed_at_max"] for row in found.to_pylist()}


def _may_go(
    row: Mapping[str, Any], newest: Mapping[ClusterPartition, datetime], named: NamedEpochs, old_before: datetime
) -> bool:
    log, epoch, end = log_of(row), row["leader_epoch"], row["begins_at"]
    if epoch is None or end is None:
        return False  # such a row is never written
    is_old, is_newest = row["noticed_at"] < old_before, row["noticed_at"] >= newest[log]
    return is_old and not is_newest and named.highest_below(log, epoch) <= end


def candidates(rows: pa.Table, old_before: datetime) -> Sequence[str]:
    """Return the clusters of which *rows* may have some to delete, whatever was committed."""
    is_due = pc.and_(pc.equal(rows.column("reason"), ELECTED), pc.less(rows.column("noticed_at"), old_before))
    return sorted(pc.unique(rows.filter(is_due).column("cluster")).to_pylist())
