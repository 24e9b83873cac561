"""No answer is ahead of what stands in both logs, whatever a mirror without headers does that was said of it.

``python -m oracles.fingerprints --minutes 60`` does it for as long as one likes.
"""

from __future__ import annotations

from dataclasses import replace

import pytest

from fakes.fingerprint_follower import Reading
from generators.unstamped_copies import Workload
from offset_sync.translate.fingerprint.records import Settings
from oracles.fingerprints import Setting, Tally, fuzz, settings_of, simulate
from tools.thorough import examples

ALL = list(settings_of(1_500))


def said(each: Setting, seed: int) -> Tally:
    return simulate(each.workload, each.reading, each.settings, seed, looks=3)


@pytest.mark.parametrize("number", range(0, len(ALL), max(1, len(ALL) // examples(50))))
def test_workloads_of_mirrors(number: int) -> None:
    found = said(ALL[number], number)
    assert (found.ahead, found.ahead_by_content) == (0, 0), ALL[number]
    assert found.judged > 2_000


@pytest.mark.parametrize("first", range(0, examples(200), 20))
def test_small_logs_of_few_kinds_of_contents_with_many_faults(first: int) -> None:
    for seed in range(first, first + 20):
        found = said(fuzz(seed), seed)
        assert (found.ahead, found.ahead_by_content) == (0, 0), (seed, fuzz(seed))


def test_where_nothing_goes_wrong_nearly_all_answers_are_exact() -> None:
    settings = Settings(hold_ms=3_000, resend_records=1_200, entry=30)
    for share, least in ((0.0, 1.0), (0.1, 0.95)):
        workload = Workload(4_000, share=share, restart=10_000)
        found = simulate(workload, Reading(restarts=0.2), settings, seed=1, looks=0)
        assert found.exact >= least * found.judged


def test_a_mirror_that_loses_and_reorders_though_it_was_said_to_keep_the_order_is_not_ahead_by_content() -> None:
    found, workload = Tally(), Workload(1_500, share=0.5, drop=0.1, reorder=0.2, displaced=4, restart=300)
    settings = Settings(hold_ms=500, resend_records=1_200, reorder_window=1)
    for seed in range(10):
        found += simulate(workload, Reading(200), replace(settings, keeps_order=True), seed, looks=0)
    assert found.ahead_by_content == 0
