"""Logs of commits that have not been read to their end since the start, and whose commits count all the same.

A cluster that cannot be read at the start must not hold up the others for ever, so they go on without it. But what it
took in since it was read last is unknown, and may be newer than all that the others hold: a group may have been set
back there. Which of another cluster's commits may count meanwhile::

    answered by a driver before    goes on: that driver knew no more of the unread log than we do
    made before this start         waits: the unread log may hold a newer commit
    made after it                  counts: the group is at work there, before our eyes

What is after the start is told by the place in the log, not by any clock: it came after its own log had been read to
its end. Of the unread cluster itself what the tables know counts on, for in a disaster there is nothing else; but not
what is being read there, before it is read to its end.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable

import numpy as np
from numpy.typing import NDArray

from offset_sync.state.key_index import KeyRows
from offset_sync.translate.index.growable_array import ColumnStore


class UnreadLogs:
    """Which clusters' logs are unread: none, until a job that reads them says so. Guarded by the lock of the state."""

    def __init__(self) -> None:
        self._unread: set[str] = set()
        self._brought: dict[str, ColumnStore] = {}

    @property
    def aliases(self) -> frozenset[str]:
        """The clusters whose logs are still to be read to their ends."""
        return frozenset(self._unread)

    def begin(self, aliases: Iterable[str]) -> None:
        """Note which clusters a driver that has just started is going to read."""
        self._unread = set(aliases)
        self._brought = {alias: _nothing_brought() for alias in self._unread}

    def note_read(self, aliases: Collection[str]) -> list[str]:
        """Note which logs were read to their ends by now; return those that were not before."""
        fresh = sorted(self._unread.intersection(aliases))
        for alias in fresh:
            self._unread.remove(alias)
            self._brought[alias] = _nothing_brought()  # it was of before the start, or may have been
        return fresh

    def note_brought(self, alias: str, rows: KeyRows) -> None:
        """Note the keys, shape (commits,), of genuine commits that the log of *alias* has just brought."""
        if self._unread and len(rows):
            brought = self._brought[alias]
            brought.fit(int(rows.max()) + 1)
            brought["is_brought"][rows] = True

    def may_count(self, source: str, rows: KeyRows, is_answered: NDArray[np.bool_]) -> NDArray[np.bool_]:
        """Return which of *rows* that *source* owns may be answered, shape (keys,); *is_answered*: it was already.

        Errs to waiting.
        """
        counts = np.ones(len(rows), np.bool_)
        if not self._unread:
            return counts
        brought = self._brought[source]
        brought.fit(int(rows.max(initial=-1)) + 1)
        is_brought = brought["is_brought"][rows]
        if source in self._unread:
            counts &= ~is_brought
        if self._unread - {source}:
            counts &= is_answered | (is_brought & (source not in self._unread))
        return counts


def _nothing_brought() -> ColumnStore:
    return ColumnStore({"is_brought": False})
