"""Incarnations of logs, kept up with ``log_incarnations``, and which rows of the index are still true by them.

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
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import replace
from datetime import datetime, timedelta, timezone
from itertools import accumulate
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from offset_sync.model.values import CONSUMER_OFFSETS, ClusterPartition, EpochEnd, TopicPartition
from offset_sync.state.index_rows import int64s
from offset_sync.tables.catalog import (
    ARRIVED,
    BEGINS,
    ELECTED,
    LOG_INCARNATIONS,
    OFFSET_COMMITS,
    RECREATED,
    TRUNCATED,
)
from offset_sync.tables.store import TableStore
from offset_sync.translate.index.incarnations import (
    Incarnation,
    kept_lengths,
    lost_copies,
    split_by_incarnation,
    true_below,
)
from offset_sync.translate.index.origin_positions import NO_LIMIT
from offset_sync.translate.index.runs import Int64s, Runs

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


def to_datetime(milliseconds: int) -> datetime:
    """Return a time in ms since the epoch as a datetime, in UTC."""
    return datetime.fromtimestamp(milliseconds / 1000, timezone.utc)


def epoch_ms(at: datetime) -> int:
    """Return a time in milliseconds since the epoch."""
    return round(at.timestamp() * 1000)


class Lost(NamedTuple):
    """What a log has lost: *copies* of other logs' records, and how many of its own."""

    copies: Runs
    own_records: int


class KnownIncarnations:
    """All incarnations of logs but the first; *code* gives codes to origins. It does not change once it is made.

    A log that was never truncated, of a topic that was never recreated, costs only its leader epoch.
    """

    def __init__(self, code: Callable[[str], int]) -> None:
        self._code = code
        self._arrived: dict[ClusterPartition, list[tuple[int, int]]] = {}
        self._incarnations: dict[TopicPartition, dict[ClusterPartition, list[Incarnation]]] = {}
        self._epochs: dict[ClusterPartition, tuple[datetime, str, int]] = {}
        self._epoch_ends: dict[ClusterPartition, list[tuple[str, EpochEnd]]] = {}
        self._version: int | None = None

    def of(self, log: ClusterPartition) -> Sequence[Incarnation]:
        """Return the incarnations of *log* but the first, in the order they were noticed."""
        return self._incarnations.get(log.topic_partition, {}).get(log, ()) if self._incarnations else ()

    def caught_up(self, tables: TableStore) -> tuple[KnownIncarnations, set[TopicPartition]]:
        """Return the state by the table now, and the partitions of which a log has an incarnation not known here."""
        rows, version = tables.rows_since(LOG_INCARNATIONS, self._version)
        if version == self._version:
            return self, set()
        found = KnownIncarnations(self._code)
        found._arrived = {log: list(arrived) for log, arrived in self._arrived.items()}
        found._incarnations = {
            partition: {log: list(incarnations) for log, incarnations in logs.items()}
            for partition, logs in self._incarnations.items()
        }
        found._epochs, found._version = dict(self._epochs), version
        found._epoch_ends = {log: list(ends) for log, ends in self._epoch_ends.items()}
        return found, found._take_in(rows)

    def _take_in(self, rows: pa.Table) -> set[TopicPartition]:
        for row in sorted(rows.to_pylist(), key=lambda row: row["noticed_at"]):
            if row["reason"] == ARRIVED:
                arrived = self._arrived.setdefault(log_of(row), [])
                arrived.append((epoch_ms(row["noticed_at"]), row["begins_at"]))
                arrived.sort()
            if row["leader_epoch"] is None:
                continue
            log, now = log_of(row), (row["noticed_at"], row["topic_id"], row["leader_epoch"])
            _, topic_id, epoch = before = self._epochs.get(log, now)
            self._epochs[log] = max(now, before)
            if row["reason"] in (ELECTED, TRUNCATED):
                known = epoch if topic_id == row["topic_id"] else None
                end = end_of_epoch(row["leader_epoch"], row["begins_at"], known)
                self._epoch_ends.setdefault(log, []).append((row["topic_id"], end))
        return {log.topic_partition for log, incarnation in incarnations_of(rows) if self._add(log, incarnation)}

    def epoch_ends(self, log: ClusterPartition) -> list[EpochEnd]:
        """Return the ends of earlier leaders' records, of the present incarnation of the topic."""
        _, now, _ = self._epochs.get(log, (None, "", 0))
        return [end for topic_id, end in self._epoch_ends.get(log, ()) if topic_id == now]

    def leader_epochs(self) -> dict[ClusterPartition, tuple[str, int]]:
        """Return topic id and leader epoch under which each log was last checked."""
        return {log: (topic_id, epoch) for log, (_, topic_id, epoch) in self._epochs.items()}

    def overtaken(self, rows: pa.Table) -> set[TopicPartition]:
        """Return the partitions of *rows* of an earlier incarnation, which were in flight to the table."""
        if not self._incarnations or rows.num_rows == 0:
            return set()
        first = rows.group_by(LOG, use_threads=False).aggregate([("indexed_at", "min")])
        first_ms = (int64s(first.column("indexed_at_min")) // 1000).tolist()
        places = zip(*(first.column(name).to_pylist() for name in LOG), first_ms, strict=True)
        indexed_ms = {ClusterPartition(*place): at_ms for *place, at_ms in places}
        return {
            log.topic_partition
            for log, at_ms in indexed_ms.items()
            if (incarnations := self.of(log)) and at_ms <= incarnations[-1].noticed_ms
        }

    def concern(self, log: ClusterPartition) -> bool:
        """Return whether any log of the partition has several incarnations: else every row is true as it is."""
        return log.topic_partition in self._incarnations

    def live(self, log: ClusterPartition, rows: Runs, edges: Runs) -> tuple[Int64s, Runs]:
        """Return how much of each of a log's *rows* is still true (-1: nothing), and these runs, origins kept apart.

        *edges* are :meth:`known_to_the_cut` of all rows of the log.
        """
        incarnations, kept = self.of(log), rows.length
        if incarnations:
            kept = kept_lengths(rows.start, rows.length, rows.indexed_at_ms, incarnations)
            rows = replace(rows, length=kept).take(kept >= 0).followed_by(edges)
            rows = rows.take(np.lexsort((-rows.origin_start, rows.length, rows.start)))
        return kept, self._by_incarnation(log, rows)

    def known_to_the_cut(self, log: ClusterPartition, rows: Runs) -> dict[int, int]:
        """Return where incarnations of *log* begin, and since when all below is known to be read, in ms, or else -1.

        Offsets below without a row then have no record. The first row from there on that the cut removed decides:
        unless it marks the beginning of a micro-batch, the one before has read at least so far. Errs to -1. Without
        such a row the beginning is left out: a later row may decide.
        """
        incarnations, found = self.of(log), dict[int, int]()
        limit = true_below(rows.indexed_at_ms, incarnations)
        for begins_at in {incarnation.begins_at for incarnation in incarnations} - {0}:
            beyond = np.flatnonzero((limit == begins_at) & (rows.start >= begins_at))
            if len(beyond):
                is_known = rows.length[beyond[0]] or rows.origin_start[beyond[0]] != BEGINS
                found[begins_at] = int(rows.indexed_at_ms[beyond[0]]) if is_known else -1
        return found

    def lost(self, log: ClusterPartition, rows: Runs) -> Lost:
        """Return what a log has lost of its *rows* by truncations."""
        lost = lost_copies(rows, self.of(log))
        is_own = lost.origin == self._code(log.cluster)
        return Lost(self._by_incarnation(log, lost.take(~is_own)), int(lost.length[is_own].sum()))

    def _by_incarnation(self, log: ClusterPartition, rows: Runs) -> Runs:
        for origin in self._incarnations.get(log.topic_partition, {}):
            is_native = rows.origin_start == rows.start if origin == log else np.zeros(len(rows), np.bool_)
            is_copy = (rows.origin == self._code(origin.cluster)) & (rows.length > 0) & ~is_native
            if is_copy.any():
                told_apart = rows.take(~is_copy).followed_by(self._told_apart(log, rows.take(is_copy), origin))
                rows = told_apart.take(np.lexsort((told_apart.length, told_apart.start)))
        return rows

    def _told_apart(self, log: ClusterPartition, copies: Runs, origin: ClusterPartition) -> Runs:
        incarnations, arrived = self.of(origin), self._arrived.get(log, [])
        # ARRIVED rows are written a while after the last incarnation was noticed, so any later one will do.
        first = [
            next((each for each in arrived if each[0] > incarnation.noticed_ms), (0, NO_LIMIT))
            for incarnation in incarnations
        ]
        # If this log was truncated after that, everything above the cut has come after that too.
        settled_from = [
            min([end, *(own.begins_at for own in self.of(log) if own.noticed_ms >= at_ms and end < NO_LIMIT)])
            for at_ms, end in first
        ]
        copies, former = split_by_incarnation(copies, incarnations, settled_from)
        codes = copies.origin.copy()
        for number in np.unique(former[former < 0]).tolist():
            codes[former == number] = self._former_code(origin, -1 - number)
        return replace(copies, origin=codes)

    def _former_code(self, origin: ClusterPartition, ended_by: int) -> int:
        return self._code("\0".join(("", *map(str, origin), str(ended_by))))  # no alias has a NUL

    def _add(self, log: ClusterPartition, incarnation: Incarnation) -> bool:
        known = self._incarnations.setdefault(log.topic_partition, {}).setdefault(log, [])
        if incarnation in known:
            return False
        known.append(incarnation)
        known.sort(key=lambda each: each.noticed_ms)
        return True


def to_edges(known: Mapping[int, int]) -> Runs:
    """Return the result of :meth:`KnownIncarnations.known_to_the_cut` as rows of length 0."""
    start = np.array([place for place, at_ms in known.items() if at_ms >= 0], np.int64)
    at_ms = np.array([at_ms for at_ms in known.values() if at_ms >= 0], np.int64)
    return Runs.of(start, np.zeros(len(start)), np.zeros(len(start)), start, at_ms)


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
