"""What happens around the next entry that is put into a log, once."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from offset_sync.tables import table_log
from offset_sync.tables.files import Files


def before_entry(monkeypatch: pytest.MonkeyPatch, act: Callable[[], object], after: Callable[[], object] = int) -> None:
    """Have *act* happen between a writer's decision and its entry."""
    put = Files.put_new

    def put_late(self: Files, path: str, content: bytes) -> bool:
        monkeypatch.setattr(Files, "put_new", put)
        act()
        is_put = put(self, path, content)
        after()
        return is_put

    monkeypatch.setattr(Files, "put_new", put_late)


def lose_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    """Have a writer not be told that its entry is there."""

    def hang_up() -> None:
        raise OSError("the connection was closed")

    monkeypatch.setattr(table_log, "PATIENCE_SECONDS", 1)
    before_entry(monkeypatch, int, hang_up)
