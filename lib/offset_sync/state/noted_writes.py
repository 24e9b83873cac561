"""Writes that may be at a target and are in no table yet: in a file beside the checkpoints, before they are sent.

A driver commits first and records afterwards. If it dies in between, the next one inherits what the files say, and
knows each of these commits as ours::

    driver 3   notes 100, commits 100, records 100, notes 120, commits 120, dies
    driver 4   reads 120 in the file, and later in the log of the target: ours

Each driver has files of its own, one per target, replaced with each wave of writes: a driver that is taken over and
wakes cannot replace those of the next one. They are read once no earlier driver can write any more. A driver that has
noted its own writes at a target, the inherited ones among them, deletes the files of earlier ones. At its end it notes
all that the targets hold of ours, for a driver whose tables are new: who rebuilds them copies the folder
(docs/operations.md).

A write that was noted and not sent is inherited too: ``own_writes.py`` says which way that errs.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from contextlib import suppress
from typing import NamedTuple

import numpy as np

from offset_sync.config import Config
from offset_sync.model.values import GroupPartition
from offset_sync.state.sync_state import SyncState
from offset_sync.tables.files import Files

_HELD = "held"
"""Instead of the epoch in the name of a file that only a driver with new tables reads."""


class NotedWrite(NamedTuple):
    """An *offset* that was written for a key *at_ms*, by the clock of its driver; errs to earlier."""

    key: GroupPartition
    offset: int
    at_ms: int


class NotedWrites:
    """The files of all drivers; those of *epoch* are this one's, and have what is pending in *state*."""

    def __init__(self, files: Files, config: Config, epoch: int, state: SyncState) -> None:
        self._files, self._epoch, self._state = files, epoch, state
        self._folder = f"{config.tables.checkpoints}/noted_writes"
        self._earlier: dict[str, list[str]] = {}

    def inherit(self) -> None:
        """Make the writes pending that earlier drivers have noted, and may not have read back."""
        found, is_new = dict[str, list[NotedWrite]](), not self._state.offsets.keys
        for name in self._files.names(self._folder):
            epoch, _, target = name.removesuffix(".json").partition(".")
            # Others were being written as a driver died.
            if target in self._state.offsets.clusters and (epoch.isdecimal() or (epoch == _HELD and is_new)):
                rows = json.loads(self._files.read_text(self._path(epoch, target)))
                found.setdefault(target, []).extend(NotedWrite(GroupPartition(*row[:3]), *row[3:]) for row in rows)
                if epoch != _HELD and int(epoch) < self._epoch:
                    self._earlier.setdefault(target, []).append(self._path(epoch, target))
        for target, writes in found.items():
            inherit_writes(self._state, target, writes)

    def _path(self, name: str, target: str) -> str:
        return f"{self._folder}/{name}.{target}.json"

    def note(self, target: str) -> None:
        """Note what is pending at *target*; raises OSError."""
        with self._state.lock:
            unrecorded = self._state.offsets.clusters[target].own_writes.unrecorded()
        self._write(str(self._epoch), target, unrecorded)
        for path in self._earlier.pop(target, ()):
            with suppress(OSError):  # the next driver deletes it
                self._files.delete(path)

    def note_held(self, target: str) -> None:
        """Note what *target* holds of ours; raises OSError."""
        column = self._state.offsets.clusters[target].columns
        with self._state.lock:
            rows = column["actual_is_own"].nonzero()[0]
            offset, made_ms = column["actual_offset"][rows].tolist(), column["actual_made_ms"][rows].tolist()
        self._write(_HELD, target, zip(rows.tolist(), offset, made_ms, strict=True))

    def _write(self, name: str, target: str, writes: Iterable[tuple[int, int, int]]) -> None:
        keys = self._state.offsets.keys
        noted = [(*keys[row], *rest) for row, *rest in writes]
        self._files.write_text(self._path(name, target), json.dumps(noted))


def inherit_writes(state: SyncState, target: str, writes: Iterable[NotedWrite]) -> None:
    """Make *writes* to a target pending, less those up to the first that a key's last captured record may be.

    Where commits are polled the first poll has all of them.
    """
    ordered = sorted(dict.fromkeys(writes), key=lambda each: each.at_ms)  # a driver notes what it has inherited, too
    cluster, of_key = state.offsets.clusters[target], dict[int, list[NotedWrite]]()
    with state.lock:
        for row, each in zip(state.offsets.ids([each.key for each in ordered]).tolist(), ordered, strict=True):
            of_key.setdefault(row, []).append(each)
        for row, some in of_key.items():
            names = "captured_ms", "actual_offset", "actual_is_own"
            captured_ms, held, is_own = (cluster.columns[name][row] for name in names)
            is_read = [is_own and each.offset == held and each.at_ms <= captured_ms for each in some]
            left = some[is_read.index(True) + 1 :] if any(is_read) else some
            offset, at_ms = (np.array([each[column] for each in left], np.int64) for column in (1, 2))
            cluster.own_writes.begin(np.full(len(left), row), offset, at_ms, is_in_doubt=not cluster.is_polled)
