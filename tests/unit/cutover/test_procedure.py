"""The steps of a move, among clusters that say what the test wants; a plan and the steps name both sides."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import pyarrow as pa
import pytest

from fakes.moves import CROSSING, GOOD, MIRRORING, FakeClusters, Move
from offset_sync.config.prefix_names import PrefixNames
from offset_sync.config.stream_names import SAME_NAMES, Names
from offset_sync.cutover.journal import TableJournal, verify_step
from offset_sync.cutover.plan import (
    Committed,
    Direction,
    Mode,
    Options,
    PartitionStatus,
    Reader,
    Step,
)
from offset_sync.cutover.procedure import CutoverProcedure
from offset_sync.model.errors import ClusterError
from offset_sync.model.reasons import Reason
from offset_sync.model.values import State, Status, TopicPartition
from offset_sync.tables.definition import Table


def blocking(clusters: FakeClusters, mode: Mode = Mode.PLANNED) -> list[str]:
    (plan,) = Move(clusters).cutover.plan(["g"], mode)
    return plan.blocking


def test_a_planned_move_checks_waits_checks_again_commits_reads_back_and_verifies() -> None:
    move = Move(FakeClusters(unread_left=[9, 9, 4, 0]))
    assert move.apply() == []
    assert move.written() == [
        ("check", "done"),
        ("wait", "done"),
        ("check", "done"),
        ("commit", "done"),
        ("read_back", "done"),
        ("verify", "done"),
        ("home", "done"),
    ]
    assert move.clusters.committed == [["g"]]
    assert move.said[0] == "waiting, for at most 10 s: records: 9"


SILENT = ClusterError("X", "no answer")


@pytest.mark.parametrize(
    ("site", "words"),
    [
        (FakeClusters(here=["g"]), Reason.HAS_MEMBERS("X")),
        (FakeClusters(there=["g"]), Reason.HAS_MEMBERS("Y")),
        (
            FakeClusters(transactions={"g": "an open transaction holds commits back"}),
            "an open transaction holds commits back",
        ),
        (FakeClusters(here=SILENT), "if X is lost, use --disaster"),
        (FakeClusters(there=ClusterError("Y", "no answer")), "groups cannot be moved to a target that does not answer"),
        (FakeClusters([[]]), "it has no commits at X to move"),
        (FakeClusters([[]], elsewhere={"g": ["Y"]}), "its newest commits are at Y"),
        (
            FakeClusters(elsewhere={"g": ["Y", "Z"]}),
            Reason.MOVE_FROM_THERE("Z"),
        ),
        (
            FakeClusters([[replace(GOOD, status=Status.WITHHELD, state=State.TOPIC_RECREATED)]]),
            Reason.IS_WITHHELD("orders-0", "TOPIC_RECREATED", Reason.TOPIC_RECREATED(), 1),
        ),
    ],
)
def test_every_reason_not_to_move_is_named_and_nothing_is_committed(site: FakeClusters, words: str) -> None:
    move = Move(site)
    (failure,) = move.apply()
    assert words in failure
    assert move.written() == [("check", "refused")]
    assert site.committed == []


def test_a_disaster_asks_nothing_of_the_source_and_waits_for_nothing() -> None:
    site = FakeClusters([[MIRRORING]], here=SILENT, unread_left=[5], ranges={"g": ["orders-0 X [5, 8)"]})
    move = Move(site)
    assert move.apply(mode=Mode.DISASTER) == []
    assert move.seconds == 0
    assert "g: never mirrored, so not at Y: orders-0 X [5, 8)" in move.said
    assert [step.detail for step in move.steps if step.step is Step.VERIFY] == ["orders-0 X [5, 8)"]
    assert blocking(FakeClusters(here=["g"]), Mode.DISASTER) == []
    assert blocking(FakeClusters(there=["g"]), Mode.DISASTER) != []


@pytest.mark.parametrize("mode", Mode)
def test_one_group_that_may_not_move_keeps_no_other_and_three_take_no_more_appends_than_one(mode: Mode) -> None:
    """On slow storage each takes half a minute."""
    one, many = Move(FakeClusters()), Move(FakeClusters(transactions={"b": "held back"}))
    assert one.apply("a", mode=mode) == []
    assert many.apply("a", "b", "c", mode=mode) == ["b: held back"]
    assert (many.clusters.committed, many.appends) == ([["a", "c"]], one.appends)


def test_a_wait_that_is_too_long_moves_nothing_and_says_what_is_left() -> None:
    move = Move(FakeClusters(unread_left=[3]))
    (failure,) = move.apply(timeout=5.0)
    assert Reason.NOT_READ(5, "records: 3") in failure
    assert move.written()[-1] == ("wait", "failed")
    assert (move.clusters.committed, move.seconds) == ([], 5.0)


def test_where_the_running_sync_was_a_moment_later_it_is_translated_and_read_back_again() -> None:
    class Overtaken(FakeClusters):
        def translate_and_commit(self, groups: Collection[str]) -> list[Committed]:
            wanted = 9 if self.committed else 7
            return [replace(each, target_offset=wanted) for each in super().translate_and_commit(groups)]

    move = Move(Overtaken(held=9))
    assert move.apply() == []
    assert [result for step, result in move.written() if step == "read_back"] == ["failed", "done"]
    move = Move(FakeClusters(held=9))
    assert "Y holds 9, wanted 7" in move.apply()[0]
    assert len(move.clusters.committed) == 4  # three times more


YOUNG = {"g": Reader(2_000, is_member=False)}
REFUSED = Reason.READS_ALONE("2 s", "X")


def test_a_reader_without_membership_has_to_be_stopped_or_confirmed() -> None:
    assert blocking(FakeClusters(reading=YOUNG)) == [REFUSED]
    assert blocking(FakeClusters(reading={"g": Reader(2_000, is_member=True)})) == []
    assert blocking(FakeClusters(reading=YOUNG), Mode.DISASTER) == []
    assert Move(FakeClusters(reading=YOUNG), options=Options(are_readers_confirmed=True)).apply() == []
    assert Move(FakeClusters(reading=YOUNG)).apply() == [f"g: {REFUSED}"]


def test_a_group_of_unknown_members_has_to_be_confirmed_at_the_source_only() -> None:
    unseen = Reason.NOT_LISTED("X")
    assert blocking(FakeClusters(unseen=["g"])) == [unseen]
    assert blocking(FakeClusters(unseen=["g"]), Mode.DISASTER) == []
    assert Move(FakeClusters(unseen=["g"]), options=Options(are_readers_confirmed=True)).apply() == []
    assert Move(FakeClusters(unseen=["g"], here=["g"]), options=Options(are_readers_confirmed=True)).apply() == [
        f"g: {Reason.HAS_MEMBERS('X')}"
    ]


def test_an_application_with_a_repartition_topic_has_to_be_confirmed_for_a_planned_move() -> None:
    site = FakeClusters(internal={"g": "g-by-key-repartition"})
    assert blocking(site) == [Reason.HAS_INTERNAL("g-by-key-repartition", "X")]
    assert blocking(site, Mode.DISASTER) == []
    assert Move(site).apply() == [f"g: {blocking(site)[0]}"]
    assert site.committed == []
    assert Move(site, options=Options(is_internal_confirmed=True)).apply() == []


FRESH = replace(GOOD, uncommitted="1-2, 4")


def test_partitions_that_a_group_never_committed_begin_at_the_targets_start() -> None:
    starts = {TopicPartition("orders", number): 100 for number in (1, 2, 4)}
    site = FakeClusters([[FRESH]], held_starts=starts)
    (plan,) = Move(site).cutover.plan(["g"], Mode.PLANNED)
    assert plan.notes == [Reason.FROM_START("orders", "1-2, 4", "Y")]
    move = Move(site)
    assert move.apply() == []
    assert site.started == [("g", "orders", number) for number in (1, 2, 4)]
    assert [step.target_offset for step in move.steps if step.step is Step.COMMIT] == [7, 100, 100, 100]
    move = Move(FakeClusters([[FRESH]]), options=Options(are_uncommitted_left=True))
    assert (move.apply(), move.clusters.started) == ([], [])
    (plan,) = move.cutover.plan(["g"], Mode.PLANNED)
    assert plan.notes == [Reason.LEFT_OUT("orders", "1-2, 4")]


# Names at the target


def of(stream: str, partition: int = 0, **changes: Any) -> PartitionStatus:
    return replace(GOOD, topic_partition=TopicPartition(stream, partition), **changes)


@pytest.mark.parametrize("status", [each for each in Status if each is not Status.IN_SYNC])
def test_verifying_says_what_to_do(status: Status) -> None:
    for row, reason in (
        (replace(GOOD, status=status, reason="so"), Reason[f"IF_{status.name}"]),
        (replace(CROSSING, reason="so"), Reason.IF_CROSSING),
    ):
        (line,) = Move(FakeClusters([[row]])).cutover.verify(["g"])
        assert line == f"g orders-0: {row.status.word}: so; {reason('Y', 'X')}"


THERE = Direction("dc1", "dc2")


def mm2() -> Names:
    return PrefixNames({"dc1": "dc1", "dc2": "dc2"}, ".")


@pytest.mark.parametrize(
    ("names", "streams", "moved", "said"),
    [
        (mm2(), {"dc2.orders": True, "dc1.orders": False}, ["dc1.orders", "dc2.orders"], "dc1.orders, orders"),
        (mm2(), {"dc1.orders": True, "dc2.orders": True}, ["dc1.orders"], "dc1.orders, orders"),
        (mm2(), {"dc1.orders": True}, [], None),
        (SAME_NAMES, {"orders": True}, ["orders"], None),
    ],
)
def test_a_plan_says_what_to_subscribe_to_and_what_the_group_itself_has_never_committed_there(
    names: Names, streams: dict[str, bool], moved: list[str], said: str | None
) -> None:
    class OfStreams(FakeClusters):
        def committed_streams(self, groups: Collection[str]) -> dict[str, dict[str, bool]]:
            return {"g": streams}

    site, move = OfStreams([[of(each) for each in moved]]), Move(FakeClusters())
    (plan,) = CutoverProcedure(THERE, site, move, names=names).plan(["g"], Mode.PLANNED)
    fresh = [] if all(streams.values()) else [Reason.MAKE_SURE("dc2", "dc1.orders")]
    assert plan.notes == ([Reason.SUBSCRIBES("dc2", said), *fresh] if said else [])


def test_steps_are_written_down_with_the_names_of_both_sides_and_the_stream() -> None:
    written: list[dict[str, Any]] = []

    def append(_table: Table, rows: pa.Table) -> None:
        written.extend(rows.to_pylist())

    tables: Any = SimpleNamespace(append=append)
    journal = TableJournal(tables, Direction("dc2", "dc1"), Mode.PLANNED, print, mm2())
    journal.record(
        [verify_step(of("dc1.orders"), None), replace(verify_step(of("dc1.orders"), None), topic_partition=None)]
    )
    assert [(row["topic"], row["stream"], row["target_topic"]) for row in written] == [
        ("dc1.orders", "dc1.orders", "orders"),
        (None, None, None),
    ]
