"""The parts of the benchmark against MirrorMaker 2 that start nothing: its judge and the configuration it writes."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pytest

from offset_sync_demo.load.records import Records

sys.path.append(str(Path(__file__).resolve().parents[3] / "benchmarks"))

from mirrormaker_judge import Answers, Commit, JudgedPartition, broken_promises, rows_of


def records(ids: list[int], first: int = 0) -> Records:
    offsets = np.arange(first, first + len(ids), dtype=np.int64)
    return Records(np.array(ids, np.uint64), offsets, np.zeros(len(ids), np.int64))


def commits(*made: tuple[float, int]) -> list[Commit]:
    return [Commit(at_s, offset) for at_s, offset in made]


FOUR = records([1, 2, 3, 4])


@pytest.mark.parametrize(
    ("made", "position", "cost"),
    [
        ([(5.0, 2)], 2, (0, 0, 0.0)),
        ([(1.0, 0), (2.0, 1), (3.0, 2), (4.0, 3)], 1, (2, 0, 6.0)),
        ([(1.0, 1)], 3, (0, 2, 0.0)),
        ([(1.0, 0), (2.0, 3)], None, (3, 0, 7.0)),
    ],
    ids=[
        "the right one costs nothing",
        "an early one repeats, and is as old as the first commit that it does not cover",
        "a late one loses",
        "without one all is read again",
    ],
)
def test_a_position_costs_what_is_read_again_or_lost(
    made: list[tuple[float, int]], position: int | None, cost: tuple[int, int, float]
) -> None:
    found = JudgedPartition(FOUR, FOUR).cost(commits(*made), position, 9.0)
    assert (found.read_again, found.lost, found.stale_s) == cost


def ids(twin: str) -> dict[str, str]:
    return {f"{kind}-{twin}": kind for kind in ("tail", "middle", "lagging")}


def judged_rows(mm2: int | None, ours: int | None) -> list[dict[str, object]]:
    log = records([1, 2, 3, 4])
    place = ("orders", 0)
    ways = {"MirrorMaker 2": (ids("mm2"), "orders"), "exact": (ids("ours"), "orders")}
    made = {(kind, place): commits((1.0, 2), (8.0, 4)) for kind in ("tail", "middle", "lagging")}
    stood = {
        (group, place): position
        for twin, position in (("mm2", mm2), ("ours", ours))
        for group in ids(twin)
        if position is not None
    }
    rows = rows_of(ways, made, [Answers(0, 5.0, stood)], {place: JudgedPartition(log, log)})
    return [{"run": "default", **row} for row in rows]


@pytest.mark.parametrize(
    ("mm2", "ours", "said"),
    [
        (None, 2, "default: MirrorMaker 2 never committed anything"),
        (2, 3, r"default: exact, group tail, \+0 s: 1 records lost"),
        (2, None, r"default: exact, group tail, \+0 s: no answer"),
    ],
)
def test_a_void_comparison_and_a_broken_promise_are_said(mm2: int | None, ours: int | None, said: str) -> None:
    with pytest.raises(ValueError, match=said):
        raise ValueError("\n".join(broken_promises(judged_rows(mm2, ours))))
