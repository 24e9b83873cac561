"""MirrorMaker's group sync both ways between two clusters, from its source code, beside a group that moves about.

One group, one partition, and the same offsets at both clusters. Every record of ``__consumer_offsets`` says who wrote
it, which nobody who judges it sees. The group has no members, as a consumer that assigns itself its partitions: so
MirrorMaker may write at any time.
"""

from __future__ import annotations

import random
from dataclasses import dataclass, field

from offset_sync.model.values import ABSENT

SECOND = 1000


@dataclass(frozen=True)
class Written:
    """A commit as it stands in the log, and who made it."""

    offset: int
    at_ms: int
    epoch: int
    is_mirror_makers: bool


@dataclass(frozen=True)
class Said:
    """A checkpoint, and when it is there to be read."""

    at_ms: int
    source_offset: int
    offset: int
    seen_ms: int


@dataclass
class Flow:
    """A MirrorMaker that copies from *source* to *target*."""

    source: str
    target: str
    log: list[Said] = field(default_factory=list)

    @property
    def newest(self) -> Said | None:
        """What it has said last."""
        return self.log[-1] if self.log else None


class GroupSyncWorld:
    """X and Y with a group whose client names leader epochs or not; *rng* decides what happens next."""

    def __init__(self, rng: random.Random, now_ms: int) -> None:
        self.rng, self.now_ms = rng, now_ms
        self.logs: dict[str, list[Written]] = {"X": [], "Y": []}
        self.flows = [Flow("X", "Y"), Flow("Y", "X")]
        self.home = rng.choice("XY")
        self.epoch = rng.choice([ABSENT, ABSENT, 5])
        self.most_behind = rng.choice([0, 0, 3])
        self.skew_ms = rng.randint(-2, 2) * SECOND
        self.late_ms = rng.choice([0, 0, 2]) * SECOND
        self.end = 100

    def stands(self, alias: str) -> int:
        """Return what stands at a cluster, ABSENT for nothing."""
        return self.logs[alias][-1].offset if self.logs[alias] else ABSENT

    def step(self) -> None:
        """Let time pass, and one thing happen."""
        self.now_ms += self.rng.randint(1, 9) * SECOND
        acts = {self._read: 4, self._say_again: 2, self._reset: 1, self._move: 1, self._poll: 6, self._sync: 6}
        self.rng.choices(list(acts), list(acts.values()))[0]()

    def _commit(self, offset: int, epoch: int) -> None:
        self.logs[self.home].append(Written(offset, self.now_ms, epoch, is_mirror_makers=False))

    def _read(self) -> None:
        offset = max(self.stands(self.home), 0) + self.rng.randint(1, 30)
        self.end = max(self.end, offset)
        self._commit(offset, self.epoch)

    def _say_again(self) -> None:
        if self.stands(self.home) >= 0:
            self._commit(self.stands(self.home), self.epoch)

    def _reset(self) -> None:
        newest = [flow.newest.offset for flow in self.flows if flow.newest is not None]
        lower = [each for each in newest if each < self.stands(self.home)]
        if self.stands(self.home) > 0:
            self._commit(self.rng.choice([*lower, self.rng.randrange(self.stands(self.home))]), ABSENT)

    def _move(self) -> None:
        self.home = "X" if self.home == "Y" else "Y"

    def _poll(self) -> None:
        flow = self.rng.choice(self.flows)
        upstream, last = self.stands(flow.source), flow.newest
        if upstream < 0:
            return
        offset = max(upstream - self.rng.randint(0, self.most_behind), 0)
        if last is None or upstream < last.source_offset or offset > last.offset:
            flow.log.append(Said(self.now_ms + self.skew_ms, upstream, offset, self.now_ms + self.late_ms))

    def _sync(self) -> None:
        flow = self.rng.choice(self.flows)
        if flow.newest is not None and flow.newest.offset > self.stands(flow.target):
            self.logs[flow.target].append(Written(flow.newest.offset, self.now_ms, ABSENT, is_mirror_makers=True))
