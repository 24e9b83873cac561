"""Groups that a faster way has answered are asked for no more; a request that may not be sent any more stays here."""

from __future__ import annotations

import time
from collections.abc import Sequence

from offset_sync.kafka.cluster_admin import ClusterAdmin
from offset_sync.kafka.group_offsets import NOT_SENT, GroupOffsets, Limits
from offset_sync.kafka.requests import Committed, PartitionAnswer
from offset_sync.model.values import OffsetWrite, Rule, TopicPartition

UNREACHABLE = {"bootstrap.servers": "127.0.0.1:9"}


class Answers:
    """Knows some groups."""

    def __init__(self, *known: str) -> None:
        self.known, self.asked = known, list[str]()

    def read(self, groups: Sequence[str], seconds: float) -> dict[str, list[PartitionAnswer]]:
        self.asked += groups
        return {group: [PartitionAnswer("orders", 3, 7, "mine", None)] for group in groups if group in self.known}


def test_who_is_answered_at_once_is_not_asked_for_again() -> None:
    answers = Answers("a", "b")
    found = ClusterAdmin("dc2", UNREACHABLE, at_once=answers).committed_offsets(["a", "b"], 5.0)
    assert found == {group: {TopicPartition("orders", 3): Committed(7, "mine")} for group in ("a", "b")}
    assert answers.asked == ["a", "b"]


ORDERS = TopicPartition("orders", 0)


def test_of_requests_those_are_not_sent_that_come_after_the_right_to_send_was_lost() -> None:
    """No broker listens there, so a request that is sent fails in another way."""
    asked = list[bool]()
    writes = [
        [OffsetWrite(group, *ORDERS, offset=7, leader_epoch=None, rule=Rule.SET, expected_offset=None)]
        for group in ("a", "b", "c")
    ]

    def may_send() -> bool:
        asked.append(not asked)
        return asked[-1]

    client = GroupOffsets({"bootstrap.servers": "127.0.0.1:1", "group.id": "unused"})
    found = client.write(writes, Limits(time.monotonic() + 0.3, 6.0, 500, may_send))
    assert found[0] != NOT_SENT
    assert found[1:] == [NOT_SENT] * 2
    assert asked == [True, False, False], "each request is asked for by itself"


def test_a_write_is_not_sent_before_it_is_known_which_cluster_it_would_go_to() -> None:
    write = OffsetWrite("a", *ORDERS, offset=7, leader_epoch=None, rule=Rule.SET, expected_offset=None)
    asked = list[str]()
    found = ClusterAdmin("x", UNREACHABLE).write_offsets({"a": [write]}, 0.3, lambda: bool(asked.append("a")))
    assert (found, asked) == ({"a": {ORDERS: "_TIMED_OUT"}}, [])
