"""The cases of the translation that must be right, one by one, with answers worked out by hand.

Each answer is asked of the core and of brute force. Not here, because the core is never asked then: recreated or
truncated topics, other partition counts, negative commits (withheld or ignored before), and what may be overwritten on
the target (the sink).
"""

from __future__ import annotations

from dataclasses import replace

import pytest

from builders.logs import NOW_MS, ask, at_frontier, exact, indexed_at, log, offsets
from offset_sync.model.values import State
from oracles.translation import Answer

BY_HAND = {
    "records sent again to the source count at their first offset": ("Y5:8 Y5:8", "Y0:8", (0, 1, 4, 6), (0, 6, 8, 8)),
    "between reordered records the one not read is answered": ("Y0 Y2 Y1", "Y0:4", (1, 2, 3), (1, 1, 3)),
    "what the mirror skipped is read once the group has passed more": ("Y0 Y2 Y3", "Y0:4", (1, 2), (1, 3)),
    "a hole is passed at the lowest of all later records": ("Y0 Y5 Y2 Y3", "Y0:2", (1, 2), (1, 2)),
    "a record that never came to the source stops the answer": ("X0:2 Y0:2 X4:9", "Y0:4 X0:2 X4:9", (4, 9), (2, 2)),
    "an unreadable record of the target is unread by everyone": ("X0:3", "X0 ? X1 X2", (2,), (1,)),
    "an unreadable record of the source hides an identity until it is passed": (
        "Y0 ? Y2",
        "Y0:3",
        (1, 2, 3),
        (1, 1, 3),
    ),
    "an unreadable record of the source may be one that was sent late": ("Y0 Y2 ?", "Y0:3", (1, 2, 3), (1, 1, 3)),
}


@pytest.mark.parametrize(("source", "target", "commits", "wanted"), BY_HAND.values(), ids=BY_HAND)
def test_answers(source: str, target: str, commits: tuple[int, ...], wanted: tuple[int, ...]) -> None:
    assert offsets(log("X", source), log("Y", target), *commits) == [*wanted]


def test_a_young_hole_is_unread_because_the_record_may_only_be_pending() -> None:
    source = indexed_at(log("X", "Y0 Y2 Y3"), 1, NOW_MS - 59_999)
    assert ask(source, log("Y", "Y0:4"), 3) == [exact(1, 2)]
    assert ask(source, log("Y", "Y0:4"), 3, grace_ms=59_999) == [at_frontier(4)]


def test_a_record_of_the_source_itself_is_read_by_its_offset_even_where_the_source_has_no_index() -> None:
    assert ask(None, log("Y", "X0:3 X4:7"), 0, 2, 4, 5, 99) == [exact(0), exact(2), exact(3), exact(4), at_frontier(6)]


def test_a_commit_beyond_the_index_of_the_source_is_answered_small_and_said_to_be_behind() -> None:
    whole, target = log("X", "Y0:10"), log("Y", "Y0:10")
    assert ask(replace(whole, frontier=4), target, 4, 7) == [exact(4), Answer(4, 4, State.INDEX_BEHIND, 0, 3, 0)]
    assert ask(whole, target, 7) == [exact(7)]


def test_what_is_read_to_the_end_of_the_index_is_answered_with_the_frontier_not_the_log_end() -> None:
    assert ask(None, log("Y", "X0:9", frontier=5), 4, 5, 9) == [exact(4), at_frontier(5), at_frontier(5)]


def test_an_unread_record_that_retention_took_is_a_loss_and_the_log_start_is_committed() -> None:
    target = log("Y", "X0:5 X6 X5 X7:9", log_start=6)
    assert ask(None, target, 2, 5, 6, 7, 8) == [
        Answer(2, 6, State.EXACT, 0, 0, 4),  # 2, 3, 4 and 6
        Answer(5, 6, State.EXACT, 0, 0, 1),  # 6
        Answer(5, 6, State.EXACT, 1, 1, 1),  # 6; 5 is read again
        exact(7),
        exact(8),
    ]


def test_retention_beyond_the_index_commits_the_log_start() -> None:
    (answer,) = ask(None, log("Y", "X0:9", log_start=8, frontier=5), 3)
    assert (answer.offset, answer.clamped_offset, answer.lost) == (3, 8, 2)
    both = (log(cluster, "X0:9", log_start=6) for cluster in "XY")
    assert ask(*both, 5) == [Answer(5, 6, State.EXACT, 0, 0, 0)], "what the source has deleted too is not lost"
