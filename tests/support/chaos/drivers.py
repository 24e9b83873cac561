"""The drivers of one job: the one that should run, started again when it ends, and second ones beside it."""

from __future__ import annotations

import os
import signal
import subprocess
import threading
import time
from collections.abc import Callable
from contextlib import ExitStack

from broker.installation import Installation, Job

TAKEN_OVER = 3
_START_S = 240.0
_LOSES_WITHIN_S = 90.0


class Drivers:
    """Drivers of *job*; hold *lock* to act on them."""

    def __init__(self, installation: Installation, job: str, exits: ExitStack, say: Callable[[str], None]) -> None:
        self.job, self.lock = job, threading.Lock()
        self.started = 0
        self.violations: list[str] = []
        self.ended_by_itself: list[str] = []
        self._installation, self._exits, self._say = installation, exits, say
        self.current = self._start()

    def kill(self) -> None:
        """SIGKILL for the driver and all its children."""
        signal_all(self.current, signal.SIGKILL)
        self.current.process.wait()

    def restart(self) -> None:
        """Start the next driver."""
        self.current = self._start()

    def take_over(self, *, is_stopped: bool, seconds: float) -> None:
        """Start a second driver, beside a running one or while it *is_stopped*; the first has to end with 3."""
        first = self.current
        if not self._has_claimed(first):
            self._say(f"{self.job}: the driver has not claimed the job yet, so it cannot be taken over")
            return
        second = self._start()
        if is_stopped:
            signal_all(first, signal.SIGSTOP)
        try:
            if not self._has_claimed(second):
                self._say(f"{self.job}: the second driver has not come to claim; the first goes on")
                signal_all(second, signal.SIGKILL)
                return
            self.current = second
            time.sleep(seconds)
        finally:
            signal_all(first, signal.SIGCONT)
        self._expect_end(first)

    def check(self) -> None:
        """Start the driver again if it has ended by itself, as systemd would."""
        code = self.current.process.poll()
        if code is None:
            return
        tail = "\n".join(f"    {line}" for line in self.current.output().splitlines()[-6:])
        self.ended_by_itself.append(f"{self.job} ended by itself with exit code {code}:\n{tail}")
        self._say(self.ended_by_itself[-1])
        self.restart()

    def wait_until_says(self, words: str, seconds: float = _START_S) -> bool:
        """Return whether the driver, or one that is started in its place, has said *words* within that time."""
        until = time.monotonic() + seconds
        while words not in self.current.output():
            if time.monotonic() > until:
                return False
            self.check()
            time.sleep(0.3)
        return True

    def _start(self) -> Job:
        self.started += 1
        name = f"{self.job}-{self.started}"
        return self._exits.enter_context(self._installation.started(self.job, log_name=name))

    def _has_claimed(self, driver: Job) -> bool:
        until = time.monotonic() + _START_S
        while "this is driver " not in driver.output():
            if driver.process.poll() is not None or time.monotonic() > until:
                return False
            time.sleep(0.2)
        return True

    def _expect_end(self, driver: Job) -> None:
        try:
            code: int | None = driver.process.wait(_LOSES_WITHIN_S)
        except subprocess.TimeoutExpired:
            code = None
            signal_all(driver, signal.SIGKILL)
        if code != TAKEN_OVER:
            tail = "\n".join(f"    {line}" for line in driver.output().splitlines()[-6:])
            self.violations.append(f"{self.job}: the driver that was taken over ended with {code}, not 3:\n{tail}")
            self._say(f"VIOLATION {self.violations[-1]}")


def signal_all(job: Job, number: signal.Signals) -> None:
    """Send a signal to a driver and its children; nothing happens where it has ended."""
    if job.process.poll() is None:
        os.killpg(job.process.pid, number)
