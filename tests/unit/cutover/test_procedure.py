"""The steps of a move, among clusters that say what the test wants; a plan and the steps name both sides."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import pytest

from fakes.moves import CROSSING, GOOD, MIRRORING, FakeClusters, Move
from offset_sync.config.prefix_names import PrefixNames
from offset_sync.cutover.journal import TableJournal
from offset_sync.cutover.plan import NO_OPTIONS, CutoverStep, Direction, GroupPlan, Mode, Options, Step
from offset_sync.model.errors import ClusterError
from offset_sync.model.reasons import Reason
from offset_sync.model.stream_names import SAME_NAMES, Names
from offset_sync.model.values import GroupPartition, State, Status, TopicPartition


def planned(clusters: FakeClusters, mode: Mode = Mode.PLANNED, options: Options = NO_OPTIONS) -> GroupPlan:
    (plan,) = Move(clusters, options=options).cutover.plan(["g"], mode)
    return plan


def blocking(clusters: FakeClusters, mode: Mode = Mode.PLANNED, options: Options = NO_OPTIONS) -> list[str]:
    return [each.reason for each in planned(clusters, mode, options).blocking]


SILENT, PENDING = ClusterError("X", "no answer"), ClusterError("Y", "an open transaction")


@pytest.mark.parametrize(
    ("site", "words"),
    [
        (FakeClusters(here=["g"]), Reason.HAS_MEMBERS("X")),
        (FakeClusters(there=["g"]), Reason.HAS_MEMBERS("Y")),
        (FakeClusters(silent={"g": PENDING}), Reason.TARGET_SILENT(PENDING)),
        (FakeClusters(here=SILENT), Reason.SOURCE_LOST(SILENT, "X")),
        (FakeClusters(there=SILENT), Reason.TARGET_SILENT(SILENT)),
        (FakeClusters([[]]), Reason.NOTHING_TO_MOVE("X")),
        (FakeClusters([[replace(GOOD, elsewhere="Z")]]), Reason.MOVE_FROM_THERE("Z")),
        (
            FakeClusters([[replace(GOOD, status=Status.WITHHELD, state=State.TOPIC_RECREATED)]]),
            Reason.IS_WITHHELD("orders-0", "TOPIC_RECREATED", Reason.TOPIC_RECREATED(), 1),
        ),
        (FakeClusters(reading={"g": 2_000}), Reason.READS_ALONE("2 s", "X")),
    ],
)
def test_every_reason_not_to_move_is_named_and_nothing_is_committed(site: FakeClusters, words: str) -> None:
    move = Move(site)
    assert move.apply() == [f"g: {words}"]
    assert move.written() == [("check", "refused")]
    assert site.committed == []


def test_a_disaster_asks_nothing_of_the_source_and_waits_for_nothing() -> None:
    site = FakeClusters([[MIRRORING]], here=SILENT, unread_left=[5])
    move = Move(site)
    assert move.apply(mode=Mode.DISASTER) == []
    assert move.seconds == 0
    assert [step.lost for step in move.steps if step.step is Step.CHECK] == [3]
    for site in (FakeClusters(here=["g"]), FakeClusters(unseen=["g"]), FakeClusters(reading={"g": 2_000})):
        assert blocking(site, Mode.DISASTER) == []


@pytest.mark.parametrize("mode", Mode)
def test_one_group_that_may_not_move_keeps_no_other_and_three_take_no_more_appends_than_one(mode: Mode) -> None:
    """On slow storage each takes half a minute."""
    one, many = Move(FakeClusters()), Move(FakeClusters(silent={"b": PENDING}))
    assert one.apply("a", mode=mode) == []
    assert many.apply("a", "b", "c", mode=mode) == [f"b: {Reason.TARGET_SILENT(PENDING)}"]
    assert (many.clusters.committed, many.appends) == ([["a", "c"]], one.appends)


def test_what_is_unread_is_waited_for_and_a_wait_that_is_too_long_moves_nothing() -> None:
    move = Move(FakeClusters(unread_left=[9, 9, 4, 0]))
    assert move.apply() == []
    steps = ["check", "wait", "check", "commit", "read_back", "verify", "home"]
    assert move.written() == [(step, "done") for step in steps]
    assert move.clusters.committed == [["g"]]
    move = Move(FakeClusters(unread_left=[3]))
    assert move.apply(timeout=5.0) == [f"g: {Reason.NOT_READ(5, 'records: 3')}"]
    assert move.written()[-1] == ("wait", "failed")
    assert (move.clusters.committed, move.seconds) == ([], 5.0)


def test_where_the_running_sync_was_a_moment_later_it_is_translated_and_read_back_again() -> None:
    class Overtaken(FakeClusters):
        def translate_and_commit(self, groups: Collection[str]) -> list[CutoverStep]:
            wanted = 9 if self.committed else 7
            return [each._replace(target_offset=wanted) for each in super().translate_and_commit(groups)]

    move = Move(Overtaken(held=9))
    assert move.apply() == []
    assert [result for step, result in move.written() if step == "read_back"] == ["failed", "done"]
    move = Move(FakeClusters(held=9))
    assert "Y holds 9, wanted 7" in move.apply()[0]
    assert len(move.clusters.committed) == 4  # three times more


CONFIRMED = Options(["NOT_LISTED", "READS_ALONE"])


def test_a_group_of_unknown_members_has_to_be_confirmed_at_the_source_only() -> None:
    assert blocking(FakeClusters(unseen=["g"])) == [Reason.NOT_LISTED("X")]
    for site in (FakeClusters(unseen=["g"]), FakeClusters(reading={"g": 2_000})):
        assert Move(site, options=CONFIRMED).apply() == []
    assert blocking(FakeClusters(unseen=["g"], here=["g"]), options=CONFIRMED) == [Reason.HAS_MEMBERS("X")]


def test_an_application_with_a_repartition_topic_has_to_be_confirmed_for_a_planned_move() -> None:
    site = FakeClusters(internal={"g": "g-by-key-repartition"})
    assert Move(site).apply() == [f"g: {Reason.HAS_INTERNAL('g-by-key-repartition', 'X')}"]
    assert (blocking(site, Mode.DISASTER), site.committed) == ([], [])
    assert Move(site, options=Options(["HAS_INTERNAL"])).apply() == []


def test_partitions_that_a_group_never_committed_begin_at_the_targets_start() -> None:
    fresh = [[replace(GOOD, uncommitted="1-2, 4")]]
    site = FakeClusters(fresh, held_starts={TopicPartition("orders", number): 100 for number in (1, 2, 4)})
    assert planned(site).notes == [Reason.FROM_START("orders", "1-2, 4", "Y")]
    move = Move(site)
    assert move.apply() == []
    assert site.started == [("g", "orders", number) for number in (1, 2, 4)]
    assert [step.target_offset for step in move.steps if step.step is Step.COMMIT] == [7, 100, 100, 100]


@pytest.mark.parametrize("status", [each for each in Status if each is not Status.IN_SYNC])
def test_verifying_says_what_to_do(status: Status) -> None:
    for row, reason in (
        (replace(GOOD, status=status, reason="so"), Reason[f"IF_{status.name}"]),
        (replace(CROSSING, reason="so"), Reason.IF_CROSSING),
    ):
        (line,) = Move(FakeClusters([[row]])).verify()
        assert line == f"g orders-0: {row.status.word}: so; {reason('Y', 'X')}"


# Names at the target

MM2 = PrefixNames({"X": "X", "Y": "Y"}, ".")


@pytest.mark.parametrize(("names", "said"), [(MM2, "X.orders, orders"), (SAME_NAMES, None)])
def test_a_plan_says_what_to_subscribe_to_where_names_differ(names: Names, said: str | None) -> None:
    rows = [replace(GOOD, key=GroupPartition("g", stream, 0)) for stream in ("Y.orders", "X.orders")]
    (plan,) = Move(FakeClusters([rows]), names=names).cutover.plan(["g"], Mode.PLANNED)
    assert plan.notes == ([Reason.SUBSCRIBES("Y", said)] if said else [])


def test_steps_are_written_down_with_the_names_of_both_sides_and_the_stream() -> None:
    written: list[dict[str, Any]] = []
    tables: Any = SimpleNamespace(append=lambda _table, rows: written.extend(rows.to_pylist()))
    step = CutoverStep.told(("g", "X.orders", 3), Step.VERIFY, "so", 5, 7)
    of_group = step._replace(stream=None, partition=None)
    TableJournal(tables, Direction("Y", "X"), Mode.PLANNED, MM2).record([step, of_group])
    names = ("step", "result", "detail", "topic", "partition", "stream", "target_topic", "target_offset")
    assert [tuple(row[name] for name in names) for row in written] == [
        ("verify", "failed", "so", "X.orders", 3, "X.orders", "orders", 7),
        ("verify", "failed", "so", None, None, None, None, 7),
    ]
