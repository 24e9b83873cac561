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

Errs to ours: a write that was noted and not sent is inherited too, until the coordinators were compared with the log;
so is one that a commit of the group has followed, for clusters' clocks do not tell which of the two came first. A
commit of the group of that very value, made within a minute of the note, is taken for it. The value is an answer to
what the group had read, so none is skipped; such a step back is not followed elsewhere.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from offset_sync.config import Config
from offset_sync.model.values import GroupPartition
from offset_sync.state.sync_state import SyncState
from offset_sync.tables.files import Files

_HELD = "held"
"""Instead of the epoch in the name of a file that only a driver with new tables reads."""


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
            # Others were being written as a driver died.
            if epoch.isdecimal() or (epoch == _HELD and not self._state.offsets.keys):
                path = f"{self._folder}/{name}"
                found.setdefault(target, []).extend(NotedWrite(*row) for row in json.loads(self._files.read_text(path)))
                if epoch != _HELD and int(epoch) < self._epoch:
                    self._earlier.setdefault(target, []).append(path)
        return found

    def note(self, target: str) -> None:
        """Note what is pending at *target*; raises OSError."""
        with self._state.lock:
            unrecorded = self._state.offsets.clusters[target].own_writes.unrecorded()
        self._write(str(self._epoch), target, unrecorded)
        for path in self._earlier.pop(target, ()):
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
        noted = [NotedWrite(*keys[row], *rest) for row, *rest in writes]
        self._files.write_text(f"{self._folder}/{name}.{target}.json", json.dumps(noted))


def inherit_writes(state: SyncState, target: str, writes: Iterable[NotedWrite]) -> None:
    """Make *writes* to a target pending; those up to their key's last captured record are over if that is ours."""
    ordered = sorted(dict.fromkeys(writes), key=lambda each: each.at_ms)
    cluster, by_key = state.offsets.clusters[target], dict[int, list[tuple[int, int]]]()
    with state.lock:
        key = state.offsets.ids([GroupPartition(*each[:3]) for each in ordered])
        names = ("captured_ms", "actual_offset", "actual_is_own")
        columns = (cluster.columns[name][key].tolist() for name in names)
        for row, each, captured_ms, offset, is_own in zip(key.tolist(), ordered, *columns, strict=True):
            pending = by_key.setdefault(row, [])
            # The key's last captured record is ours, of the same value, and captured after this write: it is this one.
            if is_own and each.offset == offset and each.at_ms <= captured_ms:
                pending.clear()
            else:
                pending.append((each.offset, each.at_ms))
        for row, values in by_key.items():
            cluster.own_writes.inherit(row, values)
