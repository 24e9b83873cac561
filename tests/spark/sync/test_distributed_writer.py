"""A wave of commits shared by the executors: each write is made once, a group's by one task, and the order is kept."""

from __future__ import annotations

import math
import os
import time
import uuid
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from offset_sync.model.errors import TakenOverError
from offset_sync.model.values import OffsetWrite, Outcome, WriteOutcome
from offset_sync.state.lease import Fence, OpenFence
from offset_sync.sync.distributed_writer import DistributedWriter

WRITES = [
    OffsetWrite(
        group_id=f"gruppe-{group}",
        topic="orders",
        partition=partition,
        offset=10 * group,
        leader_epoch=partition or None,
        expected_offset=None if group % 2 else 7,
        refresh=group == 3,
    )
    for partition in range(2)
    for group in range(40)
]


@dataclass
class NotingCommit:
    """Notes what each call is given in a file of its own, which takes *seconds*; runs in the executors."""

    folder: Path
    seconds: float = 0
    fence: Fence = field(default_factory=OpenFence)

    def write(self, wanted: Sequence[OffsetWrite]) -> list[WriteOutcome]:
        fence = f"{type(self.fence).__name__} {self.fence.is_open()}"
        calls = [f"{write!r} by {os.getpid()} under {fence}" for write in wanted]
        (self.folder / uuid.uuid4().hex).write_text("\n".join(calls))
        time.sleep(self.seconds)
        return [
            WriteOutcome(w.group_id, w.topic, w.partition, Outcome.FAILED, w.expected_offset, f"error of {w.offset}")
            if w.offset % 20
            else WriteOutcome(w.group_id, w.topic, w.partition, Outcome.COMMITTED, None, None)
            for w in wanted
        ]

    def calls(self) -> list[list[str]]:
        return [lines for file in self.folder.iterdir() if (lines := file.read_text().splitlines())]


def test_a_large_wave_is_shared_by_group_and_answered_in_order(spark: SparkSession, tmp_path: Path) -> None:
    commit = NotingCommit(tmp_path)
    of_task = partial(NotingCommit, tmp_path)
    outcomes = DistributedWriter(spark, commit, of_task, OpenFence(), groups_per_task=10).write(WRITES)
    assert outcomes == NotingCommit(tmp_path.parent).write(WRITES)
    calls = commit.calls()
    assert len(calls) > 1
    assert sorted(line.rpartition(" by ")[0] for call in calls for line in call) == sorted(map(repr, WRITES))
    assert not any(f" by {os.getpid()} " in line for call in calls for line in call)
    groups = [{line.split("'")[1] for line in call} for call in calls]
    assert sum(map(len, groups)) == len(set().union(*groups)) == 40


class Overtaken:
    """A lease that is lost as soon as *is_time*."""

    def __init__(self, is_time: Callable[[], object]) -> None:
        self.is_time, self.lost_at = is_time, math.inf

    def renew(self) -> None:
        if self.is_time():
            self.lost_at = min(self.lost_at, time.monotonic())
            raise TakenOverError("by another driver")

    def is_open(self) -> bool:
        return True


def test_tasks_have_a_time_of_their_own_and_end_when_the_driver_is_overtaken(
    spark: SparkSession, tmp_path: Path
) -> None:
    commit = NotingCommit(tmp_path)
    of_task, fence = partial(NotingCommit, tmp_path, 60), Overtaken(commit.calls)
    with pytest.raises(TakenOverError, match="by another driver"):
        DistributedWriter(spark, commit, of_task, fence, groups_per_task=10).write(WRITES)
    assert time.monotonic() - fence.lost_at < 30
    assert all(line.endswith("under TaskFence True") for call in commit.calls() for line in call)
    assert spark.range(3).count() == 3  # no other job is ended with them
