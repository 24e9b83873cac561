"""The present state of all clusters' commits, one row per (group, topic, partition).

Level-triggered: records may arrive in any order and repeatedly; the work to do follows from the state alone.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from offset_sync.decode.consumer_offsets import coordinator_hashes
from offset_sync.model.values import ABSENT, POLLED, GroupPartition
from offset_sync.state.cluster_clock import ClusterClock
from offset_sync.state.own_writes import Held, OwnWrites
from offset_sync.translate.index.columns import ColumnStore
from offset_sync.translate.index.runs import Int64s

NEVER_MS = int(np.iinfo(np.int64).max)  # of a group's first commit where there is none
_NOTHING: Mapping[str, Any] = {
    "log_partition": ABSENT,
    "log_offset": ABSENT,
    "actual_offset": ABSENT,
    "actual_at_ms": ABSENT,
    "actual_made_ms": ABSENT,
    "actual_epoch": ABSENT,
    "actual_is_own": False,
    "last_offset": ABSENT,
    "genuine_offset": ABSENT,
    "genuine_at_ms": ABSENT,
    "genuine_made_ms": ABSENT,
    "genuine_epoch": ABSENT,
    "rewound_ms": ABSENT,
    "captured_ms": ABSENT,
    "first_ms": NEVER_MS,
    "is_deleted": False,
}
"""The columns of a key, and what they say of one of which nothing is known."""
_BELIEVED = ("actual_offset", "actual_at_ms", "actual_made_ms", "actual_epoch", "actual_is_own", "is_deleted")
"""The columns that an acknowledged write sets before the log brings its record."""


@dataclass(frozen=True)
class CommitRecords:
    """Commit records of one cluster in log order; all of shape (records,). The offset of a tombstone is ABSENT.

    *leader_epoch* is that of the last record that was read before the commit, ABSENT where the client sent none.
    *committed_at_ms* is by the cluster's clock, *made_ms* the same by ours. Of polled commits they are the times of the
    poll before and of the poll that found them, by our clock.
    """

    key: NDArray[np.intp]
    offset: Int64s
    is_tombstone: NDArray[np.bool_]
    committed_at_ms: Int64s
    made_ms: Int64s
    log_partition: Int64s
    log_offset: Int64s
    topic_id: Sequence[str | None]
    leader_epoch: Int64s

    def with_key(self, key: NDArray[np.intp]) -> CommitRecords:
        """Return the same records, of these keys."""
        return replace(self, key=key)

    def take(self, rows: NDArray[np.intp]) -> CommitRecords:
        """Return these records in this order."""
        arrays = {each.name: getattr(self, each.name) for each in fields(self)}
        topic_id = arrays.pop("topic_id")
        taken: dict[str, Any] = {name: values[rows] for name, values in arrays.items()}
        return CommitRecords(**taken, topic_id=[topic_id[row] for row in rows.tolist()])

    @property
    def is_position(self) -> NDArray[np.bool_]:
        """Which of them are positions: tombstones and negative offsets are not."""
        found: NDArray[np.bool_] = ~self.is_tombstone & (self.offset >= 0)
        return found


class TakenIn(NamedTuple):
    """Which records are our own, and which are new; shape (records,)."""

    is_own: NDArray[np.bool_]
    is_new: NDArray[np.bool_]


class ClusterOffsets:
    """What one cluster's coordinators hold, as far as its log was read, and which of it the groups have committed.

    *actual* is the last record of a key, ours or not, *genuine* the last that the group itself committed.
    *last_offset* is that of the last position record, ours or not. *partitions* is the partition count of
    ``__consumer_offsets``, 0 where it is unknown, POLLED for a cluster whose commits are only polled.
    """

    def __init__(self, keys: Sequence[GroupPartition]) -> None:
        self._keys = keys
        self.columns = ColumnStore(_NOTHING)
        self.own_writes = OwnWrites()
        self.clock = ClusterClock()
        self.partitions = 0
        self.topic_id: dict[int, str] = {}
        self._read_last: dict[int, list[Any]] = {}  # values from before our unread writes

    def record(self, records: CommitRecords) -> TakenIn:
        """Take in *records* and return which are our own; records read before change nothing."""
        order = self._order(records)
        ordered = records if order is None else records.take(order)
        is_new = self._is_newer(ordered)
        if self._read_last:  # the record of an acknowledged write comes later in the log than what was asked for
            is_new &= (ordered.log_partition >= POLLED) | ~np.isin(ordered.key, list(self._read_last))
        is_known = ~is_new | (self.is_polled & self._is_elsewhere(ordered))  # the first poll finds what the log had
        is_own: NDArray[np.bool_] = is_known & self.columns["actual_is_own"][ordered.key] & ordered.is_position
        is_own &= ordered.offset == self.columns["actual_offset"][ordered.key]
        is_own |= self._claim(ordered, is_new | self._is_elsewhere(ordered))
        self._take_in(ordered, is_own, is_new)
        if order is None:
            return TakenIn(is_own, is_new)
        found = np.empty((2, len(order)), np.bool_)
        found[:, order] = is_own, is_new
        return TakenIn(*found)

    def record_known(self, records: CommitRecords, is_own: NDArray[np.bool_]) -> None:
        """Take in *records* of offset_commits, where another process has recorded which are our own."""
        order = self._order(records)
        if order is not None:
            records, is_own = records.take(order), is_own[order]
        is_new = self._is_newer(records)
        self._claim(records, is_own & (is_new | self._is_elsewhere(records)))
        self._take_in(records, is_own, is_new)

    def replay(
        self, records: CommitRecords, is_own: NDArray[np.bool_], gone_ms: Int64s, newest: NDArray[np.intp]
    ) -> None:
        """Know of the keys of *records* what these say, and nothing else; those that are gone come first.

        *gone_ms* says when a record was noticed to be gone, ABSENT: it exists. *newest* ranks the records of a key as
        they were written. A tombstone that is last again, because later commits are gone, is no deletion.
        """
        column, is_gone = self.columns, gone_ms != ABSENT
        for name, value in _NOTHING.items():
            column[name][records.key] = value
        for row in np.unique(records.key).tolist():
            self.topic_id.pop(row, None)
            self._read_last.pop(row, None)
        self._take_in(records, is_own, is_gone & ~(is_own & records.is_position))  # of what we wrote nothing is left
        gone = records.key[is_gone]
        self.forget_read(gone)
        column["actual_epoch"][gone], column["actual_is_own"][gone] = ABSENT, False
        column["actual_at_ms"][gone] = column["actual_made_ms"][gone] = gone_ms[is_gone]
        self._take_in(records, is_own, ~is_gone)
        order = np.argsort(newest)
        last = order[_last_of_each(records.key[order], np.ones(len(order), np.bool_))]
        column["is_deleted"][records.key[last]] &= records.is_tombstone[last]

    def _claim(self, records: CommitRecords, chosen: NDArray[np.bool_]) -> NDArray[np.bool_]:
        is_own = np.zeros_like(chosen)
        key, column = records.key[chosen], self.columns
        is_read = column["log_offset"][key] != ABSENT  # else our last write is assumed to be there
        held = Held(np.where(is_read, column["actual_offset"][key], ABSENT), column["actual_is_own"][key])
        # The record of an acknowledged write comes later in the log.
        for row in np.flatnonzero(np.isin(key, list(self._read_last))).tolist():
            held.offset[row], *_, held.is_own[row], _ = self._read_last[int(key[row])]
        since_ms = self.since_ms(records)[chosen] - self.clock.undated_ms
        offset = np.where(records.is_position, records.offset, ABSENT)[chosen]
        is_own[chosen] = self.own_writes.claim(key, offset, since_ms, held)
        return is_own

    def _order(self, records: CommitRecords) -> NDArray[np.intp] | None:
        """Return the records' order, where a key has some in two partitions; None: as they are."""
        places = np.stack([records.key, records.log_partition])
        if not self.partitions or np.unique(places, axis=1).shape[1] == len(np.unique(records.key)):
            return None
        is_present = self._is_present(records.key, records.log_partition)
        place = place_in_log(records.log_partition, records.log_offset)
        return np.lexsort((place, partition_read(records.log_partition), is_present))

    def _is_newer(self, records: CommitRecords) -> NDArray[np.bool_]:
        """Return which *records* come after what is known of their keys.

        Within a partition by log offset. A group's coordinator partition changes when ``__consumer_offsets`` gets more:
        records in the present one are newer than all others. Where neither is the present one, by the clock.
        """
        partition, offset = self.columns["log_partition"][records.key], self.columns["log_offset"][records.key]
        place = place_in_log(records.log_partition, records.log_offset)
        is_newer: NDArray[np.bool_] = place > place_in_log(partition, offset)
        is_elsewhere = self._is_elsewhere(records)
        if is_elsewhere.any():
            is_present = self._is_present(records.key, records.log_partition)
            was_present = self._is_present(records.key, partition)
            is_later = records.made_ms > self.columns["actual_made_ms"][records.key]
            is_newer = np.where(is_elsewhere, is_present | (~was_present & is_later), is_newer)
        return is_newer

    def _is_elsewhere(self, records: CommitRecords) -> NDArray[np.bool_]:
        """Return which *records* are in another partition than their key's last; an older may be a pending write."""
        partition = self.columns["log_partition"][records.key]
        is_other = partition_read(partition) != partition_read(records.log_partition)
        found: NDArray[np.bool_] = is_other & (partition != ABSENT)
        return found

    @property
    def is_polled(self) -> bool:
        """Whether the cluster's commits are only polled."""
        return self.partitions == POLLED

    def since_ms(self, records: CommitRecords) -> Int64s:
        """Return the earliest time at which *records* may have been made, by our clock; shape (records,).

        A polled commit was made after the poll before, which did not have it.
        """
        return _since_ms(records.log_partition, records.committed_at_ms, records.made_ms)

    def earliest_ms(self, kind: str, key: NDArray[np.intp]) -> Int64s:
        """Return the earliest time at which *actual* or *genuine* commits were made, by our clock; shape (keys,)."""
        made_ms, at_ms = (self.columns[f"{kind}_{name}_ms"][key] for name in ("made", "at"))
        return _since_ms(self.columns["log_partition"][key], at_ms, made_ms)

    def has_moved(self, key: NDArray[np.intp]) -> NDArray[np.bool_]:
        """Return which groups have another coordinator than when their last record was written; shape (keys,).

        It leads another partition, and after a restart of the brokers holds nothing of what is in the former one.
        """
        partition = self.columns["log_partition"][key]
        is_known = (partition != ABSENT) & (self.partitions != 0)
        found: NDArray[np.bool_] = is_known & ~self._is_present(key, partition)
        return found

    def _is_present(self, key: NDArray[np.intp], log_partition: Int64s) -> NDArray[np.bool_]:
        """Return which partitions are those of the groups' coordinators now; none where that is unknown."""
        if not self.partitions:
            return np.zeros(len(key), np.bool_)
        if self.is_polled:
            return np.asarray(log_partition == POLLED)
        hashes = coordinator_hashes([self._keys[row].group_id for row in key.tolist()])
        found: NDArray[np.bool_] = partition_read(log_partition) == hashes % self.partitions
        return found

    def _take_in(self, records: CommitRecords, is_own: NDArray[np.bool_], is_new: NDArray[np.bool_]) -> None:
        """Update every column."""
        column = self.columns
        is_genuine = is_new & ~is_own & records.is_position
        self._note_rewinds(records, is_new, is_genuine)
        last = _last_of_each(records.key, is_new)
        key = records.key[last]
        if self._read_last:
            for row in key.tolist():
                self._read_last.pop(row, None)
        column["log_partition"][key] = records.log_partition[last]
        column["log_offset"][key] = records.log_offset[last]
        column["actual_offset"][key] = np.maximum(records.offset[last], ABSENT)
        column["actual_at_ms"][key] = records.committed_at_ms[last]
        column["actual_made_ms"][key] = records.made_ms[last]
        column["actual_epoch"][key] = records.leader_epoch[last]
        column["actual_is_own"][key] = is_own[last]
        column["is_deleted"][key] = records.is_tombstone[last]
        self._take_genuine(records, is_genuine)
        placed = _last_of_each(records.key, is_new & records.is_position)
        column["last_offset"][records.key[placed]] = records.offset[placed]
        for row in placed.tolist():
            keep_text(self.topic_id, int(records.key[row]), records.topic_id[row])

    def _take_genuine(self, records: CommitRecords, chosen: NDArray[np.bool_]) -> None:
        column, said = self.columns, _last_of_each(records.key, chosen)
        np.minimum.at(column["first_ms"], records.key[chosen], records.made_ms[chosen])
        key = records.key[said]
        column["genuine_offset"][key] = records.offset[said]
        column["genuine_at_ms"][key] = records.committed_at_ms[said]
        column["genuine_made_ms"][key] = records.made_ms[said]
        column["genuine_epoch"][key] = records.leader_epoch[said]

    def _note_rewinds(self, records: CommitRecords, is_new: NDArray[np.bool_], is_genuine: NDArray[np.bool_]) -> None:
        """Note when a group went back: it committed less than the record before, ours or not."""
        if not is_genuine.any():
            return
        rows, before = _before_each(records, is_new & records.is_position)
        said = np.where(before >= 0, records.offset[before], self.columns["last_offset"][records.key[rows]])
        went_back = rows[is_genuine[rows] & (records.offset[rows] < said)]
        np.maximum.at(self.columns["rewound_ms"], records.key[went_back], records.made_ms[went_back])

    def acknowledge(self, key: NDArray[np.intp], offset: Int64s, at_ms: int) -> None:
        """Note our acknowledged writes that are unread: after one that was read the group may have committed."""
        is_unread = self.own_writes.is_unread(key, offset)
        key, offset = key[is_unread], offset[is_unread]
        column = self.columns
        for row, *before in zip(key.tolist(), *(column[name][key].tolist() for name in _BELIEVED), strict=True):
            self._read_last.setdefault(row, before)
        column["actual_offset"][key] = offset
        column["actual_at_ms"][key] = column["actual_made_ms"][key] = at_ms
        column["actual_epoch"][key] = ABSENT
        column["actual_is_own"][key], column["is_deleted"][key] = True, False
        if self.is_polled:  # what the next poll finds instead was committed after it
            column["last_offset"][key] = offset

    def forget_acknowledged(self, at_ms: int = ABSENT) -> None:
        """Fall back *at_ms* to the last record read from the log; unacknowledged writes may be lost with it."""
        for key, before in self._read_last.items():
            for name, value in zip(_BELIEVED, before, strict=True):
                self.columns[name][key] = value
        self._read_last.clear()
        self.own_writes.doubt_all(at_ms)

    def forget_read(self, key: NDArray[np.intp]) -> None:
        """Forget the last record of *key*, which its log has lost; a group has still read what it had committed."""
        for name in ("log_partition", "log_offset", "actual_offset"):
            self.columns[name][key] = ABSENT
        for row in key.tolist():
            self._read_last.pop(row, None)

    def begin_partition(self, key: NDArray[np.intp], at_ms: Int64s) -> None:
        """Put groups at the start of partitions added *at_ms*, after they had committed others of the topic."""
        column = self.columns
        column["genuine_offset"][key], column["genuine_at_ms"][key] = 0, at_ms

    def position(self, rows: NDArray[np.intp]) -> tuple[Int64s, Int64s]:
        """Return where the groups of *rows* are if this cluster is their home, and since when by the cluster's clock.

        What its coordinator holds, ours or not; where the commit log has lost that, the group's own last commit.
        """
        column = self.columns
        is_there = column["actual_offset"][rows] >= 0
        offset = np.where(is_there, column["actual_offset"][rows], column["genuine_offset"][rows])
        return offset, np.where(is_there, column["actual_at_ms"][rows], column["genuine_at_ms"][rows])

    def position_epoch(self, rows: NDArray[np.intp]) -> Int64s:
        """Return the leader epoch that was committed with :meth:`position`, ABSENT where none was."""
        column = self.columns
        is_there = column["actual_offset"][rows] >= 0
        return np.where(is_there, column["actual_epoch"][rows], column["genuine_epoch"][rows])


class CommittedOffsets:
    """Keys of all clusters, and each cluster's commits by key."""

    def __init__(self, clusters: Sequence[str], polled: Collection[str] = ()) -> None:
        self.keys: list[GroupPartition] = []
        self.clusters = {alias: ClusterOffsets(self.keys) for alias in clusters}
        for alias in polled:
            self.clusters[alias].partitions = POLLED
        self._ids: dict[GroupPartition, int] = {}

    def ids(self, keys: Sequence[GroupPartition]) -> NDArray[np.intp]:
        """Return the row of each key; keys not met before get a new one."""
        ids = self._ids
        for key in keys:
            if key not in ids:
                ids[key] = len(self.keys)
                self.keys.append(GroupPartition(*key))
        for commits in self.clusters.values():
            commits.columns.fit(len(self.keys))
        return np.fromiter((ids[key] for key in keys), np.intp, len(keys))

    def unknown(self, keys: Iterable[GroupPartition]) -> set[GroupPartition]:
        """Return those of *keys* that have no row."""
        return {key for key in keys if key not in self._ids}

    def column(self, name: str, rows: NDArray[np.intp] | slice = slice(None)) -> NDArray[np.int64]:
        """Return a column of all clusters in these *rows*, shape (clusters, rows); without them of all keys."""
        return np.array([commits.columns[name][rows] for commits in self.clusters.values()])


def _since_ms(log_partition: Int64s, at_ms: Int64s, made_ms: Int64s) -> Int64s:
    return np.where(log_partition <= POLLED, np.minimum(at_ms, made_ms), made_ms)


def partition_read(log_partition: Int64s) -> Int64s:
    """Return the partitions of the log in which commits are, or would be that were asked for; shape (commits,)."""
    return np.where(log_partition < POLLED, POLLED - 1 - log_partition, log_partition)


def place_in_log(log_partition: Int64s, log_offset: Int64s) -> Int64s:
    """Return the places of commits among those of their partition; what was asked for follows the record before it."""
    return 2 * log_offset + (log_partition < POLLED)


def _before_each(records: CommitRecords, chosen: NDArray[np.bool_]) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Return the rows of *chosen* records by key, and for each the row before it of the same key; ABSENT: none."""
    rows = np.flatnonzero(chosen)
    rows = rows[np.argsort(records.key[rows], kind="stable")]
    before, key = np.full(len(rows), ABSENT, np.intp), records.key[rows]
    before[1:] = np.where(key[1:] == key[:-1], rows[:-1], ABSENT)
    return rows, before


def _last_of_each(key: NDArray[np.intp], chosen: NDArray[np.bool_]) -> NDArray[np.intp]:
    """Return the row of each key's last chosen record."""
    rows = np.flatnonzero(chosen)[::-1]
    _, first = np.unique(key[rows], return_index=True)
    return rows[first]


def keep_text(texts: dict[int, str], key_id: int, text: str | None) -> None:
    """Note the *text* of a key, or that it has none."""
    if text:
        texts[key_id] = text
    else:
        texts.pop(key_id, None)
