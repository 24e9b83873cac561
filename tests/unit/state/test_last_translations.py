"""What is remembered of earlier answers: when a key is settled, and from where the next answer has to read."""

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
from oracles.translation_check import ask, every_commit, growing, logs_of

KEYS = np.arange(3)


def same_again(
    pair: LastTranslations, case: Case, commits: list[int], source: LogIndex | None, target: LogIndex
) -> None:
    """Ask from a window on and without, which is the same; note the answers."""
    here, there = logs_of(case, source, target)
    logs = replace(here, metadata=NOT_ASKED), there
    committed, at_ms = np.array(commits, np.int64), np.ones(len(commits), np.int64)
    revision, bounds = source.reorder_count() if source is not None else 0, Bounds(case.now_ms - case.hole_grace_ms)
    names: list[None] = [None] * len(commits)
    fresh = translate_partition(committed, names, *logs, bounds)
    asked, start = sorted(set(commits)), pair.window_start(KEYS, min(commits), revision)
    windowed = ask(case, asked, source, target, window_start=start)
    assert windowed == ask(case, asked, source, target), f"window from {start}"
    pair.note(KEYS, committed, at_ms, fresh, np.full(len(KEYS), Outcome.COMMITTED))
    pair.note_window(KEYS, committed, fresh.offset, revision)


@law(150)
@given(st.one_of(any_cases(), cases), generators)
def test_windows_change_nothing_while_both_logs_grow_and_holes_grow_old(case: Case, rng: random.Random) -> None:
    pair = LastTranslations()
    pair.columns.fit(len(KEYS))
    commits = [rng.choice(every_commit(case)) for _ in KEYS]
    grown = [*growing(case, rng)]
    *_, (whole, source, target) = grown
    old = [(replace(whole, now_ms=whole.now_ms + later), source, target) for later in (1, 4, 30)]
    for known, source, target in [*grown, *old]:
        same_again(pair, known, commits, source, target)
        commits = [rng.choice([each, rng.choice(every_commit(case))]) for each in commits]
