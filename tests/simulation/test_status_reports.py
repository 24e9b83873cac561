"""Report, plan and driver say the same of each group after a history, and "in sync" stays true meanwhile."""

from __future__ import annotations

import pytest

from protections.entry import Seed
from simulation.histories import worlds
from simulation.status_reports import check_reports

pytestmark = pytest.mark.timeout(900)
SEEDS = range(12)


def test_report_plan_and_driver_say_the_same_and_in_sync_is_never_said_of_a_group_that_is_not() -> None:
    in_sync = 0
    for seed, simulation, problem in worlds([Seed(frozenset(), seed, steps=600) for seed in SEEDS]):
        assert problem is None
        in_sync += check_reports(simulation, seed.seed)
    assert in_sync > len(SEEDS)
