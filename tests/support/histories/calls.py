"""Every call by which the tables reach the disk: at any of them a process may be killed, fail, or be overtaken."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import wraps
from typing import Any, NamedTuple

import pytest
from deltalake import DeltaTable
from deltalake.exceptions import DeltaError

from offset_sync.tables.files import Files

_OF_FILES = ("written_ms", "read", "put_new", "delete", "open", "write_parquet")
_OF_ENTRIES = ("__init__",)
_OF_DELTA = (*_OF_ENTRIES, "create_checkpoint", "cleanup_metadata", "vacuum")
CALLS: tuple[tuple[Any, str], ...] = (
    (os, "fsync"),
    *((Files, name) for name in _OF_FILES),
    *((DeltaTable, name) for name in _OF_DELTA),
)
KILLED, POWER, REFUSED, LOST = "killed", "power fails", "refused", "answer lost"
ENDS = (KILLED, POWER)
ERRORS = (REFUSED, LOST)


class Interruption(NamedTuple):
    """What happens before which of an operation's calls of this name, or of any name where it is "".

    It is one of :data:`ENDS` or :data:`ERRORS`, or what others do then.
    """

    what: str
    call: str
    number: int


NEVER = Interruption("", "", -1)


class KilledError(BaseException):
    """Ends a process at once."""


class Calls:
    """Counts the calls of one operation; *has_met*: what was to happen has happened in the last one."""

    def __init__(self) -> None:
        self._left, self._by, self.has_met = -1, NEVER, False
        self._act: Callable[[str, str], object] = lambda _what, _name: None

    def watch(self, patch: pytest.MonkeyPatch) -> None:
        for owner, name in CALLS:
            patch.setattr(owner, name, self._watched(owner, name))

    @contextmanager
    def interrupted(self, by: Interruption, act: Callable[[str, str], object]) -> Iterator[None]:
        """Have *act* do what happens at a call meanwhile: nothing, if there are fewer calls."""
        self._left, self._by, self._act = by.number, by, act
        try:
            yield
        finally:
            self.has_met, self._by = not self._by.what, NEVER

    def _watched(self, owner: Any, name: str) -> Callable[..., Any]:
        plain = getattr(owner, name)
        error = DeltaError if owner is DeltaTable else OSError

        @wraps(plain)
        def watched(*arguments: Any, **named: Any) -> Any:
            if self._by.what and self._by.call in ("", name):
                self._left -= 1
            if self._left != -1 or not self._by.what:
                return plain(*arguments, **named)
            what, self._by = self._by.what, NEVER
            if what == LOST:
                plain(*arguments, **named)
            if what in ERRORS:
                raise error(f"{name}: {what}")
            self._act(what, name)
            return plain(*arguments, **named)

        return watched
