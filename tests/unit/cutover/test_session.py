"""A cutover commits as long as its claim on the groups holds."""

from __future__ import annotations

import pytest

from fakes.reconciler_site import config_of
from fakes.target_cluster import Target
from offset_sync.cutover.session import cutover_writer
from offset_sync.kafka.requests import Committed
from offset_sync.model.errors import TakenOverError
from offset_sync.model.values import OffsetWrite, Outcome, Rule, TopicPartition
from offset_sync.state.lease import Fence, OpenFence
from offset_sync.sync import offset_writer
from offset_sync.sync.reconciliation import OffsetWriter

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


def writer(fence: Fence) -> OffsetWriter:
    return cutover_writer(config_of(["X", "Y"]), "Y", fence)


def test_a_group_is_moved_as_long_as_no_other_command_has_claimed_it(target: Target) -> None:
    (outcome,) = writer(OpenFence()).write([WRITE])
    assert outcome.outcome is Outcome.COMMITTED
    assert target.offsets == {"billing": {ORDERS: Committed(7, "")}}


def test_a_command_that_was_taken_over_moves_no_group(target: Target) -> None:
    with pytest.raises(TakenOverError, match="epoch 8"):
        writer(TakenOver()).write([WRITE])
    assert target.offsets == {}
    assert target.writes == []
