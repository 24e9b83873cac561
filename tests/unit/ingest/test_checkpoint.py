"""What a checkpoint says, from files exactly as Spark 4.2 writes them."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from fakes.clusters import MemoryTopic
from fakes.indexing import ORDERS, PAY, SECOND
from offset_sync.ingest.checkpoint import Checkpoint, OffsetRanges
from offset_sync.ingest.unreadable_logs import UnreadableLogs
from offset_sync.kafka.log_reader import Chunk, UnreadError
from offset_sync.kafka.requests import Reach
from offset_sync.model.errors import OtherClusterError, TableError
from offset_sync.model.values import RecordContent, Stop, TopicPartition
from offset_sync.tables.files import Files
from tools.stored_names import note_stored

BATCH = '{"batchWatermarkMs":0,"batchTimestampMs":1795256074434,"conf":{"spark.sql.shuffle.partitions":"4"}}'


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Two batches of a query on two topics; orders-1 appears in the second."""
    (tmp_path / "metadata").write_text('{"id":"9b7e2f5e-6b44-4c53-93a7-2d2a4c7ab0a4"}')
    for name in ("offsets", "commits", "sources/0"):
        (tmp_path / name).mkdir(parents=True)
    first = {"orders": {"0": 5}, "größe": {"0": 0}}
    (tmp_path / "sources" / "0" / "0").write_bytes(b"\0v1\n" + json.dumps(first).encode())
    ends = [{"orders": {"0": 9}, "größe": {"0": 0}}, {"orders": {"0": 12, "1": 3}, "größe": {"0": 4_000_000_000}}]
    for batch_id, end in enumerate(ends):
        (tmp_path / "offsets" / str(batch_id)).write_text(f"v1\n{BATCH}\n{json.dumps(end)}")
    return tmp_path


def test_a_batch_starts_where_the_one_before_ended_and_has_at_most_as_many_records_as_offsets(folder: Path) -> None:
    checkpoint = Checkpoint(Files(), f"file://{folder}/")
    assert checkpoint.query_id() == "9b7e2f5e-6b44-4c53-93a7-2d2a4c7ab0a4"
    assert checkpoint.start_offsets(0) == {("orders", 0): 5, ("größe", 0): 0}
    assert checkpoint.start_offsets(1) == checkpoint.end_offsets(0) == {("orders", 0): 9, ("größe", 0): 0}
    assert checkpoint.end_offsets(1) == {("orders", 0): 12, ("orders", 1): 3, ("größe", 0): 4_000_000_000}
    assert [checkpoint.record_limit(batch) for batch in (0, 1)] == [4, 3 + 3 + 4_000_000_000]
    assert checkpoint.position() == {}
    (folder / "offsets" / "0").write_text(f'v1\n{BATCH}\n{{"__consumer_offsets": {{"0": 9, "49": 3}}}}')
    (folder / "commits" / "0").write_text("v1\n{}")
    assert Checkpoint(Files(), f"file://{folder}/").position() == {0: 9, 49: 3}


@pytest.mark.parametrize("first_line", ["v2", "", "\0v12"])
def test_a_file_of_another_format_is_an_error_that_names_it_and_stays_as_it_is(folder: Path, first_line: str) -> None:
    (folder / "offsets" / "1").write_text(text := f"{first_line}\n{BATCH}\n{{}}")
    checkpoint = Checkpoint(Files(), str(folder))
    for act in (lambda: checkpoint.record_limit(1), lambda: checkpoint.leave_out(lambda _log: True)):
        with pytest.raises(TableError, match=r"/offsets/1: expected a checkpoint of format v1, found .*; go on with"):
            act()
    assert (folder / "offsets" / "1").read_text() == text


def plans(folder: Path) -> set[str]:
    found = ("offsets/0", "offsets/1", "sources/0/0")
    return {name for name in found if (folder / name).exists()}


def refuse() -> None:
    raise OtherClusterError("dc1", "another id")


def test_what_another_cluster_planned_is_planned_again_under_another_name(folder: Path) -> None:
    (folder / "commits" / "0").write_text("v1\n{}")
    checkpoint = Checkpoint(Files(), str(folder))
    before = checkpoint.query_id()
    checkpoint.begin(lambda: None)
    assert (plans(folder), checkpoint.query_id()) == ({"offsets/0", "offsets/1", "sources/0/0"}, before)
    with pytest.raises(OtherClusterError):
        checkpoint.begin(refuse)
    assert plans(folder) == {"offsets/0", "sources/0/0"}
    assert checkpoint.query_id() != before
    checkpoint.forget_plan()
    assert plans(folder) == {"offsets/0", "sources/0/0"}, "what is done stays"
    (folder / "commits" / "0").unlink()
    Checkpoint(Files(), str(folder)).forget_plan()
    assert plans(folder) == set(), "the first plan is forgotten with where it begins"


def test_a_plan_that_was_not_stored_is_planned_again_under_another_name(folder: Path) -> None:
    """Under the same name the tables would skip it as a repetition, though it may end elsewhere."""
    checkpoint = Checkpoint(Files(), str(folder))
    before = checkpoint.query_id()
    (folder / "offsets" / "1").write_text("v1\n")
    checkpoint.begin(lambda: None)
    assert (plans(folder), checkpoint.query_id() != before) == ({"offsets/0", "sources/0/0"}, True)


def test_a_plan_is_stored_before_anything_is_done_by_it(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    stored = note_stored(monkeypatch)
    checkpoint = Checkpoint(Files(), str(folder))
    checkpoint.end_offsets(1)
    assert stored == ["1", "offsets"]
    checkpoint.end_offsets(1)
    assert len(stored) == 2, "once"


CORRUPT = {ORDERS: Stop(10, "bad CRC")}


class Query:
    """The checkpoint of a query in *folder*, its unreadable logs, and its cluster, whose logs end at 50."""

    alias = "dc1"

    def __init__(self, folder: Path) -> None:
        self.folder, self.included, self.silent = folder, {"orders": 2, "pay": 1}, set[TopicPartition]()
        self.checkpoint = Checkpoint(Files(), str(folder))
        itself: Any = self
        self.logs = UnreadableLogs(itself, itself)

    def topics(self) -> dict[str, MemoryTopic]:
        return {"orders": MemoryTopic("id", 2), "pay": MemoryTopic("id", 1)}

    def reaches(self, is_wanted: Callable[[str], bool]) -> dict[TopicPartition, Reach]:
        return {log: Reach(50, 50) for log in (ORDERS, SECOND, PAY) if is_wanted(log.topic) and log not in self.silent}

    def read(self, ranges: OffsetRanges) -> Iterator[Chunk]:
        """Yield a record of each log, but none of orders-0 from 10 on."""
        for log, each in ranges.items():
            if log == ORDERS and each.start >= 10:
                raise UnreadError("dc1", {log: Stop(each.start, "bad CRC")})
            yield [(log, RecordContent(each.start, 1, None, None))]

    def begin(self) -> set[TopicPartition] | None:
        """Start the query; return what it is to assign."""
        _, only = self.logs.begin(self.checkpoint, self.included.__contains__)
        return None if only is None else set(only)

    def plan(self, batch_id: int, **ends: list[int]) -> None:
        """Let Spark plan a micro-batch up to these *ends* of each topic."""
        (self.folder / "offsets").mkdir(exist_ok=True)
        found = {topic: {str(number): end for number, end in enumerate(each)} for topic, each in ends.items()}
        (self.folder / "offsets" / str(batch_id)).write_text(f"v1\n{{}}\n{json.dumps(found)}")

    def do(self, batch_id: int, **ends: list[int]) -> None:
        """Let Spark plan a micro-batch, and do it."""
        self.plan(batch_id, **ends)
        (self.folder / "commits").mkdir(exist_ok=True)
        (self.folder / "commits" / str(batch_id)).write_text("v1\n{}")

    def ends(self, batch_id: int) -> tuple[int, ...]:
        found = self.checkpoint.end_offsets(batch_id)
        return tuple(found[log] for log in (ORDERS, SECOND, PAY) if log in found)


@pytest.fixture
def query(tmp_path: Path) -> Query:
    found = Query(tmp_path)
    found.do(0, orders=[5, 5], pay=[5])
    found.begin()
    return found


def test_a_log_that_stopped_is_left_out_of_later_plans_and_read_from_there_after_a_restart(query: Query) -> None:
    query.logs.note({ORDERS: 10, PAY: 20}, CORRUPT)
    assert query.logs.left_out({ORDERS: 20, PAY: 20}, {ORDERS: 30, PAY: 30}) == ({PAY: 20}, {PAY: 30})
    assert query.logs.lines()[0].startswith("clusters.dc1: orders-0 cannot be read from offset 10 on: bad CRC")
    query.do(1, orders=[30, 30], pay=[30])
    restarted = Query(query.folder)
    assert restarted.begin() is None
    assert (restarted.ends(1), restarted.checkpoint.unreadable()) == ((10, 30, 30), {})
    assert restarted.logs.left_out({ORDERS: 10}, {ORDERS: 50}) == ({ORDERS: 10}, {ORDERS: 50})


def test_a_plan_that_is_not_done_yet_goes_on_without_it(query: Query) -> None:
    query.logs.note({ORDERS: 10}, CORRUPT)
    query.do(1, orders=[30, 30], pay=[30])
    query.plan(2, orders=[40, 40], pay=[40])
    restarted = Query(query.folder)
    restarted.begin()
    assert (restarted.ends(1), restarted.ends(2)) == ((30, 30, 30), (40, 40, 40))
    assert restarted.logs.left_out({ORDERS: 30}, {ORDERS: 40}) == ({}, {})
    assert restarted.checkpoint.unreadable().keys() == {ORDERS}
    del restarted.included["orders"]  # it is planned for no more
    assert restarted.begin() is None
    assert (restarted.ends(2), restarted.checkpoint.unreadable()) == ((30, 30, 40), {})


def test_a_leader_that_is_away_is_not_planned_for_and_its_log_goes_on_where_it_was(query: Query) -> None:
    query.plan(1, orders=[9, 9], pay=[9])
    query.silent = {SECOND}
    assert query.begin() == {ORDERS, PAY}
    assert query.ends(1) == (9, 5, 9)
    assert query.checkpoint.unreadable()[SECOND].offset == 5
    query.do(1, orders=[9, 5], pay=[9])
    query.do(2, orders=[40], pay=[40])
    assert query.begin() == {ORDERS, PAY}
    query.silent = set()
    assert query.logs.can_be_read()
    assert query.begin() is None
    assert (query.ends(2), query.checkpoint.unreadable()) == ((40, 5, 40), {})
