"""Writes that may be at a target and are in no table yet: in a file beside the checkpoints, before they are sent.

A driver commits first and records afterwards. If it dies in between, the next one inherits what the files say, and
knows each of these commits as ours::

    driver 3   notes 100, commits 100, records 100, notes 120, commits 120, dies
    driver 4   reads 120 in the file, and later in the log of the target: ours

Each driver has files of its own, one per target, replaced with each wave of writes: a driver that is taken over and
wakes cannot replace those of the next one. They are read once no earlier driver can write any more. A driver that has
noted its own writes at a target, the inherited ones among them, deletes the files of earlier ones. At its end it notes
all that the targets hold of ours: who begins with new tables copies the folder (docs/operations.md).

Errs to ours: a write that was noted and not sent is inherited too, until the log is read to its end. A commit of the
group of that very value is taken for it. The value is an answer to what the group had read, so none is skipped.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

import numpy as np

from offset_sync.config import Config
from offset_sync.model.values import ABSENT, GroupPartition
from offset_sync.state.sync_state import SyncState
from offset_sync.tables.files import Files


class NotedWrite(NamedTuple):
    """An *offset* that was written *at_ms*, by the clock of its driver; errs to earlier."""

    group_id: str
    topic: str
    partition: int
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
        for target, writes in self._left().items():
            if target in self._state.offsets.clusters:
                inherit_writes(self._state, target, writes)

    def _left(self) -> Mapping[str, Sequence[NotedWrite]]:
        found = dict[str, list[NotedWrite]]()
        for name in self._files.names(self._folder):
            epoch, _, target = name.removesuffix(".json").partition(".")
            if epoch.isdecimal():  # else it was being written as the driver died
                path = f"{self._folder}/{name}"
                found.setdefault(target, []).extend(NotedWrite(*row) for row in json.loads(self._files.read_text(path)))
                if int(epoch) != self._epoch:
                    self._earlier.setdefault(target, []).append(path)
        return found

    def note(self, target: str, *, is_end: bool = False) -> None:
        """Note what is pending at *target*, at the end also what it holds of ours; raises OSError."""
        there, keys = self._state.offsets.clusters[target], self._state.offsets.keys
        with self._state.lock:
            writes = there.own_writes.unrecorded()
            if is_end:
                held, column = there.columns["actual_is_own"].nonzero()[0], there.columns
                rows = held[~np.isin(held, [row for row, *_ in writes])]
                held_since = zip(rows, column["actual_offset"][rows], column["actual_made_ms"][rows], strict=True)
                writes += [(int(row), int(offset), int(at_ms)) for row, offset, at_ms in held_since]
            noted = [NotedWrite(*keys[row], *rest) for row, *rest in writes]
        self._files.write_text(f"{self._folder}/{self._epoch}.{target}.json", json.dumps(noted))
        for path in self._earlier.pop(target, ()):
            self._files.delete(path)


def inherit_writes(state: SyncState, target: str, writes: Iterable[NotedWrite]) -> None:
    """Make the *writes* to a target pending that came after the last captured record of their key."""
    ordered = sorted(dict.fromkeys(writes), key=lambda each: each.at_ms)
    cluster, by_key = state.offsets.clusters[target], dict[int, list[tuple[int, int]]]()
    with state.lock:
        key = state.offsets.ids([GroupPartition(*each[:3]) for each in ordered])
        names = ("log_offset", "actual_made_ms", "captured_ms", "actual_offset", "actual_is_own")
        columns = (cluster.columns[name][key].tolist() for name in names)
        for row, each, place, made_ms, captured_ms, offset, is_own in zip(key.tolist(), ordered, *columns, strict=True):
            if place != ABSENT and each.at_ms <= made_ms:
                continue
            pending = by_key.setdefault(row, [])
            # The key's last captured record is ours, of the same value, and captured after this write: it is this one.
            if is_own and each.offset == offset and each.at_ms <= captured_ms:
                pending.clear()
            else:
                pending.append((each.offset, each.at_ms))
        for row, values in by_key.items():
            cluster.own_writes.inherit(row, values)
