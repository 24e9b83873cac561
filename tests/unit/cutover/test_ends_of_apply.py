"""However `cutover apply` ends, a group has moved only if its last step was done."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import replace
from typing import Any

import pytest

from fakes.moves import GOOD, ORDERS, OTHER, FakeClusters, Move
from fakes.reconciler_site import config_of
from fakes.target_cluster import Target
from offset_sync.cutover.crossed import CrossedPartition
from offset_sync.cutover.journal import CutoverWriter
from offset_sync.cutover.judge import Judge
from offset_sync.cutover.plan import CutoverStep, Direction, Mode, Options, Result, Step
from offset_sync.cutover.procedure import CutoverProcedure
from offset_sync.kafka.requests import Clock
from offset_sync.kafka.requests import Committed as HeldOffset
from offset_sync.model.errors import ClusterError, TakenOverError
from offset_sync.model.values import GroupPartition, OffsetWrite, Outcome, State, Status, TopicPartition
from offset_sync.state.lease import OpenFence
from offset_sync.sync import offset_writer


class Killed(BaseException):
    """The process has ended."""


class Mortal:
    """A collaborator of a command that is killed at its call number *last* of any collaborator."""

    def __init__(self, inner: Any, calls: list[str], last: int | None) -> None:
        self._inner, self._calls, self._last = inner, calls, last

    def __getattr__(self, name: str) -> Any:
        def call(*given: Any, **named: Any) -> Any:
            if len(self._calls) == self._last:
                raise Killed
            self._calls.append(name)
            return getattr(self._inner, name)(*given, **named)

        return call


def apply_until(number: int | None, mode: Mode, options: Options) -> tuple[Move, list[str]]:
    """Move a group that has everything, and kill the command at its call *number*, None: let it end."""
    rows = [replace(GOOD, uncommitted="2"), replace(GOOD, key=GroupPartition("g", *OTHER))]

    class Whole(FakeClusters):
        def translate_and_commit(self, groups: Collection[str]) -> list[CutoverStep]:
            (one,) = super().translate_and_commit(groups)
            return [one._replace(partition=each.key.partition) for each in rows]

    listed = CrossedPartition(GroupPartition("g", *ORDERS), 5, 0, 0, is_held=True)
    site = Whole([rows], unread_left=[1, 0], held_starts={OTHER: 7, TopicPartition("orders", 2): 100})
    site.lists = [[listed, replace(listed, key=GroupPartition("g", *OTHER))]]
    move, calls = Move(site, options=options), list[str]()
    clusters, journal = Mortal(site, calls, number), Mortal(move, calls, number)
    judge, clock = Judge(Direction("X", "Y"), options=options), Clock(lambda: 0, move.pause)
    procedure = CutoverProcedure(judge, clusters, journal, clock)  # type: ignore[arg-type]
    try:
        assert procedure.apply(["g"], mode, 10.0)[1] == []
    except Killed:
        assert number is not None
    return move, calls


@pytest.mark.parametrize("options", [Options(), Options(has_read_lists=True)], ids=["plain", "read lists"])
@pytest.mark.parametrize("mode", Mode)
def test_a_group_has_moved_only_if_the_command_was_killed_after_its_very_last_step(
    mode: Mode, options: Options
) -> None:
    whole, calls = apply_until(None, mode, options)
    assert (calls[-1], whole.homes()) == ("record", [("g", "orders")])
    for number in range(len(calls)):
        killed, done = apply_until(number, mode, options)
        assert (done, killed.homes()) == (calls[:number], [])


@pytest.mark.parametrize("mode", Mode)
@pytest.mark.parametrize(
    "site",
    [
        FakeClusters(there=["g"]),
        FakeClusters([[replace(GOOD, status=Status.WITHHELD, state=State.LOG_TRUNCATED)]]),
        FakeClusters(outcome=Outcome.FAILED),
        FakeClusters(outcome=Outcome.TARGET_ACTIVE, held=3),
        FakeClusters(outcome=Outcome.NOT_FORWARD, held=9),
        FakeClusters(held=6),
        FakeClusters(held=9),
        FakeClusters(held=None),
        FakeClusters(held=ClusterError("Y", "no answer")),
        FakeClusters([[GOOD, replace(GOOD, key=GroupPartition("g", *OTHER))]]),
        FakeClusters([[replace(GOOD, uncommitted="1")]]),
    ],
)
def test_a_group_of_which_anything_fails_stays_at_home_at_the_source(site: FakeClusters, mode: Mode) -> None:
    move = Move(site)
    assert move.apply(mode=mode) != []
    assert move.homes() == []


# What the claim of a command lets out, and is written down before

WRITE = OffsetWrite("billing", *ORDERS, 7, None, None)


class TakenOver(OpenFence):
    """Another client has claimed the groups."""

    def renew(self) -> None:
        raise TakenOverError("cutover: taken over by epoch 8")

    def is_open(self) -> bool:
        return False


class WritingSite:
    """A writer at a target; notes the steps, each with how many writes the target had got before."""

    def __init__(self, fence: OpenFence, monkeypatch: pytest.MonkeyPatch) -> None:
        self.target, self.steps = Target(), list[tuple[int, CutoverStep]]()
        monkeypatch.setattr(offset_writer, "_client", lambda *_of_whom: self.target)
        journal: Any = self
        self.writer = CutoverWriter(config_of(["X", "Y"]), "Y", fence, journal)

    def record(self, steps: Sequence[CutoverStep]) -> None:
        self.steps += [(len(self.target.writes), step) for step in steps]


def test_a_group_is_moved_as_long_as_no_other_command_has_claimed_it(monkeypatch: pytest.MonkeyPatch) -> None:
    site = WritingSite(OpenFence(), monkeypatch)
    (outcome,) = site.writer.write([WRITE])
    assert outcome.outcome is Outcome.COMMITTED
    assert site.target.offsets == {"billing": {ORDERS: HeldOffset(7, "")}}
    assert site.steps == [(0, CutoverStep("billing", *ORDERS, Step.COMMIT, Result.BEGUN, target_offset=7))]


def test_a_command_that_was_taken_over_moves_no_group(monkeypatch: pytest.MonkeyPatch) -> None:
    site = WritingSite(TakenOver(), monkeypatch)
    with pytest.raises(TakenOverError, match="epoch 8"):
        site.writer.write([WRITE])
    assert (site.target.offsets, site.target.writes) == ({}, [])
