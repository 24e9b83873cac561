"""The brute-force translation against consumers that really read."""

from __future__ import annotations

import random
from dataclasses import replace

from hypothesis import given

from generators.hypothesis_strategies import cases, generators, law
from oracles.translation import MALFORMED, Case, Log, LogRecord, answers, readable_from
from oracles.translation_check import every_commit


def is_read(case: Case, record: LogRecord, committed: int) -> bool:
    """Whether a group at *committed* has read *record*, by the set of records that it consumed."""
    if record.is_malformed or record.origin == case.source_cluster:
        return not record.is_malformed and record.origin_offset < committed
    stands = {(r.origin, r.origin_offset) for r in case.source_records}
    consumed = [r for r in case.source_records if r.offset < committed]
    if (record.origin, record.origin_offset) in stands:
        return (record.origin, record.origin_offset) in {(r.origin, r.origin_offset) for r in consumed}
    later = [r for r in consumed if r.origin == record.origin and r.origin_offset > record.origin_offset]
    if any(r.is_malformed for r in case.source_records if r not in consumed):
        return False  # it may be this one
    is_lost = any(each in ((record.origin, record.origin_offset), (MALFORMED, each[1])) for each in case.lost)
    return bool(later) and later[0].indexed_at_ms <= case.now_ms - case.hole_grace_ms and not is_lost


@law(600)
@given(cases)
def test_the_answer_is_the_furthest_start_that_skips_nothing_unread(case: Case) -> None:
    for committed, answer in zip(every_commit(case), answers(case, every_commit(case)), strict=True):
        unread = [r.offset for r in case.target.indexed if not is_read(case, r, committed)]
        assert answer.offset == min([*unread, case.target.frontier])
        remaining = [r for r in case.target.indexed if r.offset >= answer.clamped_offset]
        assert answer.duplicates == sum(is_read(case, r, committed) for r in remaining)
        expired = [r for r in case.target.indexed if answer.offset <= r.offset < case.target.log_start]
        assert answer.lost == sum(not is_read(case, r, readable_from(case, committed)) for r in expired)


@law(400)
@given(cases, generators)
def test_whatever_headers_cannot_be_read_the_bound_of_duplicates_is_never_too_small(
    case: Case, rng: random.Random
) -> None:
    share = rng.choice((0.05, 0.2, 0.6, 1.0))

    def seen(log: Log) -> Log:
        records = [
            replace(r, origin=MALFORMED) if r.origin != log.cluster and rng.random() < share else r for r in log.records
        ]
        return replace(log, records=tuple(records))

    known = replace(case, source=case.source and seen(case.source), target=seen(case.target))
    records = case.source.records if case.source is not None else ()
    for committed, answer in zip(every_commit(case), answers(known, every_commit(case)), strict=True):
        read = {(r.origin, r.origin_offset) for r in records if r.offset < committed} | {*case.lost}
        left = [r for r in case.target.indexed if r.offset >= answer.clamped_offset and not r.is_malformed]
        again = sum((r.origin, r.origin_offset) in read for r in left)
        assert again <= answer.duplicates_at_most
