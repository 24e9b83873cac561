"""A driver that may have been overtaken: looked at after the target is read, and again for each request."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

import pytest

from fakes.target_cluster import Target, outcomes, write, write_batch
from offset_sync.model.errors import TableError, TakenOverError
from offset_sync.model.values import Outcome


@dataclass
class Fence:
    """Does what a test wants when it is renewed, and stays open for so many questions."""

    renewals: list[Callable[[], None] | Exception] = field(default_factory=list)
    answers: list[bool] = field(default_factory=list)

    def renew(self) -> None:
        if self.renewals:
            wanted = self.renewals.pop(0)
            if isinstance(wanted, Exception):
                raise wanted
            wanted()

    def is_open(self) -> bool:
        return self.answers.pop(0) if self.answers else True


def test_who_was_taken_over_writes_nothing() -> None:
    target = Target()
    with pytest.raises(TakenOverError):
        write_batch(target, write(), fence=Fence([TakenOverError("by another driver")]))
    assert target.writes == []


def test_the_lease_is_looked_at_after_the_target_was_read() -> None:
    target, seen = Target(), list[int]()
    write_batch(target, write(), fence=Fence([lambda: seen.append(len(target.reads))]))
    assert seen == [1]


def test_a_pause_after_the_look_lets_no_request_out_before_the_next_look() -> None:
    target, looks = Target(), list[int]()
    fence = Fence([lambda: looks.append(len(target.writes)), lambda: looks.append(len(target.writes))], [False])
    assert outcomes(write_batch(target, write("a"), write("b"), fence=fence)) == [Outcome.COMMITTED] * 2
    assert looks == [0, 1]  # a was not sent at first, b was
    assert [each.group_id for each in target.writes] == ["b", "a"]


def test_unknown_values_fail_and_are_not_sent() -> None:
    target = Target()
    problem = TableError("tables.drivers cannot be read")
    (found,) = write_batch(target, write(), deadline=0.5, fence=Fence([problem] * 99))
    assert (found.outcome, found.error) == (Outcome.FAILED, "tables.drivers cannot be read")
    assert target.writes == []


def test_a_table_that_can_be_read_again_costs_nothing_but_time() -> None:
    target = Target()
    (found,) = write_batch(target, write(), fence=Fence([TableError("not now")]))
    assert found.outcome is Outcome.COMMITTED


def test_a_look_that_outlasts_the_deadline_is_named_and_the_target_is_not_blamed() -> None:
    target = Target()

    def slow() -> None:
        target.seconds += 20.0

    (found,) = write_batch(target, write(), deadline=15.0, fence=Fence([slow]))
    assert (found.outcome, found.is_in_doubt, target.writes) == (Outcome.FAILED, False, [])
    assert found.error is not None
    assert "the storage of tables.drivers is slow" in found.error


def test_nothing_to_write_needs_no_look() -> None:
    target = Target()
    target.put("group", 0, 50)
    assert outcomes(write_batch(target, write(), fence=Fence([TakenOverError("")]))) == [Outcome.UNCHANGED]
