"""The upper bound of the duplicates, against the true contents of the logs."""

from __future__ import annotations

from generators.unreadable_headers import unreadable_histories
from oracles.translation_check import translated
from tools.thorough import examples


def test_whatever_headers_cannot_be_read_the_bound_is_never_too_small() -> None:
    needed = 0
    for seed in range(examples(200)):
        for history in unreadable_histories(seed):
            assert history.case.source is not None
            commits = range(history.case.source.log_end + 1)
            for committed, answer in zip(commits, translated(history.case, commits), strict=True):
                read_again = history.read_again(committed, answer.clamped_offset)
                assert read_again <= answer.duplicates_at_most, seed
                needed += read_again > answer.duplicates
    assert needed > 100
