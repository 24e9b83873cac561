"""How far groups have read each origin, by a commit's place in the source's log; judged record by record."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from fakes.pages import KeptPages, let_go_of_all_but
from generators.hypothesis_strategies import cases, law
from offset_sync.translate.pieces import ReadHeights
from oracles.translation import MALFORMED, Case
from oracles.translation_check import growing, logs_of, origin_codes

SINCE_MS = 5


@law(800)
@given(cases, st.integers(1, 7))
def test_heights_are_the_records_below_a_commit_and_the_others(case: Case, page_runs: int) -> None:
    *_, (_, index, target) = growing(case)
    if index is not None:
        let_go_of_all_but(index, 1, page_runs, KeptPages())
    source, _ = logs_of(case, index, target)
    commits, codes = np.arange(case.source_frontier + 2), origin_codes(case)
    heights = ReadHeights(commits, source, SINCE_MS, [code for name, code in codes.items() if name])
    heights.look_into(np.ones(len(commits), np.bool_))
    malformed = [each.offset for each in case.source_records if each.is_malformed]
    is_any_lost = any(origin == MALFORMED for origin, _ in case.lost)
    for commit in commits.tolist():
        is_decided = commit <= case.source_frontier
        for name, code in ((name, code) for name, code in codes.items() if name):
            below, above = (
                [r.origin_offset for r in case.source_records if r.origin == name and (r.offset < commit) is side]
                for side in (True, False)
            )
            most = max(below, default=-1)
            first_unread = min([*above, *(n for o, n in case.lost if o == name), most + 1])
            safe = -1 if is_any_lost or any(each >= commit for each in malformed) else first_unread - 1
            told = int(heights.safe[code][commit]), int(heights.most[code][commit])
            assert told == ((commit - 1, commit - 1) if name == case.source_cluster else (safe, most))
            is_decided &= told[0] == told[1]
        assert heights.decided()[commit] == is_decided
    for name, code in codes.items() if index is not None else ():
        spans = index.stretches()
        highest = [-1, *np.maximum.accumulate(spans.span(code).high).tolist()]
        young = [end for end, seen_ms in zip(highest, spans.seen_ms.tolist()) if seen_ms > SINCE_MS][:1]
        is_open = heights.is_open(code, numbers := np.arange(-1, 20))
        may_be = [name != case.source_cluster and any(n >= end for end in young) for n in numbers.tolist()]
        assert is_open.tolist() == may_be
