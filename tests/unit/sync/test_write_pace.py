"""The limit of commits per second at a target: its turns, and that no pass exceeds it."""

from __future__ import annotations

from offset_sync.sync.write_pace import Pace


class Clock:
    now = 100.0

    def __call__(self) -> float:
        return self.now


def test_a_turn_is_paid_for_before_the_next_begins() -> None:
    clock = Clock()
    pace = Pace(100, clock)
    assert (pace.turn, pace.pause_s()) == (100, 0.0)
    pace.note(50)
    assert pace.pause_s() == 0.5
    clock.now += 0.25
    pace.note(100)  # another direction's turn, which had begun before
    assert pace.pause_s() == 1.25
    clock.now += 1.25
    assert pace.pause_s() == 0.0


def test_time_without_commits_is_not_saved_up() -> None:
    clock = Clock()
    pace = Pace(10, clock)
    clock.now += 3600
    pace.note(10)
    assert pace.pause_s() == 1.0


def test_without_a_limit_a_turn_has_everything_and_there_is_no_pause() -> None:
    pace = Pace(None)
    pace.note(1_000_000)
    assert (pace.turn, pace.pause_s()) == (None, 0.0)
