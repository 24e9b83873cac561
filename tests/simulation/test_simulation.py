"""The pure core among clusters, mirrors and groups, by one seed: no target passes the exact answer, at any step.

``make soak`` tries fresh seeds for as long as one likes.
"""

from __future__ import annotations

import pytest

from simulation.finding import Remedy, first_failure
from simulation.remedies import CLOSED, OPEN
from simulation.shape import ON_REQUEST
from simulation.soak import tried
from tools.thorough import examples

pytestmark = [pytest.mark.long, pytest.mark.no_cover]


def test_nothing_is_lost_at_any_step_and_all_is_exact_after_quiet() -> None:
    seeds = range(examples(60))
    result = tried(seeds, seconds=500, is_plain=True)
    assert (result.failure, result.seeds) == (None, len(seeds))


@pytest.mark.parametrize("fault", ON_REQUEST)
def test_nothing_is_lost_where_logs_begin_another_life_or_clocks_differ(fault: str) -> None:
    assert first_failure(Remedy(frozenset({fault})), seeds=examples(30)) is None


@pytest.mark.parametrize("hole", CLOSED)
def test_a_hole_is_found_when_its_remedy_is_taken_out(hole: str) -> None:
    assert first_failure(CLOSED[hole], seeds=5) is not None
    assert first_failure(CLOSED[hole]._replace(patches=()), seeds=5) is None


@pytest.mark.parametrize("hole", OPEN)
def test_an_open_hole_is_found_and_when_it_no_longer_is_its_switch_is_to_be_turned_on(hole: str) -> None:
    assert first_failure(OPEN[hole], seeds=5) is not None
