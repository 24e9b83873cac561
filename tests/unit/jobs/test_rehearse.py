"""Which moves ``cutover rehearse`` rehearses, and that a surprise in any direction is a failure of the command."""

from __future__ import annotations

import threading
from argparse import Namespace
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from types import SimpleNamespace
from typing import Any

import pytest

from fakes.reconciler_site import config_of
from offset_sync.cutover.plan import Direction
from offset_sync.jobs import rehearse as command

KNOWN = ["billing", "reports", "twice"]


class Clusters:
    """The groups in the tables; one has partitions at home at X."""

    def groups(self) -> list[str]:
        return KNOWN

    def share_groups(self) -> dict[str, str]:
        return {"shared": "share group at X", "twice": "share group at Y"}

    def partition_statuses(self, groups: list[str]) -> dict[str, list[str]]:
        return {group: ["orders-0"] for group in groups if group == "billing"}


@pytest.fixture
def rehearsed(monkeypatch: pytest.MonkeyPatch) -> list[tuple[Direction, list[str], int, float]]:
    """Let each direction have one surprise; what was rehearsed."""
    found: list[tuple[Direction, list[str], int, float]] = []

    @contextmanager
    def open_cutover(config: Any, live: Any, direction: Direction, journal: Any, lease: Any) -> Iterator[Any]:
        yield None, Clusters()

    def open_rehearsal(config: Any, live: Any, direction: Direction, records: int, seconds: float) -> Any:
        return direction, records, seconds

    def rehearse_groups(rehearsal: Any, statuses: dict[str, Any], journal: Any, is_done: Any) -> Any:
        direction, records, seconds = rehearsal
        found.append((direction, sorted(statuses), records, seconds))
        return {}

    monkeypatch.setattr(command, "open_tables", lambda *_: nullcontext())
    monkeypatch.setattr(command, "LiveState", lambda *_: SimpleNamespace(tables=None))
    monkeypatch.setattr(command, "Lease", lambda *_: None)
    monkeypatch.setattr(command, "TableJournal", lambda *_: None)
    monkeypatch.setattr(command, "open_cutover", open_cutover)
    monkeypatch.setattr(command, "open_rehearsal", open_rehearsal)
    monkeypatch.setattr(command, "rehearse_groups", rehearse_groups)
    monkeypatch.setattr(command, "show_rehearsed", lambda rehearsed, statuses, direction, *_: [f"{direction.source}"])
    return found


def run(settings: dict[str, Any], **words: Any) -> list[str]:
    given = dict.fromkeys(("source", "target", "groups", "records", "seconds")) | words
    config = config_of(["X", "Y"], report={"rehearse": settings})
    return [*command.rehearse(config, Namespace(**given), threading.Event())]


def test_without_a_direction_all_are_rehearsed_and_all_surprises_are_failures(rehearsed: list[Any]) -> None:
    assert run({"groups": ["bill.*"], "records": 7, "timeout": "9s"}) == ["X", "Y"]
    assert rehearsed == [(Direction("X", "Y"), ["billing"], 7, 9.0), (Direction("Y", "X"), ["billing"], 7, 9.0)]


def test_what_is_typed_wins_and_groups_without_partitions_and_share_groups_are_shown(rehearsed: list[Any]) -> None:
    typed = {"source": "X", "target": "Y", "groups": [".*"], "records": 3, "seconds": 4}
    assert run({"groups": ["bill.*"], "records": 7}, **typed) == ["twice: share group at Y", "X"]
    assert rehearsed == [(Direction("X", "Y"), ["billing", "reports"], 3, 4)]
    assert run({}, **{**typed, "groups": ["shar.*"]}) == ["shared: share group at X", "X"]
