"""Many groups are written by tasks, few by the driver itself, and no task gets what only the driver has."""

from __future__ import annotations

import pickle
from collections.abc import Sequence
from dataclasses import dataclass, field
from threading import Lock

import pytest

from fakes.target_cluster import write
from offset_sync.model.values import OffsetWrite, WriteOutcome
from offset_sync.state.lease import OpenFence
from offset_sync.sync import offset_writer
from offset_sync.sync.distributed_writer import TaskWrites
from offset_sync.sync.offset_writer import TargetWriter


class Lease(OpenFence):
    """Cannot be pickled, as a lease."""

    def __init__(self) -> None:
        self.lock = Lock()


@dataclass
class Tasks(TaskWrites):
    """Notes what tasks are to write, which share two groups each."""

    given: list[tuple[TargetWriter, Sequence[OffsetWrite]]] = field(default_factory=list)

    def __post_init__(self) -> None:
        super().__init__(None, Lease(), groups_per_task=2)  # type: ignore[arg-type]

    def write(self, writer: TargetWriter, writes: Sequence[OffsetWrite]) -> list[WriteOutcome]:  # type: ignore[override]
        self.given.append((writer, writes))
        return []


@pytest.fixture
def by_the_driver(monkeypatch: pytest.MonkeyPatch) -> list[Sequence[OffsetWrite]]:
    found: list[Sequence[OffsetWrite]] = []
    monkeypatch.setattr(offset_writer, "write_offsets", lambda writes, _admin, **_options: found.append(writes))
    return found


def writer(tasks: Tasks) -> TargetWriter:
    return TargetWriter("dc2", {}, 10, 1.0, False, fence=Lease(), by_tasks=tasks)


@pytest.mark.parametrize(("groups", "is_by_tasks"), [(1, False), (2, False), (3, True)])
def test_more_groups_than_one_task_takes_are_written_by_tasks(
    groups: int, is_by_tasks: bool, by_the_driver: list[Sequence[OffsetWrite]]
) -> None:
    tasks, writes = Tasks(), [write(group=f"g{number}") for number in range(groups)]
    target = writer(tasks)
    target.write(writes)
    assert tasks.given == [(target, writes)] * is_by_tasks
    assert by_the_driver == [writes] * (not is_by_tasks)


def test_a_task_gets_no_lease_and_shares_with_no_others(by_the_driver: list[Sequence[OffsetWrite]]) -> None:
    tasks, writes = Tasks(), [write(group=f"g{number}") for number in range(3)]
    there = pickle.loads(pickle.dumps(writer(tasks).for_tasks())).fenced_by(OpenFence())
    there.write(writes)
    assert (tasks.given, by_the_driver) == ([], [writes])
