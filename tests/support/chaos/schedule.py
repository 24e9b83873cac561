"""Which fault happens when: the same for the same seed."""

from __future__ import annotations

import random
from collections.abc import Sequence
from typing import NamedTuple

JOBS = ("index_records", "sync_offsets")
MIRROR = "mirror"


class Fault(NamedTuple):
    """At *at_s* seconds from the begin *kind* happens to *target*, and is over after *seconds* more."""

    at_s: float
    kind: str
    target: str
    seconds: float


class Kind(NamedTuple):
    """A fault that may happen to *targets*, with a weight; afterwards they are left alone for *rest_s* seconds."""

    name: str
    targets: Sequence[str]
    weight: float
    seconds: tuple[float, float]
    rest_s: float


def kinds(aliases: Sequence[str]) -> list[Kind]:
    """Return every fault there is."""
    return [
        Kind("SIGKILL of a job", JOBS, 4, (0.0, 5.0), 60),
        Kind("SIGSTOP of a job", JOBS, 2, (2.0, 15.0), 15),
        Kind("second driver while the first is stopped", JOBS, 5, (0.0, 6.0), 90),
        Kind("second driver beside the first", JOBS, 2, (0.0, 1.0), 90),
        Kind("SIGKILL of a broker", aliases, 2, (1.0, 10.0), 45),
        Kind("SIGSTOP of a broker", aliases, 2, (1.0, 12.0), 20),
        Kind("SIGKILL of MirrorMaker 2", (MIRROR,), 1, (0.0, 5.0), 60),
    ]


def schedule(seed: int, seconds: float, possible: Sequence[Kind], gap_s: tuple[float, float]) -> list[Fault]:
    """Return the faults of a run of *seconds*; between two begins are *gap_s* seconds."""
    chance = random.Random(seed)
    faults: list[Fault] = []
    free_at: dict[str, float] = {}
    at = chance.uniform(*gap_s)
    while at < seconds:
        choices = [(kind, target) for kind in possible for target in kind.targets if free_at.get(target, 0.0) <= at]
        if choices:
            weights = [kind.weight / len(kind.targets) for kind, _ in choices]
            kind, target = chance.choices(choices, weights)[0]
            lasts = chance.uniform(*kind.seconds)
            faults.append(Fault(at, kind.name, target, lasts))
            free_at[target] = at + lasts + kind.rest_s
        at += chance.uniform(*gap_s)
    return faults
