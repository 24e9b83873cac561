"""Tables hold what was appended, whoever writes, maintains or reads them, and whatever ends or interrupts that."""

from __future__ import annotations

from typing import Any

import pytest

from histories.calls import NEVER, Interruption
from histories.machine import histories
from histories.run import try_histories
from histories.world import template


@pytest.mark.no_cover
@pytest.mark.parametrize("seed", [0, 7])
def test_what_was_acknowledged_is_there_once_and_the_rest_whole_or_not_at_all(seed: int) -> None:
    """The same few histories each time, by which protections are noticed; ``make test-tables`` tries new ones."""
    try_histories(examples=5, steps=25, seed=seed, is_shrunk=False)


@pytest.mark.no_cover
def test_what_was_joined_while_a_clean_up_was_suspended_for_hours_is_not_deleted_by_it() -> None:
    machine: Any = histories(template())()
    try:
        for _ in range(4):
            machine.go_on(step=("append", [(0, "dc1", 0, 1)], NEVER))
        machine.go_on(step=("clean_up", 1, Interruption("hours pass", "", 1)))
        machine.a_reader_that_starts_finds_what_there_is()
    finally:
        machine.teardown()
