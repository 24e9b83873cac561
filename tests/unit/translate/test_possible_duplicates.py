"""The upper bound of the duplicates, against the true contents of the logs."""

from __future__ import annotations

import numpy as np

from generators.unreadable_headers import unreadable_histories
from offset_sync.translate.exact import Bounds, translate
from offset_sync.translate.index.log_index import LogIndex
from offset_sync.translate.index.runs import Runs
from offset_sync.translate.partition_log import PartitionLog
from oracles.translation_check import translated
from tools.thorough import examples


def test_what_a_cut_has_taken_may_have_been_read_before() -> None:
    source, target = LogIndex(), LogIndex()
    source.lose(Runs.of([1], [1], [2], [5], [0]))
    source.extend(Runs.of([0], [1], [0], [0], [0]), 2)
    target.extend(Runs.of([0, 1], [1, 2], [0, 2], [0, 5], [0, 0]), 3)
    found = translate(np.array([2], np.int64), PartitionLog(source, 0), PartitionLog(target, 1), Bounds(1))
    assert (found.offset.tolist(), found.duplicates_at_most.tolist()) == ([1], [1])


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
