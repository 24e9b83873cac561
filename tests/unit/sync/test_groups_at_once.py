"""Many groups are read at once by Java's client, of the cluster that is meant."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from offset_sync.sync import groups_at_once
from offset_sync.sync.groups_at_once import WORTH_IT, GroupsAtOnce


class Client:
    """Is connected to the cluster with this id."""

    def listConsumerGroupOffsets(self, _groups: Any, _options: Any) -> Any:
        return SimpleNamespace(all=lambda: SimpleNamespace(get=lambda *_limit: None))

    def describeCluster(self) -> Any:
        return SimpleNamespace(clusterId=lambda: SimpleNamespace(get=lambda *_limit: "an id"))

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
    monkeypatch.setattr(GroupsAtOnce, "_connected", lambda _self: (Client(), json))
    reader = GroupsAtOnce("dc1", dict, cluster_id=known)
    assert [*reader.read([f"group-{number}" for number in range(WORTH_IT)], 1.0)] == answered
