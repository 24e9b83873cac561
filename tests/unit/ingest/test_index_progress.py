"""How far a backfill is, what it makes per second, and when it will be done."""

from __future__ import annotations

import pytest

from fakes.clock import HandClock
from offset_sync.ingest.index_parts import IndexProgress
from offset_sync.model.values import TopicPartition

ORDERS, PAY = TopicPartition("orders", 0), TopicPartition("pay", 0)


@pytest.fixture
def clock() -> HandClock:
    return HandClock(100.0)


def test_the_share_counts_offsets_of_all_clusters_up_to_the_ends_of_the_start(clock: HandClock) -> None:
    progress = IndexProgress(clock)
    progress.expect("dc1", {ORDERS: 1000, PAY: 500})
    progress.expect("dc2", {ORDERS: 500})
    progress.expect("dc1", {ORDERS: 9999})  # a query that is started again does not move the goal
    clock.seconds += 10
    assert progress.backfill().seconds_left is None, "nothing is read"
    progress.advance("dc1", {ORDERS: 0, PAY: 0}, {ORDERS: 400, PAY: 100}, records=450)
    now = progress.backfill()
    assert (now.done, now.total, now.share, now.records) == (500, 2000, 0.25, 450)
    assert now.records_per_s == pytest.approx(45)
    assert now.seconds_left == pytest.approx(30)
    progress.advance("dc1", {ORDERS: 400, PAY: 100}, {ORDERS: 1500, PAY: 600}, records=1600)  # beyond the goal
    progress.advance("dc2", {ORDERS: 400}, {ORDERS: 500}, records=100)  # an earlier run has read the rest
    now = progress.backfill()
    assert (now.done, now.total, now.share, now.records, now.seconds_left) == (1600, 1600, 1.0, 2150, 0.0)
    assert IndexProgress(clock).backfill().share == 1.0


def test_the_rate_is_that_of_the_last_half_minute(clock: HandClock) -> None:
    progress = IndexProgress(clock)
    progress.expect("dc1", {ORDERS: 10**6})
    at = 0
    for records in [1000] * 60 + [10] * 60:
        clock.seconds += 1
        progress.advance("dc1", {ORDERS: at}, {ORDERS: at + records}, records)
        at += records
    assert progress.backfill().records_per_s == pytest.approx(10, rel=0.01)
