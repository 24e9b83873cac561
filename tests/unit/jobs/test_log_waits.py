"""Stalled logs and the backlog of the index, check by check."""

from __future__ import annotations

from offset_sync.jobs.watches import Waits
from offset_sync.model.values import ClusterPartition

ORDERS, PAY = ClusterPartition("dc1", "orders", 0), ClusterPartition("dc1", "pay", 0)


def test_a_backlog_is_as_old_as_the_offset_that_has_waited_longest() -> None:
    orders, pay = [(4, 10), (9, 20), (10, 30), (10, 30), (30, 30)], {3: (0, 5), 4: (5, 5)}
    waits, found = Waits(), list[dict[tuple[str, ...], float]]()
    for number, reached in enumerate(orders):
        waits.note(30.0 * number, {ORDERS: reached} | ({PAY: pay[number]} if number in pay else {}))
        found.append(waits.longest(lambda log: (log.topic,)))
    assert found == [{("orders",): 0}, {("orders",): 30}, {("orders",): 0}, {("orders",): 30, ("pay",): 0}, {}]
