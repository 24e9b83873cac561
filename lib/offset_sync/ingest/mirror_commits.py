"""Which commits MirrorMaker's group sync has made: they are nobody's own, and never make their cluster the owner.

Asked for before a micro-batch is taken in, and once: what it says is written down with the commits (``is_own``).
A checkpoint may be the echo of a commit that it seems to explain, where groups are synced both ways::

    here    the group commits 300, without leader epoch               a checkpoint from there: 300, the same metadata
    there                             MirrorMaker's 290, of a checkpoint
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Sequence
from typing import NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from offset_sync.model.values import ABSENT, GroupPartition
from offset_sync.state.committed_offsets import CommitRecords
from offset_sync.state.mirror_checkpoints import KnownCheckpoint, MirrorCheckpoints
from offset_sync.state.standing import Standing

logger = logging.getLogger(__name__)
Bools = NDArray[np.bool_]
READ_S = 10.0
LATE_S = 5.0
"""So long a checkpoint may come after the commit that MirrorMaker made of it: each has its own thread there."""
_AGAIN_S = 0.25


class Seen(NamedTuple):
    """What is known of commits of the cluster *alias* before they are taken in.

    *is_foreign* says which are not known as our own, shape (records,). *standing* says what a cluster holds of a key.
    Our clock may be *ahead_ms* ahead of the cluster's.
    """

    alias: str
    is_foreign: Bools
    standing: Callable[[str, GroupPartition], Standing]
    ahead_ms: int


class MirrorCommits(Protocol):
    """Who tells the commits of one cluster."""

    def of(self, keys: Sequence[GroupPartition], records: CommitRecords, seen: Seen) -> Bools:
        """Return which of *records* are MirrorMaker's; see :class:`ToldByCheckpoints`."""


class NoMirrorCommits:
    """Of a cluster to which no MirrorMaker copies."""

    def of(self, keys: Sequence[GroupPartition], records: CommitRecords, seen: Seen) -> Bools:
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

    def of(self, keys: Sequence[GroupPartition], records: CommitRecords, seen: Seen) -> Bools:
        """Return which of *records*, in log order and with *keys* one each, are MirrorMaker's; shapes (records,).

        Only foreign ones without leader epoch are asked about. Raises ClusterError where the checkpoints are there and
        do not answer: then nobody knows. Errs to somebody's own: a checkpoint that comes later still, or is gone.
        """
        asked = _Asked(self._checkpoints, keys, records, seen)
        rows, open_rows = asked.rows(), set[int]()
        until_ms = self._now_ms() + int(LATE_S * 1000)
        while rows:
            self._checkpoints.refresh(READ_S)
            open_rows = {row for row in rows if asked.judge(row) is None}
            if not self._checkpoints.is_there or self._now_ms() >= until_ms:
                break
            since_ms = self._now_ms() - seen.ahead_ms - int(LATE_S * 1000)
            is_young = records.committed_at_ms > since_ms
            rows = [row for row in rows if row in open_rows or (is_young[row] and not asked.found[row])]
            if rows:
                self._wait(_AGAIN_S)
        asked.found[list(open_rows)] = True
        if asked.found.any():
            self._tell(keys[int(np.flatnonzero(asked.found)[0])])
        return asked.found

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


class _Asked:
    """The commits of a micro-batch, in log order; *found* says which are MirrorMaker's, as far as that is known."""

    def __init__(
        self, checkpoints: MirrorCheckpoints, keys: Sequence[GroupPartition], records: CommitRecords, seen: Seen
    ) -> None:
        self._checkpoints, self._keys, self._records, self._seen = checkpoints, keys, records, seen
        self.found = np.zeros(len(keys), np.bool_)
        self._is_position = ~records.is_tombstone & (records.offset >= 0)
        self._before: dict[int, int] = {}
        last: dict[GroupPartition, int] = {}
        for row, key in enumerate(keys):
            if key in last:
                self._before[row] = last[key]
            last[key] = row

    def rows(self) -> list[int]:
        """Return which may be MirrorMaker's at all."""
        is_asked = self._seen.is_foreign & self._is_position & (self._records.leader_epoch == ABSENT)
        return np.flatnonzero(is_asked).tolist()

    def judge(self, row: int) -> bool | None:
        """Note and return whether a commit is MirrorMaker's; None: it is, unless the source soon says otherwise."""
        key, at_ms = self._keys[row], int(self._records.committed_at_ms[row])
        offset, metadata = int(self._records.offset[row]), self._records.metadata[row]
        explanations = list(self._checkpoints.explanations(key, offset, metadata, at_ms))
        if not explanations or offset <= self._own_word_before(row):
            return False
        verdicts = {each.at_ms <= at_ms or self._is_no_echo(source, key, each, at_ms) for source, each in explanations}
        self.found[row] = True in verdicts
        return True if self.found[row] else None if None in verdicts else False

    def _own_word_before(self, row: int) -> int:
        """Return what the group itself has committed there, if that stands before *row*; else ABSENT.

        MirrorMaker goes forward only, so what is not above it is the group's: it was reset, or says once more where it
        is. (Where MirrorMaker's list of what stands is old it may go back, and the group goes back with it.)
        """
        before = self._before.get(row)
        if before is not None:
            is_its = self._seen.is_foreign[before] & self._is_position[before] & ~self.found[before]
            return int(self._records.offset[before]) if is_its else ABSENT
        stands = self._seen.standing(self._seen.alias, self._keys[row])
        is_seen_again = self._records.log_offset[row] <= stands.log_offset
        return ABSENT if stands.actual_is_own or is_seen_again else stands.actual_offset

    def _is_no_echo(self, source: str, key: GroupPartition, later: KnownCheckpoint, at_ms: int) -> bool | None:
        """Return whether a checkpoint that was said *later* than a commit is not of what we or another MirrorMaker have
        brought from here to its *source*; None: nobody has been there yet, as far as its log was read.
        """
        there = self._seen.standing(source, key)
        has_read = there.genuine_offset >= later.source_offset
        if there.actual_is_own and there.actual_at_ms >= at_ms:
            return has_read and there.actual_offset != later.source_offset
        return True if has_read else None
