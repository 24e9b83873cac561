"""The job ``run``: all jobs of an installation as child processes of one, for a machine, a systemd unit or a pod.

``scripts/submit.py`` starts it, and tells it in two environment variables how to start the others; in the wheel
``offset-sync`` starts them::

    run ─┬─ index_records     ended with 1, or killed: started again, after 1 s, 2 s, … 60 s
         ├─ sync_offsets      ended with 2 (configuration) or 3 (taken over): all others are stopped
         ├─ maintain_tables   SIGTERM: sent to all, and waited for
         └─ report_status

Errs to ending: a supervisor that continues with half of its jobs looks healthy from outside. The exit code is the
largest of all jobs: they must not be restarted after a 3, or two drivers would take over from each other in turn.
"""

from __future__ import annotations

import argparse
import logging
import os
import shlex
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Sequence
from dataclasses import dataclass, field

from offset_sync.config import Config
from offset_sync.jobs.process_end import JOB, LOG_FORMAT, PARENT, how_ended
from offset_sync.jobs.runner import BAD_ARGUMENTS, DONE, FAILED, TAKEN_OVER
from offset_sync.model.errors import ConfigError, TakenOverError
from offset_sync.model.text import to_duration
from offset_sync.spark import SPARK_OPTIONS

logger = logging.getLogger(__name__)
JOBS = ("index_records", "sync_offsets", "maintain_tables", "report_status")
SUBMIT = "OFFSET_SYNC_SUBMIT"
"""Environment variable: the command that starts a job by name, quoted as for a shell."""
FIRST_S, LONGEST_S, STEADY_S = 1.0, 60.0, 600.0
"""Pauses before restarts of a job grow from the first to the longest; after a steady run the first is due again."""
STOPPING_S = 80.0
"""A job that does not end so long after SIGTERM is killed: systemd and Kubernetes are configured with 90."""
_POLL_S = 0.2
_SAME_SIGNAL_S = 1.0
"""Ctrl-C reaches all processes of a terminal: a job may end before this one gets the signal."""


@dataclass
class Child:
    """A job and its process; it is started at *due_at*, None while it runs, and again *pause* seconds after its end."""

    name: str
    command: Sequence[str]
    due_at: float | None = 0.0
    process: subprocess.Popen[bytes] | None = None
    started_at: float = 0.0
    pause: float = field(default_factory=lambda: FIRST_S)

    def start(self) -> None:
        """Start the process; it writes to our output, and begins each line of its log with its name."""
        self.due_at, self.started_at = None, time.monotonic()
        name = self.name if os.environ.get(LOG_FORMAT) == "json" else f"{self.name:<15} "
        environment = os.environ | {PARENT: str(os.getpid()), JOB: name}
        self.process = subprocess.Popen(self.command, env=environment, stdin=subprocess.DEVNULL)

    @property
    def code(self) -> int:
        """The exit code of the job; FAILED if it waits for its restart, was killed, or had any other code.

        Ended by SIGTERM it has stopped as told: Ctrl-C and ``timeout`` signal all processes, so ours may come second,
        when the job no longer handles signals.
        """
        code = FAILED if self.process is None or self.due_at is not None else self.process.returncode
        if code == -signal.SIGTERM:
            return DONE
        return code if code in (DONE, BAD_ARGUMENTS, TAKEN_OVER) else FAILED


class Supervisor:
    """Runs *children* until *stop* is set or one of them must not be restarted."""

    def __init__(self, children: Sequence[Child], stop: threading.Event) -> None:
        self._children, self._stop = children, stop

    def run(self) -> dict[str, int]:
        """Return the exit code of each job; a job that was killed counts as FAILED."""
        try:
            while not any(self._look_after(each) for each in self._children) and not self._stop.wait(_POLL_S):
                pass
        finally:
            self._stop_all()
        return {each.name: each.code for each in self._children}

    def _look_after(self, child: Child) -> bool:
        """Start a job if that is due; return whether it has ended for good."""
        now = time.monotonic()
        if child.due_at is not None:
            if now >= child.due_at:
                child.start()
            return False
        code = None if child.process is None else child.process.poll()
        if code is None:
            return False
        if code in (BAD_ARGUMENTS, TAKEN_OVER):
            logger.error("%s ended with exit code %d: stopping all jobs", child.name, code)
            return True
        if code == DONE and self._stop.wait(_SAME_SIGNAL_S):
            return True
        pause_s = FIRST_S if now - child.started_at >= STEADY_S else child.pause
        child.pause = min(2 * pause_s, LONGEST_S)
        logger.warning("%s %s: restarting it in %s", child.name, how_ended(code), to_duration(round(1000 * pause_s)))
        child.due_at = now + pause_s
        return False

    def _stop_all(self) -> None:
        running = {each.name: each.process for each in self._children if each.process and each.process.poll() is None}
        for process in running.values():
            process.terminate()
        if running:
            logger.info("waiting for %s, for at most %.0f s", ", ".join(running), STOPPING_S)
        deadline = time.monotonic() + STOPPING_S
        for name, process in running.items():
            try:
                process.wait(max(0.0, deadline - time.monotonic()))
            except subprocess.TimeoutExpired:
                logger.warning("%s: did not end within %.0f s, killed", name, STOPPING_S)
                process.kill()
                process.wait()


def run(config: Config, arguments: argparse.Namespace, stop: threading.Event) -> Sequence[str]:
    """Run all jobs until stopped; return one line for each that failed.

    Raises TakenOverError or ConfigError if a job ended for that reason.
    """
    logger.info("status page: %s", config.status.page)
    codes = Supervisor([Child(job, _command(job, arguments.conf)) for job in JOBS], stop).run()
    worst = max(codes.values())
    lines = [f"{name} ended with exit code {code}" for name, code in codes.items() if code != DONE]
    if worst == BAD_ARGUMENTS:
        raise ConfigError(lines)
    if worst == TAKEN_OVER:
        raise TakenOverError("; ".join(lines))
    return lines


def _command(job: str, config_file: str) -> list[str]:
    submit = shlex.split(os.environ.get(SUBMIT, ""))
    if not submit:  # the wheel; there each job takes the options from the environment
        return [sys.executable, "-m", "offset_sync.jobs.console", job, "--conf", config_file]
    return [*submit, job, *shlex.split(os.environ.get(SPARK_OPTIONS, "")), "--conf", config_file]
