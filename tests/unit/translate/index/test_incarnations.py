"""What rows of the index are worth once a log has begun another incarnation: by each of their records."""

from __future__ import annotations

import random

import numpy as np
import pytest

from offset_sync.translate.index.incarnations import (
    Incarnation,
    kept_lengths,
    lost_copies,
    split_by_incarnation,
    true_below,
)
from offset_sync.translate.index.runs import UNKNOWN_ORIGIN, Runs

X, NO_END = 0, np.iinfo(np.int64).max
Rows = list[tuple[int, int, int, int, int]]
seeds = pytest.mark.parametrize("seed", range(60))


def cut_at(begins_at: int, noticed_ms: int) -> Incarnation:
    return Incarnation(begins_at, noticed_ms, "id", is_recreated=False)


def drawn(rng: random.Random, origin: int = X) -> tuple[Runs, list[Incarnation]]:
    """Return rows of a log and its incarnations by time; many borders meet, of offsets as of times."""
    incarnations = [
        Incarnation(rng.choice((0, 3, 4, 6, 9)), noticed_ms, "id", is_recreated=rng.random() < 0.3)
        for noticed_ms in sorted(rng.choices(range(5), k=rng.randint(0, 4)))
    ]
    at, found = 0, Rows()
    for _ in range(rng.randint(0, 5)):
        at += rng.choice((0, 1))
        code = rng.choice((origin, origin, UNKNOWN_ORIGIN)) if origin != X else X
        found.append(
            (at, rng.randint(1, 5), code, at if code == UNKNOWN_ORIGIN else rng.randint(0, 8), rng.randint(0, 5))
        )
        at += found[-1][1]
    return Runs.of(*np.array(found, np.int64).reshape(-1, 5).T), incarnations


def rows_of(runs: Runs) -> Rows:
    return list(zip(*(column.tolist() for column in runs.columns), strict=True))


def limit(indexed_at_ms: int, incarnations: list[Incarnation]) -> int:
    return min((each.begins_at for each in incarnations if indexed_at_ms <= each.noticed_ms), default=NO_END)


@seeds
def test_of_a_log_s_own_index_the_records_below_each_later_beginning_are_valid(seed: int) -> None:
    runs, incarnations = drawn(random.Random(seed))
    limits = [limit(at_ms, incarnations) for at_ms in runs.indexed_at_ms.tolist()]
    assert true_below(runs.indexed_at_ms, incarnations).tolist() == limits
    kept = kept_lengths(runs.start, runs.length, runs.indexed_at_ms, incarnations).tolist()
    for (start, length, *_), told, end in zip(rows_of(runs), kept, limits, strict=True):
        valid = sum(offset < end for offset in range(start, start + length))
        assert told == (valid or -1)
        (coverage,) = kept_lengths(*(np.array([n]) for n in (start, 0)), runs.indexed_at_ms[:1], incarnations).tolist()
        assert coverage == (0 if start <= limits[0] else -1), "up to there it was read, without a record"


def test_the_lowest_of_several_later_cuts_counts() -> None:
    start, length = np.array([0, 0, 0]), np.array([9, 9, 9])
    cuts = [cut_at(6, 1000), cut_at(3, 2000), cut_at(8, 3000)]
    assert kept_lengths(start, length, np.array([500, 2500, 4000]), cuts).tolist() == [3, 8, 9]


@seeds
def test_copies_above_a_truncation_are_lost_but_not_what_a_recreated_topic_had(seed: int) -> None:
    runs, incarnations = drawn(random.Random(seed), origin=1)
    lost = []
    for start, length, origin, first, at_ms in rows_of(runs):
        cut, end = (
            limit(at_ms, [each for each in incarnations if each.is_recreated is kind]) for kind in (False, True)
        )
        lost += [(start + n, origin, first + n, at_ms) for n in range(length) if cut <= start + n < end]
    found = rows_of(lost_copies(runs, incarnations))
    assert all(length > 0 for _, length, *_ in found)
    assert [(start + n, code, first + n, at) for start, length, code, first, at in found for n in range(length)] == lost


@seeds
def test_a_copy_is_of_the_incarnation_in_which_it_was_indexed_and_up_to_some_offset_of_an_unknown_one(
    seed: int,
) -> None:
    rng = random.Random(seed)
    copies, incarnations = drawn(rng)
    settled_from = [rng.choice((0, 3, 5, 7, 20)) for _ in incarnations]
    wanted = []
    for start, length, _, first, at_ms in rows_of(copies):
        borders = sorted({0, *(n for n in range(1, length) if first + n in {each.begins_at for each in incarnations})})
        for low, high in zip(borders, [*borders[1:], length], strict=True):
            ended = [n for n, each in enumerate(incarnations) if first + low >= each.begins_at]
            former = [n for n in ended if at_ms <= incarnations[n].noticed_ms]
            is_unknown = any(start + low < settled_from[n] for n in ended if n not in former)
            part = (UNKNOWN_ORIGIN, start + low, 0) if is_unknown else (X, first + low, -1 - min(former, default=-1))
            wanted.append((start + low, high - low, at_ms, *part))
    told, number = split_by_incarnation(copies, incarnations, settled_from)
    columns = (told.start, told.length, told.indexed_at_ms, told.origin, told.origin_start, number)
    assert list(zip(*(column.tolist() for column in columns), strict=True)) == wanted
