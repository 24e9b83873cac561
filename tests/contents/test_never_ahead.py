"""No answer is ahead of the contents of both logs, whatever a mirror without headers does within its configuration.

``python -m contents.fingerprints --minutes 60`` does it for as long as one likes.
"""

from __future__ import annotations

import pytest

from contents.fingerprints import Tally, simulate, simulate_two
from contents.mirror_settings import Reading, Setting, by_time, fuzz, late_starts, settings_of
from contents.unstamped_copies import Workload
from offset_sync_contents.alignment.mirror import Settings
from tools.thorough import examples

ALL = [*settings_of(1_500), *late_starts(1_500), *by_time(4_000)]
SAID_IN_ORDER = Settings(hold_ms=3_000, resend_records=1_200)
"""Of a mirror that does not keep the order after all."""


def some(number: int, of: int) -> range:
    """Numbers of so many of them, from all over."""
    return range(0, of, max(1, of // examples(number)))


@pytest.mark.parametrize("number", some(60, len(ALL)))
def test_workloads_of_mirrors(number: int) -> None:
    found = simulate(ALL[number], number, looks=3)
    assert (found.ahead, found.ahead_by_content) == (0, 0), ALL[number]
    assert found.judged > 2_000


@pytest.mark.parametrize("number", some(15, len(ALL)))
def test_from_the_copies_of_one_mirror_to_those_of_another(number: int) -> None:
    assert simulate_two(ALL[number], number).ahead == 0, ALL[number]


@pytest.mark.parametrize("first", range(0, examples(200), 20))
def test_small_logs_of_few_kinds_of_contents_with_many_faults(first: int) -> None:
    for seed in range(first, first + 20):
        found = simulate(fuzz(seed), seed, looks=3)
        found += simulate_two(fuzz(seed), seed, looks=2)
        assert (found.ahead, found.ahead_by_content) == (0, 0), (seed, fuzz(seed))


def test_where_nothing_goes_wrong_nearly_all_answers_are_exact() -> None:
    settings = Settings(hold_ms=3_000, resend_records=1_200, entry=30)
    for share, least in ((0.0, 1.0), (0.1, 0.95)):
        workload = Workload(4_000, share=share, restart=10_000)
        found = simulate(Setting("", workload, Reading(restarts=0.2), settings), seed=1, looks=0)
        assert found.exact >= least * found.judged


def of_other_mirrors(workload: Workload, seeds: range) -> Tally:
    found, setting = Tally(), Setting("", workload, Reading(300), SAID_IN_ORDER)
    for seed in seeds:
        found += simulate(setting, seed, looks=1)
    return found


def test_where_order_is_seen_to_break_nothing_is_certified() -> None:
    workload = Workload(1_500, share=0.5, reorder=0.3, displaced=40, restart=1_000, resend=100)
    assert of_other_mirrors(workload, range(20)).ahead == 0


@pytest.mark.parametrize("reorder", [0.01, 0.3])
def test_what_a_mirror_does_that_was_not_said_of_it_is_never_ahead_by_content(reorder: float) -> None:
    workload = Workload(1_500, share=0.5, drop=0.05, reorder=reorder, displaced=4, restart=1_000, resend=100)
    assert of_other_mirrors(workload, range(40, 60)).ahead_by_content == 0
