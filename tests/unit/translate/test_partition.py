"""All commits of one partition: which are answered, which are withheld, and what may still move."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from builders.logs import NOW_MS, indexed_at, log
from fakes.pages import KeptPages, let_go_of_all_but
from offset_sync.model.values import State
from offset_sync.translate import exact
from offset_sync.translate.exact import Bounds, Strategy
from offset_sync.translate.index.log_index import LogIndex
from offset_sync.translate.index.runs import UNKNOWN_ORIGIN, Runs
from offset_sync.translate.partition import Translations, concatenate, translate_partition, withhold
from offset_sync.translate.partition_log import PartitionLog, PartitionMetadata, last_known
from oracles.translation import Log

CODES = {"": UNKNOWN_ORIGIN, "X": 0, "Y": 1, "Z": 2}
SINCE_MS = NOW_MS - 60_000
Ids = list[str | None] | None
EXACT, NOT_INDEXED = State.EXACT, State.NOT_INDEXED


def indexed(of: Log, begin: int = 0, lost: Runs | None = None) -> PartitionLog:
    index = LogIndex(begin)
    if lost is not None:
        index.lose(lost)
    rows = [(r.offset, 1, CODES[r.origin], r.origin_offset, r.indexed_at_ms) for r in of.indexed]
    index.extend(Runs.of(*np.array(rows, np.int64).reshape(-1, 5).T), of.frontier)
    said = PartitionMetadata("id", of.log_start, of.log_end, {"id"}, of.frontier)
    return PartitionLog(index, CODES[of.cluster], said)


def ask(
    source: PartitionLog,
    target: PartitionLog,
    *commits: int,
    ids: Ids = None,
    by: Strategy = exact.EXACT,
    **bounds: object,
) -> Translations:
    known = Bounds(SINCE_MS)._replace(**bounds)
    return translate_partition(np.array(commits), ids or [None] * len(commits), source, target, known, by)


def states(found: Translations) -> list[State]:
    return [State(code) for code in found.state.tolist()]


def test_a_commit_beyond_the_index_of_its_source_may_have_read_what_is_not_known_to_be_read() -> None:
    source, target = log("X", "X0 Y0 X2 Z0", frontier=3), log("Y", "Y0 X0 X2 Z0")
    assert states(ask(indexed(source), indexed(target), 3, 4)) == [EXACT, State.INDEX_BEHIND]


@pytest.mark.parametrize(("text", "is_at_start"), [(". Y1 X2:10", [True, False]), ("X2:10", [False, False])])
def test_a_group_that_has_read_nothing_that_is_left_may_be_answered_above_the_log_start(
    text: str, is_at_start: list[bool]
) -> None:
    source, target = indexed(log("X", "X2:10", first=2, log_start=2)), indexed(log("Y", text))
    assert ask(source, target, 2, 3).is_at_start.tolist() == is_at_start
    silent = replace(source, metadata=last_known({"id"}))
    assert ask(silent, target, 3).is_at_start.all(), "of a source that does not answer the log start is unknown"


def test_only_commits_of_another_incarnation_are_withheld_and_all_where_the_log_is() -> None:
    source, target = indexed(log("X", "X0:10")), indexed(log("Y", ". . X0:10"))
    found = ask(source, target, 3, 3, 3, ids=["id", "another", None])
    assert states(found) == [EXACT, State.TOPIC_RECREATED, EXACT]
    assert found.may_move.tolist() == [False, True, False]
    gone = replace(source, metadata=source.metadata._replace(topic_id=None))
    assert states(ask(gone, target, 3)) == [State.TOPIC_MISSING]


def test_a_young_hole_may_still_move_every_answer_of_the_window() -> None:
    source, target = indexed_at(log("X", "X0:5 Y1 X6:10"), 5, NOW_MS), indexed(log("Y", "Y0 Y1 X0:5 X6:10"))
    let_go_of_all_but(target.index, 1, 1, KeptPages())  # the last of the pages that are looked at has no hole
    found = ask(indexed(source), target, 3, 8)
    assert (found.may_move & ~found.is_disordered).all()


def test_a_target_needs_an_index_unless_it_is_empty() -> None:
    source = indexed(log("X", "X0:10"))
    for start, end in ((0, 0), (7, 7), (3, 7)):
        target = PartitionLog.of(None, 1, PartitionMetadata("id", start, end))
        found = ask(source, target, 5, 10)
        assert found.wanted.tolist() == found.offset.tolist() == ([end, end] if start == end else [-1, -1])
        assert start == end or states(found) == [NOT_INDEXED] * 2


def test_parts_are_joined_in_order() -> None:
    parts = [withhold(NOT_INDEXED, 2), withhold(State.TOPIC_MISSING, 1)]
    assert states(concatenate(parts)) == [NOT_INDEXED, NOT_INDEXED, State.TOPIC_MISSING]
    assert concatenate(parts[:1]) is parts[0]


# An index that began late: Y's begins at offset 6 of a log that begins at 0


def late(text: str) -> PartitionLog:
    return indexed(log("Y", text, first=6), begin=6)


@pytest.mark.parametrize(
    ("source", "begins_with", "commits", "wanted"),
    [
        ("X0:4 Y6 X5:10", "Y6 X5:10", (3, 4, 5, 9), [-1, -1, 7, 11]),
        ("Y8 X1:6", "X4:6 Y8", (3, 4), [-1, 6]),  # of its own records the source has all
        # Y0:6 never came to X, or an election took them there: who has read X0 alone has not got past them.
        ("X0 Y6 X2", "Y6 X0 X2", (0, 1, 2), [-1, -1, 8]),
        # Only a copy that came back is indexed of Y: Y4 and Y5 are below, and who has read Y3 at X has not read them.
        ("X0:4 Y3 X5:10", "Y3 Y7 X5:10", (5, 9), [-1, -1]),
        # Of one origin nothing is indexed: what it had produced before, and was never mirrored, may be unread.
        ("X0:4 Y5 X5:10", "X5:10", (9, 10), [-1, -1]),
        ("X0:4 Y5 X5:10", "Y5", (9, 10), [-1, -1]),
    ],
)
def test_what_an_index_that_began_late_cannot_know_is_withheld(
    source: str, begins_with: str, commits: tuple[int, ...], wanted: list[int]
) -> None:
    found = ask(indexed(log("X", source)), late(begins_with), *commits)
    assert found.wanted.tolist() == wanted
    assert states(found) == [NOT_INDEXED if at < 0 else EXACT for at in wanted]


def test_a_strategy_that_answers_by_headers_knows_no_more_of_what_is_below_a_late_index() -> None:
    found = ask(indexed(log("X", "X0 Y7 X2")), late("X0 Y7 X2"), 1, 2, by=Strategy("header", look_back=8))
    assert states(found) == [NOT_INDEXED, EXACT]


def test_an_index_that_began_late_is_enough_where_retention_has_taken_the_rest() -> None:
    target = indexed(log("Y", "X4:10", first=6, log_start=6), begin=6)
    assert states(ask(indexed(log("X", "X0:10")), target, 3, 9)) == [EXACT] * 2


def test_a_third_cluster_may_have_produced_what_a_late_index_does_not_hold() -> None:
    source, target = indexed(log("X", "X0:4 . Y6 X6:10")), late("Y6 X6:10")
    assert states(ask(source, target, 9)) == [EXACT]
    assert states(ask(source, target, 9, origins=frozenset(CODES.values()) - {UNKNOWN_ORIGIN})) == [NOT_INDEXED]


@pytest.mark.parametrize(("lost", "state"), [("Y4", NOT_INDEXED), ("Y6", State.AT_FRONTIER), ("?", NOT_INDEXED)])
def test_copies_that_a_cut_has_taken_from_the_source_may_be_below_a_late_index(lost: str, state: State) -> None:
    code, number = (UNKNOWN_ORIGIN, 0) if lost == "?" else (CODES["Y"], int(lost[1:]))
    source = indexed(log("X", "X0 Y6 X2"), lost=Runs.of([0], [1], [code], [number], [0]))
    assert states(ask(source, late("Y6 X0 X2"), 3)) == [state]


@pytest.mark.parametrize(("begun", "state"), [(5, NOT_INDEXED), (6, State.AT_FRONTIER)])
def test_copies_of_a_former_life_of_their_origin_may_be_below_a_late_index(begun: int, state: State) -> None:
    assert states(ask(indexed(log("X", "X0:7 Y7 X8")), late("X6 Y7 X8"), 9, begun={CODES["X"]: begun})) == [state]
