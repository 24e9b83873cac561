"""What ``cutover apply`` does one after the other: it claims the groups, waits for the driver before, and moves."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, nullcontext
from types import SimpleNamespace
from typing import Any

import pytest

from fakes.reconciler_site import config_of
from offset_sync.jobs import cutover
from offset_sync.jobs.runner import job_arguments
from offset_sync.state.lease import FencedTables


class NotedLease:
    """Notes when it is claimed and when the driver before is waited for."""

    def __init__(self, noted: list[str]) -> None:
        self._noted = noted

    def settle(self) -> None:
        self._noted.append("waited for who wrote before")


@pytest.mark.parametrize(
    ("action", "expected"),
    [
        ("apply", ["claimed billing", "waited for who wrote before", "moved billing", "given back"]),
        ("verify", ["verified billing"]),
    ],
)
def test_groups_are_claimed_and_who_wrote_before_is_waited_for_before_they_are_moved(
    monkeypatch: pytest.MonkeyPatch, action: str, expected: Sequence[str]
) -> None:
    noted = list[str]()
    lease = NotedLease(noted)

    @contextmanager
    def held(one: NotedLease, groups: Sequence[str]) -> Iterator[NotedLease]:
        assert one is lease
        noted.append(f"claimed {' '.join(groups)}")
        yield one
        noted.append("given back")

    def note(word: str) -> Any:
        return lambda groups, *_how: noted.append(f"{word} {' '.join(groups)}") or []

    def opened(*given: Any) -> Any:
        assert given[-2] is lease, "writes ask the lease that was claimed"
        assert isinstance(given[-3]._tables, FencedTables) is (action == "apply"), "so does what records a home"
        procedure = SimpleNamespace(apply=note("moved"), verify=note("verified"))
        return nullcontext((procedure, SimpleNamespace(groups=lambda: ["billing"])))

    monkeypatch.setattr(cutover, "open_tables", lambda *_where: nullcontext(None))
    monkeypatch.setattr(cutover, "LiveState", lambda *_of, given_up: SimpleNamespace(tables=None))
    monkeypatch.setattr(cutover, "Lease", lambda *_of: lease)
    monkeypatch.setattr(cutover, "held", held)
    monkeypatch.setattr(cutover, "open_cutover", opened)
    words = [action, "--from", "X", "--to", "Y", "--groups", "billing", "--planned", "--conf", "x"]
    arguments = cutover.cutover_arguments(job_arguments("cutover")).parse_args(words)
    assert cutover.cutover_groups(config_of(["X", "Y"]), arguments, threading.Event()) == []
    assert noted == expected
