"""What we may do at a cluster is asked in bounded time, however many of its groups have a silent coordinator."""

from __future__ import annotations

import time
from concurrent.futures import Future
from typing import Any, NamedTuple

from offset_sync.kafka.own_rights import OwnRights


class Right(NamedTuple):
    name: str


class Described(NamedTuple):
    authorized_operations: list[Right]


class Client:
    """Answers for the group *a* alone."""

    def describe_consumer_groups(self, groups: list[str], **_options: Any) -> dict[str, Future[Described]]:
        asked = {group: Future[Described]() for group in groups}
        asked["a"].set_result(Described([Right("READ")]))
        return asked


def test_groups_without_an_answer_are_waited_for_together() -> None:
    rights = OwnRights("dc1", {})
    rights.__dict__["_client"] = Client()
    began = time.monotonic()
    found = rights.of_groups(["b", "c", "d", "e", "f", "a"], deadline=0.4)
    assert time.monotonic() - began < 1.5
    assert found == {"a": {"READ"}} | dict.fromkeys("bcdef", "_TIMED_OUT")
