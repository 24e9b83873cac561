"""What is looked at of a target's log, by pages and in memory, against brute force by records."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pytest

from fakes.pages import KeptPages, let_go_of_all_but
from generators.mirrored_logs import random_cases, random_world
from offset_sync.translate.read_window import ReadWindow
from oracles.translation import Case, f_by_offset, might_stand_beyond, passed_by
from oracles.translation_check import describe, growing, logs_of
from tools.thorough import examples


def counted(case: Case, commits: Sequence[int]) -> list[object]:
    """What a window of the whole log says, by brute force: of all commits, and then of each."""
    required, records, log_start = f_by_offset(case), case.target.indexed, case.target.log_start
    left = [each for each in records if each.offset >= log_start]
    unknown = [each.offset for each in records if might_stand_beyond(case, each)]
    malformed, unknown_left = sum(each.is_malformed for each in left), sum(each >= log_start for each in unknown)
    found: list[object] = [len(records) - len(left), len(unknown), unknown_left, malformed]
    for committed in commits:
        read = [each.offset for each in records if required[each.offset] < committed]
        unread = [each.offset for each in records if required[each.offset] >= committed]
        deleted = sum(offset < log_start for offset in read)
        stop = unread[0] if unread else case.target.frontier
        below = sum(each.offset < stop for each in records)
        found.append((stop, not unread, below, len(read), deleted, len(left) - malformed - (len(read) - deleted)))
    return found


def told(window: ReadWindow) -> list[object]:
    columns = (window.stop, window.at_frontier, window.below, window.read, window.read_deleted, window.unread())
    rows = zip(*(column.tolist() for column in columns), strict=True)
    return [window.deleted, window.unknown, window.unknown_left, window.malformed_left, *rows]


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
            logs, since = logs_of(case, here, there), case.now_ms - case.hole_grace_ms
            # Unknown records of pages count where one commit is beyond the index of the source.
            commits = [*rng.sample(range(case.source_frontier + 1), min(3, case.source_frontier)), 10**6]
            rng.shuffle(commits)
            window, found = ReadWindow(np.array(commits), *logs, since, 0), counted(case, commits)
            assert told(window) == found, describe(case)
            assert window.has_young_hole or counted(replace(case, hole_grace_ms=0), commits) == found
            young = [r for r in case.target.indexed if might_stand_beyond(case, r) and passed_by(case, r)]
            assert young or not window.has_young_hole
            start = rng.randint(0, int(window.stop.min()))
            later = ReadWindow(np.array(commits), *logs, since, start)
            assert (later.stop.tolist(), later.unknown_left) == (window.stop.tolist(), window.unknown_left)
            offsets = np.array([start, *(rng.randint(start, case.target.log_end + 2) for _ in range(4))])
            below = later.records_below(offsets)
            wanted = [sum(start <= r.offset < each for r in case.target.indexed) for each in offsets.tolist()]
            assert (below - below[0]).tolist() == wanted
