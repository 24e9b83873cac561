"""Retention of runs: what is cut changes no answer that can be asked for, by brute force over random histories."""

from __future__ import annotations

from itertools import permutations

from hypothesis import given
from hypothesis import strategies as st

from offset_sync.testing.oracle import answers
from offset_sync.testing.retention import Indexes, answers_of, random_indexes
from offset_sync.testing.strategies import law

indexes = st.integers(0, 2**32).map(random_indexes)
KEPT_MS = 5


def old_before(given_indexes: Indexes) -> int:
    return given_indexes.now_ms - max(KEPT_MS, given_indexes.grace_ms)


@law(400)
@given(indexes)
def test_every_live_commit_has_the_answer_of_brute_force_over_the_whole_index(whole: Indexes) -> None:
    left = whole.cut(whole.begins(old_before(whole)))
    for source, target in permutations(whole.logs, 2):
        commits = range(whole.lowest_live(source), whole.logs[source].log_end + 1)
        assert answers_of(left.translate(source, target, commits)) == answers(whole.case(source, target), commits)


@law(400)
@given(indexes)
def test_no_commit_at_all_has_a_greater_answer_than_by_brute_force_over_the_whole_index(whole: Indexes) -> None:
    left = whole.cut(whole.begins(old_before(whole)))
    for source, target in permutations(whole.logs, 2):
        commits = range(whole.logs[source].log_end + 1)
        cut = answers_of(left.translate(source, target, commits))
        for before, after in zip(answers(whole.case(source, target), commits), cut):
            assert after.clamped_offset <= before.clamped_offset


def test_the_histories_are_cut_often_and_by_much() -> None:
    cut = removed = 0
    for seed in range(200):
        whole = random_indexes(seed)
        left = whole.cut(whole.begins(old_before(whole)))
        gone = sum(len(whole.rows[name]) - len(left.rows[name]) for name in whole.rows)
        cut, removed = cut + (gone > 0), removed + gone
    assert cut > 60, cut
    assert removed > 400, removed
