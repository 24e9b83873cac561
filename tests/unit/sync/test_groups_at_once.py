"""Many groups are read at once, for as long as is said, and written by tasks, which get nothing of the driver's."""

from __future__ import annotations

import pickle
from collections.abc import Sequence
from dataclasses import dataclass, field
from threading import Lock
from types import SimpleNamespace
from typing import Any

import pytest

from fakes.target_cluster import write
from offset_sync.model.values import OffsetWrite, WriteOutcome
from offset_sync.state.lease import OpenFence
from offset_sync.sync import groups_at_once, offset_writer
from offset_sync.sync.distributed_writer import TaskWrites
from offset_sync.sync.groups_at_once import PATIENCE_S, WORTH_IT, GroupsAtOnce
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


@pytest.mark.parametrize("seconds", [0.5, PATIENCE_S, 3.0])
def test_both_answers_are_waited_for_no_longer_than_was_said(seconds: float, monkeypatch: pytest.MonkeyPatch) -> None:
    client = SilentClient()
    json: Any = SimpleNamespace(wishes=lambda groups: groups, text=lambda _found: "{}")
    monkeypatch.setattr(groups_at_once, "java", lambda _name: AnyClass())
    monkeypatch.setattr(groups_at_once, "JavaError", TimeoutError)
    monkeypatch.setattr(GroupsAtOnce, "_connected", lambda _self: (client, json))
    reader = GroupsAtOnce("dc1", dict, lambda: client.seconds)
    assert reader.read([f"group-{number}" for number in range(WORTH_IT)], seconds) == {}
    assert client.seconds == min(seconds, PATIENCE_S)


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


@pytest.mark.parametrize("error", [None, ValueError("no such option")])
def test_a_cluster_without_answers_is_asked_again_after_longer_and_longer_pauses(
    error: Exception | None, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    now, asked = [0.0], list[float]()

    def answers(_self: GroupsAtOnce, _groups: Sequence[str], _seconds: float) -> dict[str, list[Any]]:
        asked.append(now[0])
        if error is not None:
            raise error
        return {}

    monkeypatch.setattr(GroupsAtOnce, "_read", answers)
    reader = GroupsAtOnce("dc1", dict, lambda: now[0])
    for seconds in range(40):
        now[0] = seconds
        assert reader.read([f"group-{number}" for number in range(WORTH_IT)], 1.0) == {}
    assert asked == [0, 10, 30]
    told = "clusters.dc1: reading committed offsets group by group for a while: ValueError: no such option"
    assert (told in caplog.text) is (error is not None)


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


@pytest.fixture
def by_the_driver(monkeypatch: pytest.MonkeyPatch) -> list[Sequence[OffsetWrite]]:
    found: list[Sequence[OffsetWrite]] = []
    monkeypatch.setattr(offset_writer, "write_offsets", lambda writes, _admin, **_options: found.append(writes))
    return found


def writer(tasks: Tasks) -> TargetWriter:
    return TargetWriter("dc2", {}, 10, 1.0, False, fence=Unpicklable(), by_tasks=tasks)


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
