"""One job that is started again and again, each time to die at another failpoint."""

from __future__ import annotations

import random
import signal
import subprocess
import time
from collections import Counter
from collections.abc import Callable, Sequence

from broker.installation import Installation, Job
from chaos.drivers import signal_all

SIGKILLED = -9
_DIES_WITHIN_S = 120.0
_MOST_TIMES = 8


class Lane:
    """Restarts of *job* at random ones of *points*, passed a random number of times; the same for the same seed."""

    def __init__(
        self, installation: Installation, job: str, points: Sequence[str], seed: int, say: Callable[[str], None]
    ) -> None:
        self.job, self._points, self._say = job, points, say
        self._installation, self._chance = installation, random.Random(f"{seed} {job}")
        self.died: Counter[str] = Counter()
        self.wrong: list[str] = []
        self._started = 0

    def restart(self) -> None:
        """Start the job and return when it has died at its point; one that does not come there is killed."""
        self._started += 1
        point, times = self._chance.choice(self._points), self._chance.randint(1, _MOST_TIMES)
        began, name = time.monotonic(), f"{self.job}-{self._started}"
        with self._installation.started(self.job, kill_at=f"{point}:{times}", log_name=name) as job:
            try:
                code: int | None = job.process.wait(_DIES_WITHIN_S)
            except subprocess.TimeoutExpired:
                code = None
            finally:
                signal_all(job, signal.SIGKILL)
        if code is None:
            self.died[f"{point} not reached"] += 1
        elif code == SIGKILLED:
            self.died[point] += 1
        else:
            self._note(f"{self.job} for {point}:{times} ended with {code}", job)
        self._say(f"{self.job} {self._started}: {point}:{times} {time.monotonic() - began:.0f} s, exit code {code}")

    def _note(self, what: str, job: Job) -> None:
        self.wrong.append("\n    ".join([what, *job.output().splitlines()[-6:]]))
        self._say(f"WRONG {self.wrong[-1]}")
