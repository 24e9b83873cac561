"""Retention where of some records only bounds are known: what is cut makes no answer greater, and no live one other."""

from __future__ import annotations

import random
from dataclasses import replace
from itertools import permutations

import pytest

from generators.retention import Indexes, Row, random_indexes
from offset_sync.tables.catalog import AT_MOST, NOT_BEFORE
from tools.thorough import examples


def with_bounds(whole: Indexes, rng: random.Random) -> Indexes:
    """Return the same with only bounds of some copies."""
    return replace(whole, rows={name: list(bounded(name, rows, rng)) for name, rows in whole.rows.items()})


def bounded(cluster: str, rows: list[Row], rng: random.Random) -> list[Row]:
    found: list[Row] = []
    for row in rows:
        if not row["length"] or row["origin"] in ("", cluster) or rng.random() < 0.6:
            found.append(row)
            continue
        more = rng.randint(0, 3)
        found.append(row | {"bound": AT_MOST, "origin_start": row["origin_start"] + more})
        for number in range(row["length"]):
            original = row["origin_start"] + number
            places = {original, original + more, max(original - rng.randint(0, 2), 0)}
            found += [
                row
                | {"start_offset": row["start_offset"] + number, "length": 1, "origin_start": each}
                | {"bound": NOT_BEFORE}
                for each in places
            ]
    return found


@pytest.mark.no_cover
@pytest.mark.parametrize("first", range(0, examples(200), 20))
def test_no_live_commit_has_another_answer_and_no_other_one_a_greater_one(first: int) -> None:
    cuts = 0
    for seed in range(first, first + 20):
        whole = with_bounds(random_indexes(seed), random.Random(seed))
        at = whole.begins(whole.now_ms - max(5, whole.grace_ms))
        left = whole.cut(at)
        cuts += sum(map(len, whole.rows.values())) > sum(map(len, left.rows.values()))
        for source, target in permutations(whole.logs, 2):
            commits = range(whole.logs[source].log_end + 1)
            before, after = whole.translate(source, target, commits), left.translate(source, target, commits)
            live = slice(whole.lowest_live(source), None)
            assert after.wanted[live].tolist() == before.wanted[live].tolist(), (seed, source, target)
            assert (after.wanted <= before.wanted).all(), (seed, source, target)
    assert cuts
