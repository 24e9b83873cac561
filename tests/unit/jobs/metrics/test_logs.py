"""Stalled logs and the backlog of the index, check by check, and what is said of them."""

from __future__ import annotations

from collections.abc import Mapping

from offset_sync.jobs.metrics.logs import LogProgress
from offset_sync.kafka.requests import Reach as At
from offset_sync.model.values import TopicPartition

ORDERS, PAY = TopicPartition("orders", 0), TopicPartition("pay", 0)


def looks(*looks: Mapping[TopicPartition, At], **indexed: list[int]) -> list[LogProgress]:
    """Return what looks have found that are 30 s apart; *indexed* are frontiers at each look."""
    found = [LogProgress()]
    for number, reaches in enumerate(looks):
        frontiers = {TopicPartition(topic, 0): ends[number] for topic, ends in indexed.items()}
        found.append(found[-1].after(30.0 * number, frontiers, reaches))
    return found[1:]


def test_a_backlog_is_as_old_as_the_offset_that_has_waited_longest() -> None:
    orders = (At(10, 12), At(20, 20), At(30, 30), At(30, 30), At(30, 30))
    pay = ({}, {}, {}, {PAY: At(5, 5)}, {PAY: At(5, 5)})
    found = looks(*({ORDERS: at} | more for at, more in zip(orders, pay)), orders=[4, 9, 10, 10, 30], pay=[0] * 4 + [5])
    assert [each.behind_seconds for each in found] == [0, 30, 0, 30, 0]
