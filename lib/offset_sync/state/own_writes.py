"""The author of a commit: a record of the target's log is ours if it matches a write of ours, by value and in order.

Metadata proves nothing: any tool copies it. A write is *pending* from before it is sent, because the log may bring the
record before the broker's answer arrives, until one record has matched it::

    we write      100  120                               both pending
    the log has        100  120  120  100                ours, ours, the group's own, the group's own

Each write matches at most one record: a second record of the same value is the group's own, which was started there.
Records of one key come in log order, so a match ends every write before it too: compaction may have removed those
records. A write that was refused, or never sent, is no longer pending. One whose answer was lost is *in doubt* until
the target is read again: it was applied if the target holds its value then.

A file has the pending writes before they are sent (``noted_writes.py``), so the next driver inherits them. It has those
that were matched, too, until their records are in ``offset_commits``: else that driver reads these once more.

Errs to the group's own: at worst a cluster becomes the home of a position that we wrote there, which is never ahead.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from offset_sync.model.values import ABSENT
from offset_sync.translate.index.runs import Int64s

_LONGEST = 64
"""How many writes of one key are remembered until they are read back."""
_AROUND_MS = 60_000
"""How far the time of a record may be from that at which its write was noted.

One that is sent later, as in a wave of very many groups, counts as the group's own: errs to waiting.
"""


@dataclass
class _Write:
    offset: int
    at_ms: int
    is_in_doubt: bool = False
    is_inherited: bool = False


class OwnWrites:
    """Writes to one cluster that were sent and not read back, by key and in their order."""

    def __init__(self) -> None:
        self._pending: dict[int, list[_Write]] = {}
        self._matched: list[tuple[int, int, int]] = []

    def begin(self, key: NDArray[np.intp], offset: Int64s, at_ms: int = ABSENT) -> None:
        """Note writes that are about to be sent *at_ms*, ABSENT: by another process; shapes (writes,)."""
        for key_id, value in zip(key.tolist(), offset.tolist(), strict=True):
            pending = self._pending.setdefault(key_id, [])
            pending.append(_Write(value, at_ms))
            del pending[:-_LONGEST]

    def unrecorded(self) -> list[tuple[int, int, int]]:
        """Return key, offset and time of the writes whose records may be in no table yet, in the order of each key."""
        pending = ((key, each.offset, each.at_ms) for key, writes in self._pending.items() for each in writes)
        return [each for each in (*self._matched, *pending) if each[-1] != ABSENT]

    def note_recorded(self) -> None:
        """Note that all records that have matched are in ``offset_commits``."""
        self._matched.clear()

    def resolve(self, key: NDArray[np.intp], held: Int64s) -> None:
        """Note what the target held before the last writes were sent; shapes (keys,), ABSENT for nothing.

        A write in doubt of another value was not applied.
        """
        for key_id, value in zip(key.tolist(), held.tolist(), strict=True):
            pending = self._pending.get(key_id, [])
            self._keep(key_id, [each for each in pending if not each.is_in_doubt or each.offset == value])
            for each in pending:
                each.is_in_doubt = False

    def note_held(self, key: NDArray[np.intp], held: Int64s) -> None:
        """Note what the target held after the last write was answered, ABSENT for nothing; shapes (keys,).

        A write of another value is over: the group has committed since. One in doubt may still be applied.
        """
        for key_id, value in zip(key.tolist(), held.tolist(), strict=True):
            if key_id in self._pending:
                pending = self._pending[key_id]
                same = [each for each in pending if each.offset == value][-1:]
                self._keep(key_id, same or [each for each in pending if each.is_in_doubt])

    def doubt(self, key: NDArray[np.intp], offset: Int64s) -> None:
        """Note the last writes whose answers were lost: they may have been applied; shapes (writes,).

        A retry of a write in doubt counts as the same write.
        """
        for key_id, value in zip(key.tolist(), offset.tolist(), strict=True):
            if (number := self._last(key_id, value)) is None:
                continue  # it was read back by now
            pending = self._pending[key_id]
            if any(each.is_in_doubt and each.offset == value for each in pending[:number]):
                del pending[number]
            else:
                pending[number].is_in_doubt = True

    def abort(self, key: NDArray[np.intp], offset: Int64s) -> None:
        """Note the last writes that failed: not sent, or refused; shapes (writes,).

        Of equal values only the last is dropped: an earlier one was written and may not be read back yet.
        """
        for key_id, value in zip(key.tolist(), offset.tolist(), strict=True):
            if (number := self._last(key_id, value)) is not None:
                pending = self._pending[key_id]
                self._keep(key_id, [*pending[:number], *pending[number + 1 :]])

    def inherit(self, key: int, writes: Iterable[tuple[int, int]]) -> None:
        """Note offsets and times of writes of former drivers, in their order, that may not be read back."""
        found = [_Write(*each, is_inherited=True) for each in writes]
        if found:
            self._pending[key] = [*found, *self._pending.get(key, [])][-_LONGEST:]

    def doubt_inherited(self) -> None:
        """Note that the log has brought all that it has: what is left may be written again, as one write in doubt."""
        for writes in self._pending.values():
            for each in writes:
                each.is_in_doubt |= each.is_inherited

    def drop_inherited(self) -> None:
        """Forget inherited writes: the log and the coordinators have none, or a later one."""
        for key_id, writes in [*self._pending.items()]:
            self._keep(key_id, [each for each in writes if not each.is_inherited])

    def is_pending(self, key: NDArray[np.intp], offset: Int64s) -> NDArray[np.bool_]:
        """Return which writes are not read back yet; shapes (writes,)."""
        pairs = zip(key.tolist(), offset.tolist(), strict=True)
        return np.fromiter((self._last(*pair) is not None for pair in pairs), np.bool_, len(key))

    def claim(self, key: NDArray[np.intp], offset: Int64s, since_ms: Int64s) -> NDArray[np.bool_]:
        """Return which records are ours; they come in log order and never twice, shapes (records,).

        *since_ms* is the earliest time at which each was made, by our clock; ABSENT: unknown, as of a first poll.
        """
        is_own = np.zeros(len(key), np.bool_)
        if not self._pending:
            return is_own
        for row, (key_id, *record) in enumerate(zip(key.tolist(), offset.tolist(), since_ms.tolist(), strict=True)):
            if key_id in self._pending:
                is_own[row] = self._matches(key_id, *record)
        return is_own

    def _matches(self, key_id: int, value: int, since_ms: int) -> bool:
        pending = self._pending[key_id]
        for number, each in enumerate(pending):
            if each.is_inherited and since_ms > each.at_ms + _AROUND_MS:
                continue  # none that was never sent may explain what the group has committed since
            if each.offset == value:
                if each.is_inherited and ABSENT < since_ms < each.at_ms - _AROUND_MS:
                    return True  # it was refreshed since
                last = self._last(key_id, value) if each.is_in_doubt else None  # a retry is the same write
                end = (number if last is None else last) + 1
                self._matched += [(key_id, each.offset, each.at_ms) for each in pending[:end]]
                self._keep(key_id, pending[end:])
                return True
        return False

    def _last(self, key_id: int, value: int) -> int | None:
        pending = self._pending.get(key_id, [])
        return next((number for number in reversed(range(len(pending))) if pending[number].offset == value), None)

    def _keep(self, key_id: int, writes: list[_Write]) -> None:
        if writes:
            self._pending[key_id] = writes
        else:
            self._pending.pop(key_id, None)
