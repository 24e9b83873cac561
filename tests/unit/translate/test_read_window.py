"""What is looked at of a target's log from an offset on, by pages and in memory."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pytest

from fakes.pages import KeptPages, let_go_of_all_but
from generators.mirrored_logs import random_cases, random_world
from offset_sync.translate.index.log_index import LogIndex
from offset_sync.translate.index.runs import Runs
from offset_sync.translate.partition_log import PartitionLog
from offset_sync.translate.read_window import ReadWindow, TargetView
from oracles.translation import Case, LogRecord, f_by_offset, might_stand_beyond, passed_by
from oracles.translation_check import describe, growing, logs_of
from tools.thorough import examples


def test_of_a_page_that_is_looked_at_as_a_whole_nothing_is_read() -> None:
    index, start, kept = LogIndex(4), np.arange(5, 32, 3), KeptPages()
    index.extend(Runs.of(start, np.full(len(start), 2), start % 2, start * 10, start), 33)
    let_go_of_all_but(index, 1, 2, kept)
    for offset in (0, 4, *index.paged.pages.start.tolist()):
        TargetView.of(index, offset)
    assert kept.asked == []


def test_between_pages_the_copies_of_each_unknown_origin_count() -> None:
    index, start = LogIndex(), np.arange(4)
    index.extend(Runs.of(start, start * 0 + 1, [2, 2, 3, 3], start * 0, start * 0), 4)
    let_go_of_all_but(index, 0, 1, KeptPages())
    window = ReadWindow(np.array([9]), PartitionLog.of(None, 0), PartitionLog.of(index, 1), 0, 0)
    assert window.unknown_copies == 2


def counted(case: Case, commits: Sequence[int], start: int) -> list[object]:
    """What a window from *start* on says, by brute force: of all commits, and then of each."""
    required = f_by_offset(case)
    records = [each for each in case.target.indexed if each.offset >= start]
    left = [each for each in records if each.offset >= case.target.log_start]
    unknown = [each.offset for each in records if might_stand_beyond(case, each)]
    malformed = sum(each.is_malformed for each in left)
    found: list[object] = [
        len(records) - len(left),
        len(unknown),
        sum(offset >= case.target.log_start for offset in unknown),
        malformed,
        len(left) - malformed,
    ]
    for committed in commits:
        read = [each.offset for each in records if required[each.offset] < committed]
        unread = [each.offset for each in records if required[each.offset] >= committed]
        deleted = sum(offset < case.target.log_start for offset in read)
        stop = unread[0] if unread else max(case.target.frontier, start)
        below = sum(each.offset < stop for each in records)
        found.append((stop, not unread, below, len(read), deleted, len(left) - malformed - (len(read) - deleted)))
    return found


def told(window: ReadWindow) -> list[object]:
    columns = (window.stop, window.at_frontier, window.below, window.read, window.read_deleted, window.unread())
    return [
        window.deleted,
        window.unknown,
        window.unknown_left,
        window.malformed_left,
        window.readable_left,
        *zip(*(column.tolist() for column in columns), strict=True),
    ]


def are_in_order(records: Sequence[LogRecord]) -> bool:
    """Whether none of an origin came late or again."""
    last: dict[str, int] = {}
    for each in records:
        if each.origin_offset <= last.get(each.origin, -1):
            return False
        last[each.origin] = each.origin_offset
    return True


@pytest.mark.parametrize("page_runs", [None, 1, 2, 3])
def test_a_window_says_what_brute_force_counts_whatever_pages_there_are(page_runs: int | None) -> None:
    for seed in range(examples(120, 40)):
        rng = random.Random(seed)
        world = random_world(rng, steps=rng.choice((3, 8, 14)))
        world = replace(world, malformed=rng.choice((0, 0, 0.2)), resend=rng.choice((0, 0.9)))
        for case in list(random_cases(world, rng))[:2]:
            log_start = rng.choice((0, rng.randint(0, case.target.log_end)))
            case = replace(case, target=replace(case.target, log_start=log_start))
            *_, (_, here, there) = growing(case)
            for index in (here, there) if page_runs else ():
                if index is not None:
                    let_go_of_all_but(index, rng.choice((0, 1)), page_runs or 1, KeptPages())
            source, target = logs_of(case, here, there)
            since = case.now_ms - case.hole_grace_ms
            for start in (0, rng.randint(0, case.target.log_end + 1)):
                # Unknown records of pages count where one commit is beyond the index of the source.
                commits = [*rng.sample(range(case.source_frontier + 1), min(3, case.source_frontier)), 10**6]
                rng.shuffle(commits)
                window = ReadWindow(np.array(commits), source, target, since, start)
                found = counted(case, commits, start)
                assert told(window) == found, describe(case)
                offsets = np.array([rng.randint(start, case.target.log_end + 2) for _ in range(4)])
                below = [sum(start <= r.offset < each for r in case.target.indexed) for each in offsets.tolist()]
                assert window.records_below(offsets).tolist() == below
                assert window.has_young_hole or counted(replace(case, hole_grace_ms=0), commits, start) == found
                records = [each for each in case.target.indexed if each.offset >= start]
                unknown = [each for each in records if might_stand_beyond(case, each)]
                assert not window.has_young_hole or any(passed_by(case, each) for each in unknown)
                again = copies(case, [each.offset for each in unknown])
                if page_runs is None:
                    assert window.unknown_copies == again
                else:
                    assert window.unknown_copies >= again
                    assert window.unknown_copies == 0 or not are_in_order(records)
