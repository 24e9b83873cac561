"""What a micro-batch of the index becomes: rows, in order and with times; what it may say; and how far the index is."""

from __future__ import annotations

from datetime import datetime, timedelta, timezone
from typing import Any, NamedTuple

import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st

from fakes.clusters import MemoryEnds
from generators.hypothesis_strategies import law
from offset_sync.ingest.batch_rows import ReadBatch
from offset_sync.ingest.log_check import Completeness
from offset_sync.ingest.origin_check import OriginCheck
from offset_sync.ingest.run_builder import CUT_SCHEMA
from offset_sync.model.errors import ClusterError
from offset_sync.model.values import TopicPartition
from offset_sync.state.cluster_metadata import ClusterMetadata

# Copies of what their origins have not

LOG = TopicPartition("orders", 0)


def run(start: int, length: int, origin: str, origin_start: int) -> dict[str, Any]:
    fields = {"start_offset": start, "length": length, "origin": origin, "origin_start": origin_start}
    return dict.fromkeys(CUT_SCHEMA.names) | {"topic": "orders", "partition": 0} | fields


@law(150)
@given(
    st.lists(st.tuples(st.sampled_from(["X", "X", "Y", "Z", "far away", ""]), st.integers(0, 30), st.integers(1, 5))),
    st.integers(0, 35),
)
def test_every_record_keeps_its_identity_or_loses_it_by_the_end_of_its_origin(
    drawn: list[tuple[str, int, int]], log_end: int
) -> None:
    """X answers; what is of no cluster of ours, of this one, of no origin, or of one that is silent, is believed."""
    runs, wanted, at = [], [], 0
    for origin, origin_start, length in drawn:
        runs.append(run(at, length, origin, origin_start))
        for step in range(length):
            number = origin_start + step
            is_lost = origin == "X" and number >= log_end
            wanted.append((at + step, "", at + step) if is_lost else (at + step, origin, number))
        at += length
    check, cut = OriginCheck("Y", ["X", "Y", "Z"]), pa.Table.from_pylist(runs, CUT_SCHEMA)
    assert check.origins(cut) == {origin: {LOG} for origin, _, _ in drawn if origin in ("X", "Z")}
    said: Any = {"X": ClusterMetadata({}, {LOG: MemoryEnds(0, log_end)}), "Z": ClusterError("Z", "no answer")}
    found = sorted(check.refute(cut, said).to_pylist(), key=lambda row: row["start_offset"])
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
