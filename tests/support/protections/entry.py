"""What a protection is: something that holds, a patch that takes it out, and the one test or seed that notices."""

from __future__ import annotations

from typing import Any, NamedTuple


class Seed(NamedTuple):
    """A run of the simulation: with *faults*, from *seed*, so many *steps* long. It notices by a Violation."""

    faults: frozenset[str]
    seed: int = 0
    steps: int = 400


class Protection(NamedTuple):
    """What holds, and the proof that it is under test.

    *patches* are dotted names of attributes, each with what replaces it; together they take the protection out. They
    are in place from a test's first fixture to its last, not while its module is imported. *noticed_by* passes without
    them and fails with them: a pytest node id, as ``tests/unit/state/test_home.py::test_x``, or a seed.
    """

    name: str
    patches: tuple[tuple[str, object], ...]
    noticed_by: str | Seed


def kept_by(name: str, attribute: str, instead: object, noticed_by: str | Seed) -> Protection:
    """Return a protection that one *attribute* of ``offset_sync``, or of the simulation, keeps.

    *noticed_by* is a seed, or a test by its node id, below ``tests/unit`` unless it says otherwise.
    """
    place = (
        attribute if attribute.startswith(("offset_sync_", "search.", "simulation.")) else f"offset_sync.{attribute}"
    )
    if isinstance(noticed_by, str) and not noticed_by.startswith("tests/"):
        noticed_by = f"tests/unit/{noticed_by}"
    return Protection(name, ((place, instead),), noticed_by)


def nothing(*_arguments: Any, **_options: Any) -> None:
    """Do nothing."""


def yes(*_arguments: Any, **_options: Any) -> bool:
    """Return that it is so."""
    return True


def no(*_arguments: Any, **_options: Any) -> bool:
    """Return that it is not so."""
    return False
