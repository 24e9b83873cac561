"""Identities beyond their origin's log: which are refuted, and for which no cluster answers."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fakes.clusters import MemoryEnds
from generators.hypothesis_strategies import law
from offset_sync.ingest.origin_check import OriginCheck, refute_beyond
from offset_sync.ingest.run_builder import CUT_SCHEMA
from offset_sync.model.errors import ClusterError
from offset_sync.model.values import TopicPartition
from offset_sync.state.cluster_metadata import ClusterMetadata

ORDERS = TopicPartition("orders", 0)


@dataclass
class Origins:
    """Clusters whose logs of ``orders``, 0 end where *ends* says; an error does not answer."""

    ends: dict[str, int | ClusterError | None]
    asked: list[str] = field(default_factory=list)

    def fetch_each(self, wanted: dict[str, set[TopicPartition]]) -> dict[str, ClusterMetadata | ClusterError]:
        self.asked += wanted
        return {alias: self._answer(self.ends[alias], partitions) for alias, partitions in wanted.items()}

    def _answer(
        self, end: int | ClusterError | None, partitions: set[TopicPartition]
    ) -> ClusterMetadata | ClusterError:
        if isinstance(end, ClusterError):
            return end
        return ClusterMetadata({}, {each: MemoryEnds(0, end) for each in partitions} if end is not None else {})


def run(start: int, length: int, origin: str, origin_start: int) -> dict[str, Any]:
    fields = {"start_offset": start, "length": length, "origin": origin, "origin_start": origin_start}
    return dict.fromkeys(CUT_SCHEMA.names) | {"topic": "orders", "partition": 0} | fields


def refuted(origins: Origins, *runs: dict[str, Any]) -> list[tuple[int, int, str, int]]:
    """Return the runs of Y's log after the check, by offset."""
    check, cut = OriginCheck("Y", ["X", "Y", "Z"]), pa.Table.from_pylist(list(runs), CUT_SCHEMA)
    found = check.refute(cut, origins.fetch_each(check.origins(cut)))
    names = ("start_offset", "length", "origin", "origin_start")
    return sorted(tuple(row[name] for name in names) for row in found.to_pylist() if row["error"] is None)


def test_a_run_is_cut_where_its_origin_ends() -> None:
    assert refuted(Origins({"X": 7}), run(0, 4, "X", 5), run(4, 1, "Y", 4)) == [
        (0, 2, "X", 5),
        (2, 2, "", 2),
        (4, 1, "Y", 4),
    ]


def test_every_log_is_judged_by_its_own_end_and_nothing_else_of_a_row_is_lost() -> None:
    """The line for the quarantine says for how many records it is."""
    first, times = {"partition": 1}, {"min_timestamp_ms": 10, "max_timestamp_ms": 12}
    unreadable = run(2, 0, "X", 0) | {"origin": None, "length": 0, "error": "no digits", "offset_header": b"x"}
    other = run(3, 1, "X", 6) | {"topic": "payments"}
    rows = [run(0, 4, "X", 5) | first | times, run(0, 2, "X", 5) | times, unreadable, other]
    ends = {("X", "orders", 1): 7, ("X", "orders", 0): 3, ("X", "payments", 0): 7}
    found = refute_beyond(pa.Table.from_pylist(rows, CUT_SCHEMA), ends)
    assert found.schema == CUT_SCHEMA

    def line(partition: int, start: int, error: str) -> dict[str, Any]:
        place = {"topic": "orders", "partition": partition, "start_offset": start, "length": 0}
        return dict.fromkeys(CUT_SCHEMA.names) | place | {"error": error}

    wanted = [run(0, 2, "X", 5) | first | times, run(2, 2, "", 2) | first | times, run(0, 2, "", 0) | times]
    wanted += [unreadable, other]
    wanted += [line(1, 2, "origin offset 7 and the 1 after it: not in the log of X, which ends at 7")]
    wanted += [line(0, 0, "origin offset 5 and the 1 after it: not in the log of X, which ends at 3")]
    assert sorted(found.to_pylist(), key=str) == sorted(wanted, key=str)


def test_each_origin_is_asked_once_and_those_that_are_no_cluster_of_ours_our_own_and_the_unreadable_are_not() -> None:
    origins = Origins({"X": 3, "Z": 100})
    runs = run(0, 1, "X", 50), run(1, 1, "Z", 50), run(2, 1, "X", 2)
    others = run(3, 1, "far away", 50), run(4, 1, "Y", 1), run(5, 1, "", 2)
    found = [(0, 1, "", 0), (1, 1, "Z", 50), (2, 1, "X", 2), (3, 1, "far away", 50), (4, 1, "Y", 1), (5, 1, "", 2)]
    assert refuted(origins, *runs, *others) == found
    assert sorted(origins.asked) == ["X", "Z"]


@pytest.mark.parametrize("answer", [ClusterError("X", "no answer"), None])
def test_an_origin_that_cannot_be_asked_is_believed(answer: ClusterError | None) -> None:
    assert refuted(Origins({"X": answer}), run(0, 1, "X", 50)) == [(0, 1, "X", 50)]


@law(150)
@given(st.lists(st.tuples(st.sampled_from("XZ"), st.integers(0, 30), st.integers(1, 5))), st.integers(0, 35))
def test_every_record_keeps_its_identity_or_loses_it_by_the_end_of_its_origin(
    drawn: list[tuple[str, int, int]], log_end: int
) -> None:
    runs, wanted, at = [], [], 0
    for origin, origin_start, length in drawn:
        runs.append(run(at, length, origin, origin_start))
        for step in range(length):
            number = origin_start + step
            wanted.append((at + step, origin, number) if number < log_end else (at + step, "", at + step))
        at += length
    found = refuted(Origins({"X": log_end, "Z": log_end}), *runs)
    records = [(start + i, origin, first + i) for start, length, origin, first in found for i in range(length)]
    assert records == wanted
