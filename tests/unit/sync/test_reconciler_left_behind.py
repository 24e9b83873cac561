"""Who hands a request over waits for nothing: directions that take long are left behind, and the index is followed."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

import pytest

from builders.logs import log
from fakes.reconciler_site import ORDERS, Site, config_of
from offset_sync.model.values import OffsetWrite, WriteOutcome
from offset_sync.state.sync_state import frontier
from offset_sync.sync.reconciler import ReconcileLoop
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
        """Let a group commit, and hand over the micro-batch that brings it; return how many seconds that took."""
        self.commit("X", "readers", offset)
        rows, began = self.read("X"), time.monotonic()
        self.reconciler.reconcile_batch("X", rows, offset)
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


def test_no_micro_batch_waits_for_a_target_that_hangs_and_what_comes_meanwhile_is_done_in_one_go(site: Hanging) -> None:
    site.hanging_target = "Y"
    took = [site.batch(4)]
    assert site.hangs.wait(10)
    took += [site.batch(offset) for offset in (5, 6, 7)]
    assert max(took) < 2
    until(lambda: site.target_offset("Z", "readers") == 9)
    assert site.target_offset("Y", "readers") is None
    site.goes_on.set()
    site.wait()
    assert [write.offset for target, write in site.asked if target == "Y"] == [6, 9]


def test_while_a_direction_writes_to_a_target_no_other_one_does(site: Hanging) -> None:
    site.hanging_target = "Y"
    site.batch(4)
    assert site.hangs.wait(10)
    assert not site.reconciler.writing_to("Y").acquire(blocking=False)  # type: ignore[attr-defined]


# The index is followed by a thread of its own


def following(site: Site) -> ReconcileLoop:
    """The loop beside the micro-batches, while all are ready."""
    is_ready = threading.Event()
    is_ready.set()
    return ReconcileLoop(site.config.sync, site.state, site.reconciler, lambda: None, threading.Event(), is_ready)


def grows_when_read(site: Site) -> None:
    """Have all logs grow to 20 of X's records, and the tables too: the index takes that in when it is read next."""
    texts = {"X": "X0:20", "Y": ". . X0:20", "Z": ". . X0:20"}
    for alias, text in texts.items():
        site.put(log(alias, text, frontier=frontier(site.index, alias, ORDERS)))

    def refresh() -> None:
        for alias, text in texts.items():
            site.put(log(alias, text))

    site.index.refresh = refresh  # type: ignore[method-assign]


def test_a_commit_waits_for_no_table_and_its_answer_never_passes_what_the_index_has_taken_in(site: Hanging) -> None:
    grows_when_read(site)
    site.batch(15)
    site.wait()
    assert [site.target_offset(alias, "readers") for alias in ("Y", "Z")] == [12, 12], "the end of what is taken in"
    following(site).follow_index()
    site.wait()
    assert [site.target_offset(alias, "readers") for alias in ("Y", "Z")] == [17, 17]


def test_an_index_that_grows_in_the_midst_of_a_pass_is_not_missed_by_what_that_leaves_waiting(site: Hanging) -> None:
    grows_when_read(site)
    site.hanging_target = "Y"
    site.batch(15)
    assert site.hangs.wait(10)
    following(site).follow_index()
    site.goes_on.set()
    site.wait()
    assert site.target_offset("Y", "readers") == 17
