"""What we may do at a cluster is asked in bounded time, however many of its groups have a silent coordinator."""

from __future__ import annotations

import time
from concurrent.futures import Future
from types import SimpleNamespace
from typing import Any

from confluent_kafka.admin import AclOperation  # type: ignore[attr-defined]

from offset_sync.kafka.own_rights import OwnRights


def test_groups_without_an_answer_are_waited_for_together() -> None:
    rights, asked = OwnRights("dc1", {}), {group: Future[Any]() for group in "bcdefa"}
    asked["a"].set_result(SimpleNamespace(authorized_operations=[AclOperation.READ]))
    rights.__dict__["_client"] = SimpleNamespace(describe_consumer_groups=lambda _groups, **_options: asked)
    began = time.monotonic()
    found = rights.of_groups([*asked], deadline=0.4)
    assert time.monotonic() - began < 1.5
    assert found == {"a": {"READ"}} | dict.fromkeys("bcdef", "_TIMED_OUT")
