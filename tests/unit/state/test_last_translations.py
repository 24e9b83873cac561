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
from offset_sync.translate.partition import Translations
from oracles.translation import Case
from oracles.translation_check import ask, every_commit, growing

KEYS = np.arange(3)


def answers(*wanted: int, state: State = State.EXACT, may_move: bool = False, duplicates: int = 0) -> Translations:
    count = len(wanted)
    zeros, offset = np.zeros(count, np.int64), np.array(wanted, np.int64)
    return Translations(
        offset,
        offset,
        np.full(count, state),
        zeros + duplicates,
        zeros,
        zeros,
        np.full(count, may_move),
        zeros > 0,
    )


def noted(
    pair: LastTranslations, wanted: int, outcome: Outcome, *, commit: int = 5, at_ms: int = 1, **changed: object
) -> bool:
    """Note an answer of one key; return whether it was news."""
    pair.columns.fit(1)
    found = pair.note(
        np.array([0]),
        np.array([commit]),
        np.array([at_ms]),
        answers(wanted, **changed),
        np.array([outcome]),  # type: ignore[arg-type]
    )
    return bool(found[0])


def is_settled(pair: LastTranslations, *, commit: int = 5, at_ms: int = 1) -> bool:
    return bool(pair.is_settled(np.array([0]), np.array([commit]), np.array([at_ms]))[0])


def test_a_key_is_settled_when_the_same_answer_has_come_three_times() -> None:
    pair = LastTranslations()
    seen = []
    for outcome in (Outcome.COMMITTED, Outcome.UNCHANGED, Outcome.UNCHANGED):
        noted(pair, 7, outcome)
        seen.append(is_settled(pair))
    assert seen == [False, False, True]


def test_a_key_never_answered_is_not_settled() -> None:
    pair = LastTranslations()
    pair.columns.fit(1)
    assert not is_settled(pair, commit=-1, at_ms=-1)


def settled() -> LastTranslations:
    pair = LastTranslations()
    for _ in range(3):
        noted(pair, 7, Outcome.UNCHANGED)
    return pair


def test_a_new_commit_unsettles_even_at_the_same_offset() -> None:
    assert is_settled(settled())
    assert not is_settled(settled(), commit=6)
    assert not is_settled(settled(), at_ms=2)


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


@pytest.mark.parametrize(
    "changed",
    [
        {"wanted": 8},
        {"commit": 6},
        {"at_ms": 2},
        {"duplicates": 1},
        {"state": State.INDEX_BEHIND},
        {"outcome": Outcome.TARGET_ACTIVE},
    ],
)
def test_anything_that_differs_is_news_and_begins_to_count_again(changed: dict[str, object]) -> None:
    pair = settled()
    assert noted(pair, **({"wanted": 7, "outcome": Outcome.UNCHANGED} | changed))  # type: ignore[arg-type]
    assert not noted(pair, **({"wanted": 7, "outcome": Outcome.UNCHANGED} | changed))  # type: ignore[arg-type]
    assert pair.columns["repeats"].tolist() == [1]


def test_that_a_written_value_is_present_changes_nothing_but_that_it_was_written_does() -> None:
    pair = LastTranslations()
    assert noted(pair, 7, Outcome.COMMITTED)
    assert not noted(pair, 7, Outcome.UNCHANGED)
    assert noted(pair, 7, Outcome.COMMITTED)


def test_the_first_unchanged_answer_is_news() -> None:
    assert noted(LastTranslations(), 7, Outcome.UNCHANGED)


# Windows


def pair_with(*known: tuple[int, int, int]) -> LastTranslations:
    """A pair that knows (commit, answer, revision) of each key."""
    pair = LastTranslations()
    pair.columns.fit(len(known))
    for key, (commit, offset, revision) in enumerate(known):
        pair.note_window(np.array([key]), np.array([commit]), np.array([offset]), revision)
    return pair


@pytest.mark.parametrize(("lowest", "start"), [(4, 0), (5, 50), (6, 50), (7, 70), (99, 70)])
def test_a_window_begins_at_the_highest_answer_to_a_commit_that_was_not_higher(lowest: int, start: int) -> None:
    assert pair_with((5, 50, 0), (7, 70, 0), (3, -1, 0)).window_start(KEYS, lowest, 0) == start


def test_a_bound_is_dropped_when_the_source_has_changed_below_what_was_seen() -> None:
    pair = pair_with((5, 50, 0), (4, 40, 1), (3, 30, 0))
    assert [pair.window_start(KEYS, 9, revision) for revision in (0, 1, 2)] == [50, 40, 0]


def test_only_keys_of_the_partition_bound_its_window() -> None:
    pair = pair_with((5, 50, 0), (5, 70, 0), (5, 60, 0))
    assert pair.window_start(np.array([0, 2]), 9, 0) == 60
    assert pair.window_start(np.array([], np.intp), 9, 0) == 0


def test_a_withheld_answer_leaves_the_bound_as_it_is() -> None:
    pair = pair_with((5, 50, 0))
    pair.note_window(np.array([0]), np.array([9]), np.array([-1]), 0)
    assert pair.window_start(np.array([0]), 9, 0) == 50


@law(200)
@given(st.one_of(any_cases(), cases), generators)
def test_a_window_never_changes_an_answer_while_both_logs_grow(case: Case, rng: random.Random) -> None:
    pair = LastTranslations()
    pair.columns.fit(len(KEYS))
    for known, source, target in growing(case, rng):
        asked = np.array(sorted(rng.sample(KEYS.tolist(), rng.randint(1, len(KEYS)))))
        commits = [rng.choice(every_commit(case)) for _ in asked]
        revision = source.reorder_count() if source is not None else 0
        start = pair.window_start(KEYS, min(commits), revision)
        found = ask(known, commits, source, target, window_start=start)
        assert found == ask(known, commits, source, target), f"window from {start}"
        revision = source.reorder_count() if source is not None else 0
        pair.note_window(asked, np.array(commits), np.array([each.offset for each in found]), revision)


@law(100)
@given(cases, generators)
def test_a_window_never_changes_an_answer_as_holes_grow_old(case: Case, rng: random.Random) -> None:
    pair = LastTranslations()
    pair.columns.fit(1)
    *_, (_, source, target) = growing(case)
    for now_ms in sorted(rng.sample(range(30), 4)):
        commit = rng.choice(every_commit(case))
        revision = source.reorder_count() if source is not None else 0
        now = replace(case, now_ms=now_ms)
        found = ask(now, [commit], source, target, window_start=pair.window_start(KEYS[:1], commit, revision))
        assert found == ask(now, [commit], source, target)
        revision = source.reorder_count() if source is not None else 0
        pair.note_window(KEYS[:1], np.array([commit]), np.array([found[0].offset]), revision)


# Answers that are given again


def test_no_answer_is_kept_that_was_unsettled_or_committed_again() -> None:
    pair = settled()
    key, commit, at_ms = np.array([0]), np.array([5]), np.array([1])
    assert pair.are_valid(key, commit, at_ms).tolist() == [True]
    assert pair.are_valid(key, commit + 1, at_ms).tolist() == pair.are_valid(key, commit, at_ms + 1).tolist() == [False]
    pair.unsettle(key)
    assert pair.are_valid(key, commit, at_ms).tolist() == [False]


@pytest.mark.parametrize("state", [state for state in State if state is not State.EXACT])
def test_only_an_exact_answer_is_kept(state: State) -> None:
    pair = LastTranslations()
    noted(pair, 7, Outcome.UNCHANGED, state=state)
    assert not pair.are_valid(np.array([0]), np.array([5]), np.array([1])).any()
