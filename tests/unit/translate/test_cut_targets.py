"""A target's log that was cut since it was indexed: answers end at the cut, and are those of brute force below it."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from generators.hypothesis_strategies import cases, generators, law
from offset_sync.model.values import State
from offset_sync.translate.exact import Bounds
from offset_sync.translate.index.log_index import LogIndex
from offset_sync.translate.partition import Translations, translate_partition
from oracles.translation import Case, answers, below_the_cut, f_by_offset
from oracles.translation_check import every_commit, growing, logs_of


def translated(
    case: Case, indexes: tuple[LogIndex | None, LogIndex], cut_at: int | None, commits: Sequence[int], known: bool
) -> Translations:
    """Translate *commits* of *case* by *indexes*, which still have what a cut at *cut_at* has taken.

    *known*: what was answered before it was noticed bounds what is looked at.
    """
    source, target = logs_of(case, *indexes)
    target = replace(target, metadata=target.metadata._replace(cut_at=cut_at, frontier=indexes[1].frontier))
    committed, bounds = np.array(commits, np.int64), Bounds(case.now_ms - case.hole_grace_ms)
    if known:
        before = translated(case, indexes, None, commits, known=False)
        bounds = bounds._replace(window_start=int(before.offset.min()))
    return translate_partition(committed, [None] * len(commits), source, target, bounds)


@law(800)
@given(cases, generators, st.booleans(), st.sampled_from([None, 1, 3]))
def test_answers_are_those_of_brute_force_by_records_below_the_cut(
    case: Case, rng: random.Random, known: bool, page_runs: int | None
) -> None:
    case = replace(case, target=replace(case.target, log_end=case.target.log_end + 3))
    *_, (_, *indexes) = growing(case, rng, page_runs)
    cut_at, commits = rng.randint(0, case.target.frontier + 1), every_commit(case)
    found = translated(case, (indexes[0], indexes[1]), cut_at, commits, known)
    whole = translated(case, (indexes[0], indexes[1]), None, commits, known=False)
    below = below_the_cut(case, cut_at)
    required = f_by_offset(below)
    for row, (committed, want) in enumerate(zip(commits, answers(below, commits), strict=True)):
        offset = int(found.offset[row])
        told = offset, found.wanted[row], State(found.state[row]), found.duplicates[row], found.lost[row]
        assert told == (want.offset, want.clamped_offset, want.state, want.duplicates, want.lost), cut_at
        assert found.duplicates_at_most[row] >= want.duplicates_at_most
        assert offset == min(cut_at, int(whole.offset[row])), "never above the cut, and else as before"
        assert all(last_read < committed for last_read in required[:offset]), "nothing below it is unread"
        assert offset == below.target.frontier or required[offset] >= committed, "and no later one would be safe"
        assert found.may_move[row] or offset < cut_at
