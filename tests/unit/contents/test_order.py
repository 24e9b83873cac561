"""What breaks the order of the originals, and what is only sent again."""

from __future__ import annotations

import numpy as np
import pytest

from offset_sync.contents.alignment.order import Anchors, OrderWatch

WINDOW = 5


def anchors(originals: list[int], first: int = 0) -> Anchors:
    return Anchors(np.arange(first, first + len(originals)), np.array(originals, np.int64))


def test_copies_that_come_back_above_have_been_put_into_another_order() -> None:
    watch = OrderWatch().seen(anchors([5, 6, 9, 7, 8, 10, 11, 12, 13, 14]), 9, WINDOW)
    assert watch.broken.tolist() == [3]
    assert len(watch.open_at) == 0


def test_copies_that_go_back_and_stay_there_are_sent_again() -> None:
    watch = OrderWatch().seen(anchors([50, 51, 52, 20, 21, 22, 23, 24, 25, 26]), 9, WINDOW)
    assert (len(watch.broken), len(watch.open_at)) == (0, 0)


@pytest.mark.parametrize("newest", range(3, 8))
def test_as_long_as_nobody_can_tell_it_counts_as_broken(newest: int) -> None:
    watch = OrderWatch().seen(anchors([50, 51, 52, 20][: newest + 1]), newest, WINDOW)
    assert watch.open_at.tolist() == [3]
    assert not watch.is_kept(np.array([4]), np.array([6]), WINDOW).any()


def test_a_batch_at_a_time_says_the_same_as_all_at_once() -> None:
    rng = np.random.default_rng(3)
    for _ in range(200):
        originals = (np.arange(60) + (rng.random(60) < 0.1) * rng.integers(-9, 9, 60)).tolist()
        whole = OrderWatch().seen(anchors(originals), 59, WINDOW)
        watch, at = OrderWatch(), 0
        while at < 60:
            end = at + int(rng.integers(1, 12))
            first = max(at - 1, 0)
            watch, at = watch.seen(anchors(originals[first:end], first), min(end, 60) - 1, WINDOW), end
        since = 59 - 2 * WINDOW
        assert watch.broken[watch.broken >= since].tolist() == whole.broken[whole.broken >= since].tolist()
        assert watch.open_at.tolist() == whole.open_at.tolist()


def test_near_is_twice_the_window_after_and_once_before() -> None:
    watch = OrderWatch(broken=np.array([100]))
    start = np.array([80, 94, 95, 105, 111, 112])
    assert watch.is_kept(start - 1, start, WINDOW).tolist() == [True, True, False, False, False, True]
