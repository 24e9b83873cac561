"""A rehearsal: what contents say of a move, beside what was predicted of it."""

from __future__ import annotations

import random
from collections.abc import Mapping
from dataclasses import replace
from time import monotonic
from types import SimpleNamespace
from typing import Any, cast

import pytest

from fakes.moves import CROSSING, GOOD
from offset_sync.cutover.judge import Judge
from offset_sync.cutover.plan import CutoverStep, Direction, PartitionStatus
from offset_sync.cutover.rehearsal import Found, Rehearsal, compare, difference
from offset_sync.kafka.tail_reader import TailReader, TailRecord, Tails
from offset_sync.model.reasons import Reason
from offset_sync.model.values import OffsetRange, RecordContent, TopicPartition

Log = list[TailRecord]


def log(values: str, first: int = 0, at_ms: int = 1) -> Log:
    """Return records whose values are these words, from offset *first* on."""
    return [
        TailRecord(RecordContent(first + n, at_ms, None, word.encode(), ())) for n, word in enumerate(values.split())
    ]


@pytest.mark.parametrize("seed", range(40))
def test_random_logs_are_judged_as_by_the_records_themselves(seed: int) -> None:
    chance = random.Random(seed)
    ours, theirs = [f"x{n}" for n in range(30)], [f"y{n}" for n in range(30)]
    at_x, at_y = merged(chance, ours, theirs), merged(chance, ours, theirs)
    committed, start = chance.randrange(len(at_x) + 1), chance.randrange(len(at_y) + 1)
    read = {*at_x[:committed]}
    found = compare(log(" ".join(at_x)), log(" ".join(at_y)), committed, start)
    assert found.repeated == sum(each in read for each in at_y[start:])
    assert found.lost == sum(each not in read for each in at_y[:start])
    assert found.undecided == 0
    alike = compare(log("a a a a"), log("a a x"), 2, 0)
    assert (alike.undecided, alike.strangers, alike.repeated, alike.lost) == (3, 1, 0, 0)


def merged(chance: random.Random, *streams: list[str]) -> list[str]:
    left, found = [[*each] for each in streams], list[str]()
    while any(left):
        found.append(chance.choice([each for each in left if each]).pop(0))
    return found


APART = Reason.IN_COMMON(10)


@pytest.mark.parametrize(
    ("status", "found", "problem"),
    [
        (GOOD, Found(9, 0, 0, 0), None),
        (GOOD, Found(9, 0, 1, 0), Reason.LOSES_MORE(1, 0)),
        (replace(CROSSING, duplicates_at_most=4), Found(9, 5, 0, 0), Reason.REPEATS_MORE(5, 4)),
        (GOOD, Found(10, 0, 0, 10, strangers=10, unread=1), APART),
        (GOOD, Found(10, 0, 0, 10, strangers=10, below=10, read=10), APART),
        (GOOD, Found(10, 0, 0, 10, strangers=10, below=10, read=9), None),
        (replace(CROSSING, duplicates=10), Found(10, 0, 0, 10, strangers=10, unread=9), None),
    ],
)
def test_what_is_not_as_predicted_is_a_problem(status: PartitionStatus, found: Found, problem: str | None) -> None:
    assert difference(status, found) == problem


def test_each_surprise_is_a_problem() -> None:
    at_2 = replace(GOOD, source_offset=2, wanted_offset=2, target_offset=None)
    statuses = {"good": [at_2], "bad": [replace(at_2, wanted_offset=3)], "none": []}
    steps, cluster = list[CutoverStep](), cast("TailReader", SimpleNamespace(read=tails))
    journal: Any = SimpleNamespace(record=steps.extend)
    rehearsal = Rehearsal(cluster, cluster, lambda _place: 4, Judge(Direction("X", "Y")), journal, 10, monotonic() + 5)
    answers = [rehearsal.rehearse(group_id, each) for group_id, each in statuses.items()]
    assert [[*map(str, each.problems)] for each in answers] == [[], [f"bad orders-0: {Reason.LOSES_MORE(1, 0)}"], []]
    assert [(*each.columns.values(),) for each in answers] == [(1, 1, 4, 0, 0, 0, 0), (1, 1, 4, 0, 0, 1, 0), (0,) * 7]
    assert [(each.step.value, each.result.value, each.lost) for each in steps] == [
        ("rehearse", "done", 0),
        ("rehearse", "failed", 1),
    ]


def tails(ranges: Mapping[TopicPartition, OffsetRange], _deadline: float) -> Tails:
    """Return what a log of four records has of the ranges."""
    found = {}
    for place, asked in ranges.items():
        found[place] = [each for each in log("a b c d") if asked.start <= each.content.offset < asked.end]
    return Tails(found, frozenset())
