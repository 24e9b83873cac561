"""Fingerprints stay as long as any log of copies may go on with them."""

from __future__ import annotations

from offset_sync.contents.alignment.aligner import AlignerState
from offset_sync.contents.alignment.reach import Reach
from offset_sync.contents.known_logs import needed_from
from offset_sync.model.values import ClusterPartition
from offset_sync.translate.index.origin_positions import NO_LIMIT

ORIGINALS, DC2, DC3 = (ClusterPartition(alias, "orders", 0) for alias in ("dc1", "dc2", "dc3"))


def test_the_log_of_copies_that_is_furthest_back_counts() -> None:
    states = {DC2: AlignerState(70, Reach(0, 60, 40)), DC3: AlignerState(50, Reach(20, 45, 10))}
    found = needed_from([ORIGINALS, DC2, DC3], states, lambda _stream: "dc1")
    assert found == {ORIGINALS: 20, DC2: 70, DC3: 50}


def test_copies_that_are_not_aligned_yet_stay_and_so_do_all_of_their_originals() -> None:
    """A cluster that was away for long has copies of what others are through with."""
    states = {DC2: AlignerState(70, Reach(0, 60, 40))}
    assert needed_from([ORIGINALS, DC2, DC3], states, lambda _stream: "dc1") == {ORIGINALS: 0, DC2: 70}


def test_originals_of_which_there_are_no_copies_go_by_time() -> None:
    assert needed_from([ORIGINALS], {}, lambda _stream: "dc1") == {ORIGINALS: NO_LIMIT}


def test_a_topic_that_nobody_says_the_origin_of_stays() -> None:
    assert needed_from([ORIGINALS, DC2], {}, lambda _stream: None) == {}
