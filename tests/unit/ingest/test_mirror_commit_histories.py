"""Random histories of a group and of MirrorMaker's group sync both ways: whose commit is told to be whose."""

from __future__ import annotations

import random
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from builders.mirror_checkpoints import MemoryCheckpoints, checkpoint
from fakes.clusters import MemoryIndex
from fakes.reconciler_site import config_of
from generators.hypothesis_strategies import law
from offset_sync.config.stream_names import SAME_NAMES
from offset_sync.ingest.mirror_commits import Seen, ToldByCheckpoints
from offset_sync.model.values import CLOCKS_APART_MS, GroupPartition
from offset_sync.state.committed_offsets import CommitRecords
from offset_sync.state.mirror_checkpoints import MirrorCheckpoints
from offset_sync.state.sync_state import SyncState
from oracles.group_sync import GroupSyncWorld, Written

NOW_MS = 1_795_000_000_000
KEY = GroupPartition("g", "orders", 0)


class Judge:
    """Takes in what both clusters of *world* hold, each by itself, as two queries would that run side by side."""

    def __init__(self, world: GroupSyncWorld) -> None:
        self.world, self.state = world, SyncState(config_of(["X", "Y"]), MemoryIndex(), lambda: self.now_ms)
        self.now_ms = world.now_ms
        self.taken = dict.fromkeys("XY", 0)
        self.verdicts: dict[str, list[bool]] = {"X": [], "Y": []}
        self._logs = {flow.target: MemoryCheckpoints([]) for flow in world.flows}
        self._told = {
            flow.target: ToldByCheckpoints(
                MirrorCheckpoints(flow.target, {flow.source: [self._logs[flow.target]]}, SAME_NAMES),
                lambda: self.now_ms,
                self._wait,
            )
            for flow in world.flows
        }
        self._waits_for: list[str] = []

    def take_in(self, aliases: list[str]) -> None:
        """Take in what is new, the first cluster first; while it waits the next."""
        self.now_ms = max(self.now_ms, self.world.now_ms)
        self._waits_for = aliases
        while self._waits_for:
            self._take_in(self._waits_for.pop(0))

    def _wait(self, seconds: float) -> None:
        self.now_ms += int(seconds * 1000)
        self._say()
        if self._waits_for:
            self._take_in(self._waits_for.pop(0))

    def _say(self) -> None:
        for flow in self.world.flows:
            log, there = self._logs[flow.target], [each for each in flow.log if each.seen_ms <= self.now_ms]
            done = len(log.records or [])
            log.say(*(checkpoint(each.offset, each.at_ms, source_offset=each.source_offset) for each in there[done:]))

    def _take_in(self, alias: str) -> None:
        self._say()
        written, first = self.world.logs[alias][self.taken[alias] :], self.taken[alias]
        if not written:
            return
        keys, records = [KEY] * len(written), records_of(written, first)
        seen = Seen(alias, self.state.is_foreign(alias, keys, records), self.state.standing, 0)
        is_copied = self._told[alias].of(keys, records, seen)
        self.taken[alias] += len(written)
        self.verdicts[alias] += self.state.record(alias, keys, records, is_copied).is_own.tolist()


def records_of(written: list[Written], first: int) -> CommitRecords:
    return CommitRecords(
        key=np.zeros(len(written), np.intp),
        offset=np.array([each.offset for each in written]),
        is_tombstone=np.zeros(len(written), np.bool_),
        committed_at_ms=np.array([each.at_ms for each in written]),
        log_offset=np.arange(first, first + len(written)),
        metadata=[""] * len(written),
        topic_id=[None] * len(written),
        leader_epoch=np.array([each.epoch for each in written]),
    )


def cannot_be_told(world: GroupSyncWorld, judge: Judge, alias: str, row: int) -> bool:
    """Return whether a client without epochs has committed just what was the newest checkpoint then.

    What stood before is no word of its own, or is below: MirrorMaker would have written the same.
    """
    commit, log = world.logs[alias][row], world.logs[alias]
    if row and not judge.verdicts[alias][row - 1] and log[row - 1].offset >= commit.offset:
        return False
    (flow,) = (each for each in world.flows if each.target == alias)
    for each, then in pairwise([*flow.log, None]):
        is_newest = then is None or then.at_ms + CLOCKS_APART_MS >= commit.at_ms
        if each is not None and each.offset == commit.offset and each.at_ms <= commit.at_ms and is_newest:
            return commit.epoch < 0
    return False


def is_nothing_lost(world: GroupSyncWorld, alias: str, commit: Written) -> bool:
    """Return whether nothing follows from a commit: the group has since committed at the other cluster, which owns it
    then, or had read as far there, which a checkpoint said within a minute.
    """
    others = [each for each in world.logs["X" if alias == "Y" else "Y"] if not each.is_mirror_makers]
    behind = range(commit.offset, commit.offset + world.most_behind + 1)
    return any(each.at_ms > commit.at_ms or each.offset in behind for each in others)


def judged(seed: int) -> tuple[GroupSyncWorld, Judge]:
    rng = random.Random(seed)
    world = GroupSyncWorld(rng, NOW_MS)
    judge = Judge(world)
    how_often = rng.choice([0.05, 0.3, 1.0])
    for _ in range(rng.randint(4, 60)):
        world.step()
        if rng.random() < how_often:
            judge.take_in(rng.sample("XY", 2))
    world.now_ms += 10_000
    judge.take_in(["X", "Y"])
    return world, judge


@law(150)
@given(st.integers(0, 2**32))
def test_what_mirror_maker_writes_is_nobodys_and_what_the_group_writes_is_its_own(seed: int) -> None:
    world, judge = judged(seed)
    for alias, log in world.logs.items():
        for row, (commit, is_own) in enumerate(zip(log, judge.verdicts[alias], strict=True)):
            if commit.is_mirror_makers:
                assert is_own, (alias, row, commit)
            elif is_own:
                is_harmless = is_nothing_lost(world, alias, commit) or cannot_be_told(world, judge, alias, row)
                # With a clock ahead, or checkpoints that come late, each cluster may wait for what the other says.
                assert is_harmless or world.skew_ms > 0 or world.late_ms > 0, (alias, row, commit)


@pytest.mark.parametrize("seed", range(3))
def test_a_group_that_names_epochs_is_always_told(seed: int) -> None:
    for each in range(seed * 20, seed * 20 + 20):
        world, judge = judged(each)
        for alias, log in world.logs.items():
            own = [is_own for commit, is_own in zip(log, judge.verdicts[alias], strict=True) if commit.epoch >= 0]
            assert True not in own
