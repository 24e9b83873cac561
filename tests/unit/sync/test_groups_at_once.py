"""Many groups are read at once, for as long as is said, and written by tasks, which get nothing of the driver's."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from threading import Lock
from types import SimpleNamespace
from typing import Any

import pytest

from offset_sync.model.values import OffsetWrite, WriteOutcome
from offset_sync.state.lease import OpenFence
from offset_sync.sync import groups_at_once
from offset_sync.sync.distributed_writer import TaskWrites
from offset_sync.sync.groups_at_once import WORTH_IT, GroupsAtOnce
from offset_sync.sync.offset_writer import TargetWriter


class SilentClient:
    """Its answers never come: who waits for one waits as long as he said."""

    seconds = 0.0

    def listConsumerGroupOffsets(self, _groups: Any, _options: Any) -> Any:
        return SimpleNamespace(
            all=lambda: SimpleNamespace(get=self._wait),
            partitionsToOffsetAndMetadata=lambda _group: SimpleNamespace(isDone=lambda: False),
        )

    def describeCluster(self) -> Any:
        return SimpleNamespace(clusterId=lambda: SimpleNamespace(get=lambda *_limit: "an id"))

    def _wait(self, milliseconds: int, _unit: Any) -> None:
        self.seconds += milliseconds / 1000
        raise TimeoutError

    def close(self, _timeout: Any) -> None:
        pass


class AnyClass:
    """Any class of Java, and any object of one."""

    def __getattr__(self, _name: str) -> Any:
        return self

    def __call__(self, *_arguments: Any) -> Any:
        return self


@pytest.mark.parametrize(("known", "answered"), [("an id", ["group-0"]), ("another id", [])])
def test_a_cluster_with_another_id_gives_no_answers(
    known: str, answered: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    json: Any = SimpleNamespace(wishes=lambda groups: groups, text=lambda _found: '{"group-0": {}}')
    answer = SimpleNamespace(equals=lambda _other: True)
    monkeypatch.setattr(groups_at_once, "java", lambda _name: AnyClass())
    monkeypatch.setattr(groups_at_once, "_answers", lambda *_asked: answer)
    monkeypatch.setattr(GroupsAtOnce, "_connected", lambda _self: (SilentClient(), json))
    reader = GroupsAtOnce("dc1", dict, cluster_id=known)
    assert [*reader.read([f"group-{number}" for number in range(WORTH_IT)], 1.0)] == answered


class Unpicklable(OpenFence):
    """Cannot be pickled, as a lease."""

    def __init__(self) -> None:
        self.lock = Lock()


@dataclass
class Tasks(TaskWrites):
    """Notes what tasks are to write, which share two groups each."""

    given: list[tuple[TargetWriter, Sequence[OffsetWrite]]] = field(default_factory=list)

    def __post_init__(self) -> None:
        super().__init__(None, Unpicklable(), groups_per_task=2)  # type: ignore[arg-type]

    def write(self, writer: TargetWriter, writes: Sequence[OffsetWrite]) -> list[WriteOutcome]:  # type: ignore[override]
        self.given.append((writer, writes))
        return []


def writer(tasks: Tasks) -> TargetWriter:
    return TargetWriter("dc2", {}, 10, 1.0, False, fence=Unpicklable(), by_tasks=tasks)
