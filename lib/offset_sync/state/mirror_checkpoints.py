"""What MirrorMaker 2 has said of groups at one cluster: how a commit of its group sync is told from one of a consumer.

Its group sync (``MirrorCheckpointTask.syncGroupOffset``, 4.3.0) writes the newest checkpoint of a group that has no
members, by ``AdminClient.alterConsumerGroupOffsets``: its offset, its metadata, and no leader epoch. It writes nothing
else, and without checkpoints it has no task. So such a commit has a checkpoint behind it that was the newest then::

    checkpoints   100 at 10:00   160 at 10:05
    commits       100 at 10:01   MirrorMaker's      100 at 10:30   somebody's: it would have written 160
                  160 at 10:07   MirrorMaker's      150 at 10:07   somebody's
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import zip_longest
from typing import NamedTuple, Protocol

from offset_sync.decode.cursor import DecodeError
from offset_sync.decode.mirror_checkpoints import MirrorCheckpoint, decode_checkpoint
from offset_sync.kafka.error_codes import NotAuthorizedError, TransientError
from offset_sync.model.values import CLOCKS_APART_MS, GroupPartition, RecordContent

logger = logging.getLogger(__name__)
_LONGEST = 64
"""So many checkpoints of one key are remembered; a minute has no more of them unless it has one a second."""
_REFUSED_S = 60.0
"""So long a log that may not be read is not asked for again: each time brokers note that somebody has tried."""


class StreamNames(Protocol):
    """What topics are called where, see :class:`offset_sync.config.stream_names.Names`."""

    def inside(self, cluster: str, topic: str) -> str:
        """Return the stream that *cluster* calls *topic*."""


class Checkpoints(Protocol):
    """A log of checkpoints, see :class:`offset_sync.kafka.checkpoint_log.CheckpointLog`."""

    @property
    def topic(self) -> str:
        """Its name."""

    def read(self, deadline: float) -> list[RecordContent] | None:
        """Return what has come since the last call, or the first part of it; None: there is no such log."""

    @property
    def is_at_end(self) -> bool:
        """Whether that was all."""


class KnownCheckpoint(NamedTuple):
    """Where a group that had committed *source_offset* would go on, said *at_ms* by MirrorMaker's clock."""

    at_ms: int
    source_offset: int
    offset: int
    metadata: str


class MirrorCheckpoints:
    """The checkpoints of all clusters that are copied to *alias*, as far as they were read. Not for several threads.

    *logs* are those of each source, of which at most one is there.
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
        """Why a log cannot be read, by source: there may be none, and there may be a group sync unseen."""
        self._logs, self._names, self._now = logs, names, now
        self._there: set[str] = set()
        self._asked_again_at: dict[str, float] = {}
        self._known: dict[str, dict[GroupPartition, list[KnownCheckpoint]]] = {source: {} for source in logs}

    @property
    def is_there(self) -> bool:
        """Whether any log was there when it was read last."""
        return bool(self._there)

    def refresh(self, deadline: float) -> None:
        """Read what has come; *deadline*, in seconds, is that of each log.

        Raises ClusterError where one of them does not answer, or is not read to its end by then: it is read on when
        this is called again. Not where it may not be read, see :attr:`refused`.
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
                raise TransientError(self.alias, f"topic {log.topic}: its end is not reached in time")
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
            logger.warning("clusters.%s: %s: records that are no checkpoints: %s", self.alias, topic, unreadable)

    def add(self, source: str, checkpoint: MirrorCheckpoint, at_ms: int) -> None:
        """Take in a checkpoint of a group of *source*, the next of its key."""
        stream = self._names.inside(self.alias, checkpoint.topic)
        key = GroupPartition(checkpoint.group_id, stream, checkpoint.partition)
        known = self._known.setdefault(source, {}).setdefault(key, [])
        known.append(KnownCheckpoint(at_ms, checkpoint.source_offset, checkpoint.offset, checkpoint.metadata))
        del known[:-_LONGEST]

    def newest(self, source: str, key: GroupPartition) -> KnownCheckpoint | None:
        """Return what was said last of a group of *source*."""
        known = self._known.get(source, {}).get(key)
        return known[-1] if known else None

    def explanations(
        self, key: GroupPartition, offset: int, metadata: str, at_ms: int
    ) -> Iterator[tuple[str, KnownCheckpoint]]:
        """Yield the checkpoints, each with its source, that a commit without leader epoch may have been written from.

        It was made *at_ms* by the cluster's clock. Clocks may be a minute apart, so one said later than the commit is
        among them: it may be its echo as well. A person who commits the newest checkpoint by hand does the same as
        MirrorMaker and cannot be told from it; nor need be, for the group has read no record of this cluster by that.
        """
        for source, each, then in self._with_next(key):
            is_it = each.offset == offset and each.metadata == metadata
            is_newest = then is None or then.at_ms + CLOCKS_APART_MS >= at_ms
            if is_it and is_newest and each.at_ms - CLOCKS_APART_MS <= at_ms:
                yield source, each

    def may_explain(self, key: GroupPartition, offset: int, at_ms: int) -> str | None:
        """Return of which source's group sync a commit without leader epoch may be that was taken for somebody's own.

        The checkpoint that it was written from may have come late, or be gone from its log, where a later one of a
        greater offset stands. One that came after the commit and is not above it is its echo: MirrorMaker has read at
        the other cluster what we brought there. Errs to a source that did not write it.
        """
        latest_ms = at_ms + CLOCKS_APART_MS
        for source, by_key in self._known.items():
            known = by_key.get(key, ())
            if any(each.offset > offset or (each.offset == offset and each.at_ms <= latest_ms) for each in known):
                return source
        return None

    def _with_next(self, key: GroupPartition) -> Iterator[tuple[str, KnownCheckpoint, KnownCheckpoint | None]]:
        for source, by_key in self._known.items():
            known = by_key.get(key, ())
            for each, then in zip_longest(known, known[1:]):
                yield source, each, then
