"""The pause after a micro-batch, with a clock and an event in memory."""

from __future__ import annotations

import threading
from dataclasses import dataclass
from datetime import timedelta
from unittest.mock import MagicMock

import pytest

from offset_sync.ingest.pace import Pace, pause_s


class Over(threading.Event):
    """An event that is never set, and notes how long it was waited for."""

    def __init__(self) -> None:
        super().__init__()
        self.waits: list[float] = []

    def wait(self, timeout: float | None = None) -> bool:
        """Return at once."""
        assert timeout is not None
        self.waits.append(round(timeout, 3))
        return False


@dataclass
class Batches:
    """Micro-batches that take *took_s*, at a pace of one second."""

    took_s: float = 0.4
    is_urgent: bool = True
    is_once: bool = False
    interval_s: float = 1.0
    seconds: float = 0.0
    error: Exception | None = None

    def __post_init__(self) -> None:
        self.over = Over()
        interval = timedelta(seconds=self.interval_s)
        pace = Pace(interval, self.over, is_once=self.is_once, now=lambda: self.seconds)
        self.run = pace.after(self._batch, lambda: self.is_urgent)

    def _batch(self, records: object, batch_id: int) -> None:
        self.seconds += self.took_s
        if self.error is not None:
            raise self.error

    def pauses(self) -> list[float]:
        """Run one of them; return how long it was waited."""
        self.run(MagicMock(), 7)
        return self.over.waits


def test_while_targets_wait_the_next_one_begins_soon() -> None:
    assert Batches(is_urgent=True).pauses() == [0.04]


def test_but_four_times_in_an_interval_at_most() -> None:
    assert Batches(interval_s=60.0).pauses() == [14.6]
    assert Batches(took_s=0.05).pauses() == [0.2]


def test_where_nothing_was_brought_for_them_it_begins_once_per_interval() -> None:
    assert Batches(is_urgent=False).pauses() == [0.6]


@pytest.mark.parametrize("is_urgent", [True, False])
def test_one_that_takes_longer_than_the_interval_leaves_the_machine_free_for_a_while(is_urgent: bool) -> None:
    assert Batches(took_s=6.0, is_urgent=is_urgent).pauses() == [0.6]
    assert Batches(took_s=60.0, is_urgent=is_urgent).pauses() == [1.0]


@pytest.mark.parametrize("is_urgent", [True, False])
@pytest.mark.parametrize("took_s", [0.01, 0.3, 1.0, 2.5])
@pytest.mark.parametrize("interval_s", [0.2, 1.0, 30.0])
def test_the_pause_is_between_a_tenth_of_what_it_took_and_the_interval(
    took_s: float, interval_s: float, is_urgent: bool
) -> None:
    pause = pause_s(took_s, interval_s, is_urgent=is_urgent)
    assert min(0.1 * took_s, interval_s) <= pause <= interval_s
    assert took_s + pause >= (0.25 if is_urgent else 1.0) * interval_s - 1e-9


@pytest.mark.parametrize("is_urgent", [True, False])
def test_without_an_interval_there_is_no_pause(is_urgent: bool) -> None:
    assert Batches(is_urgent=is_urgent, interval_s=0.0).pauses() == [0.0]


def test_a_query_that_ends_with_its_log_has_no_pause() -> None:
    assert Batches(is_once=True, is_urgent=False).pauses() == []


def test_one_that_fails_says_so_at_once() -> None:
    batches = Batches(error=OSError("no broker"), is_urgent=False)
    with pytest.raises(OSError, match="no broker"):
        batches.pauses()
    assert batches.over.waits == []


def test_a_stop_ends_the_pause() -> None:
    over = threading.Event()
    pace = Pace(timedelta(minutes=10), over)
    batch = threading.Thread(target=pace.after(lambda _, __: None, lambda: False), args=(MagicMock(), 1))
    batch.start()
    over.set()
    batch.join(10.0)
    assert not batch.is_alive()
