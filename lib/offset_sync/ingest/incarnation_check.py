"""Are the logs still those that were indexed? A topic made anew or a log that was cut has other records since.

Asked after a micro-batch was read and before it is written down, of its own logs and of those that its copies come
from. So whatever is indexed of a life was read after that life was known, and nobody's memory has to be trusted later:
what was noticed stands in ``log_incarnations``.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Collection, Iterator, Mapping
from datetime import datetime
from typing import Protocol

from offset_sync.ingest.checkpoint import Offsets
from offset_sync.ingest.incarnation_log import IncarnationLog, KnownLog, Life
from offset_sync.kafka.requests import LogEnds
from offset_sync.model.errors import ClusterError
from offset_sync.model.values import ClusterPartition, EpochChange, ToldEnd, TopicPartition
from offset_sync.state.cluster_metadata import ClusterMetadata, named
from offset_sync.state.incarnations import epoch_ms
from offset_sync.tables.catalog import ARRIVED, COPIED, ELECTED, READ_AGAIN, RECREATED, TRUNCATED, WRITTEN
from offset_sync.tables.store import TableStore


class EpochEnds(Protocol):
    """A cluster that is asked where leader epochs end, see :class:`offset_sync.kafka.leader_epochs.LeaderEpochs`."""

    def ends(self, epochs: Mapping[TopicPartition, EpochChange]) -> Mapping[TopicPartition, ToldEnd]:
        """Return the first offset after the records of each epoch; raise ClusterError where one is not answered."""


ALL_LOGS_SECONDS = 60.0
"""So often also logs are asked about of which nothing new was read: their end may be the same by chance."""

Said = Mapping[str, "ClusterMetadata | ClusterError"]
"""What clusters say of their logs, by alias, or why they say nothing."""


def ends_of_epochs(
    epochs: Mapping[str, EpochEnds], asked: Mapping[ClusterPartition, KnownLog | None], said: Said
) -> dict[ClusterPartition, ToldEnd | None]:
    """Return where the epoch ends that was known of each log, None where none was; *epochs* are asked by alias.

    Raises ClusterError where a leader that has just said where its log ends does not answer that: whatever was read
    meanwhile would be of a life that nobody knows. Errs to waiting.
    """
    found: dict[ClusterPartition, ToldEnd | None] = dict.fromkeys(asked)
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
    """What a cluster said is older than what another query has noticed since: it has to be asked again."""


class IncarnationCheck:
    """Compares logs with what *tables* know; *epochs* are asked by alias. Queries that ask about the same share it.

    *late_ms* is how long a copy may be on its way. *reaches* says, by log, the first offset above all records of it
    that anybody has indexed, there or as copies. It reads a table, so it is called at most once, when a log's leader
    is another than it was. Logs of topics, or *of_commits*: two jobs look after them, by two clocks.
    """

    def __init__(
        self,
        tables: TableStore,
        epochs: Mapping[str, EpochEnds],
        reaches: Callable[[], Mapping[ClusterPartition, int]],
        late_ms: int = 0,
        of_commits: bool = False,
    ) -> None:
        self._log, self._epochs = IncarnationLog(tables, of_commits=of_commits), epochs
        self._reaches, self._late_ms, self._of_commits = reaches, late_ms, of_commits
        self._lock = threading.RLock()
        self._reach: dict[ClusterPartition, int] = {}
        self._elected: dict[ClusterPartition, dict[int, int]] = {}
        self._is_read = False

    def moment(self) -> int:
        """Return a number to be taken before the clusters are asked: what was noticed since is newer than they say."""
        with self._lock:
            return self._log.moment

    def note(self, said: Said, read_to: Mapping[ClusterPartition, int], moment: int) -> datetime:
        """Write down which of the logs that *said* tells of have other records than before, and from where on.

        Return the time that rows bear which were read before the clusters were asked, at *moment*: it lies after every
        life that is known by now and before any that will be. *read_to* is how far logs were indexed before. A cluster
        that does not answer is left out: its logs are taken for the same. Where nobody can tell from where on the
        records differ, it is the beginning of the log. Raises OvertakenError where somebody else has noticed more.
        """
        with self._lock:
            self._refuse_overtaken(said, moment)
            asked = {log: self._log.known(log) for log, *_ in _logs(said) if self._is_questionable(log, said, read_to)}
        # Not under the lock, for that is of all clusters, and a leader may be silent.
        ends_of_epoch = ends_of_epochs(self._epochs, asked, said)
        with self._lock:
            self._refuse_overtaken(said, moment)
            lives, reach = list[Life](), dict[ClusterPartition, int]()
            for log, topic_id, ends in _logs(said):
                # Another query may have noted the new leader, and that its log reaches beyond the old one's end.
                is_older = log in asked and _epoch_of(asked[log]) != _epoch_of(self._log.known(log))
                if is_older or (log not in asked and self._is_questionable(log, said, read_to)):
                    raise OvertakenError(log.cluster, f"{log!r} was looked at by another query meanwhile")
                now = Life(log, topic_id, ends.leader_epoch)
                found, reach[log] = self._lives(now, ends, read_to, ends_of_epoch)
                lives += found
            begun = [life.log for life in lives if life.is_new]
            if begun and self._log.is_behind(begun):
                raise OvertakenError(begun[0].cluster, f"{begun[0]!r} was looked at by another driver meanwhile")
            self._log.write(lives)
            # Not before: how far a log reaches under a new leader says nothing as long as the old one is known.
            self._reach |= reach
            for life in lives:
                if life.reason == ELECTED and life.leader_epoch is not None:
                    self._elected.setdefault(life.log, {})[life.leader_epoch] = life.begins_at or 0
            return self._log.now()

    def _refuse_overtaken(self, said: Said, moment: int) -> None:
        for log, _, _ in _logs(said):
            if self._log.noticed_since(log, moment):
                raise OvertakenError(log.cluster, f"{log!r} has begun another life while it was asked about")

    def leader_epochs(self, alias: str, partitions: Collection[TopicPartition]) -> dict[TopicPartition, int | None]:
        """Return the leader epochs of those *partitions* of a cluster that were ever asked about, as last heard."""
        with self._lock:
            found = {each: self._log.known(ClusterPartition(alias, *each)) for each in partitions}
            return {each: known.leader_epoch for each, known in found.items() if known is not None}

    def elected_since(self, alias: str, epochs: Mapping[TopicPartition, int]) -> dict[TopicPartition, int]:
        """Return where the records end of the leaders that logs of a cluster had in *epochs*, where others came since.

        What was read from there on between may be of a leader that has lost it, though nothing older is lost.
        """
        with self._lock:
            elected = {each: self._elected.get(ClusterPartition(alias, *each), {}) for each in epochs}
            ends = {each: [end for now, end in elected[each].items() if now > epochs[each]] for each in epochs}
        return {each: min(of_log) for each, of_log in ends.items() if of_log}

    def begin_after(self, at_ms: int) -> None:
        """Have lives begin after *at_ms*: rows were written then, by somebody whose clock may have been ahead."""
        with self._lock:
            self._log.begin_after(at_ms)

    def begun_ms(self, partition: TopicPartition) -> int:
        """Return when the last life of any log of *partition* after its first was noticed, in ms; 0: there is none."""
        with self._lock:
            self._log.known(ClusterPartition("", *partition))  # the table is read once
            return self._log.begun_ms.get(partition, 0)

    def note_doubt(self, log: ClusterPartition, frontier: int, word: str) -> None:
        """Write down, as one of ``catalog.DOUBTS``, whether copies in *log* can be told by contents, at *frontier*."""
        with self._lock:
            self._log.write([Life(log, self._log.topic_id(log), None, frontier, word)])

    def to_read_again(self, alias: str) -> dict[TopicPartition, int]:
        """Return from where on logs of a cluster have to be read again, because they have other records since."""
        with self._lock:
            return self._log.unread(alias)

    def note_arrived(self, alias: str, ends: Mapping[TopicPartition, LogEnds], asked_at: datetime) -> None:
        """Write down where logs of a cluster ended when no copy of an earlier life was on its way any more."""
        with self._lock:
            found = []
            for partition, each in ends.items():
                log, begun_ms = ClusterPartition(alias, *partition), self._log.begun_ms.get(partition)
                if begun_ms is None or self._log.arrived_ms.get(log, 0) > begun_ms:
                    continue
                if epoch_ms(asked_at) > begun_ms + self._late_ms:
                    found.append(Life(log, self._log.topic_id(log), None, each.log_end, ARRIVED))
            self._log.write(found)

    def note_written(self, ends: Mapping[ClusterPartition, int]) -> None:
        """Write down, once in each of their lives, which copies have records that their originals lack.

        *ends* says where the original ended. It is not forgotten when the original grows beyond.
        """
        with self._lock:
            self._log.write(self._told(ends, WRITTEN, self._log.written))

    def note_copied(self, logs: Collection[ClusterPartition]) -> None:
        """Write down, once in each of their lives, which *logs* are indexed as copies whatever their headers say."""
        with self._lock:
            self._log.write(self._told(dict.fromkeys(logs, 0), COPIED, self._log.copied))

    def _told(
        self, places: Mapping[ClusterPartition, int], reason: str, told: Collection[ClusterPartition]
    ) -> list[Life]:
        ids = {log: self._log.topic_id(log) for log in places}  # which reads the table first
        return [Life(log, topic_id, None, places[log], reason) for log, topic_id in ids.items() if log not in told]

    def was_read_again(self, alias: str, partitions: Collection[TopicPartition]) -> None:
        """Write down that *partitions* of a cluster were read again, as :meth:`to_read_again` says."""
        with self._lock:
            logs = [ClusterPartition(alias, *each) for each in sorted(partitions)]
            known = [(log, each) for log in logs if (each := self._log.known(log)) is not None]
            self._log.write([Life(log, each.topic_id, each.leader_epoch, None, READ_AGAIN) for log, each in known])

    def _is_questionable(self, log: ClusterPartition, said: Said, read_to: Mapping[ClusterPartition, int]) -> bool:
        """Return whether a log is under another leader, or shorter than it was: its leader has to be asked why."""
        before, metadata = self._log.known(log), said[log.cluster]
        assert isinstance(metadata, ClusterMetadata)
        ends = metadata.ends[log.topic_partition]
        if before is None:
            # A log of commits that is shorter than an earlier version, which wrote down no lives, has read it was cut.
            return self._of_commits and ends.log_end < read_to.get(log, 0)
        if before.topic_id != metadata.topics[log.topic].topic_id:
            return False
        return before.leader_epoch != ends.leader_epoch or ends.log_end < self._reach_of(log, read_to)

    def _lives(
        self,
        now: Life,
        ends: LogEnds,
        read_to: Mapping[ClusterPartition, int],
        ends_of_epoch: Mapping[ClusterPartition, ToldEnd | None],
    ) -> tuple[list[Life], int]:
        """Return what is to be written down of a log, and how far it is known to reach then.

        *now* is its life where it has begun no other one.
        """
        log, found = now.log, list[Life]()
        before, is_asked = self._log.known(log), log in ends_of_epoch
        if before is not None and before.topic_id != now.topic_id:
            return [now._replace(begins_at=0, reason=RECREATED)], ends.log_end
        if is_asked:
            reach, told = self._reach_of(log, read_to, is_exact=True), ends_of_epoch[log]
            if (ends.log_end if told is None else told.end) < reach:
                begins_at = told.end if told is not None and told.is_certain else 0
                return [now._replace(begins_at=begins_at, reason=TRUNCATED)], ends.log_end
            if before is None or before.leader_epoch != ends.leader_epoch:
                found.append(now if told is None else now._replace(begins_at=told.end, reason=ELECTED))
        elif before is None:
            found.append(now)
        return found, max(ends.log_end, self._reach.get(log, 0))

    def _reach_of(
        self, log: ClusterPartition, read_to: Mapping[ClusterPartition, int], *, is_exact: bool = False
    ) -> int:
        if is_exact and not self._is_read:
            for each, reach in self._reaches().items():
                self._reach[each] = max(reach, self._reach.get(each, 0))
            self._is_read = True
        return max(self._reach.get(log, 0), read_to.get(log, 0))


def _epoch_of(known: KnownLog | None) -> int | None:
    return known.leader_epoch if known is not None else None


def _logs(said: Said) -> Iterator[tuple[ClusterPartition, str, LogEnds]]:
    """Yield every log that a cluster tells of, with its topic's id and its ends."""
    for cluster, metadata in said.items():
        if isinstance(metadata, ClusterMetadata):
            for partition, ends in metadata.ends.items():
                yield ClusterPartition(cluster, *partition), metadata.topics[partition.topic].topic_id, ends


class DueLogs:
    """Which logs of the cluster *alias* are asked about after a micro-batch, for each costs a part of a request.

    *incarnations* know what has to be read again.
    """

    def __init__(self, alias: str, incarnations: IncarnationCheck) -> None:
        self._alias, self._incarnations = alias, incarnations
        self._all_due_at = 0.0

    def of(self, start: Offsets, end: Offsets) -> set[TopicPartition]:
        """Return the logs to ask about: those that were read, those to be read again, and once in a while all."""
        is_due = time.monotonic() >= self._all_due_at
        if is_due:
            self._all_due_at = time.monotonic() + ALL_LOGS_SECONDS
        is_read = set(end) if is_due else changed(start, end)
        return is_read | {each for each in self._incarnations.to_read_again(self._alias) if each in end}


def changed(start: Offsets, end: Offsets) -> set[TopicPartition]:
    """Return the logs of which a micro-batch reads something."""
    return {place for place, offset in end.items() if offset != start.get(place)}


def refuse_unknown(alias: str, said: ClusterMetadata, start: Offsets, end: Offsets) -> None:
    """Raise ClusterError where nobody can tell the life of a log that was read: its records may be of any.

    Logs of *alias* that were not read may be silent: of them nothing is written down. Errs to reading once more.
    """
    unknown = {each for each in changed(start, end) if each.topic in said.topics and said.log_end(each) is None}
    if unknown:
        raise ClusterError(alias, f"no answer about {named(unknown)}, which was read: it is read once more")
