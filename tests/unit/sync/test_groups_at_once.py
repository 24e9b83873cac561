"""Many groups are read at once by Java's client, of the cluster that is meant."""

from __future__ import annotations

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
