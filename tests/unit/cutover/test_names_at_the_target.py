"""A plan says under which names a group goes on; what is written down and said names both sides."""

from __future__ import annotations

import io
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import pyarrow as pa
from rich.console import Console

from fakes.moves import GOOD
from offset_sync.config.prefix_names import PrefixNames
from offset_sync.config.stream_names import SAME_NAMES, Names
from offset_sync.cutover.journal import TableJournal, verify_step
from offset_sync.cutover.plan import Activity, Direction, GroupPlan, Mode, PartitionStatus, print_plan
from offset_sync.cutover.procedure import CutoverProcedure
from offset_sync.model.values import Status, TopicPartition
from offset_sync.tables.definition import Table

THERE = Direction("dc1", "dc2")


def mm2() -> Names:
    return PrefixNames({"dc1": "dc1", "dc2": "dc2"}, ".")


def of(stream: str, partition: int = 0, **changes: Any) -> PartitionStatus:
    return replace(GOOD, topic_partition=TopicPartition(stream, partition), **changes)


def printed(names: Names, streams: dict[str, bool], *partitions: PartitionStatus) -> str:
    out = io.StringIO()
    plan = GroupPlan("g", Activity.INACTIVE, Activity.INACTIVE, list(partitions), streams=streams)
    print_plan([plan], THERE, Console(file=out, width=100), names)
    return out.getvalue()


def test_a_plan_says_what_to_subscribe_to_and_what_the_group_itself_has_never_committed_there() -> None:
    said = printed(mm2(), {"dc2.orders": True, "dc1.orders": False}, of("dc1.orders"), of("dc2.orders"))
    assert "g subscribes at dc2 to: dc1.orders, orders\n" in said
    assert "it has never committed dc1.orders there itself" in said


def test_who_has_committed_all_of_it_there_before_is_told_no_more_than_the_names() -> None:
    said = printed(mm2(), {"dc1.orders": True}, of("dc1.orders"))
    assert "g subscribes at dc2 to: dc1.orders\n" in said
    assert "never" not in said


def test_a_stream_of_which_nothing_is_to_be_moved_is_subscribed_to_all_the_same() -> None:
    said = printed(mm2(), {"dc1.orders": True, "dc2.orders": True}, of("dc1.orders"))
    assert "g subscribes at dc2 to: dc1.orders, orders\n" in said


def test_of_a_group_that_is_not_there_no_names_are_said() -> None:
    assert "subscribes" not in printed(mm2(), {"dc1.orders": True})


def test_with_the_same_names_nothing_is_said_of_them() -> None:
    assert "subscribes" not in printed(SAME_NAMES, {"orders": True}, of("orders"))


def test_what_fails_is_called_as_both_sides_call_it() -> None:
    behind = of("dc1.orders", 3, status=Status.BEHIND, reason="late")
    statuses = {"g": [behind, of("dc2.orders")]}
    clusters: Any = SimpleNamespace(partition_statuses=lambda _: statuses, internal_topics=lambda _: {})
    journal: Any = SimpleNamespace(record=lambda _steps: None)
    (failure,) = CutoverProcedure(THERE, clusters, journal, names=mm2()).verify(["g"])
    assert failure.startswith("g orders-3 (dc1.orders-3 at dc2): Behind: late")


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
