"""The simulation comes to every state and every outcome, and to each of them when a driver crashes.

``make soak`` checks that any thousand fresh seeds do; here are a few that do together.
"""

from __future__ import annotations

import pytest

from protections.entry import Seed
from simulation.histories import worlds
from simulation.reached import WANTED

SEEDS = (
    (2, "forbidden,kept,narrow,no_writes,pages"),
    (5, "by_header,commit_beyond,losses"),
    (6, "commit_beyond,crash,cut_grows,down,gone_topic,twins,unreadable"),
    (13, "anew,by_header,commit_beyond,crash"),
    (4, "commit_beyond,crash,cut_grows,down,gone_topic,twins,unreadable"),
    (0, "losses"),
)
"""Look for others where a change has them come to something else."""
pytestmark = pytest.mark.timeout(900)


def test_a_few_seeds_come_to_every_state_and_outcome_alone_and_with_a_crash() -> None:
    seeds = [Seed(frozenset(faults.split(",")), seed, 600) for seed, faults in SEEDS]
    found = [frozenset(simulation.persisted.reached.words) for _, simulation, _ in worlds(seeds)]
    assert sorted(WANTED - frozenset().union(*found)) == []
    needed = [WANTED - frozenset().union(*found[:number], *found[number + 1 :]) for number in range(len(found))]
    assert all(needed), "some of the seeds are needless"
