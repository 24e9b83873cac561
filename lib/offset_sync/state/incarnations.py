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

from bisect import bisect_left
from collections.abc import Collection, Mapping, Sequence
from datetime import datetime, timedelta
from itertools import accumulate
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from offset_sync.model.values import CONSUMER_OFFSETS, ClusterPartition, EpochEnd
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


def end_of_epoch(leader_epoch: int, begins_at: int, known: int | None) -> EpochEnd:
    """Return the epoch end in a row of a new leader, or of a cut; *known* was the leader epoch of the row before."""
    return EpochEnd(leader_epoch, begins_at, known if known is not None and known < leader_epoch else None)


class KnownIncarnations:
    """All incarnations of logs but the first, and their leader epochs. It does not change once it is made.

    It is caught up *after* the runs were read: an incarnation is recorded before its first run. That the index was cut
    is recorded after the cut, so it counts once the runs were read *after* that: with the next catch-up. Until then the
    log :meth:`is_uncut`, and its runs may be of an earlier incarnation.
    """

    def __init__(self) -> None:
        self._incarnations: dict[ClusterPartition, list[Incarnation]] = {}
        self._uncut: set[ClusterPartition] = set()
        self._uncut_now: set[ClusterPartition] = set()
        self._epochs: dict[ClusterPartition, tuple[datetime, str, int]] = {}
        self._epoch_ends: dict[ClusterPartition, list[tuple[str, EpochEnd]]] = {}
        self._version: int | None = None

    def of(self, log: ClusterPartition) -> Sequence[Incarnation]:
        """Return the incarnations of *log* but the first, in the order they were noticed."""
        return self._incarnations.get(log, ())

    def is_uncut(self, log: ClusterPartition) -> bool:
        """Return whether the runs that were read may be from before the last cut of *log*."""
        return log in self._uncut

    def caught_up(self, tables: TableStore) -> KnownIncarnations:
        """Return the state by the table now, for runs that were read since the last time."""
        rows, version = tables.rows_since(LOG_INCARNATIONS, self._version)
        if version == self._version and self._uncut == self._uncut_now:
            return self
        found = KnownIncarnations()
        found._incarnations = {log: list(each) for log, each in self._incarnations.items()}
        found._uncut, found._uncut_now = set(self._uncut_now), set(self._uncut_now)
        found._epochs, found._version = dict(self._epochs), version
        found._epoch_ends = {log: list(ends) for log, ends in self._epoch_ends.items()}
        found._take_in(rows)
        return found

    def _take_in(self, rows: pa.Table) -> None:
        for log, incarnation in incarnations_of(rows):
            known = self._incarnations.setdefault(log, [])
            if incarnation not in known:  # rows may come again
                known.append(incarnation)
                known.sort(key=lambda each: each.noticed_ms)
                self._uncut.add(log)
        for row in sorted(rows.to_pylist(), key=lambda row: row["noticed_at"]):
            log, reason = log_of(row), row["reason"]
            if reason in _BEGINNINGS:
                self._uncut_now.add(log)
            elif reason == READ_AGAIN:
                self._uncut_now.discard(log)
            if row["leader_epoch"] is None:
                continue
            now = (row["noticed_at"], row["topic_id"], row["leader_epoch"])
            _, topic_id, epoch = before = self._epochs.get(log, now)
            self._epochs[log] = max(now, before)
            if reason in (ELECTED, TRUNCATED):
                known_epoch = epoch if topic_id == row["topic_id"] else None
                end = end_of_epoch(row["leader_epoch"], row["begins_at"], known_epoch)
                self._epoch_ends.setdefault(log, []).append((row["topic_id"], end))

    def epoch_ends(self, log: ClusterPartition) -> list[EpochEnd]:
        """Return the ends of earlier leaders' records, of the present incarnation of the topic."""
        _, now, _ = self._epochs.get(log, (None, "", 0))
        return [end for topic_id, end in self._epoch_ends.get(log, ()) if topic_id == now]

    def leader_epoch(self, log: ClusterPartition) -> tuple[str, int] | None:
        """Return topic id and leader epoch under which *log* was last checked; None: unknown."""
        known = self._epochs.get(log)
        return known[1:] if known is not None else None


class NamedEpochs:
    """The highest committed offset by log and leader epoch: *rows* with ``LOG``, leader_epoch and committed_offset."""

    schema = pa.schema([OFFSET_COMMITS.arrow_schema.field(name) for name in (*LOG, "leader_epoch", "committed_offset")])

    def __init__(self, rows: pa.Table) -> None:
        by_log: dict[ClusterPartition, dict[int, int]] = {}
        for row in rows.to_pylist():
            offsets, epoch = by_log.setdefault(log_of(row), {}), row["leader_epoch"]
            offsets[epoch] = max(row["committed_offset"], offsets.get(epoch, 0))
        self._epochs = {log: sorted(offsets) for log, offsets in by_log.items()}
        self._highest = {
            log: list(accumulate((by_log[log][epoch] for epoch in epochs), max)) for log, epochs in self._epochs.items()
        }

    def highest_below(self, log: ClusterPartition, epoch: int) -> int:
        """Return the highest offset that was committed in an epoch below *epoch*; 0 where none was."""
        before = bisect_left(self._epochs.get(log, ()), epoch)
        return self._highest[log][before - 1] if before else 0


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
