"""What happens around the next entry that delta-rs puts into a log."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from deltalake import DeltaTable
from deltalake.exceptions import DeltaError

_ENTER = "create_write_transaction"


def before_entry(monkeypatch: pytest.MonkeyPatch, act: Callable[[], object]) -> None:
    """Have *act* happen between a writer's look at the table and its entry, once."""
    enter = getattr(DeltaTable, _ENTER)

    def enter_late(self: DeltaTable, *arguments: Any, **named: Any) -> None:
        monkeypatch.setattr(DeltaTable, _ENTER, enter)
        act()
        enter(self, *arguments, **named)

    monkeypatch.setattr(DeltaTable, _ENTER, enter_late)


def lose_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    """Have a writer not be told that its entry is there, once."""
    enter = getattr(DeltaTable, _ENTER)

    def enter_and_hang_up(self: DeltaTable, *arguments: Any, **named: Any) -> None:
        monkeypatch.setattr(DeltaTable, _ENTER, enter)
        enter(self, *arguments, **named)
        raise DeltaError("the connection was closed")

    monkeypatch.setattr(DeltaTable, _ENTER, enter_and_hang_up)
