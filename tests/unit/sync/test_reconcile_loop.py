"""When the loop beside the micro-batches looks at everything, and when only at what waits for the index."""

from __future__ import annotations

import threading
from contextlib import nullcontext
from dataclasses import dataclass, field
from typing import Any

import pytest

from fakes.reconciler_site import Site, config_of
from offset_sync.sync.reconcile_loop import ReconcileLoop

ENOUGH = 4


class NoTimer:
    def reconciling(self) -> nullcontext[None]:
        return nullcontext()


@dataclass
class Driver:
    """What the loop calls: it is stopped after some calls, and the first *fails_first* ones raise."""

    fails_first: int = 0
    reconcile_interval: str = "10m"
    calls: list[str] = field(default_factory=list)
    wakes: bool = False

    def __post_init__(self) -> None:
        self.stop, self.is_ready, self.soon = threading.Event(), threading.Event(), threading.Event()
        self.is_ready.set()

    def reconcile_all(self, *, is_first: bool) -> list[str]:
        return self._note("first" if is_first else "all")

    def reconcile_waiting_for_index(self) -> list[str]:
        return self._note("waiting")

    def _note(self, call: str) -> list[str]:
        self.calls.append(call)
        if self.wakes and len(self.calls) == 2:
            self.soon.set()
        if len(self.calls) == ENOUGH:
            self.stop.set()
        if len(self.calls) <= self.fails_first:
            raise ConnectionError("not yet")
        return []

    def run(self) -> list[str]:
        """Run the loop until it is stopped."""
        sync = {"trigger_interval": "5ms", "reconcile_interval": self.reconcile_interval}
        site = Site(config_of(["X", "Y"], sync=sync))
        reconciler: Any = self
        loop = ReconcileLoop(site.config.sync, site.state, reconciler, NoTimer(), self.soon)
        loop.run(self.stop, self.is_ready)
        return self.calls


@pytest.mark.timeout(120)
@pytest.mark.parametrize(
    ("driver", "calls"),
    [
        (Driver(), ["first", "waiting", "waiting", "waiting"]),
        (Driver(fails_first=2), ["first", "first", "first", "waiting"]),
        (Driver(reconcile_interval="1ms"), ["first", "all", "all", "all"]),
        (Driver(wakes=True), ["first", "waiting", "all", "waiting"]),
    ],
    ids=["between two passes what waits for the index", "fails", "the interval is over", "something answers again"],
)
def test_everything_is_looked_at_first_and_each_interval(driver: Driver, calls: list[str]) -> None:
    assert driver.run() == calls
