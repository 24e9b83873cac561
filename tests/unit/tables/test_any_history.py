"""Tables hold what was appended, whoever writes, maintains or reads them, and whatever ends or interrupts that."""

from __future__ import annotations

from hypothesis import HealthCheck, settings
from hypothesis.stateful import run_state_machine_as_test

from histories.machine import histories
from histories.world import template


def test_any_history_leaves_what_was_acknowledged_once_and_the_rest_whole_or_not_at_all() -> None:
    run_state_machine_as_test(
        histories(template()),
        settings=settings(
            max_examples=12, stateful_step_count=25, derandomize=True, database=None, deadline=None,
            suppress_health_check=[*HealthCheck],
        ),
    )
