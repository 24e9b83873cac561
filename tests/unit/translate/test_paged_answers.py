"""Logs of which only the newest runs are in memory: the same answers, and few pages are read for them."""

from __future__ import annotations

import itertools
from collections.abc import Sequence

import numpy as np
import pytest

from builders.logs import NOW_MS, log
from fakes.pages import KeptPages, let_go_of_all_but
from offset_sync.translate.exact import Bounds, translate
from offset_sync.translate.index.log_index import LogIndex
from offset_sync.translate.index.runs import Runs
from offset_sync.translate.partition_log import PartitionLog
from oracles import translation_check
from oracles.translation import Case, Log, answers
from oracles.translation_check import growing

GRACE_MS = 60_000


def ask(source: Log, target: Log, *commits: int) -> tuple[list[int], KeptPages, KeptPages]:
    """Return the answers, which are those of brute force, of logs with pages of a run each; and what was read."""
    case = Case("X", source, target, NOW_MS, GRACE_MS)
    *_, (_, here, there) = growing(case)
    assert here is not None
    pages = KeptPages(), KeptPages()
    for index, kept in zip((here, there), pages, strict=True):
        let_go_of_all_but(index, 1, 1, kept)
    found = translation_check.ask(case, commits, here, there)
    assert translation_check.differing("", commits, answers(case, commits), found) == []
    return [answer.offset for answer in found], *pages


@pytest.mark.parametrize(
    ("here", "there", "commit", "offset", "is_behind"),
    [
        ([(0, 1, 10), (1, 0, 1)], [(3, 1, 3), (4, 0, 1), (5, 0, 7)], 1, 4, False),
        ([(0, 1, 0), (1, 0, 1), (2, 1, 10), (3, 0, 3)], [(3, 1, 3), (10, 1, 10), (11, 0, 3), (12, 0, 9)], 3, 11, False),
        ([(0, 1, 0), (1, 0, 1), (2, 1, 10), (3, 0, 3)], [(3, 1, 3), (10, 1, 20), (11, 0, 3), (12, 0, 9)], 3, 10, False),
        ([(0, 0, 0), (1, 1, 2)], [(5, 1, 5), (6, 0, 9)], 3, 5, True),
    ],
)
def test_what_is_below_a_record_that_a_cut_has_taken_is_judged_by_what_came_since(
    here: Sequence[Sequence[int]], there: Sequence[Sequence[int]], commit: int, offset: int, is_behind: bool
) -> None:
    for pages_of_source, pages_of_target in itertools.product((None, 1, 2), repeat=2):
        source, target = LogIndex(), LogIndex()
        source.lose(Runs.of([100], [1], [1], [5], [0]))
        for index, records, page_runs in ((source, here, pages_of_source), (target, there, pages_of_target)):
            start, origin, origin_start = (list(column) for column in zip(*records, strict=True))
            index.extend(Runs.of(start, [1] * len(start), origin, origin_start, [0] * len(start)), start[-1] + 1)
            if page_runs:
                let_go_of_all_but(index, 1, page_runs, KeptPages())
        logs = PartitionLog(source, 0), PartitionLog(target, 1)
        found = translate(np.array([commit], np.int64), *logs, Bounds(1))
        assert (found.offset.tolist(), found.index_behind.tolist()) == ([offset], [is_behind])


def test_an_answer_deep_in_long_logs_reads_few_pages() -> None:
    blocks = [("ZW"[number % 2], number // 2 * 10) for number in range(300)]
    swapped = [blocks[number ^ 1] for number in range(300)]
    here, there = (" ".join(f"{origin}{n}:{n + 10}" for origin, n in order) for order in (blocks, swapped))
    found, source, target = ask(log("X", here), log("Y", there), 1_505)
    assert found == [1_500]
    assert (len(source.pages), len(target.pages)) == (299, 299)
    assert len(set(source.asked)) <= 1
    assert len(set(target.asked)) <= 2
