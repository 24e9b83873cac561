"""The present state of all clusters' commits, one row per (group, topic, partition).

Level, not edge: whatever arrives in whatever order and however often, the state afterwards is the same, and what has
to be done follows from the state alone.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from offset_sync.model.values import ABSENT, GroupPartition
from offset_sync.state.clock_offset import ClockOffset
from offset_sync.state.column_store import ColumnStore
from offset_sync.state.own_writes import NOTHING, OwnWrites
from offset_sync.translate.index.runs import Int64s

OWN_TAG = "offset-sync"
"""Metadata of a commit that we wrote, unless the source's own was carried over (``sync.metadata: carry``)."""

NO_OWNER = -1
_BELIEVED = ("actual_offset", "actual_at_ms", "actual_is_own", "is_deleted")
"""What an acknowledged write says before the log does."""


@dataclass(frozen=True)
class CommitRecords:
    """Commit records of one cluster in log order; all of shape (records,). The offset of a tombstone is ABSENT.

    *leader_epoch* is that of the last record that was read before the commit, ABSENT where the client did not say so.
    """

    key: NDArray[np.intp]
    offset: Int64s
    is_tombstone: NDArray[np.bool_]
    committed_at_ms: Int64s
    log_offset: Int64s
    metadata: Sequence[str]
    topic_id: Sequence[str | None]
    leader_epoch: Int64s

    def with_key(self, key: NDArray[np.intp]) -> CommitRecords:
        """Return the same records, of these keys."""
        return replace(self, key=key)


class ClusterOffsets:
    """What one cluster's coordinator holds, as far as its log was read, and which of it is genuine."""

    def __init__(self) -> None:
        self.columns = ColumnStore(
            {
                "log_offset": ABSENT,
                "actual_offset": ABSENT,
                "actual_at_ms": ABSENT,
                "actual_is_own": False,
                "own_offset": NOTHING,
                "genuine_offset": ABSENT,
                "genuine_at_ms": ABSENT,
                "genuine_epoch": ABSENT,
                "rewound_at_ms": ABSENT,
                "is_deleted": False,
            }
        )
        self.own_writes = OwnWrites()
        self.clock_offset = ClockOffset()
        self.metadata: dict[int, str] = {}
        self.topic_id: dict[int, str] = {}
        self._read_last: dict[int, list[int]] = {}  # what was known before we wrote, until the log brings more

    def begin(self, key: NDArray[np.intp], offset: Int64s, now_ms: int) -> None:
        """Note what is about to be sent *now_ms* by our clock, as :meth:`OwnWrites.begin` does by the cluster's.

        Ours may be ahead of it: what we have written would look like somebody's earlier commit. Errs to ours.
        """
        self.own_writes.begin(key, offset, now_ms - self.clock_offset.at_most(now_ms))

    def record(
        self, records: CommitRecords, now_ms: int | None = None, is_copied: NDArray[np.bool_] | None = None
    ) -> NDArray[np.bool_]:
        """Take in *records*, read *now_ms*, and return which are our own; records read before change nothing.

        A record is our own by its tag, or because we have written that value there. Those that *is_copied* says a
        mirror's group sync has written count as if they had our tag: nobody has read a record by them.
        """
        if now_ms is not None and len(records.key):
            self.clock_offset.observe(int(records.committed_at_ms.max()), now_ms)
        is_new = records.log_offset > self.columns["log_offset"][records.key]
        is_tagged = _is_tagged(records) if is_copied is None else _is_tagged(records) | is_copied
        is_own = self._own(records, is_new, is_tagged)
        self._take_in(records, is_own, is_new)
        return is_own

    def record_told(self, records: CommitRecords, is_own: NDArray[np.bool_]) -> None:
        """Take in *records* of which another process has told which are our own, as offset_commits has them."""
        last = self._take_in(records, is_own, records.log_offset > self.columns["log_offset"][records.key])
        is_untagged = is_own[last] & ~_is_tagged(records)[last]
        self.columns["own_offset"][records.key[last]] = np.where(is_untagged, records.offset[last], NOTHING)

    def _take_in(
        self, records: CommitRecords, is_own: NDArray[np.bool_], is_new: NDArray[np.bool_]
    ) -> NDArray[np.intp]:
        """Bring every column up to date; return the row of each key's last new record."""
        column = self.columns
        last = _last_of_each(records.key, is_new)
        key = records.key[last]
        if self._read_last:
            for row in key.tolist():
                self._read_last.pop(row, None)
        column["log_offset"][key] = records.log_offset[last]
        column["actual_offset"][key] = np.maximum(records.offset[last], ABSENT)
        column["actual_at_ms"][key] = records.committed_at_ms[last]
        column["actual_is_own"][key] = is_own[last]
        column["is_deleted"][key] = records.is_tombstone[last]
        self._record_genuine(records, is_new & ~is_own & ~records.is_tombstone & (records.offset >= 0))
        return last

    def is_foreign(self, records: CommitRecords) -> NDArray[np.bool_]:
        """Return which of *records* have neither our tag nor a value that we have written and not read back."""
        is_known = self.own_writes.holds(records.key, records.offset)
        is_known |= (records.offset >= 0) & (records.offset == self.columns["own_offset"][records.key])
        is_ours: NDArray[np.bool_] = (is_known & (records.leader_epoch == ABSENT)) | _is_tagged(records)
        return ~is_ours

    def _own(
        self, records: CommitRecords, is_new: NDArray[np.bool_], is_tagged: NDArray[np.bool_]
    ) -> NDArray[np.bool_]:
        is_own, has_epoch = is_tagged.copy(), records.leader_epoch != ABSENT  # which no write of ours has
        # What was read before is judged by what stands: we have forgotten what we wrote before that.
        is_standing = (records.offset >= 0) & (records.offset == self.columns["own_offset"][records.key])
        is_own |= ~is_new & is_standing & ~has_epoch
        is_own[is_new] = self.own_writes.confirm(
            records.key[is_new],
            records.offset[is_new],
            records.committed_at_ms[is_new],
            (records.is_tombstone | (has_epoch & ~is_tagged))[is_new],
            is_own[is_new],
            self.columns["own_offset"],
        )
        return is_own

    def _record_genuine(self, records: CommitRecords, chosen: NDArray[np.bool_]) -> None:
        column = self.columns
        rows = np.flatnonzero(chosen)
        if len(rows) == 0:
            return
        rows = rows[np.argsort(records.key[rows], kind="stable")]
        key, offset = records.key[rows], records.offset[rows]
        is_same = np.concatenate(([False], key[1:] == key[:-1]))
        before = np.where(is_same, np.concatenate(([ABSENT], offset[:-1])), column["genuine_offset"][key])
        went_back = offset < before
        # The newest: clocks of coordinators differ, so the last in the log may be older.
        np.maximum.at(column["rewound_at_ms"], key[went_back], records.committed_at_ms[rows[went_back]])
        for row in rows[np.concatenate((~is_same[1:], [True]))].tolist():
            key_id = int(records.key[row])
            column["genuine_offset"][key_id] = records.offset[row]
            column["genuine_at_ms"][key_id] = records.committed_at_ms[row]
            column["genuine_epoch"][key_id] = records.leader_epoch[row]
            keep_text(self.metadata, key_id, records.metadata[row])
            keep_text(self.topic_id, key_id, records.topic_id[row])

    def acknowledge(self, key: NDArray[np.intp], offset: Int64s, at_ms: int, is_tagged: NDArray[np.bool_]) -> None:
        """Note what the cluster acknowledged as written by us; what carries our tag needs no other mark."""
        if len(key) == 0:
            return
        self.own_writes.acknowledge(key[~is_tagged], offset[~is_tagged])
        column = self.columns
        for row, *before in zip(key.tolist(), *(column[name][key].tolist() for name in _BELIEVED), strict=True):
            self._read_last.setdefault(row, before)
        column["actual_offset"][key] = offset
        column["actual_at_ms"][key] = at_ms
        column["actual_is_own"][key] = True
        column["is_deleted"][key] = False

    def forget_acknowledged(self) -> None:
        """Believe what was read last of what was written since: it may be gone. What is not the log will bring."""
        for key, before in self._read_last.items():
            for name, value in zip(_BELIEVED, before, strict=True):
                self.columns[name][key] = value
        self._read_last.clear()

    def deleted(self, key: NDArray[np.intp]) -> None:
        """Note that the cluster has deleted what we had written."""
        self.columns["actual_offset"][key] = ABSENT
        self.columns["actual_is_own"][key] = False
        self.columns["is_deleted"][key] = True


class CommittedOffsets:
    """Keys of all clusters, and each cluster's commits by key."""

    def __init__(self, clusters: Sequence[str]) -> None:
        self.clusters = {alias: ClusterOffsets() for alias in clusters}
        self.keys: list[GroupPartition] = []
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


def owners(genuine_at_ms: Int64s) -> NDArray[np.intp]:
    """Return the cluster that owns each key, the one with the newest genuine commit; :data:`NO_OWNER` without any.

    *genuine_at_ms* has shape (clusters, keys), negative where a cluster has no genuine commit. Equal times go to the
    first cluster: an order that all drivers share.
    """
    if genuine_at_ms.shape[1] == 0:
        return np.empty(0, np.intp)
    owner: NDArray[np.intp] = genuine_at_ms.argmax(axis=0)
    owner[genuine_at_ms.max(axis=0) < 0] = NO_OWNER
    return owner


def _is_tagged(records: CommitRecords) -> NDArray[np.bool_]:
    return np.fromiter((text == OWN_TAG for text in records.metadata), np.bool_, len(records.key))


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
