"""What is known now, by all who translate, commit, report or move: one owner, and the one lock that guards it.

Committed offsets of every cluster, the record index, and what was translated last. A method that reads or changes
several of them takes the lock itself; whoever needs more than one call to agree holds ``state.lock`` around them. It is
reentrant, and never held while a cluster or a table is asked.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from offset_sync.config import Config
from offset_sync.model.values import GroupPartition
from offset_sync.state.clock_offset import system_now_ms
from offset_sync.state.committed_offsets import CommitRecords, CommittedOffsets, owners
from offset_sync.state.key_index import KeyIndex, KeyRows
from offset_sync.state.last_translations import LastTranslations
from offset_sync.state.snapshot import Commits, Index
from offset_sync.state.source_memory import SourceMemory
from offset_sync.state.standing import Standing, standing_of
from offset_sync.state.unread_logs import UnreadLogs


class Recorded(NamedTuple):
    """Commit records as they were taken in, shape (records,): the row of each one's key, and which are our own."""

    rows: KeyRows
    is_own: NDArray[np.bool_]

    @property
    def genuine(self) -> KeyRows:
        """The rows that somebody else than we committed."""
        return self.rows[~self.is_own]


class SyncState:
    """What is known of the clusters and groups of *config*; *index* brings the lock, for it grows in its own time."""

    def __init__(self, config: Config, index: Index, now_ms: Callable[[], int] = system_now_ms) -> None:
        self.index, self.lock, self.now_ms = index, index.lock, now_ms
        self.offsets = CommittedOffsets(list(config.clusters))
        self.keys = KeyIndex(self.offsets, config.is_group_included, lambda topic: config.strategy_of(topic) != "off")
        sources = {source: SourceMemory() for source, _ in config.pairs()}
        self.last_translations = {pair: LastTranslations(sources[pair[0]]) for pair in config.pairs()}
        self.unread = UnreadLogs()

    def is_foreign(self, alias: str, keys: Sequence[GroupPartition], records: CommitRecords) -> NDArray[np.bool_]:
        """Return which of commit records that are to be taken in are not known as our own; *keys* are theirs."""
        with self.lock:
            return self.offsets.clusters[alias].is_foreign(records.with_key(self.offsets.ids(keys)))

    def standing(self, alias: str, key: GroupPartition) -> Standing:
        """Return what the cluster *alias* holds of *key*, as far as its log was read."""
        with self.lock:
            (row,) = self.offsets.ids([key]).tolist()
            return standing_of(self.offsets.clusters[alias], row)

    def record(
        self,
        alias: str,
        keys: Sequence[GroupPartition],
        records: CommitRecords,
        is_copied: NDArray[np.bool_] | None = None,
    ) -> Recorded:
        """Take in commit records of the cluster *alias*, in log order; *keys* are theirs, one each.

        *is_copied*: a mirror's group sync has written them, and not a consumer.
        """
        with self.lock:
            rows = self.offsets.ids(keys)
            is_own = self.offsets.clusters[alias].record(records.with_key(rows), self.now_ms(), is_copied)
            self.unread.note_brought(alias, rows[~is_own & ~records.is_tombstone & (records.offset >= 0)])
            return Recorded(rows, is_own)

    def last(self, source: str, target: str) -> LastTranslations:
        """Return what was translated last from *source* to *target*, with a row for every key."""
        with self.lock:
            last = self.last_translations[source, target]
            last.columns.fit(len(self.offsets.keys))
            return last

    def all_rows(self) -> KeyRows:
        """Return the rows of all keys."""
        return np.arange(len(self.offsets.keys))

    def owned_rows(self, target: str, rows: KeyRows) -> dict[str, KeyRows]:
        """Return, per source, those of *rows* that it owns and that are translated to *target*, by partition."""
        with self.lock:
            return owned_rows(
                self.offsets, self.keys, [pair[0] for pair in self.last_translations if pair[1] == target], rows
            )

    def rows_of(self, source: str, rows: KeyRows) -> KeyRows:
        """Return those of *rows* that *source* owns and has not deleted, by partition."""
        with self.lock:
            return self.keys.by_partition(rows[is_owned(self.offsets, self.keys, source, rows)])

    def counts(self, source: str, rows: KeyRows) -> NDArray[np.bool_]:
        """Return which of *rows* are :meth:`rows_of` *source*."""
        with self.lock:
            return is_owned(self.offsets, self.keys, source, rows)

    def owned(self) -> Iterator[tuple[str, str, KeyRows]]:
        """Yield every pair with the rows that count for it: those that its source owns."""
        for target in dict.fromkeys(target for _, target in self.last_translations):
            for source, rows in self.owned_rows(target, self.all_rows()).items():
                yield source, target, rows

    def commits(self, source: str, rows: KeyRows) -> Commits:
        """Return the genuine commits of *rows* at *source*."""
        with self.lock:
            return commits_of(self.offsets, source, rows)

    def may_count(self, source: str, target: str, commits: Commits) -> NDArray[np.bool_]:
        """Return which of the *commits* of their owner *source* are not in doubt, see :class:`UnreadLogs`."""
        with self.lock:
            is_answered = self.last(source, target).is_answered(commits.key, commits.offset, commits.at_ms)
            return self.unread.may_count(source, commits.key, is_answered)


def owned_rows(offsets: CommittedOffsets, keys: KeyIndex, sources: Sequence[str], rows: KeyRows) -> dict[str, KeyRows]:
    """Return, for each of *sources*, those of *rows* that it owns and has not deleted, sorted by partition."""
    rows = rows[keys.is_included(rows)]
    owner = owners(offsets.column("genuine_at_ms", rows))
    return {
        alias: keys.by_partition(rows[(owner == number) & ~cluster.columns["is_deleted"][rows]])
        for number, (alias, cluster) in enumerate(offsets.clusters.items())
        if alias in sources
    }


def is_owned(offsets: CommittedOffsets, keys: KeyIndex, source: str, rows: KeyRows) -> NDArray[np.bool_]:
    """Return which of *rows* the cluster *source* owns and has not deleted; what is not to be synced nobody owns."""
    owner = owners(offsets.column("genuine_at_ms", rows))
    is_deleted: NDArray[np.bool_] = offsets.clusters[source].columns["is_deleted"][rows]
    is_owned: NDArray[np.bool_] = keys.is_included(rows) & (owner == list(offsets.clusters).index(source)) & ~is_deleted
    return is_owned


def commits_of(offsets: CommittedOffsets, source: str, rows: KeyRows) -> Commits:
    """Return the genuine commits of *rows* at *source*."""
    columns = offsets.clusters[source].columns
    return Commits(rows, columns["genuine_offset"][rows], columns["genuine_at_ms"][rows])
