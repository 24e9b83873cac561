"""The author of a commit: ours is a record of the target's log that matches a write of ours, by value and in order.

Metadata proves nothing: any tool copies it. A write is *pending* from before it is sent, because the log may bring the
record before the broker's answer arrives, until one record has matched it::

    we write      100  120                               both pending
    the log has        100  120  120  100                ours, ours, the group's own, the group's own

Each write matches at most one record: a second record of the same value is the group's own, which was started there.
Records of one key come in log order, so a match ends every write before it too: compaction may have removed those
records. Errs to the group's own, which at worst costs a cluster the home for a while and is never ahead.
"""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
from numpy.typing import NDArray

from offset_sync.translate.index.runs import Int64s

_LONGEST = 64
"""So many writes of one key are remembered until they are read back."""


class OwnWrites:
    """Writes to one cluster that were sent and not read back, by key and in their order."""

    def __init__(self) -> None:
        self._pending: dict[int, list[int]] = {}
        self._inherited: set[int] = set()
        self._failed: dict[int, int] = {}  # the last write of a key, where it failed

    def begin(self, key: NDArray[np.intp], offset: Int64s) -> None:
        """Note what is about to be sent; shapes (writes,).

        A write that failed and is tried again is one: the target was read in between, and did not hold it.
        """
        for key_id, value in zip(key.tolist(), offset.tolist(), strict=True):
            pending = self._pending.setdefault(key_id, [])
            if self._failed.pop(key_id, None) == value and pending[-1:] == [value]:
                continue
            pending.append(value)
            del pending[:-_LONGEST]

    def fail(self, key: NDArray[np.intp], offset: Int64s) -> None:
        """Note which writes failed: they may have reached the log all the same; shapes (writes,)."""
        self._failed.update(zip(key.tolist(), offset.tolist(), strict=True))

    def abort(self, key: NDArray[np.intp], offset: Int64s) -> None:
        """Note which writes came to nothing; shapes (writes,).

        Only the last of equal values goes: an earlier one was written and may still be on its way back.
        """
        for key_id, value in zip(key.tolist(), offset.tolist(), strict=True):
            pending = self._pending.get(key_id, [])
            if value in pending:
                del pending[len(pending) - 1 - pending[::-1].index(value)]
            if not pending:
                self._pending.pop(key_id, None)

    def inherit(self, key: int, offsets: Iterable[int]) -> None:
        """Note what the driver before has written, in its order, and may not have read back."""
        values = [each for each in offsets if each >= 0]
        if values:
            self._pending[key] = [*values, *self._pending.get(key, [])][-_LONGEST:]
            self._inherited.add(key)

    def drop_inherited(self) -> None:
        """Forget inherited writes that the log has not brought up to its end: their records were compacted away."""
        for key in self._inherited:
            self._pending.pop(key, None)
        self._inherited.clear()

    def is_pending(self, key: NDArray[np.intp], offset: Int64s) -> NDArray[np.bool_]:
        """Return which writes the log has not brought yet; shapes (writes,)."""
        pending, pairs = self._pending, zip(key.tolist(), offset.tolist(), strict=True)
        return np.fromiter((value in pending.get(key_id, ()) for key_id, value in pairs), np.bool_, len(key))

    def claim(self, key: NDArray[np.intp], offset: Int64s) -> NDArray[np.bool_]:
        """Return which records are ours; they come in log order and never twice, shapes (records,)."""
        is_own = np.zeros(len(key), np.bool_)
        if not self._pending:
            return is_own
        pending = self._pending
        for row, (key_id, value) in enumerate(zip(key.tolist(), offset.tolist(), strict=True)):
            if key_id in pending:
                is_own[row] = self._matches(key_id, value)
        return is_own

    def _matches(self, key_id: int, value: int) -> bool:
        pending = self._pending[key_id]
        if value not in pending:
            return False
        del pending[: pending.index(value) + 1]
        if not pending:
            del self._pending[key_id]
            self._inherited.discard(key_id)
        return True
