"""What is looked at of a target's log from an offset on, by pages and in memory."""

from __future__ import annotations

import random
from dataclasses import replace

import numpy as np
import pytest

from fakes.pages import KeptPages, let_go_of_all_but
from generators.mirrored_logs import random_cases, random_world
from offset_sync.translate.read_window import ReadWindow
from oracles.translation import answers, might_stand_beyond, passed_by
from oracles.translation_check import growing, logs_of
from tools.thorough import examples


@pytest.mark.parametrize("page_runs", [None, 1, 2, 3])
def test_records_from_where_all_is_read_are_counted_and_young_holes_told_whatever_pages_there_are(
    page_runs: int | None,
) -> None:
    for seed in range(examples(120, 40)):
        rng = random.Random(seed)
        for case in list(random_cases(replace(random_world(rng), resend=rng.choice((0, 0.9))), rng))[:2]:
            *_, (_, here, there) = growing(case)
            for index in (here, there) if page_runs else ():
                if index is not None:
                    let_go_of_all_but(index, rng.choice((0, 1)), page_runs or 1, KeptPages())
            source, target = logs_of(case, here, there)
            commits = rng.sample(range(case.source_frontier + 1), min(3, case.source_frontier)) or [0]
            start = rng.randint(0, min(answer.offset for answer in answers(case, commits)))
            window = ReadWindow(np.array(commits), source, target, case.now_ms - case.hole_grace_ms, start)
            offsets = np.array([start, *(rng.randint(start, case.target.log_end + 2) for _ in range(4))])
            below = window.records_below(offsets)
            wanted = [sum(start <= r.offset < each for r in case.target.indexed) for each in offsets.tolist()]
            assert (below - below[0]).tolist() == wanted
            aged = answers(replace(case, hole_grace_ms=0), commits)
            assert window.has_young_hole or [each.offset for each in aged] == window.stop.tolist()
            young = [r for r in case.target.indexed if might_stand_beyond(case, r) and passed_by(case, r)]
            assert young or not window.has_young_hole
