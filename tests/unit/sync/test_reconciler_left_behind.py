"""A direction that takes long is left behind: the others go on, and what was brought meanwhile is done in one go."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

import pytest

from builders.logs import log
from fakes.reconciler_site import Site, config_of
from offset_sync.model.values import OffsetWrite, WriteOutcome
from offset_sync.sync.reconciler import PATIENCE_S
from tools.waiting import until


@dataclass
class Hanging(Site):
    """Clusters X, Y and Z with X's records; writes to one of them do not return for now."""

    hanging_target: str = ""
    goes_on: threading.Event = field(default_factory=threading.Event)
    hangs: threading.Event = field(default_factory=threading.Event)

    def write(self, target: str, writes: Sequence[OffsetWrite]) -> list[WriteOutcome]:
        if target == self.hanging_target:
            self.hangs.set()
            assert self.goes_on.wait(30)
        return super().write(target, writes)

    def batch(self, offset: int) -> float:
        """Let a group commit and reconcile the micro-batch that brings it; return how many seconds that took."""
        self.commit("X", "readers", offset)
        rows, began = self.read("X"), time.monotonic()
        assert self.reconciler.reconcile_batch("X", rows, offset) == []
        return time.monotonic() - began


@pytest.fixture
def site() -> Iterator[Hanging]:
    made = Hanging(config_of(["X", "Y", "Z"]))
    made.put(log("X", "X0:10"))
    for alias in ("Y", "Z"):
        made.put(log(alias, ". . X0:10"))
    yield made
    made.goes_on.set()
    made.reconciler.close()


def test_micro_batches_wait_once_for_a_target_that_hangs_and_then_go_on_without_it(site: Hanging) -> None:
    site.hanging_target = "Y"
    assert PATIENCE_S <= site.batch(4) < 10
    assert site.target_offset("Z", "readers") == 6
    took = [site.batch(offset) for offset in (5, 6, 7)]
    assert max(took) < PATIENCE_S, "no pass waits for it again before it has caught up"
    assert (site.target_offset("Y", "readers"), site.target_offset("Z", "readers")) == (None, 9)
    site.goes_on.set()
    until(lambda: site.target_offset("Y", "readers") == 9)
    assert [write.offset for target, write in site.asked if target == "Y"] == [6, 9], "what came meanwhile, in one go"
    site.hanging_target = ""
    until(lambda: not any(queue.is_late for queue in site.reconciler._queues.values()))
    site.batch(8)
    assert site.target_offset("Y", "readers") == 10, "it is waited for again"


def test_while_a_direction_writes_to_a_target_no_other_one_does(site: Hanging) -> None:
    site.hanging_target = "Y"
    site.batch(4)
    assert site.hangs.wait(10)
    assert not site.reconciler.writing_to("Y").acquire(blocking=False)  # type: ignore[attr-defined]
