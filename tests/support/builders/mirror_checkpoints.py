"""Bytes of MirrorMaker's checkpoints, written from the format, and logs of them in memory."""

from __future__ import annotations

import struct
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from offset_sync.config.stream_names import SAME_NAMES, Names
from offset_sync.model.errors import ClusterError
from offset_sync.model.values import RecordContent
from offset_sync.status.mirror_checkpoints import MirrorCheckpoints


def checkpoint_key(group: str, topic: str, partition: int) -> bytes:
    """Return the key of a checkpoint."""
    return _string(group) + _string(topic) + struct.pack(">i", partition)


def checkpoint_value(source_offset: int, offset: int, metadata: str) -> bytes:
    """Return the value of one."""
    return struct.pack(">hqq", 0, source_offset, offset) + _string(metadata)


def _string(text: str) -> bytes:
    return struct.pack(">h", len(text.encode())) + text.encode()


def checkpoint(
    offset: int, at_ms: int, *, group: str = "g", topic: str = "orders", metadata: str = "", source_offset: int = 0
) -> RecordContent:
    """Return a record: *group*, at *source_offset* of partition 0, would go on at *offset*."""
    key, value = checkpoint_key(group, topic, 0), checkpoint_value(source_offset, offset, metadata)
    return RecordContent(0, at_ms, key, value)


@dataclass
class MemoryCheckpoints:
    """A log of checkpoints; *records* is None where there is none, *error* is raised where it cannot be read."""

    records: list[RecordContent] | None = None
    error: ClusterError | None = None
    topic: str = "X.checkpoints.internal"
    reads: int = 0
    is_at_end: bool = True
    on_read: Callable[[], None] = lambda: None
    _done: int = field(default=0)

    def say(self, *records: RecordContent) -> None:
        """Append records, and be there."""
        self.records = [*(self.records or []), *records]

    def read(self, deadline: float) -> list[RecordContent] | None:
        """Return what has come since the last call."""
        self.reads += 1
        self.on_read()
        if self.error is not None:
            raise self.error
        if self.records is None:
            return None
        found = self.records[self._done :]
        self._done = len(self.records)
        return found


def checkpoints_at(
    alias: str,
    logs: Mapping[str, Sequence[MemoryCheckpoints]],
    names: Names = SAME_NAMES,
    now: Callable[[], float] = time.monotonic,
) -> MirrorCheckpoints:
    """Return what is said at a cluster, with all of *logs* read."""
    found = MirrorCheckpoints(alias, logs, names, now)
    found.refresh(1.0)
    return found
