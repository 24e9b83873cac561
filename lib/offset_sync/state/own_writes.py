"""The author of a commit: a record is ours if it has a value that we wrote there, or that was ours already.

Metadata proves nothing: any tool copies it. A write is *pending* from before it is sent, because the log may bring the
record before the broker's answer arrives, until a record has matched it::

    we write      100  120                               both pending
    the log has        100  120  120  130  120           ours, ours, ours: the same position; the group's, the group's

Records of one key come in log order, so a match ends every write before it too: compaction may have removed those
records. But a repetition of what is there ends none, and is by whom that was: clients commit the same position again
and again. A write that was refused, or never sent, is no longer pending. One whose answer was lost, or of another
process, is *in doubt*: it was applied or not, and explains no record that was made five minutes after that. One whose
answer is still awaited may be applied at any time. A later write of a value that has matched is in doubt too, as the
record may be that of either. So is every pending one once another leader was elected, as its log may lack the record.

A file has the pending writes before they are sent (``noted_writes.py``), so the next driver inherits them. It has those
that were matched, too, until their records are in ``offset_commits``: else that driver reads these once more.

Errs to ours, for a value that we computed as an answer to what the group has read: its next progress shows the group.
As long as the group has committed nothing there itself, none of our writes counts as its own: what we write at a log
start may be above records that it has not read.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from offset_sync.model.values import ABSENT
from offset_sync.translate.index.runs import Int64s

_LONGEST = 64
"""So many writes of one key are remembered until they are read back."""
_ARRIVES_MS = 300_000
"""A write in doubt arrives within this after its answer was lost, if at all, or after it was noted by another driver:
a wave of very many groups takes minutes."""


class _Write(NamedTuple):
    """A write; while it *is_open* its answer is awaited, and it may be applied at any time."""

    offset: int
    at_ms: int
    is_in_doubt: bool
    is_open: bool = False

    def in_doubt(self, at_ms: int) -> _Write:
        """Return it as it may have been applied until *at_ms*: a process may send it minutes after it was noted."""
        return self._replace(at_ms=max(self.at_ms, at_ms), is_in_doubt=True)


class Held(NamedTuple):
    """What was there before a record; shapes (records,), an *offset* of ABSENT is nothing."""

    offset: Int64s
    is_own: NDArray[np.bool_]


class OwnWrites:
    """Values that were written to one cluster and not read back, by key and in their order."""

    def __init__(self) -> None:
        self._pending: dict[int, list[_Write]] = {}
        self._matched: list[tuple[int, int, int]] = []

    def begin(
        self, key: NDArray[np.intp], offset: Int64s, at_ms: int | Int64s = ABSENT, *, is_in_doubt: bool = False
    ) -> None:
        """Note writes that are about to be sent, or that another process may have sent, *at_ms*; shapes (writes,).

        Those without a time, ABSENT, are never late.
        """
        times = np.broadcast_to(at_ms, len(key)).tolist()
        for key_id, value, when in zip(key.tolist(), offset.tolist(), times, strict=True):
            pending = self._pending.setdefault(key_id, [])
            pending.append(_Write(value, when, is_in_doubt, is_open=not is_in_doubt and when != ABSENT))
            del pending[:-_LONGEST]

    def doubt(self, key: NDArray[np.intp], offset: Int64s, at_ms: int = ABSENT) -> None:
        """Note the last writes whose answers were lost, *at_ms*: they may have been applied; shapes (writes,)."""
        for key_id, value in zip(key.tolist(), offset.tolist(), strict=True):
            if (last := self._last(key_id, value)) is not None:
                self._pending[key_id][last] = _Write(value, at_ms, is_in_doubt=True)

    def note_answered(self, key: NDArray[np.intp], offset: Int64s, at_ms: int) -> None:
        """Note the last writes that were acknowledged, *at_ms*; shapes (writes,).

        One for which an election was seen before its answer stays in doubt.
        """
        for key_id, value in zip(key.tolist(), offset.tolist(), strict=True):
            if (last := self._last(key_id, value)) is not None:
                write = self._pending[key_id][last]._replace(is_open=False)
                self._pending[key_id][last] = write.in_doubt(at_ms) if write.is_in_doubt else write

    def doubt_all(self, at_ms: int = ABSENT) -> None:
        """Note that an election, seen *at_ms*, may have lost the record of any write, even of an acknowledged one."""
        for key_id, pending in self._pending.items():
            self._pending[key_id] = [each if each.is_in_doubt else each.in_doubt(at_ms) for each in pending]

    def abort(self, key: NDArray[np.intp], offset: Int64s) -> None:
        """Note the last writes that failed: not sent, or refused; shapes (writes,).

        Of equal values only the last is dropped: an earlier one was written and may not be read back yet.
        """
        for key_id, value in zip(key.tolist(), offset.tolist(), strict=True):
            if (last := self._last(key_id, value)) is not None:
                pending = self._pending[key_id]
                self._keep(key_id, [*pending[:last], *pending[last + 1 :]])

    def note_held(self, key: NDArray[np.intp], held: Int64s) -> None:
        """Note what a poll has found after the last write was answered, ABSENT for nothing new; shapes (keys,).

        A write of another value is over: no log brings its record. One in doubt may still be applied.
        """
        for key_id, value in zip(key.tolist(), held.tolist(), strict=True):
            if key_id in self._pending:
                self._keep(key_id, [each for each in self._pending[key_id] if each.is_in_doubt or each.offset == value])

    def unrecorded(self) -> list[tuple[int, int, int]]:
        """Return key, offset and time of the writes whose records may be in no table yet, in the order of each key."""
        pending = ((key, each.offset, each.at_ms) for key, writes in self._pending.items() for each in writes)
        return [*self._matched, *pending]

    def note_recorded(self) -> None:
        """Note that all records that have matched are in ``offset_commits``."""
        self._matched.clear()

    def forget_matches(self, at_ms: int = ABSENT) -> None:
        """Have writes pending again whose records were read and not recorded: their log is read anew *at_ms*."""
        for key_id, offset, noted_ms in reversed(self._matched):
            self._pending.setdefault(key_id, []).insert(0, _Write(offset, noted_ms, False).in_doubt(at_ms))
        self._matched.clear()

    def is_pending(self, key: NDArray[np.intp], offset: Int64s) -> NDArray[np.bool_]:
        """Return which writes are not read back yet; shapes (writes,)."""
        pairs = zip(key.tolist(), offset.tolist(), strict=True)
        return np.array([self._last(*pair) is not None for pair in pairs], np.bool_)

    def is_unread(self, key: NDArray[np.intp], offset: Int64s) -> NDArray[np.bool_]:
        """Return of which writes, acknowledged now, no record can have been read; shapes (writes,)."""
        pending = (self._pending.get(key_id, []) for key_id in key.tolist())
        certain = ([each.offset for each in writes if not each.is_in_doubt] for writes in pending)
        return np.array([value in values for value, values in zip(offset.tolist(), certain, strict=True)], np.bool_)

    def claim(self, key: NDArray[np.intp], offset: Int64s, since_ms: Int64s, held: Held) -> NDArray[np.bool_]:
        """Return which records are ours; they come in log order, shapes (records,). A negative offset is nobody's.

        *since_ms* is the earliest time at which each was made, by our clock; ABSENT: unknown, as of a first poll.
        *held* is what was there before the first record of each key.
        """
        is_own, there = np.zeros(len(key), np.bool_), dict[int, tuple[int, bool]]()
        columns = (each.tolist() for each in (key, offset, since_ms, *held))
        for row, (key_id, value, made_ms, *before) in enumerate(zip(*columns, strict=True)):
            last, is_ours = there.get(key_id, before)
            is_own[row] = value >= 0 and self._is_ours(key_id, value, made_ms, is_ours if last == value else None)
            there[key_id] = value, bool(is_own[row])
        return is_own

    def _is_ours(self, key_id: int, value: int, since_ms: int, repeats_ours: bool | None) -> bool:
        """Return whether a record is ours; *repeats_ours*: it repeats a value, which is ours or not; None: another."""
        pending = self._pending.get(key_id, [])
        doubtful_ms = [each.at_ms if each.is_in_doubt and not each.is_open else ABSENT for each in pending]
        is_late = [ABSENT < at_ms < since_ms - _ARRIVES_MS for at_ms in doubtful_ms]
        same = (number for number, each in enumerate(pending) if each.offset == value and not is_late[number])
        first = next(same, None)
        if first is None or (repeats_ours is not None and first > 0):
            return bool(repeats_ours)
        self._matched += [(key_id, each.offset, each.at_ms) for each in pending[: first + 1]]
        left = pending[first + 1 :]
        self._keep(key_id, [each._replace(is_in_doubt=True) if each.offset == value else each for each in left])
        return True

    def _last(self, key_id: int, value: int) -> int | None:
        pending = self._pending.get(key_id, [])
        return next((number for number in reversed(range(len(pending))) if pending[number].offset == value), None)

    def _keep(self, key_id: int, writes: list[_Write]) -> None:
        if writes:
            self._pending[key_id] = writes
        else:
            del self._pending[key_id]
