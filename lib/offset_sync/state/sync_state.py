"""The present state, shared by all that translates, commits, reports or moves: one owner, and one lock that guards it.

Committed offsets of every cluster, the record index, and the last translations. A method that reads or changes several
of them takes the lock itself; a caller that needs several calls to agree holds ``state.lock`` around them. It is
reentrant, and never held during requests to a cluster or reads of a table.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from offset_sync.config import Config
from offset_sync.config.duration import to_ms
from offset_sync.model.errors import ClusterError
from offset_sync.model.values import ABSENT, ClusterPartition, GroupPartition, State, TopicPartition
from offset_sync.state.cluster_clock import Read, system_now_ms
from offset_sync.state.cluster_metadata import Snapshot
from offset_sync.state.committed_offsets import CommitRecords, CommittedOffsets
from offset_sync.state.group_homes import NO_HOME, UNCERTAIN_MS, GroupHomes, Homes, UnreadLogs
from offset_sync.state.key_index import KeyIndex, KeyRows
from offset_sync.state.last_translations import LastTranslations, SourceMemory
from offset_sync.state.record_index import RecordIndex
from offset_sync.translate.index.runs import Int64s

_TOPIC_IS_GONE = (int(State.TOPIC_MISSING), int(State.TOPIC_RECREATED))


class Recorded(NamedTuple):
    """Commit records as they were taken in, shape (records,): the row of each one's key, and which are our own."""

    rows: KeyRows
    is_own: NDArray[np.bool_]

    @property
    def genuine(self) -> KeyRows:
        """The rows that are not our own."""
        return self.rows[~self.is_own]


class Side(NamedTuple):
    """A cluster where a group is active, what it holds there (ABSENT: nothing), and when it was so by our clock."""

    cluster: str
    offset: int
    at_ms: int


def frontier(index: RecordIndex, cluster: str, place: TopicPartition) -> int:
    """Return up to where a partition's log is indexed; 0 where nothing is."""
    log = index.log(cluster, place.topic, place.partition)
    return log.frontier if log is not None else 0


def frontiers(
    index: RecordIndex, clusters: Iterable[str], partitions: Collection[TopicPartition]
) -> dict[ClusterPartition, int]:
    """Return how far the index has read; take it before querying the clusters for their log ends."""
    return {ClusterPartition(c, *each): frontier(index, c, each) for c in clusters for each in partitions}


def known_end(index: RecordIndex, clusters: Iterable[str], log: ClusterPartition) -> int:
    """Return the first offset above all records of a *log* that are indexed, there or as copies at *clusters*."""
    end = frontier(index, log.cluster, log.topic_partition)
    for alias in clusters:
        copies = index.log(alias, log.topic, log.partition)
        if copies is not None and alias != log.cluster:
            end = max(end, copies.reach_of(index.code(log.cluster)))
    return end


@dataclass(frozen=True)
class Commits:
    """The owner's commits that count at one target, sorted by partition; shape (keys,)."""

    key: KeyRows
    offset: Int64s
    at_ms: Int64s

    def take(self, rows: slice | NDArray[np.bool_]) -> Commits:
        """Return the chosen commits."""
        return Commits(self.key[rows], self.offset[rows], self.at_ms[rows])


class SyncState:
    """The state of the clusters and groups of *config*; the lock is that of *index*, which grows in other threads."""

    def __init__(self, config: Config, index: RecordIndex, now_ms: Callable[[], int] = system_now_ms) -> None:
        self.index, self.lock, self.now_ms = index, index.lock, now_ms
        self.offsets = CommittedOffsets(list(config.clusters), config.polled())
        self.keys = KeyIndex(self.offsets, config.is_group_included, config.is_topic_included)
        self.homes = GroupHomes(list(config.clusters), self.keys, to_ms(config.sync.home_silence))
        sources = {source: SourceMemory() for source, _ in config.pairs()}
        self.last_translations = {pair: LastTranslations(sources[pair[0]]) for pair in config.pairs()}
        self._gone_with_topic = set[tuple[str, int]]()  # sources and keys whose positions were deleted with their topic
        self.unread = UnreadLogs()
        self.before_write: Callable[[str], object] = lambda target: None
        """Called before offsets are written to a target, where they are pending already; raises OSError: none is."""
        self.before_foreign: Callable[[], object] = lambda: None
        """Called before a commit is recorded that may be one of ``cutover``: not known to be ours, not at the home."""

    def made_ms(self, alias: str, timestamp_ms: Int64s, read: Read) -> Int64s:
        """Return when records of the log of commits of *alias* were written by our clock, and measure its clock."""
        with self.lock:
            return self.offsets.clusters[alias].clock.made_ms(timestamp_ms, read)

    def record(self, alias: str, keys: Sequence[GroupPartition], records: CommitRecords) -> Recorded:
        """Take in commit records of the cluster *alias*, in log order; *keys* are theirs, one each."""
        with self.lock:
            rows, own_writes = self.offsets.ids(keys), self.offsets.clusters[alias].own_writes
            home, here = self.homes_of(rows).home, list(self.offsets.clusters).index(alias)
            is_foreign = (home != here) & (home != NO_HOME) & ~own_writes.is_pending(rows, records.offset)
        # Of two of one value a pending write is one.
        is_twice = np.unique([rows, records.offset], axis=1).shape[1] < len(rows)
        if is_twice or (is_foreign & records.is_position).any():
            self.before_foreign()
        with self.lock:
            records = records.with_key(rows)
            is_own, is_new = self.offsets.clusters[alias].record(records)
            # Records that were read before were noted then; for some of them the author is no longer known.
            is_genuine = is_new & ~is_own & records.is_position
            self._note_commits(alias, records, is_genuine)
            self.unread.note_brought(alias, records.key[is_genuine])
            return Recorded(rows, is_own)

    def record_known(self, alias: str, records: CommitRecords, is_own: NDArray[np.bool_]) -> None:
        """Take in commit records, with the rows of their keys, where another process has recorded which are our own."""
        with self.lock:
            self.offsets.clusters[alias].record_known(records, is_own)
            self._note_commits(alias, records, ~is_own & records.is_position)

    def _note_commits(self, alias: str, records: CommitRecords, chosen: NDArray[np.bool_]) -> None:
        since_ms = self.offsets.clusters[alias].since_ms(records)
        self.homes.note_commits(alias, records.key[chosen], records.made_ms[chosen], since_ms[chosen])

    def last(self, source: str, target: str) -> LastTranslations:
        """Return what was translated last from *source* to *target*, with a row for every key."""
        with self.lock:
            last = self.last_translations[source, target]
            last.columns.fit(len(self.offsets.keys))
            return last

    def all_rows(self) -> KeyRows:
        """Return the rows of all keys."""
        return np.arange(len(self.offsets.keys))

    def homes_of(self, rows: KeyRows) -> Homes:
        """Return the home of each of *rows* now, as the number of its cluster."""
        with self.lock:
            uncertain_ms = np.array([each.clock.uncertain_ms for each in self.offsets.clusters.values()])
            return self.homes.of(rows, self.now_ms(), uncertain_ms)

    def owned_rows(self, target: str, rows: KeyRows) -> dict[str, KeyRows]:
        """Return, per source, those of *rows* that are at home there and are translated to *target*, by partition."""
        with self.lock:
            home = self.homes_of(rows).home
            sources = [pair[0] for pair in self.last_translations if pair[1] == target]
            return {
                alias: self.keys.by_partition(rows[self._counts(alias, rows, home == number)])
                for number, alias in enumerate(self.offsets.clusters)
                if alias in sources
            }

    def rows_of(self, source: str, rows: KeyRows) -> KeyRows:
        """Return those of *rows* that are at home at *source* and have a position there, by partition."""
        with self.lock:
            return self.keys.by_partition(rows[self.counts(source, rows)])

    def counts(self, source: str, rows: KeyRows) -> NDArray[np.bool_]:
        """Return which of *rows* are :meth:`rows_of` *source*."""
        with self.lock:
            number = list(self.offsets.clusters).index(source)
            return self._counts(source, rows, self.homes_of(rows).home == number)

    def _counts(self, source: str, rows: KeyRows, is_at_home: NDArray[np.bool_]) -> NDArray[np.bool_]:
        offset, _ = self.offsets.clusters[source].position(rows)
        counts: NDArray[np.bool_] = self.keys.is_included(rows) & is_at_home & (offset >= 0)
        return counts

    def owned(self) -> Iterator[tuple[str, str, KeyRows]]:
        """Yield every pair with the rows that count for it: those at home at its source that were not deleted there."""
        for target in dict.fromkeys(target for _, target in self.last_translations):
            for source, rows in self.owned_rows(target, self.all_rows()).items():
                yield source, target, rows[~self.offsets.clusters[source].columns["is_deleted"][rows]]

    def commits(self, source: str, rows: KeyRows) -> Commits:
        """Return the positions of *rows* at their home *source*."""
        with self.lock:
            return Commits(rows, *self.offsets.clusters[source].position(rows))

    def is_kept(self, source: str, target: str, commits: Commits, snapshot: Snapshot) -> NDArray[np.bool_]:
        """Return which *commits* of their home *source* were not deleted there, or only together with their topic.

        Only a deletion at the home counts: not that its topic is gone, nor that it expired elsewhere. A silent source
        is assumed to be as at the last answer.
        """
        said = snapshot.metadata[source]
        with self.lock:
            is_deleted = self.offsets.clusters[source].columns["is_deleted"][commits.key]
            is_kept: NDArray[np.bool_] = ~is_deleted
            answered = self.last(source, target).columns["state"]
            for row in np.flatnonzero(is_deleted).tolist():
                key = int(commits.key[row])
                topic = self.offsets.keys[key].topic
                if isinstance(said, ClusterError):
                    is_kept[row] = answered[key] in _TOPIC_IS_GONE or (source, key) in self._gone_with_topic
                elif topic not in said.refused:
                    known = self.offsets.clusters[source].topic_id.get(key)
                    there = said.topics.get(topic)
                    is_kept[row] = there is None or bool(known and known != there.topic_id)
                    self._gone_with_topic.discard((source, key))
                if is_kept[row]:  # an answer given while the source is silent does not say so any more
                    self._gone_with_topic.add((source, key))
            return is_kept

    def has_own(self, alias: str, rows: KeyRows) -> NDArray[np.bool_]:
        """Return which groups' positions at a cluster are their own newest commits: only these have read lists.

        An offset that we or a move wrote may be above unread records, at the log start or past a hole, and the group
        may have gone back elsewhere since.
        """
        with self.lock:
            is_ours = self.offsets.clusters[alias].columns["actual_is_own"][rows]
            has_own: NDArray[np.bool_] = ~(
                is_ours | self._is_of_move(alias, rows) | self._is_back_elsewhere(alias, rows)
            )
            return has_own

    def _is_of_move(self, alias: str, rows: KeyRows) -> NDArray[np.bool_]:
        """Return which groups may not have committed at a cluster since they were moved there."""
        moved_ms = self.homes.moved_ms(rows, alias)
        said_ms = self.offsets.clusters[alias].earliest_ms("genuine", rows)
        found: NDArray[np.bool_] = (moved_ms != ABSENT) & (said_ms <= moved_ms + UNCERTAIN_MS)
        return found & ~self.homes.is_decided(rows)

    def _is_back_elsewhere(self, alias: str, rows: KeyRows) -> NDArray[np.bool_]:
        """Return which groups may have gone back at another cluster since their last commit at *alias*.

        Their list would have records that they are to read again. A group has one home for all partitions of a topic,
        so for a single one another cluster may have the newer commit. A polled commit may be as old as the poll before.
        """
        clusters = self.offsets.clusters
        said_ms, clock = clusters[alias].earliest_ms("genuine", rows), clusters[alias].clock
        found = np.zeros(len(rows), np.bool_)
        for other, each in clusters.items():
            rewound_ms = each.columns["rewound_ms"][rows]
            near_ms = max(UNCERTAIN_MS, clock.uncertain_ms + each.clock.uncertain_ms)
            found |= (rewound_ms != ABSENT) & (rewound_ms + near_ms >= said_ms) & (other != alias)
        return found

    def contests(self, rows: KeyRows) -> dict[int, list[Side]]:
        """Return, for those of *rows* where two clusters are active at once, these clusters, the last one first."""
        with self.lock:
            contested = rows[self.homes_of(rows).is_contested]
            active_ms, found = self.homes.active_ms(contested), dict[int, list[Side]]()
            for number, row in enumerate(contested.tolist()):
                sides = [
                    Side(alias, int(commits.columns["actual_offset"][row]), int(at_ms))
                    for (alias, commits), at_ms in zip(
                        self.offsets.clusters.items(), active_ms[:, number].tolist(), strict=True
                    )
                    if at_ms != ABSENT
                ]
                found[row] = sorted(sides, key=lambda side: -side.at_ms)[:2]
            return found

    def shown(self, rows: KeyRows) -> dict[str, Int64s]:
        """Return what is published of *rows* beside their answers, as :func:`clusters_text` reads it."""
        with self.lock:
            contests, aliases = self.contests(rows), list(self.offsets.clusters)
            codes = {row: sum(1 << 2 * aliases.index(s.cluster) for s in sides) for row, sides in contests.items()}
            contest = np.array([codes.get(row, 0) for row in rows.tolist()], np.int64)
            return {"members": self.homes.members(rows), "contest": contest}

    def note_read(self, aliases: Collection[str]) -> list[str]:
        """Note which logs of commits were read to their ends since the start; return those that were not before."""
        with self.lock:
            return self.unread.note_read(aliases)

    def may_count(self, source: str, target: str, commits: Commits) -> NDArray[np.bool_]:
        """Return which of the *commits* of their home *source* are not in doubt, see :class:`UnreadLogs`."""
        with self.lock:
            is_answered = self.last(source, target).is_answered(commits.key, commits.offset, commits.at_ms)
            return self.unread.may_count(source, commits.key, is_answered)
