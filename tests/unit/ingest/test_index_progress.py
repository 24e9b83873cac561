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
    progress.advance("dc1", {ORDERS: 0, PAY: 0}, {ORDERS: 400, PAY: 100}, records=450)
    now = progress.backfill()
    assert (now.done, now.total, now.share, now.records) == (500, 2000, 0.25, 450)
    assert now.records_per_s == pytest.approx(45)
    assert now.seconds_left == pytest.approx(30)


def test_what_an_earlier_run_has_read_is_no_part_of_the_work(clock: HandClock) -> None:
    progress = IndexProgress(clock)
    progress.expect("dc1", {ORDERS: 1000})
    clock.seconds += 1
    progress.advance("dc1", {ORDERS: 900}, {ORDERS: 950}, records=50)
    assert (progress.backfill().done, progress.backfill().total) == (50, 100)


def test_records_beyond_the_goal_count_as_records_and_not_as_more_than_everything(clock: HandClock) -> None:
    progress = IndexProgress(clock)
    progress.expect("dc1", {ORDERS: 100})
    clock.seconds += 1
    progress.advance("dc1", {ORDERS: 0}, {ORDERS: 150}, records=150)
    now = progress.backfill()
    assert (now.share, now.records, now.seconds_left) == (1.0, 150, 0.0)


def test_before_anything_is_read_the_time_left_is_unknown(clock: HandClock) -> None:
    progress = IndexProgress(clock)
    progress.expect("dc1", {ORDERS: 100})
    clock.seconds += 5
    assert progress.backfill().seconds_left is None
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
