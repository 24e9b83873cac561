"""All commits of one partition: which are answered, which are withheld, and what may still move."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from builders.logs import NOW_MS, indexed_at, log
from fakes.clusters import MemoryIndex
from fakes.reconciler_site import ORDERS
from offset_sync.model.values import State
from offset_sync.translate.exact import EXACT, Bounds, Strategy
from offset_sync.translate.index.log_index import LogIndex
from offset_sync.translate.index.runs import UNKNOWN_ORIGIN, Runs
from offset_sync.translate.partition import Translations, concatenate, translate_partition, withhold
from offset_sync.translate.partition_log import PartitionLog, PartitionMetadata, last_known

GRACE_MS = 60_000


class Logs:
    """X and Y as text; asks for commits of X on Y."""

    def __init__(self, source: str, target: str) -> None:
        self.source, self.target = log("X", source), log("Y", target)
        self.index = MemoryIndex()
        self.origins: frozenset[int] = frozenset()
        self.begun: dict[int, int] = {}
        self.strategy = EXACT

    def ask(self, *commits: int, topic_ids: list[str | None] | None = None, is_silent: bool = False) -> Translations:
        logs = {}
        for one in (self.source, self.target):
            self.index.extend(one, ORDERS)
            index, code = self.index.log(one.cluster, "orders", 0), self.index.code(one.cluster)
            metadata = PartitionMetadata("id", one.log_start, one.log_end, {"id"}, one.frontier)
            logs[one.cluster] = PartitionLog.of(index, code, metadata)
        source, target = logs["X"], logs["Y"]
        if is_silent:
            source = replace(source, metadata=last_known({"id"}))
        bounds = Bounds(NOW_MS - GRACE_MS, origins=self.origins, begun=self.begun)
        ids = topic_ids or [None] * len(commits)
        return translate_partition(np.array(commits, np.int64), ids, source, target, bounds, self.strategy)


def states(found: Translations) -> list[State]:
    return [State(code) for code in found.state.tolist()]


def test_a_commit_beyond_the_index_of_its_source_may_have_read_what_is_not_known_to_be_read() -> None:
    logs = Logs("X0 Y0 X2 Z0", "Y0 X0 X2 Z0")
    logs.source = replace(logs.source, frontier=3)
    assert states(logs.ask(3, 4)) == [State.EXACT, State.INDEX_BEHIND]


@pytest.mark.parametrize(("target", "is_at_start"), [(". Y1 X2:10", [True, False]), ("X2:10", [False, False])])
def test_a_group_that_has_read_nothing_that_is_left_may_be_answered_above_the_log_start(
    target: str, is_at_start: list[bool]
) -> None:
    logs = Logs("", target)
    logs.source = log("X", "X2:10", first=2, log_start=2)
    assert logs.ask(2, 3).is_at_start.tolist() == is_at_start
    assert logs.ask(3, is_silent=True).is_at_start.all()


def test_only_commits_of_another_incarnation_are_withheld() -> None:
    found = Logs("X0:10", ". . X0:10").ask(3, 3, 3, topic_ids=["id", "another", None])
    assert states(found) == [State.EXACT, State.TOPIC_RECREATED, State.EXACT]


def test_a_young_hole_may_still_move_every_answer_of_the_window() -> None:
    logs = Logs("X0:5 Y1 X6:10", "Y0 Y1 X0:5 X6:10")
    logs.source = indexed_at(logs.source, 5, NOW_MS)
    assert logs.ask(3).may_move.tolist() == [True]


def test_an_empty_target_needs_no_index() -> None:
    source = PartitionLog.of(None, 0, PartitionMetadata("id", 0, 10, {"id"}))
    for end in (0, 7):
        target = PartitionLog.of(None, 1, PartitionMetadata("id", end, end))
        found = translate_partition(np.array([0, 5]), [None, None], source, target, Bounds(0))
        assert found.wanted.tolist() == found.offset.tolist() == [end, end]


def test_a_target_that_has_records_needs_an_index() -> None:
    source = PartitionLog.of(LogIndex(10), 0, PartitionMetadata("id", 0, 10, {"id"}, 10))
    target = PartitionLog.of(None, 1, PartitionMetadata("id", 3, 7))
    found = translate_partition(np.array([5, 10]), [None, None], source, target, Bounds(0))
    assert states(found) == [State.NOT_INDEXED, State.NOT_INDEXED]


# An index that began late


def late_logs(source: str, begins_with: str) -> Logs:
    """Y's index begins at offset 6 of a log that begins at 0."""
    logs = Logs(source, begins_with)
    logs.index.logs["Y", "orders", 0] = LogIndex(6)
    logs.target = log("Y", begins_with, first=6)
    return logs


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
    found = late_logs(source, begins_with).ask(*commits)
    assert found.wanted.tolist() == wanted
    assert states(found) == [State.NOT_INDEXED if at < 0 else State.EXACT for at in wanted]


def test_a_third_cluster_may_have_produced_what_a_late_index_does_not_hold() -> None:
    logs = late_logs("X0:4 . Y6 X6:10", "Y6 X6:10")
    assert states(logs.ask(9)) == [State.EXACT]
    logs.origins = frozenset({logs.index.code("X"), logs.index.code("Y"), logs.index.code("Z")})
    assert states(logs.ask(9)) == [State.NOT_INDEXED]


def test_a_strategy_that_answers_by_headers_knows_no_more_of_what_is_below_a_late_index() -> None:
    logs = late_logs("X0 Y7 X2", "X0 Y7 X2")
    logs.strategy = Strategy("header", look_back=8)
    assert states(logs.ask(1, 2)) == [State.NOT_INDEXED, State.EXACT]


@pytest.mark.parametrize(
    ("lost", "state"), [("Y4", State.NOT_INDEXED), ("Y6", State.AT_FRONTIER), ("?", State.NOT_INDEXED)]
)
def test_copies_that_a_cut_has_taken_from_the_source_may_be_below_a_late_index(lost: str, state: State) -> None:
    logs = late_logs("X0 Y6 X2", "Y6 X0 X2")
    code, number = (UNKNOWN_ORIGIN, 0) if lost == "?" else (logs.index.code("Y"), int(lost[1:]))
    source = logs.index.logs["X", "orders", 0] = LogIndex()
    source.lose(Runs.of([0], [1], [code], [number], [0]))
    assert states(logs.ask(3)) == [state]


def test_an_index_that_began_late_is_enough_where_retention_has_taken_the_rest() -> None:
    logs = Logs("X0:10", "")
    logs.index.logs["Y", "orders", 0] = LogIndex(6)
    logs.target = log("Y", "X4:10", first=6, log_start=6)
    assert states(logs.ask(3, 9)) == [State.EXACT] * 2


@pytest.mark.parametrize(("begun", "state"), [(5, State.NOT_INDEXED), (6, State.AT_FRONTIER)])
def test_copies_of_a_former_life_of_their_origin_may_be_below_a_late_index(begun: int, state: State) -> None:
    logs = late_logs("X0:7 Y7 X8", "X6 Y7 X8")
    logs.begun = {logs.index.code("X"): begun}
    assert states(logs.ask(9)) == [state]


@pytest.mark.parametrize("reason", [State.NOT_INDEXED, State.CLUSTER_UNREACHABLE])
def test_withheld_rows_join_answered_ones_in_order(reason: State) -> None:
    answered = Logs("X0:10", ". . X0:10").ask(3, 4)
    joined = concatenate([withhold(reason, 2), answered, withhold(reason, 1)])
    assert states(joined) == [reason, reason, State.EXACT, State.EXACT, reason]
    assert joined.wanted.tolist() == [-1, -1, 5, 6, -1]
    assert joined.may_move.tolist() == [True, True, False, False, True]
    assert concatenate([answered]) is answered
