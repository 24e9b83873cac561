"""What we wrote at one cluster, key by key: how our own commits are told from genuine ones where our tag is missing.

The source's metadata wins over our tag, so a commit of ours may look like any other. It is *pending* from the moment
it is sent, because the log may bring it before the cluster's answer is heard, until it is read back; then it *stands*
until somebody else commits::

    we write      100  120                               both pending
    the log says       100  100  120  120  150  100      the last one is genuine: a group reset to where it began
                       ours                genuine

A commit that was made before ours, as far as clocks can tell, is not ours either: a log that could not be read for a
while may bring such a one first.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from offset_sync.model.values import ABSENT, CLOCKS_APART_MS, GroupPartition
from offset_sync.translate.index.runs import Int64s

NOTHING = ABSENT
_LONGEST = 64
"""So many writes of one key are remembered until they are read back; compaction may keep the earlier ones from it."""


class Intent(NamedTuple):
    """A value that is about to be written, or may have been."""

    target: str
    group_id: str
    topic: str
    partition: int
    offset: int

    @property
    def key(self) -> GroupPartition:
        """Whose offset it is."""
        return GroupPartition(self.group_id, self.topic, self.partition)


class OwnWrites:
    """Writes that were sent and have not been read back, by key and in their order."""

    def __init__(self) -> None:
        self._pending: dict[int, list[int]] = {}
        self._unacknowledged: set[tuple[int, int]] = set()
        self._begun_ms: dict[tuple[int, int], int] = {}

    def begin(self, key: NDArray[np.intp], offset: Int64s, now_ms: int = 0) -> None:
        """Note what is about to be sent *now_ms* by the cluster's clock (0: nobody knows); shapes (writes,).

        Nothing of these keys may be under way already.
        """
        for write in zip(key.tolist(), offset.tolist(), strict=True):
            self._unacknowledged.add(write)
            self._begun_ms.setdefault(write, now_ms)
            self._add(*write)

    def abort(self, key: NDArray[np.intp], offset: Int64s) -> None:
        """Note which writes came to nothing; shapes (writes,).

        Only the last of equal values goes: an earlier one was written and may still be on its way back.
        """
        self.mark_unknown(key, offset)
        for key_id, unwritten in zip(key.tolist(), offset.tolist(), strict=True):
            pending = self._pending.get(key_id, [])
            if unwritten in pending:
                del pending[len(pending) - 1 - pending[::-1].index(unwritten)]
            if unwritten not in pending:
                self._begun_ms.pop((key_id, unwritten), None)
            if not pending:
                self._pending.pop(key_id, None)

    def mark_unknown(self, key: NDArray[np.intp], offset: Int64s) -> None:
        """Note what was begun and may be written or not: nobody will ever say; shapes (writes,)."""
        self._unacknowledged.difference_update(zip(key.tolist(), offset.tolist(), strict=True))

    def acknowledge(self, key: NDArray[np.intp], offset: Int64s) -> None:
        """Note what the cluster acknowledged, whether it was begun or not; shapes (writes,)."""
        for key_id, written in zip(key.tolist(), offset.tolist(), strict=True):
            if (key_id, written) in self._unacknowledged:
                self._unacknowledged.remove((key_id, written))
            else:
                self._add(key_id, written)

    def _add(self, key_id: int, written: int) -> None:
        pending = self._pending.setdefault(key_id, [])
        pending.append(written)
        for forgotten in pending[:-_LONGEST]:
            self._begun_ms.pop((key_id, forgotten), None)
        del pending[:-_LONGEST]

    def confirm(
        self,
        key: NDArray[np.intp],
        offset: Int64s,
        at_ms: Int64s,
        is_not_ours: NDArray[np.bool_],
        is_tagged: NDArray[np.bool_],
        confirmed: Int64s,
    ) -> NDArray[np.bool_]:
        """Return which records are ours; they come in log order and never twice, shapes (records,).

        *is_not_ours*: what no write of ours leaves, tombstones and commits that name a leader epoch.
        *confirmed*, shape (keys,), is our value that stands without a tag, :data:`NOTHING` where there is none, and is
        brought up to date. A commit that repeats it cannot be told from ours and counts as such. One that repeats a
        *tagged* value has lost the tag, so somebody else made it: a group that was started there. Errs to genuine,
        which at worst makes a cluster the owner of a position that we brought there, and that is never ahead.
        """
        is_own: NDArray[np.bool_] = is_tagged.copy()
        ours = self._pending.keys() | set(key[is_tagged].tolist())
        is_known = np.fromiter((key_id in ours for key_id in key.tolist()), np.bool_, len(key))
        for row in np.flatnonzero(is_known | (confirmed[key] != NOTHING)).tolist():
            key_id, value = int(key[row]), int(offset[row])
            if is_not_ours[row] or value < 0:
                confirmed[key_id] = NOTHING
            else:
                is_own[row] |= self._is_pending(key_id, value, int(at_ms[row])) or value == confirmed[key_id]
                confirmed[key_id] = value if is_own[row] and not is_tagged[row] else NOTHING
        return is_own

    def holds(self, key: NDArray[np.intp], offset: Int64s) -> NDArray[np.bool_]:
        """Return which of these values are pending; shapes (records,). Nothing is taken for read back by that."""
        pending = self._pending
        pairs = zip(key.tolist(), offset.tolist(), strict=True)
        return np.fromiter((value in pending.get(key_id, ()) for key_id, value in pairs), np.bool_, len(key))

    def _is_pending(self, key_id: int, value: int, at_ms: int) -> bool:
        """Return whether we wrote *value*; it and what we wrote before it are pending no longer."""
        pending = self._pending.get(key_id, [])
        if value not in pending or at_ms < self._begun_ms.get((key_id, value), 0) - CLOCKS_APART_MS:
            return False
        done = pending.index(value) + 1
        for each in pending[:done]:
            self._begun_ms.pop((key_id, each), None)
        del pending[:done]
        if not pending:
            del self._pending[key_id]
        return True
