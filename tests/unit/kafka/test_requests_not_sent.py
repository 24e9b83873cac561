"""A request that may not be sent any more stays here, however late that is found out."""

from __future__ import annotations

from offset_sync.kafka.cluster_admin import ClusterAdmin
from offset_sync.model.values import OffsetWrite, Rule, TopicPartition

ORDERS = TopicPartition("orders", 0)


def test_of_requests_those_are_not_sent_that_come_after_the_right_to_send_was_lost() -> None:
    """Nobody listens there, so a request that is sent comes to another end."""
    asked, writes = (
        list[bool](),
        {
            group: [OffsetWrite(group, *ORDERS, offset=7, leader_epoch=None, rule=Rule.SET, expected_offset=None)]
            for group in ("a", "b", "c")
        },
    )

    def may_send() -> bool:
        asked.append(not asked)
        return asked[-1]

    admin = ClusterAdmin("x", {"bootstrap.servers": "127.0.0.1:1"})
    found = admin.write_offsets(writes, deadline=0.3, may_send=may_send)
    errors = [None if not isinstance(each, dict) else each[ORDERS] for each in found.values()]
    assert errors[0] != "REQUEST_NOT_SENT"
    assert errors[1:] == ["REQUEST_NOT_SENT"] * 2
    assert asked == [True, False, False], "each request is asked for by itself"
