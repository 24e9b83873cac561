"""When the thread beside the micro-batches looks at everything, and when only at what waits for the index."""

from __future__ import annotations

import threading
from dataclasses import dataclass, field
from datetime import timedelta
from types import SimpleNamespace

import pytest

from offset_sync.jobs.sync_offsets import SyncJob

ENOUGH = 4


@dataclass
class Driver:
    """What the thread works on: it is stopped after some calls, and the first *fails_first* ones raise."""

    fails_first: int = 0
    calls: list[str] = field(default_factory=list)
    reconcile: timedelta = timedelta(minutes=10)

    def __post_init__(self) -> None:
        self._stop, self._is_ready = threading.Event(), threading.Event()
        self._is_ready.set()
        self._config = SimpleNamespace(
            sync=SimpleNamespace(trigger_interval=timedelta(milliseconds=5), reconcile_interval=self.reconcile)
        )
        self._reconciler = SimpleNamespace(reconcile_waiting_for_index=lambda: self._note("waiting"))

    def _pass(self, *, is_first: bool) -> list[str]:
        return self._note("first" if is_first else "all")

    def _note(self, call: str) -> list[str]:
        self.calls.append(call)
        if len(self.calls) == ENOUGH:
            self._stop.set()
        if len(self.calls) <= self.fails_first:
            raise ConnectionError("not yet")
        return []

    def run(self) -> list[str]:
        """Run the thread's function until it is stopped."""
        SyncJob._reconcile(self)  # type: ignore[arg-type]
        return self.calls


@pytest.mark.timeout(30)
def test_between_two_passes_only_what_waits_for_the_index_is_settled() -> None:
    assert Driver().run() == ["first", "waiting", "waiting", "waiting"]


@pytest.mark.timeout(30)
def test_a_first_pass_that_fails_is_tried_again_as_the_first() -> None:
    assert Driver(fails_first=2).run() == ["first", "first", "first", "waiting"]


@pytest.mark.timeout(30)
def test_everything_is_looked_at_again_when_the_interval_is_over() -> None:
    assert Driver(reconcile=timedelta(milliseconds=1)).run() == ["first", "all", "all", "all"]
