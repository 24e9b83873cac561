"""The records missing at the target, and the cost of a position other than t(c), against plain loops over records."""

from __future__ import annotations

import random

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from generators.hypothesis_strategies import cases, generators, law
from offset_sync.translate.exact import Bounds, translate
from offset_sync.translate.index.origin_positions import NO_LIMIT
from offset_sync.translate.read_window import position_cost
from offset_sync.translate.replication_gap import NEVER_YOUNG, OffsetRanges, deleted_of, joined, replication_gaps
from oracles.translation import NO_RECORD, Case, answers, f_by_offset
from oracles.translation_check import every_commit, growing, logs_of, origin_codes

pages = st.none() | st.integers(1, 4)


def offsets(parts: list[OffsetRanges]) -> list[int]:
    ranges = joined(parts).below(10**6)  # further up is what was lost
    assert (ranges.length > 0).all()
    return [n for at, length in zip(ranges.start.tolist(), ranges.length.tolist()) for n in range(at, at + length)]


def lacking(case: Case, origin: str, young_since_ms: int, low: int, high: int) -> tuple[list[int], list[int]]:
    """The definition: identities at the source that the target does not have, each at its first offset.

    Those that may still come, and those that will not.
    """
    there = {record.origin_offset for record in case.target.indexed if record.origin == origin}
    first: dict[int, int] = {}
    for record in case.source_records:
        if record.origin == origin and low <= record.origin_offset < high:
            first.setdefault(record.origin_offset, record.offset)
    pending, skipped = list[int](), list[int]()
    for number, offset in first.items():
        later = [each for each in case.target.indexed if each.origin == origin and each.origin_offset > number]
        is_young = bool(later) and later[0].indexed_at_ms > young_since_ms
        if number not in there:
            (pending if is_young or not later else skipped).append(offset)
    return sorted(pending), sorted(skipped)


@law(800)
@given(cases, generators, pages)
def test_the_records_missing_at_the_target_are_those_of_the_definition(
    case: Case, rng: random.Random, page_runs: int | None
) -> None:
    *_, (_, source, target) = growing(case, rng, page_runs)
    for origin, code in origin_codes(case).items() if source is not None else ():
        if origin:
            bounds = rng.choice((-NO_LIMIT, 2)), rng.choice((NO_LIMIT, 9))
            since_ms = rng.choice([NEVER_YOUNG, *(each.indexed_at_ms for each in case.target.indexed)])
            gaps = list(replication_gaps(code, source, target, since_ms, *bounds))
            pending, skipped = lacking(case, origin, since_ms, *bounds)
            assert [offsets([gap.pending for gap in gaps]), offsets([gap.skipped for gap in gaps])] == [
                pending,
                skipped,
            ]
            deleted = lacking(case, origin, NEVER_YOUNG, -NO_LIMIT, case.target.frontier)
            assert offsets(list(deleted_of(code, source, target))) == sorted(deleted[0] + deleted[1])


@law(800)
@given(cases, generators, pages)
def test_position_cost_is_what_the_records_between_say(case: Case, rng: random.Random, page_runs: int | None) -> None:
    *_, (_, source, target) = growing(case, rng, page_runs)
    commits, young_since_ms = list(every_commit(case)), case.now_ms - case.hole_grace_ms
    logs, needs = logs_of(case, source, target), f_by_offset(case)
    answer = translate(np.array(commits), *logs, Bounds(young_since_ms)).offset
    position = np.array(rng.choices(range(case.target.frontier + 1), k=len(commits)))
    found = position_cost(np.array(commits), answer, position, *logs, young_since_ms)
    costs = zip(answers(case, commits), *(each.tolist() for each in found), strict=True)
    for c, at, (best, repeats, skipped) in zip(commits, position.tolist(), costs, strict=True):
        read = [offset for offset, need in enumerate(needs) if NO_RECORD < need < c]
        assert repeats == sum(at <= offset for offset in read) - sum(best.offset <= offset for offset in read)
        assert skipped == sum(need >= c for need in needs[:at])
