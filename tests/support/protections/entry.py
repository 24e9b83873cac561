"""What a protection is: something that holds, a patch that takes it out, and the one test or seed that notices.

In a list of them a line says what holds, and the next one what keeps it::

    "our clock may be ahead of the index's",
    kept_by("cluster_clock.ClockOffset.at_most", gives(0), seed(15, "clocks,late")),
    "a check of the lease counts from its beginning",
    kept_by("lease.Lease._look", _counted_from_its_end(Lease._look), "lease what_a_claim_or"),

Modules and files of tests are named by the words that tell them apart: this is ``offset_sync.state.lease.Lease._look``,
and the test in ``tests/unit/state/test_lease.py`` whose name begins with ``test_what_a_claim_or``.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from copy import copy
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from offset_sync.model.values import ABSENT

REPO = Path(__file__).resolve().parents[3]


class Seed(NamedTuple):
    """A run of the simulation: with *faults*, from *seed*, so many *steps* long. It notices by a Violation."""

    faults: frozenset[str]
    seed: int = 0
    steps: int = 400


def seed(number: int, faults: str = "", steps: int = 400) -> Seed:
    """Return a run of the simulation, *faults* with commas between them."""
    return Seed(frozenset(filter(None, faults.split(","))), number, steps)


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

    *noticed_by* is a seed, or a test: its file, and how its name begins.
    """
    return {attribute: instead}, noticed_by


def kept_together(patches: dict[str, object], noticed_by: str | Seed) -> Taken:
    """Return that several attributes keep what holds."""
    return patches, noticed_by


def protections(*listed: str | Taken) -> tuple[Protection, ...]:
    """Return a list of protections: what holds, and then what keeps it, of each."""
    return tuple(_protection(name, taken) for name, taken in zip(listed[::2], listed[1::2], strict=True))


def _protection(name: str | Taken, taken: str | Taken) -> Protection:
    if not isinstance(name, str) or isinstance(taken, str):
        raise TypeError(f"{name!r} is not what holds, or {taken!r} not what keeps it")
    patches, noticed_by = taken
    whole = tuple((_whole(attribute), instead) for attribute, instead in patches.items())
    return Protection(name, whole, noticed_by if isinstance(noticed_by, Seed) else _node_id(noticed_by))


# A name that nothing has, or more than one, is left as it is: then the proof says that there is none.


def _whole(attribute: str) -> str:
    words = attribute.split(".")
    for count in (2, 1):
        found = [module for module in _modules() if module.endswith("." + ".".join(words[:count]))]
        if len(found) == 1:
            return ".".join([*found, *words[count:]])
    return attribute


def _node_id(noticed_by: str) -> str:
    file, _, begins = noticed_by.partition(" ")
    begins, bracket, case = begins.partition("[")
    folder, _, stem = file.rpartition("/")
    paths = [path for path in _test_files() if path.endswith(f"{folder}/test_{stem}.py")]
    unit = [path for path in paths if path.startswith("tests/unit/")] or paths
    path = unit[0] if len(unit) == 1 else file
    names = [name for name in _tests_of(path) if name.startswith(begins)]
    return f"{path}::test_{names[0] if len(names) == 1 else begins}{bracket}{case}"


@cache
def _modules() -> list[str]:
    lib = REPO / "lib"
    return [".".join(path.relative_to(lib).with_suffix("").parts) for path in (lib / "offset_sync").rglob("*.py")]


@cache
def _test_files() -> list[str]:
    return [str(path.relative_to(REPO)) for path in (REPO / "tests").rglob("test_*.py")]


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


def told(real: Callable[..., Any], **values: object) -> Callable[..., Any]:
    """Return the *real* function, which is told other *values*."""
    return lambda *given, **named: real(*given, **named | values)


def setting(real: Callable[..., Any], **values: object) -> Callable[..., Any]:
    """Return the *real* function, before which its object gets other *values*."""

    def changed(self: Any, *given: Any) -> Any:
        vars(self).update(values)
        return real(self, *given)

    return changed
