"""Detects new incarnations of logs: a recreated topic or a truncated log has other records at the same offsets.

Runs after a micro-batch was read and before it is stored, on its own logs and on the origins of its copies. So an
incarnation is in ``log_incarnations`` before its first row is indexed, and later readers need nothing else.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Collection, Iterator, Mapping
from datetime import datetime
from typing import Protocol

from offset_sync.ingest.checkpoint import Offsets
from offset_sync.ingest.incarnation_log import Cuts, IncarnationLog
from offset_sync.kafka.requests import LogEnds
from offset_sync.model.errors import ClusterError
from offset_sync.model.values import (
    CONSUMER_OFFSETS,
    ClusterPartition,
    EpochChange,
    OffsetRange,
    ReportedEnd,
    TopicPartition,
)
from offset_sync.state.cluster_clock import epoch_ms
from offset_sync.state.cluster_metadata import ClusterMetadata, named
from offset_sync.state.incarnations import IncarnationRow, KnownLog
from offset_sync.state.topic_partitions import TopicPartitions
from offset_sync.tables.catalog import ARRIVED, ELECTED, READ_AGAIN, RECREATED, TRUNCATED
from offset_sync.tables.store import TableStore


class EpochEnds(Protocol):
    """Queries a cluster for the ends of leader epochs, see :class:`offset_sync.kafka.leader_epochs.LeaderEpochs`."""

    def ends(self, epochs: Mapping[TopicPartition, EpochChange]) -> Mapping[TopicPartition, ReportedEnd]:
        """Return the first offset after the records of each epoch; raise ClusterError if one is not answered."""


ALL_LOGS_SECONDS = 60.0
"""Interval at which logs without new records are checked too: a new incarnation may have the same end by chance."""

Said = Mapping[str, "ClusterMetadata | ClusterError"]
"""The clusters' answers about their logs, by alias, or the error of one that did not answer."""
Plans = Mapping[ClusterPartition, OffsetRange]
"""From where to where micro-batches read; backwards where the log had become shorter by the time it was planned."""
_NO_PLAN = OffsetRange(0, 0)


def ends_of_epochs(
    epochs: Mapping[str, EpochEnds], asked: Mapping[ClusterPartition, KnownLog | None], said: Said
) -> dict[ClusterPartition, ReportedEnd | None]:
    """Return the end of the last known epoch of each log, None where none was known; *epochs* are queried by alias.

    Raises ClusterError if a leader that has just reported its log end does not answer: what was read meanwhile would be
    of an unknown incarnation. Errs to waiting.
    """
    found: dict[ClusterPartition, ReportedEnd | None] = dict.fromkeys(asked)
    for cluster in {log.cluster for log in asked}:
        logs, metadata = {log.topic_partition: log for log in asked if log.cluster == cluster}, said[cluster]
        assert isinstance(metadata, ClusterMetadata)
        changes = dict[TopicPartition, EpochChange]()
        for each, log in logs.items():
            now, known = metadata.ends[each].leader_epoch, asked[log]
            if known is not None and (epoch := known.leader_epoch) is not None:
                changes[each] = EpochChange(epoch, now if now is not None else epoch, known.ended)
        answers = epochs[cluster].ends(changes) if changes else {}
        found |= {logs[each]: end for each, end in answers.items()}
    return found


class OvertakenError(ClusterError):
    """A cluster's answer is older than a change that another query recorded since; query the cluster again."""


class IncarnationCheck:
    """Compares logs with their state in *tables*; *epochs* are queried by alias. Queries over the same logs share it.

    *late_ms* is how long a copy may be in flight. *reaches* returns, by log, the first offset above all its records
    that are indexed, there or as copies. It reads a table, so it is called at most once, when a leader has changed.
    *cut* removes what is of earlier incarnations from the index, and returns how far the rest of each log goes: it is
    read again from there. Other queries wait for it. Without *cut* the logs of commits are checked instead of those of
    topics: two jobs check them, by two clocks.
    """

    def __init__(
        self,
        tables: TableStore,
        epochs: Mapping[str, EpochEnds],
        reaches: Callable[[], Mapping[ClusterPartition, int]],
        late_ms: int = 0,
        cut: Callable[[Cuts], Mapping[ClusterPartition, int]] | None = None,
    ) -> None:
        self._log, self._epochs = IncarnationLog(tables, of_commits=cut is None), epochs
        self.topics = TopicPartitions(tables)
        self._reaches, self._late_ms, self._cut_index = reaches, late_ms, cut
        self._lock = threading.RLock()
        self._reach: dict[ClusterPartition, int] = {}
        self._elected: dict[ClusterPartition, dict[int, int]] = {}
        self._is_read = False

    def moment(self) -> datetime:
        """Return a time to take before querying clusters; incarnations recorded later supersede their answers."""
        with self._lock:
            return self._log.now()

    def note(self, said: Said, plans: Plans, moment: datetime) -> datetime:
        """Record which of the logs in *said* have other records than before, and from which offset on.

        Return the timestamp for rows that were read before the clusters were queried, at *moment*: later than every
        incarnation recorded so far, earlier than any recorded afterwards. *plans* are of the logs that were read. A
        cluster that does not answer is skipped: its logs count as unchanged. If it is unknown where the records begin
        to differ, it is the beginning of the log. Raises OvertakenError if another query has recorded a change.
        """
        with self._lock:
            self._cut()  # which has failed, or was not made before a crash
            self._refuse_overtaken(said, moment)
            asked = {log: self._log.known(log) for log, *_ in _logs(said) if self._is_questionable(log, said, plans)}
        # Without the lock, which all clusters share: a leader may not answer.
        ends_of_epoch = ends_of_epochs(self._epochs, asked, said)
        with self._lock:
            self._refuse_overtaken(said, moment)
            entries, reach = list[IncarnationRow](), dict[ClusterPartition, int]()
            for log, topic_id, ends in _logs(said):
                # Another query may have recorded the new leader, and that its log reaches beyond the old one's end.
                is_older = log in asked and _epoch_of(asked[log]) != _epoch_of(self._log.known(log))
                if is_older or (log not in asked and self._is_questionable(log, said, plans)):
                    raise OvertakenError(log.cluster, f"{log!r}: change recorded by another query; retrying")
                now = IncarnationRow(log, topic_id, ends.leader_epoch)
                found, reach[log] = self._rows(now, ends, plans, ends_of_epoch)
                entries += found
            entries += self._gone(said, plans)
            begun = [entry.log for entry in entries if entry.is_new]
            if begun and self._log.is_behind(begun):
                raise OvertakenError(begun[0].cluster, f"{begun[0]!r}: change recorded by another driver; retrying")
            self._log.write(entries)
            # Not before the write: a new leader's reach must not be compared with the old leader's epoch.
            self._reach |= reach
            for entry in entries:
                if entry.reason == RECREATED:  # its epochs begin anew
                    self._elected.pop(entry.log, None)
                if entry.reason == ELECTED and entry.leader_epoch is not None:
                    self._elected.setdefault(entry.log, {})[entry.leader_epoch] = entry.begins_at or 0
            self._cut()
            return self._log.now()

    def _gone(self, said: Said, plans: Plans) -> list[IncarnationRow]:
        """Return rows for logs that were read and whose topics are deleted by now: another topic may get the name."""
        read = [log for log, plan in plans.items() if plan.start != plan.end and self._log.known(log) is None]
        is_there = {(log.cluster, log.topic) for log, *_ in _logs(said)}
        unknown = [log for log in read if (log.cluster, log.topic) not in is_there and log.topic != CONSUMER_OFFSETS]
        return [IncarnationRow(log, "", None) for log in unknown]

    def _cut(self) -> None:
        """Cut the index by the incarnations by which it was not cut yet, and record that this is done.

        Until a reader has read both, nothing is translated from or to the log (``KnownIncarnations.is_uncut``).
        """
        if self._cut_index is not None and (uncut := self._log.uncut()):
            ends = self._cut_index(uncut)
            begins = {log: min(each.begins_at, ends.get(log, each.begins_at)) for log, each in uncut.items()}
            self._log.write([self._read_again(log, offset) for log, offset in begins.items()])

    def _read_again(self, log: ClusterPartition, offset: int | None) -> IncarnationRow:
        known = self._log.known(log)
        assert known is not None
        return IncarnationRow(log, known.topic_id, known.leader_epoch, offset, READ_AGAIN)

    def confirm(self, at: datetime) -> None:
        """Raise OvertakenError if an incarnation was noticed since rows were verified, whose time is *at*.

        To be called when they are entered: these would be of an earlier incarnation, and the index is cut already.
        """
        if self._log.last_begun_ms >= epoch_ms(at):
            raise OvertakenError("", "new incarnation recorded since the records were verified; retrying")

    def unsettled(self, alias: str, read: Offsets, start: Offsets) -> dict[tuple[str, str, int], int]:
        """Return from which offset on copies may be of an earlier incarnation, by origin and log, in what was *read*.

        They may while the logs of *alias* are read from a *start* below what had arrived when none was in flight any
        more: also copies of its own records that came back. Errs to such offsets.
        """
        with self._lock:
            found = dict[tuple[str, str, int], int]()
            known = self._log.table
            for partition in known.begun.keys() & read.keys():
                arrived_ms, end = known.arrived.get(ClusterPartition(alias, *partition), (0, 0))
                for cluster, each in known.begun[partition]:
                    is_settled = arrived_ms > each.noticed_ms and start.get(partition, 0) >= end
                    if not is_settled:
                        origin = (cluster, *partition)
                        found[origin] = min(each.begins_at, found.get(origin, each.begins_at))
            return found

    def _refuse_overtaken(self, said: Said, moment: datetime) -> None:
        for log, _, _ in _logs(said):
            if self._log.noticed_since(log, moment):
                raise OvertakenError(log.cluster, f"{log!r}: new incarnation recorded meanwhile; retrying")

    def leader_epochs(self, alias: str, partitions: Collection[TopicPartition]) -> dict[TopicPartition, int | None]:
        """Return the last reported leader epochs of *partitions* of a cluster, without those never checked."""
        with self._lock:
            found = {each: self._log.known(ClusterPartition(alias, *each)) for each in partitions}
            return {each: known.leader_epoch for each, known in found.items() if known is not None}

    def elected_since(self, alias: str, epochs: Mapping[TopicPartition, int]) -> dict[TopicPartition, int]:
        """Return where the records of the leaders of *epochs* end, for logs of a cluster with an election since.

        Records read from there on meanwhile may have been truncated by the election, though no older ones were.
        """
        with self._lock:
            elected = {each: self._elected.get(ClusterPartition(alias, *each), {}) for each in epochs}
            ends = {each: [end for now, end in elected[each].items() if now > epochs[each]] for each in epochs}
        return {each: min(of_log) for each, of_log in ends.items() if of_log}

    def begin_after(self, at_ms: int) -> None:
        """Date new incarnations after *at_ms*, when rows were written by a driver whose clock may have been ahead."""
        with self._lock:
            self._log.begin_after(at_ms)

    def begun_ms(self, partition: TopicPartition) -> int:
        """Return when the newest incarnation of any log of *partition* after its first was noticed, in ms; 0: none."""
        with self._lock:
            return self._log.begun_ms(partition)

    def to_read_again(self, alias: str) -> dict[TopicPartition, int]:
        """Return the offsets from which logs of a cluster must be re-read, because their records have changed."""
        with self._lock:
            return self._log.unread(alias)

    def note_arrived(self, alias: str, ends: Mapping[TopicPartition, LogEnds], asked_at: datetime) -> None:
        """Record where logs of a cluster ended when no copy of a former incarnation was in flight any more."""
        with self._lock:
            found = []
            for partition, each in ends.items():
                log, begun_ms = ClusterPartition(alias, *partition), self._log.begun_ms(partition)
                arrived_ms, _ = self._log.table.arrived.get(log, (0, 0))
                if begun_ms and arrived_ms <= begun_ms < epoch_ms(asked_at) - self._late_ms:
                    found.append(IncarnationRow(log, self._log.topic_id(log), None, each.log_end, ARRIVED))
            self._log.write(found)

    def was_read_again(self, alias: str, unread: Mapping[TopicPartition, int | None], at: datetime) -> None:
        """Record that logs of a cluster were re-read before *at*, up to the offset in *unread* (None: all).

        An incarnation that was noticed since is still to be read.
        """
        with self._lock:
            found = []
            for partition, offset in sorted(unread.items()):
                log = ClusterPartition(alias, *partition)
                known = self._log.known(log)
                if known is None or known.unread_from == offset:
                    continue
                if self._log.begun_ms(partition) < epoch_ms(at):
                    found.append(self._read_again(log, offset))
            self._log.write(found)

    def _is_questionable(self, log: ClusterPartition, said: Said, plans: Plans) -> bool:
        """Return whether a log has a new leader or is shorter than it was, so that its epochs must be queried."""
        before, metadata = self._log.known(log), said[log.cluster]
        assert isinstance(metadata, ClusterMetadata)
        ends, plan = metadata.ends[log.topic_partition], plans.get(log, _NO_PLAN)
        if before is None:
            # It was truncated if it ends below its copies; a commit log if its first plan is beyond its end.
            return self._cut_index is not None or ends.log_end < max(plan)
        if before.topic_id != metadata.topics[log.topic].topic_id:
            return False
        return before.leader_epoch != ends.leader_epoch or ends.log_end < max(self._reach.get(log, 0), *plan)

    def _rows(
        self,
        now: IncarnationRow,
        ends: LogEnds,
        plans: Plans,
        ends_of_epoch: Mapping[ClusterPartition, ReportedEnd | None],
    ) -> tuple[list[IncarnationRow], int]:
        """Return the rows to record for a log, and how far it is known to reach then.

        *now* is its row if there is no new incarnation.
        """
        log, found = now.log, list[IncarnationRow]()
        before, is_asked = self._log.known(log), log in ends_of_epoch
        if before is not None and before.topic_id != now.topic_id:
            return [now._replace(begins_at=0, reason=RECREATED)], ends.log_end
        if is_asked:
            reach, reported = self._reach_of(log, plans.get(log, _NO_PLAN), ends), ends_of_epoch[log]
            if (ends.log_end if reported is None else reported.end) < reach:
                begins_at = reported.end if reported is not None and reported.is_certain else 0
                return [now._replace(begins_at=begins_at, reason=TRUNCATED)], ends.log_end
            if before is None or before.leader_epoch != ends.leader_epoch:
                found.append(now if reported is None else now._replace(begins_at=reported.end, reason=ELECTED))
        elif before is None:
            found.append(now)
        return found, max(ends.log_end, self._reach.get(log, 0))

    def _reach_of(self, log: ClusterPartition, plan: OffsetRange, ends: LogEnds) -> int:
        """Return how far *log* has certainly reached in its present incarnation.

        The *plan* does not say it while the log has to be re-read, nor where it goes backwards under the leader that is
        known already: its offsets are of an earlier incarnation.
        """
        if not self._is_read:
            for each, indexed in self._reaches().items():
                self._reach[each] = max(indexed, self._reach.get(each, 0))
            self._is_read = True
        known, epoch = self._log.known(log), ends.leader_epoch
        if known is not None:
            is_known_leader = epoch is not None and epoch == known.leader_epoch
            if known.unread_from is not None or (plan.end < plan.start and is_known_leader):
                plan = _NO_PLAN
        return max(self._reach.get(log, 0), plan.start, plan.end if ends.log_end < plan.end else 0)


def _epoch_of(known: KnownLog | None) -> int | None:
    return known.leader_epoch if known is not None else None


def _logs(said: Said) -> Iterator[tuple[ClusterPartition, str, LogEnds]]:
    """Yield every log that a cluster reports, with its topic id and its ends."""
    for cluster, metadata in said.items():
        if isinstance(metadata, ClusterMetadata):
            for partition, ends in metadata.ends.items():
                yield ClusterPartition(cluster, *partition), metadata.topics[partition.topic].topic_id, ends


class DueLogs:
    """Chooses which logs of the cluster *alias* to check after a micro-batch, since each costs a part of a request.

    *incarnations* know which logs must be re-read.
    """

    def __init__(self, alias: str, incarnations: IncarnationCheck) -> None:
        self._alias, self._incarnations = alias, incarnations
        self._all_due_at = 0.0

    def of(self, start: Offsets, end: Offsets) -> set[TopicPartition]:
        """Return the logs to check: those that were read, those to re-read, and at intervals all."""
        is_due = time.monotonic() >= self._all_due_at
        if is_due:
            self._all_due_at = time.monotonic() + ALL_LOGS_SECONDS
        is_read = set(end) if is_due else changed(start, end)
        return is_read | {each for each in self._incarnations.to_read_again(self._alias) if each in end}


def plans_of(
    alias: str, logs: Collection[TopicPartition], start: Offsets, end: Offsets
) -> dict[ClusterPartition, OffsetRange]:
    """Return what a micro-batch of a cluster reads of *logs*."""
    ends = start | end
    return {ClusterPartition(alias, *each): OffsetRange(start.get(each, 0), ends.get(each, 0)) for each in logs}


def changed(start: Offsets, end: Offsets) -> set[TopicPartition]:
    """Return the logs from which a micro-batch reads anything."""
    return {place for place, offset in end.items() if offset != start.get(place)}


def refuse_unknown(alias: str, said: ClusterMetadata, start: Offsets, end: Offsets) -> None:
    """Raise ClusterError if the incarnation of a log that was read is unknown.

    Logs of *alias* that were not read need no answer: none of their records is stored. Errs to reading again.
    """
    unknown = {each for each in changed(start, end) if each.topic in said.topics and said.log_end(each) is None}
    if unknown:
        raise ClusterError(alias, f"no answer about {named(unknown)}, which was read: it is read once more")
