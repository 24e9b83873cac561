"""A cutover commits as long as its claim on the groups holds, and writes down what it is about to send."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import pytest

from fakes.reconciler_site import config_of
from fakes.target_cluster import Target
from offset_sync.cutover.plan import CutoverStep, Result, Step
from offset_sync.cutover.session import CutoverWriter
from offset_sync.kafka.requests import Committed
from offset_sync.model.errors import TakenOverError
from offset_sync.model.values import OffsetWrite, Outcome, Rule, TopicPartition
from offset_sync.state.lease import Fence, OpenFence
from offset_sync.sync import offset_writer

ORDERS = TopicPartition("orders", 0)
WRITE = OffsetWrite("billing", *ORDERS, 7, None, Rule.SET, None)


class TakenOver(OpenFence):
    """Another client has claimed the groups."""

    def renew(self) -> None:
        raise TakenOverError("cutover: taken over by epoch 8")

    def is_open(self) -> bool:
        return False


@pytest.fixture
def target(monkeypatch: pytest.MonkeyPatch) -> Target:
    target = Target()
    monkeypatch.setattr(offset_writer, "_client", lambda *_of_whom: target)
    return target


@dataclass
class Journal:
    """Notes the steps, and how many writes the target had got before each append."""

    target: Target
    steps: list[CutoverStep] = field(default_factory=list)
    sent_before: list[int] = field(default_factory=list)

    def record(self, steps: Sequence[CutoverStep]) -> None:
        self.steps += steps
        self.sent_before.append(len(self.target.writes))


def writer(fence: Fence, target: Target) -> tuple[CutoverWriter, Journal]:
    journal: Any = Journal(target)
    return CutoverWriter(config_of(["X", "Y"]), "Y", fence, journal), journal


def test_a_group_is_moved_as_long_as_no_other_command_has_claimed_it(target: Target) -> None:
    moving, journal = writer(OpenFence(), target)
    (outcome,) = moving.write([WRITE])
    assert outcome.outcome is Outcome.COMMITTED
    assert target.offsets == {"billing": {ORDERS: Committed(7, "")}}
    assert journal.steps == [CutoverStep("billing", Step.COMMIT, Result.BEGUN, None, ORDERS, target_offset=7)]
    assert journal.sent_before == [0]


def test_what_is_there_already_and_lists_are_not_written_down_as_commits(target: Target) -> None:
    target.offsets = {"billing": {ORDERS: Committed(7, "")}}
    moving, journal = writer(OpenFence(), target)
    one = replace(WRITE, group_id="__offset-sync.read.billing", metadata="list")
    unchanged, listed = moving.write([replace(WRITE, refresh=True), one])
    assert (unchanged.outcome, listed.outcome) == (Outcome.UNCHANGED, Outcome.COMMITTED)
    assert journal.steps == []


def test_a_command_that_was_taken_over_moves_no_group(target: Target) -> None:
    with pytest.raises(TakenOverError, match="epoch 8"):
        writer(TakenOver(), target)[0].write([WRITE])
    assert target.offsets == {}
    assert target.writes == []
