"""No answer is ahead of what stands in both logs, whatever a mirror without headers does that was said of it.

``python -m oracles.fingerprints --minutes 60`` does it for as long as one likes.
"""

from __future__ import annotations

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


SAID_IN_ORDER = Settings(hold_ms=3_000, resend_records=1_200)
"""Of a mirror that does not keep the order after all."""


def test_where_order_is_seen_to_break_nothing_is_certified() -> None:
    found = Tally()
    workload = Workload(1_500, share=0.5, reorder=0.3, displaced=40, restart=1_000, resend=100)
    for seed in range(20):
        found += simulate(workload, Reading(300), SAID_IN_ORDER, seed, looks=1)
    assert found.ahead == 0


@pytest.mark.parametrize("reorder", [0.01, 0.3])
def test_what_a_mirror_does_that_was_not_said_of_it_is_never_ahead_by_content(reorder: float) -> None:
    found = Tally()
    workload = Workload(1_500, share=0.5, drop=0.05, reorder=reorder, displaced=4, restart=1_000, resend=100)
    for seed in range(40, 60):
        found += simulate(workload, Reading(300), SAID_IN_ORDER, seed, looks=1)
    assert found.ahead_by_content == 0
