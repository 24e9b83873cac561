"""Which commits MirrorMaker's group sync has made: they are nobody's own, and never make their cluster the owner.

Asked for before a micro-batch is taken in, and once: what it says is written down with the commits (``is_own``).
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Sequence
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from offset_sync.model.values import ABSENT, GroupPartition
from offset_sync.state.committed_offsets import CommitRecords
from offset_sync.state.mirror_checkpoints import MirrorCheckpoints

logger = logging.getLogger(__name__)
Bools = NDArray[np.bool_]
READ_S = 10.0
LATE_S = 5.0
"""So long a checkpoint may come after the commit that MirrorMaker made of it: each has its own thread there."""
_AGAIN_S = 0.25


class MirrorCommits(Protocol):
    """Who tells the commits of one cluster."""

    def of(self, keys: Sequence[GroupPartition], records: CommitRecords, is_foreign: Bools, ahead_ms: int) -> Bools:
        """Return which of *records* are MirrorMaker's; see :class:`ToldByCheckpoints`."""


class NoMirrorCommits:
    """Of a cluster to which no MirrorMaker copies."""

    def of(self, keys: Sequence[GroupPartition], records: CommitRecords, is_foreign: Bools, ahead_ms: int) -> Bools:
        """Return that none is."""
        return np.zeros(len(keys), np.bool_)


NO_MIRROR_COMMITS: MirrorCommits = NoMirrorCommits()


class ToldByCheckpoints:
    """Tells them by the *checkpoints*, which only it reads; a moment is waited for those that come late."""

    def __init__(
        self,
        checkpoints: MirrorCheckpoints,
        now_ms: Callable[[], int],
        wait: Callable[[float], None] = time.sleep,
    ) -> None:
        self._checkpoints, self._now_ms, self._wait = checkpoints, now_ms, wait
        self._is_told = False

    def of(self, keys: Sequence[GroupPartition], records: CommitRecords, is_foreign: Bools, ahead_ms: int) -> Bools:
        """Return which of *records*, with *keys* one each, are MirrorMaker's; shapes (records,).

        Only those that *is_foreign* says are not ours, and that have no leader epoch, are asked about. Our clock may
        be *ahead_ms* ahead of the cluster's. Raises ClusterError where the checkpoints are there and do not answer:
        then nobody knows. Errs to somebody's own: a checkpoint that comes later still, or is gone.
        """
        is_asked = is_foreign & ~records.is_tombstone & (records.offset >= 0) & (records.leader_epoch == ABSENT)
        found, rows = np.zeros(len(is_asked), np.bool_), np.flatnonzero(is_asked).tolist()
        until_ms = self._now_ms() + int(LATE_S * 1000)
        while rows:
            self._checkpoints.refresh(READ_S)
            left = [row for row in rows if not self._explains(keys[row], records, row)]
            found[list(set(rows) - set(left))] = True
            if not self._checkpoints.is_there or self._now_ms() >= until_ms:
                break
            since_ms = self._now_ms() - ahead_ms - int(LATE_S * 1000)
            rows = [row for row in left if records.committed_at_ms[row] > since_ms]
            if rows:
                self._wait(_AGAIN_S)
        if found.any():
            self._tell(keys[int(np.flatnonzero(found)[0])])
        return found

    def _explains(self, key: GroupPartition, records: CommitRecords, row: int) -> bool:
        at_ms = int(records.committed_at_ms[row])
        return self._checkpoints.explains(key, int(records.offset[row]), records.metadata[row], at_ms)

    def _tell(self, key: GroupPartition) -> None:
        if self._is_told:
            return
        self._is_told = True
        logger.warning(
            "clusters.%s: MirrorMaker's group sync writes here, as for group %a; its commits count as nobody's own. "
            "Before groups are moved by us set sync.group.offsets.enabled = false",
            self._checkpoints.alias,
            key.group_id,
        )
