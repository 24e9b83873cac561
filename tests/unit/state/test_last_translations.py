"""What is remembered of earlier answers: when a key is settled, and from where the next answer has to read."""

from __future__ import annotations

import random
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from generators.hypothesis_strategies import any_cases, cases, generators, law
from offset_sync.model.values import Outcome, State
from offset_sync.state.last_translations import LastTranslations
from offset_sync.translate.exact import Bounds
from offset_sync.translate.index.log_index import LogIndex
from offset_sync.translate.partition import Translations, translate_partition
from offset_sync.translate.partition_log import NOT_ASKED
from oracles.translation import Case
from oracles.translation_check import ask, every_commit, growing, logs_of

KEYS, ONE = np.arange(3), np.array([0])


def answers(*wanted: int, state: State = State.EXACT, may_move: bool = False, duplicates: int = 0) -> Translations:
    count = len(wanted)
    zeros, offset = np.zeros(count, np.int64), np.array(wanted, np.int64)
    states, may_moves = np.full(count, state), np.full(count, may_move)
    return Translations(offset, offset, states, zeros + duplicates, zeros, zeros, may_moves, zeros > 0, zeros > 0)


def noted(
    pair: LastTranslations, wanted: int, outcome: Outcome, *, commit: int = 5, at_ms: int = 1, **changed: object
) -> bool:
    """Note an answer of one key; return whether it was news."""
    pair.columns.fit(1)
    found = answers(wanted, **changed)  # type: ignore[arg-type]
    return bool(pair.note(ONE, np.array([commit]), np.array([at_ms]), found, np.array([outcome]))[0])


def is_settled(pair: LastTranslations, *, commit: int = 5, at_ms: int = 1) -> bool:
    return bool(pair.is_settled(ONE, np.array([commit]), np.array([at_ms]))[0])


@pytest.mark.parametrize(
    ("outcome", "changed"),
    [
        (Outcome.NOT_FORWARD, {}),
        (Outcome.TARGET_ACTIVE, {}),
        (Outcome.FAILED, {}),
        (Outcome.DRY_RUN, {}),
        (Outcome.WITHHELD, {"state": State.LOG_TRUNCATED}),
        (Outcome.UNCHANGED, {"may_move": True}),
        (Outcome.UNCHANGED, {"state": State.AT_FRONTIER, "may_move": True}),
    ],
)
def test_what_is_not_held_or_may_still_move_is_never_settled(outcome: Outcome, changed: dict[str, object]) -> None:
    pair = LastTranslations()
    for _ in range(5):
        noted(pair, 7, outcome, **changed)
    assert not is_settled(pair)


def pair_with(*known: tuple[int, int, int]) -> LastTranslations:
    """A pair that knows (commit, answer, revision) of each key."""
    pair = LastTranslations()
    pair.columns.fit(len(known))
    for key, (commit, offset, revision) in enumerate(known):
        pair.note_window(np.array([key]), np.array([commit]), np.array([offset]), revision)
    return pair


def same_again(
    pair: LastTranslations, case: Case, commits: list[int], source: LogIndex | None, target: LogIndex
) -> None:
    """Ask with kept answers, from a window on and without either, which is the same; note the answers."""
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
    asked, start = sorted(set(commits)), pair.window_start(KEYS, min(commits), revision)
    windowed = ask(case, asked, source, target, window_start=start)
    assert windowed == ask(case, asked, source, target), f"window from {start}"
    pair.note(KEYS, committed, at_ms, fresh, np.full(len(KEYS), Outcome.COMMITTED))
    pair.note_window(KEYS, committed, fresh.offset, revision)


@law(100)
@given(st.one_of(any_cases(), cases), generators)
def test_kept_answers_and_windows_change_nothing_while_both_logs_grow(case: Case, rng: random.Random) -> None:
    pair = pair_with(*[(0, -1, 0)] * len(KEYS))
    commits = [rng.choice(every_commit(case)) for _ in KEYS]
    for known, source, target in growing(case, rng):
        same_again(pair, known, commits, source, target)
        commits = [rng.choice([each, rng.choice(every_commit(case))]) for each in commits]


@law(60)
@given(cases, generators)
def test_kept_answers_and_windows_change_nothing_as_holes_grow_old(case: Case, rng: random.Random) -> None:
    pair = pair_with(*[(0, -1, 0)] * len(KEYS))
    commits = [rng.choice(every_commit(case)) for _ in KEYS]
    *_, (_, source, target) = growing(case)
    for now_ms in sorted(rng.sample(range(30), 4)):
        same_again(pair, replace(case, now_ms=now_ms), commits, source, target)
        commits = [rng.choice([each, rng.choice(every_commit(case))]) for each in commits]
