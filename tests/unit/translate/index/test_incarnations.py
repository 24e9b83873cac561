"""What rows of the index are worth once a log has begun another incarnation: by each of their records."""

from __future__ import annotations

import random

import numpy as np
import pytest

from offset_sync.translate.index.incarnations import Incarnation, kept_lengths, lost_copies, split_by_incarnation
from offset_sync.translate.index.runs import UNKNOWN_ORIGIN, Runs

NO_END = np.iinfo(np.int64).max
Rows = list[tuple[int, int, int, int, int]]


def drawn(rng: random.Random, origin: int) -> tuple[Runs, list[Incarnation]]:
    """Return rows of a log and its incarnations by time; many borders meet, of offsets as of times."""
    incarnations = [
        Incarnation(rng.choice((0, 3, 4, 6, 9)), noticed_ms, "id", is_recreated=rng.random() < 0.3)
        for noticed_ms in sorted(rng.choices(range(5), k=rng.randint(0, 4)))
    ]
    at, found = 0, Rows()
    for _ in range(rng.randint(0, 5)):
        at += rng.choice((0, 1))
        code = rng.choice((origin, origin, UNKNOWN_ORIGIN)) if origin else 0
        first = at if code == UNKNOWN_ORIGIN else rng.randint(0, 8)
        found.append((at, rng.randint(1, 5), code, first, rng.randint(0, 5)))
        at += found[-1][1]
    return Runs.of(*np.array(found, np.int64).reshape(-1, 5).T), incarnations


def rows_of(runs: Runs) -> Rows:
    return list(zip(*(column.tolist() for column in runs.columns), strict=True))


def limit(indexed_at_ms: int, incarnations: list[Incarnation]) -> int:
    return min((each.begins_at for each in incarnations if indexed_at_ms <= each.noticed_ms), default=NO_END)


@pytest.mark.parametrize("seed", range(60))
def test_of_a_log_all_below_each_later_beginning_is_valid_and_copies_above_are_lost_unless_it_was_recreated(
    seed: int,
) -> None:
    runs, incarnations = drawn(random.Random(seed), origin=1)
    kept, lost = kept_lengths(runs.start, runs.length, runs.indexed_at_ms, incarnations).tolist(), []
    for told, (start, length, origin, first, at_ms) in zip(kept, rows_of(runs), strict=True):
        end = limit(at_ms, incarnations)
        assert told == (sum(offset < end for offset in range(start, start + length)) or -1)
        (coverage,) = kept_lengths(*(np.array([n]) for n in (start, 0, at_ms)), incarnations).tolist()
        assert coverage == (0 if start <= end else -1), "up to there it was read, without a record"
        cut, end = (
            limit(at_ms, [each for each in incarnations if each.is_recreated is kind]) for kind in (False, True)
        )
        lost += [(start + n, origin, first + n, at_ms) for n in range(length) if cut <= start + n < end]
    found = rows_of(lost_copies(runs, incarnations))
    assert all(length > 0 for _, length, *_ in found)
    assert [(start + n, code, first + n, at) for start, length, code, first, at in found for n in range(length)] == lost


@pytest.mark.parametrize("seed", range(60))
def test_a_copy_is_of_the_incarnation_in_which_it_was_indexed_and_up_to_some_offset_of_an_unknown_one(
    seed: int,
) -> None:
    rng = random.Random(seed)
    copies, incarnations = drawn(rng, origin=0)
    settled_from = [rng.choice((0, 3, 5, 7, 20)) for _ in incarnations]
    wanted = []
    for start, length, _, first, at_ms in rows_of(copies):
        borders = sorted({0, *(n for n in range(1, length) if first + n in {each.begins_at for each in incarnations})})
        for low, high in zip(borders, [*borders[1:], length], strict=True):
            ended = [n for n, each in enumerate(incarnations) if first + low >= each.begins_at]
            former = [n for n in ended if at_ms <= incarnations[n].noticed_ms]
            is_unknown = any(start + low < settled_from[n] for n in ended if n not in former)
            part = (UNKNOWN_ORIGIN, start + low, 0) if is_unknown else (0, first + low, -1 - min(former, default=-1))
            wanted.append((start + low, high - low, at_ms, *part))
    told, number = split_by_incarnation(copies, incarnations, settled_from)
    columns = (told.start, told.length, told.indexed_at_ms, told.origin, told.origin_start, number)
    assert list(zip(*(column.tolist() for column in columns), strict=True)) == wanted
