"""What a protection is: something that holds, a patch that takes it out, and the one test or seed that notices.

A list of them has a sentence for each::

    "our clock may be ahead of the index's": kept_by("state.cluster_clock.ClockOffset.at_most", gives(0), seed(15)),
    "a check counts from its start": kept_by("state.lease.Lease._look", look, "state/test_lease.py the_time_that_a"),
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from copy import copy
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from offset_sync.model.values import ABSENT

REPO = Path(__file__).resolve().parents[3]
_ELSEWHERE = ("offset_sync_", "search.", "simulation.")


class Seed(NamedTuple):
    """A run of the simulation: with *faults*, from *seed*, so many *steps* long. It notices by a Violation."""

    faults: frozenset[str]
    seed: int = 0
    steps: int = 400


def seed(number: int, *faults: str, steps: int = 400) -> Seed:
    """Return a run of the simulation."""
    return Seed(frozenset(faults), number, steps)


class Protection(NamedTuple):
    """What holds, and the proof that it is under test.

    *patches* are dotted names of attributes, each with what replaces it; together they take the protection out. They
    are in place from a test's first fixture to its last, not while its module is imported. *noticed_by* passes without
    them and fails with them: a pytest node id, as ``tests/unit/state/test_home.py::test_x``, or a seed.
    """

    name: str
    patches: tuple[tuple[str, object], ...]
    noticed_by: str | Seed


Taken = tuple[dict[str, object], str | Seed]


def kept_by(attribute: str, instead: object, noticed_by: str | Seed) -> Taken:
    """Return that one *attribute* of ``offset_sync``, or of the simulation, keeps what holds.

    *noticed_by* is a seed, or a test: its file, below tests/unit unless it says otherwise, and how its name begins.
    """
    return {attribute: instead}, noticed_by


def kept_together(patches: dict[str, object], noticed_by: str | Seed) -> Taken:
    """Return that several attributes keep what holds."""
    return patches, noticed_by


def protections(taken: Mapping[str, Taken]) -> tuple[Protection, ...]:
    """Return a list of protections, by what holds."""
    return tuple(Protection(name, _placed(patches), _node_id(each)) for name, (patches, each) in taken.items())


def _placed(patches: Mapping[str, object]) -> tuple[tuple[str, object], ...]:
    return tuple((at if at.startswith(_ELSEWHERE) else f"offset_sync.{at}", to) for at, to in patches.items())


def _node_id(noticed_by: str | Seed) -> str | Seed:
    if isinstance(noticed_by, Seed):
        return noticed_by
    file, _, begins = noticed_by.partition(" ")
    file = file if file.startswith("tests/") else f"tests/unit/{file}"
    begins, bracket, case = begins.partition("[")
    found = [name for name in _tests_of(file) if name.startswith(begins)]
    name = found[0] if len(found) == 1 else begins  # if it has none of them, or several, that will be said
    return f"{file}::test_{name}{bracket}{case}"


@cache
def _tests_of(file: str) -> list[str]:
    path = REPO / file
    return re.findall(r"^def test_(\w+)", path.read_text(encoding="utf-8"), re.MULTILINE) if path.is_file() else []


# What replaces functions.


def gives(value: object) -> Callable[..., Any]:
    """Return *value* whatever is asked."""
    return lambda *_given, **_named: copy(value)


nothing, yes, no = gives(None), gives(True), gives(False)


def given(number: int) -> Callable[..., Any]:
    """Return an argument as it is."""
    return lambda *given: given[number]


def true_for(number: int) -> Callable[..., Any]:
    """Return that it is so for each of what an argument has."""
    return lambda *given: np.ones(len(given[number]), np.bool_)


def false_for(number: int) -> Callable[..., Any]:
    """Return that it is not so for any of what an argument has."""
    return lambda *given: np.zeros(len(given[number]), np.bool_)


def absent_for(number: int) -> Callable[..., Any]:
    """Return that there is nothing for any offset of what an argument has."""
    return lambda *given: np.full(len(given[number].offset), ABSENT, np.intp)


def changed(real: Callable[..., Any], **fields: object) -> Callable[..., Any]:
    """Return the *real* answer with other *fields*."""
    return lambda *given: real(*given)._replace(**fields)


def as_if(real: Callable[..., Any], number: int, value: object) -> Callable[..., Any]:
    """Return the *real* answer to another argument."""
    return lambda *given, **named: real(*given[:number], value, *given[number + 1 :], **named)


def setting(real: Callable[..., Any], **values: object) -> Callable[..., Any]:
    """Return the *real* function, before which its object gets other *values*."""

    def changed(self: Any, *given: Any) -> Any:
        vars(self).update(values)
        return real(self, *given)

    return changed
