"""MirrorMaker 2's checkpoints at one cluster: the newest of each group, which its group sync writes.

``MirrorCheckpointTask.syncGroupOffset`` (4.3.0) commits it for a group without members, with its metadata and without a
leader epoch. It is compared with our offsets, and reported where two clusters commit a group.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple, Protocol

from offset_sync.decode.cursor import DecodeError, MirrorCheckpoint, decode_checkpoint
from offset_sync.kafka.requests import NotAuthorizedError, TransientError
from offset_sync.model.values import GroupPartition, RecordContent

logger = logging.getLogger(__name__)
_REFUSED_S = 60.0
"""How long an unauthorized log is not read again: brokers log each denied request."""


class StreamNames(Protocol):
    """The names of topics per cluster, see :class:`offset_sync.config.stream_names.Names`."""

    def inside(self, cluster: str, topic: str) -> str:
        """Return the stream of *topic* at *cluster*."""


class Checkpoints(Protocol):
    """A log of checkpoints, see :class:`offset_sync.kafka.internal_logs.CheckpointLog`."""

    @property
    def topic(self) -> str:
        """Its name."""

    def read(self, deadline: float) -> list[RecordContent] | None:
        """Return the records since the last call, or the first part of them; None: there is no such log."""

    @property
    def is_at_end(self) -> bool:
        """Whether that was all."""


class KnownCheckpoint(NamedTuple):
    """Where a group that had committed *source_offset* would continue, written *at_ms* by MirrorMaker's clock."""

    at_ms: int
    source_offset: int
    offset: int
    metadata: str


class MirrorCheckpoints:
    """The checkpoints of all clusters that are copied to *alias*, as far as they were read. Not thread-safe.

    *logs* are the candidates of each source, of which at most one exists.
    """

    def __init__(
        self,
        alias: str,
        logs: Mapping[str, Sequence[Checkpoints]],
        names: StreamNames,
        now: Callable[[], float] = time.monotonic,
    ) -> None:
        self.alias = alias
        self.refused: dict[str, str] = {}
        """Why a log cannot be read, by source: there may be none, or an undetected group sync."""
        self._logs, self._names, self._now = logs, names, now
        self._there: set[str] = set()
        self._asked_again_at: dict[str, float] = {}
        self._known: dict[str, dict[GroupPartition, KnownCheckpoint]] = {source: {} for source in logs}

    @property
    def is_there(self) -> bool:
        """Whether any log existed when it was last read."""
        return bool(self._there)

    def refresh(self, deadline: float) -> None:
        """Read new records; *deadline*, in seconds, is that of each log.

        Raises ClusterError where one of them does not answer, or is not read to its end by then: the next call
        continues. Not for an unauthorized log, see :attr:`refused`.
        """
        for source, logs in self._logs.items():
            for log in logs:
                self._read(source, log, deadline)

    def _read(self, source: str, log: Checkpoints, deadline: float) -> None:
        if self._now() < self._asked_again_at.get(log.topic, 0.0):
            return
        try:
            self._read_on(source, log, self._now() + deadline)
        except NotAuthorizedError as refusal:
            self.refused[source] = str(refusal)
            self._asked_again_at[log.topic] = self._now() + _REFUSED_S
        else:
            self.refused.pop(source, None)

    def _read_on(self, source: str, log: Checkpoints, ends_at: float) -> None:
        while (records := log.read(max(ends_at - self._now(), 0.0))) is not None:
            self._there.add(log.topic)
            self._take_in(source, log.topic, records)
            if log.is_at_end:
                return
            if self._now() >= ends_at:
                raise TransientError(self.alias, f"topic {log.topic}: not read to its end in time")
        self._there.discard(log.topic)

    def _take_in(self, source: str, topic: str, records: Sequence[RecordContent]) -> None:
        unreadable: DecodeError | None = None
        for record in records:
            if record.key is None or record.value is None:
                continue
            try:
                self.add(source, decode_checkpoint(record.key, record.value), record.timestamp_ms)
            except DecodeError as error:
                unreadable = error
        if unreadable is not None:
            logger.warning("clusters.%s: %s has records that are not checkpoints: %s", self.alias, topic, unreadable)

    def add(self, source: str, checkpoint: MirrorCheckpoint, at_ms: int) -> None:
        """Add a checkpoint of a group of *source*, the next of its key."""
        stream = self._names.inside(self.alias, checkpoint.topic)
        key = GroupPartition(checkpoint.group_id, stream, checkpoint.partition)
        said = KnownCheckpoint(at_ms, checkpoint.source_offset, checkpoint.offset, checkpoint.metadata)
        self._known.setdefault(source, {})[key] = said

    def newest(self, source: str, key: GroupPartition) -> KnownCheckpoint | None:
        """Return the newest checkpoint of a group of *source*."""
        return self._known.get(source, {}).get(key)
