"""Laws of answers that are given again: they are those that would be computed."""

from __future__ import annotations

import random
from dataclasses import replace

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from generators.hypothesis_strategies import any_cases, cases, generators, law
from offset_sync.model.values import Outcome
from offset_sync.state.last_translations import LastTranslations
from offset_sync.translate.exact import Bounds
from offset_sync.translate.index.log_index import LogIndex
from offset_sync.translate.partition import translate_partition
from offset_sync.translate.partition_log import NOT_ASKED
from oracles.translation import Case
from oracles.translation_check import every_commit, growing, logs_of

KEYS = np.arange(3)


def same_again(
    pair: LastTranslations, case: Case, commits: list[int], source: LogIndex | None, target: LogIndex
) -> int:
    """Ask with kept answers and without, which is the same; note the answers; return how many were kept."""
    here, there = logs_of(case, source, target)
    logs = replace(here, metadata=NOT_ASKED), there
    committed, at_ms = np.array(commits, np.int64), np.ones(len(commits), np.int64)
    revision, bounds = source.reorder_count() if source is not None else 0, Bounds(case.now_ms - case.hole_grace_ms)
    known = pair.known(KEYS, pair.are_valid(KEYS, committed, at_ms), committed, revision)
    names: list[None] = [None] * len(commits)
    fresh = translate_partition(committed, names, *logs, bounds)
    again = translate_partition(committed, names, *logs, bounds._replace(known=known))
    for column in ("offset", "wanted", "state", "lost"):
        assert getattr(again, column).tolist() == getattr(fresh, column).tolist(), column
    pair.note(KEYS, committed, at_ms, fresh, np.full(len(KEYS), Outcome.COMMITTED))
    pair.note_window(KEYS, committed, fresh.offset, revision)
    return int(known.is_known.sum())


@law(200)
@given(st.one_of(any_cases(), cases), generators)
def test_kept_answers_are_those_that_would_be_computed_while_both_logs_grow(case: Case, rng: random.Random) -> None:
    pair = LastTranslations()
    pair.columns.fit(len(KEYS))
    commits = [rng.choice(every_commit(case)) for _ in KEYS]
    for known, source, target in growing(case, rng):
        same_again(pair, known, commits, source, target)


@law(100)
@given(cases, generators)
def test_kept_answers_are_those_that_would_be_computed_as_holes_grow_old(case: Case, rng: random.Random) -> None:
    pair = LastTranslations()
    pair.columns.fit(len(KEYS))
    commits = [rng.choice(every_commit(case)) for _ in KEYS]
    *_, (_, source, target) = growing(case)
    for now_ms in sorted(rng.sample(range(30), 4)):
        same_again(pair, replace(case, now_ms=now_ms), commits, source, target)
