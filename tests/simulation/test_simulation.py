"""The pure core among clusters, mirrors and groups, by one seed: no target passes the exact answer, at any step.

``make soak`` tries fresh seeds for as long as one likes.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path
from subprocess import check_output

import pytest

from protections.entry import Seed
from simulation.histories import first_failure
from simulation.shape import LISTS, ON_REQUEST
from tools.thorough import examples

REPEATED = ("102", "108", "109:second", "113:third_anew", "119:shrink", "169:unreadable", "175:backlog", "7:elected")
REPEATED += ("3:twins,tools", "5:moves,crash", "6:skewed,jumping,coordinators", "8:second,moves", "9:polls")
REPEATED += ("2:forbidden,kept,narrow,no_writes,pages", "5:by_header,losses")
"""Seeds that came to something else in another process, by the order of one set or another; and one with elections."""
REPEATED += ("40023:shrink", "700607:expire")
"""A micro-batch of a query waited for the one that it would be part of; a group went back when it came back after its
deletion was forgotten."""
pytestmark = pytest.mark.timeout(900)


def test_nothing_is_lost_at_any_step_and_all_is_exact_after_quiet() -> None:
    assert first_failure(Seed(frozenset(), steps=600), seeds=examples(60)) is None


def test_a_seed_comes_to_the_same_in_every_process() -> None:
    tests = Path(__file__).parents[1]
    path = os.pathsep.join(str(tests.parent / each) for each in ("lib", "tests/support", "consumer/python"))
    command = [sys.executable, "-m", "simulation.histories", *REPEATED]
    env = os.environ | {"PYTHONPATH": path}
    first, second = [check_output(command, timeout=500, env=env | {"PYTHONHASHSEED": seed}) for seed in "07"]
    assert first == second
    assert len(first.splitlines()) == len(REPEATED)


@pytest.mark.parametrize("fault", [*ON_REQUEST, LISTS])
def test_nothing_is_lost_where_logs_begin_another_life_or_clocks_differ(fault: str) -> None:
    assert first_failure(Seed(frozenset({fault})), seeds=examples(20, 4)) is None  # `make soak` tries more of each


def test_records_whose_headers_leak_are_an_open_hole() -> None:
    """Today's code does not withstand them; once it does, their switch is to be turned on."""
    assert first_failure(Seed(frozenset({"leak"})), seeds=5) is not None
