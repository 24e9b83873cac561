"""Many groups are read at once by Java's client, of the cluster that is meant."""

from __future__ import annotations

from collections.abc import Sequence
from types import SimpleNamespace
from typing import Any
from unittest.mock import MagicMock

import pytest

from offset_sync.sync import groups_at_once
from offset_sync.sync.groups_at_once import WORTH_IT, GroupsAtOnce


@pytest.mark.parametrize(("known", "answered"), [("an id", ["group-0"]), ("another id", [])])
def test_a_cluster_with_another_id_gives_no_answers(
    known: str, answered: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    json: Any = SimpleNamespace(wishes=lambda groups: groups, text=lambda _found: '{"group-0": {}}')
    client = MagicMock()
    client.describeCluster().clusterId().get.return_value = "an id"
    monkeypatch.setattr(groups_at_once, "java", MagicMock())
    monkeypatch.setattr(groups_at_once, "_answers", MagicMock())
    monkeypatch.setattr(GroupsAtOnce, "_connected", lambda _self: (client, json))
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
