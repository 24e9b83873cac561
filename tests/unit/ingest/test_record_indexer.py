"""Micro-batches of headers into the index: every record once, wherever the job is killed, and never more than read."""

from __future__ import annotations

from datetime import datetime, timedelta, timezone
from typing import Any, NamedTuple

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fakes.clusters import MemoryEnds
from fakes.indexing import ORDERS, TOPICS, Job, Plan, mirrored
from fakes.tables import PowerFailure
from generators.hypothesis_strategies import law
from offset_sync.ingest.batch_rows import ReadBatch
from offset_sync.ingest.log_check import Completeness
from offset_sync.ingest.origin_check import OriginCheck, refute_beyond
from offset_sync.ingest.run_builder import CUT_SCHEMA
from offset_sync.model.errors import ClusterError
from offset_sync.model.values import TopicPartition
from offset_sync.state.cluster_metadata import ClusterMetadata
from offset_sync.state.record_index import RecordIndex
from offset_sync.tables.catalog import LOG_INCARNATIONS, QUARANTINE, RECORD_RUNS
from offset_sync.tables.definition import Table
from offset_sync.translate.index.runs import UNKNOWN_ORIGIN


def test_malformed_headers_and_copies_of_what_is_not_written_are_unread_by_everyone_and_in_quarantine() -> None:
    job = Job(Plan({ORDERS: 0}, [{ORDERS: 5}]), ends_at_x=8)
    headers = (None, (b"IDC-X", b"x"), (b"Y", b"9"), mirrored(7), mirrored(8))
    job.index(0, *((ORDERS, offset, each) for offset, each in enumerate(headers)))
    runs = [(0, 1, "Y", 0), (1, 2, "", 1), (3, 1, "X", 7), (4, 1, "", 4)]
    assert [run[2:] for run in job.runs() if run[3]] == runs
    assert job.tables.rows(QUARANTINE, "cluster", "topic", "partition", "offset", "key", "value", "error") == [
        ("Y", "orders", 0, 1, b"IDC-X", b"x", "offset header is not a decimal number without sign"),
        ("Y", "orders", 0, 2, b"Y", b"9", "origin offset 9 of this very cluster is not yet written"),
        ("Y", "orders", 0, 4, None, None, "origin offset 8: not in the log of X, which ends or was cut at 8"),
    ]


def test_a_new_checkpoint_writes_again() -> None:
    job = Job(Plan({ORDERS: 0}, [{ORDERS: 1}]))
    job.index(0, (ORDERS, 0, None))
    job.plan.query = "another"
    job.index(0, (ORDERS, 0, None))
    assert job.runs() == [("orders", 0, 0, 0, "Y", -1)] * 2 + [("orders", 0, 0, 1, "Y", 0)] * 2


@pytest.mark.parametrize("table", [LOG_INCARNATIONS, QUARANTINE, RECORD_RUNS], ids=lambda table: table.name)
def test_killed_at_any_point_and_repeated_everything_is_there_once(table: Table) -> None:
    job = Job(Plan({ORDERS: 0}, [{ORDERS: 3}]))
    records = [(ORDERS, 0, None), (ORDERS, 1, (b"", b"1"))]
    job.tables.dies_at = table
    with pytest.raises(PowerFailure):
        job.index(0, *records)
    assert job.runs() == []
    assert job.topic_ids() == ([] if table is LOG_INCARNATIONS else [("orders-1",)])  # never a run without its id
    for _ in range(2):
        job.restart()
        job.index(0, *records)
        job.index(0, *records)
    assert [run[2:5] for run in job.runs()] == [(0, 0, "Y"), (0, 1, "Y"), (1, 1, ""), (3, 0, "Y")]
    assert job.tables.rows(QUARANTINE, "offset") == [(1,)]
    assert job.topic_ids() == [("orders-1",)]


def test_a_topic_that_may_not_be_described_is_not_indexed_as_one_that_is_gone() -> None:
    job = Job(Plan({ORDERS: 0}, [{ORDERS: 1}, {ORDERS: 2}]))
    job.topics["orders"] = refused = ClusterError("Y", "orders may not be described")  # type: ignore[assignment]
    with pytest.raises(ClusterError, match="may not be described"):
        job.index(0, (ORDERS, 0, None))
    assert (job.runs(), job.topic_ids()) == ([], [])
    job.topics["orders"] = TOPICS["orders"]
    job.index(0, (ORDERS, 0, None))
    job.topics["orders"] = refused  # type: ignore[assignment]
    job.index(1, (ORDERS, 1, None))  # it is known by now, and readers of the index query its id
    assert job.topic_ids() == [("orders-1",)]


def test_a_micro_batch_that_was_passed_over_is_unread_by_everyone() -> None:
    """By a query that has failed, or by a checkpoint that was set back: the table takes what comes for a repetition."""
    job = Job(Plan({ORDERS: 0}, [{ORDERS: 2}, {ORDERS: 5}, {ORDERS: 6}]))
    job.index(0, (ORDERS, 0, None), (ORDERS, 1, None))
    job.index(2, (ORDERS, 5, None))  # the query has failed in batch 1, and its checkpoint has moved on
    index = RecordIndex(job.tables)  # type: ignore[arg-type]
    index.refresh()
    log = index.log("Y", *ORDERS)
    assert log is not None
    lacking = log.runs.take(log.runs.origin == UNKNOWN_ORIGIN)
    assert (lacking.start.tolist(), lacking.length.tolist(), log.frontier) == ([2], [3], 6)


# Copies of what their origins have not

LOG = TopicPartition("orders", 0)


def run(start: int, length: int, origin: str, origin_start: int) -> dict[str, Any]:
    fields = {"start_offset": start, "length": length, "origin": origin, "origin_start": origin_start}
    return dict.fromkeys(CUT_SCHEMA.names) | {"topic": "orders", "partition": 0} | fields


@law(150)
@given(
    st.lists(st.tuples(st.sampled_from(["X", "X", "Y", "Z", "far away", ""]), st.integers(0, 30), st.integers(1, 5))),
    st.integers(0, 35),
    st.integers(0, 35),
)
def test_every_record_keeps_its_identity_or_loses_it_by_the_end_of_its_origin(
    drawn: list[tuple[str, int, int]], log_end: int, cut_at: int
) -> None:
    """X answers; what is of no cluster of ours, of no origin, or of one that is silent, is believed.

    So is what was produced at Y, but not copies of it that came back, from the offset on at which Y was truncated.
    """
    runs, wanted, at = [], [], 0
    for origin, origin_start, length in drawn:
        runs.append(run(at, length, origin, origin_start))
        for step in range(length):
            number = origin_start + step
            is_lost = number >= log_end if origin == "X" else origin == "Y" and number >= cut_at and number != at + step
            wanted.append((at + step, "", at + step) if is_lost else (at + step, origin, number))
        at += length
    check, cut = OriginCheck("Y", ["X", "Y", "Z"]), pa.Table.from_pylist(runs, CUT_SCHEMA)
    assert check.origins(cut) == {origin: {LOG} for origin, _, _ in drawn if origin in ("X", "Z")}
    said: Any = {"X": ClusterMetadata({}, {LOG: MemoryEnds(0, log_end)}), "Z": ClusterError("Z", "no answer")}
    ends = check.ends(said, {("Y", *LOG): cut_at})
    found = sorted(refute_beyond(cut, ends, "Y").to_pylist(), key=lambda row: row["start_offset"])
    records = [
        (row["start_offset"] + step, row["origin"], row["origin_start"] + step)
        for row in found
        if row["error"] is None
        for step in range(row["length"])
    ]
    assert records == wanted


# Up to when a log is indexed completely: never later than an unread record came to it

EPOCH = datetime(2026, 11, 23, tzinfo=timezone.utc)
NOTHING = CUT_SCHEMA.empty_table()


def at(second: int) -> datetime:
    return EPOCH + timedelta(seconds=second)


class Look(NamedTuple):
    """A micro-batch was read up to *end*; then the log ended at *log_end*, asked at *second*."""

    end: int
    log_end: int
    second: int


def looked(known: Completeness, look: Look) -> int | None:
    """Return the second up to which the log is complete, None if that is not said."""
    read = ReadBatch(NOTHING, {LOG: 0}, {LOG: look.end}, at(look.second), frozenset())
    found = known.of(read, {LOG: MemoryEnds(0, look.log_end)}, at(look.second)).get(LOG)
    return None if found is None else round((found - EPOCH).total_seconds())


@law(200)
@given(st.lists(st.tuples(st.integers(0, 5), st.integers(0, 5)), min_size=1, max_size=30))
def test_what_came_before_the_moment_that_is_told_is_read_and_of_a_quiet_log_all(steps: list[tuple[int, int]]) -> None:
    """By the log itself: at each second some records come, and each micro-batch reads some of those that are there."""
    known, log_end, end, came_at = Completeness(), 0, 0, list[int]()
    for second, (come, read) in enumerate([*steps, (0, 150), (0, 0)]):
        end = min(end + read, log_end)
        came_at += [second] * come
        log_end += come
        if (complete_until := looked(known, Look(end, log_end, second + 1))) is not None:
            assert all(came >= complete_until for came in came_at[end:])
    assert complete_until == second + 1, "where it is quiet, when it was asked"
