"""When a copy, byte for byte, is known to have been written to, and that it is written down once."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

from fakes.clusters import MemoryEnds, MemoryTopic
from offset_sync.ingest.origin_check import CopyCheck
from offset_sync.model.errors import ClusterError
from offset_sync.model.values import ClusterPartition, TopicPartition
from offset_sync.state.cluster_metadata import ClusterMetadata

ORDERS, OWN = TopicPartition("orders", 0), TopicPartition("own", 0)
AT_DC2 = ClusterPartition("dc2", *ORDERS)
Written = list[dict[ClusterPartition, int]]


class Incarnations:
    """Keeps what is written down."""

    def __init__(self) -> None:
        self.written: Written = []

    def note_written(self, ends: Mapping[ClusterPartition, int]) -> None:
        self.written.append(dict(ends))

    def note_copied(self, logs: Collection[ClusterPartition]) -> None:
        pass


def checked() -> tuple[CopyCheck, Written]:
    incarnations: Any = Incarnations()
    return CopyCheck({"orders": "dc1"}.get, incarnations), incarnations.written


def ends(end: int, place: TopicPartition = ORDERS) -> dict[TopicPartition, MemoryEnds]:
    return {place: MemoryEnds(0, end)}


def said(end: int, place: TopicPartition = ORDERS) -> ClusterMetadata:
    return ClusterMetadata({place.topic: MemoryTopic("id")}, ends(end, place))


def test_a_copy_that_reaches_further_than_its_original_said_later_was_written_to() -> None:
    check, written = checked()
    check.look("dc2", ends(5), {"dc2": said(5), "dc1": said(5)}, {})
    assert written == []
    check.look("dc2", ends(6), {"dc2": said(6), "dc1": said(5)}, {})
    assert written == [{AT_DC2: 5}]


def test_what_a_copy_said_while_its_original_was_asked_does_not_count() -> None:
    check, written = checked()
    known = check.known()
    original = said(5)
    check.look("dc2", ends(8), {"dc2": said(8), "dc1": said(8)}, check.known())  # another query, meanwhile
    check.look("dc1", ends(5), {"dc1": original}, known)
    assert written == []
    check.look("dc1", ends(5), {"dc1": original}, check.known())
    assert written == [{AT_DC2: 5}]


def test_a_copy_counts_with_its_present_end_for_it_may_have_been_cut() -> None:
    check, written = checked()
    check.look("dc2", ends(8), {"dc2": said(8), "dc1": ClusterError("dc1", "no answer")}, {})
    check.look("dc2", ends(3), {"dc2": said(3)}, check.known())
    check.look("dc1", ends(5), {"dc1": said(5)}, check.known())
    assert written == []


def test_a_copy_that_was_cut_while_its_original_was_asked_which_was_cut_before_is_one() -> None:
    """Both lost their ends: what the copy had before does not speak against what the original has now."""
    check, written = checked()
    check.look("dc2", ends(8), {"dc2": said(8), "dc1": said(8)}, {})
    known, original = check.known(), said(5)
    check.look("dc2", ends(5), {"dc2": said(5), "dc1": original}, check.known())
    check.look("dc1", ends(5), {"dc1": original}, known)
    assert written == []


def test_other_topics_and_originals_that_say_nothing_tell_nothing() -> None:
    check, written = checked()
    check.look("dc2", ends(9, OWN), {"dc1": said(1, OWN)}, {})
    check.look("dc2", ends(9), {"dc1": ClusterError("dc1", "no answer")}, {})
    check.look("dc2", ends(9), {"dc1": said(9, OWN)}, {})
    check.look("dc2", ends(9), {}, {})
    check.look("dc1", ends(9), {"dc1": said(9)}, {})
    assert written == []
