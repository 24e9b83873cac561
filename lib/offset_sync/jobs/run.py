"""The job ``run``: all jobs of an installation as child processes of one, for a machine, a systemd unit or a pod.

``scripts/submit.py`` starts it, and tells it in two environment variables how to start the others; in the wheel
``offset-sync`` starts them::

    run ─┬─ index_records     ended with 1, or killed: started again, after 1 s, 2 s, … 60 s
         ├─ sync_offsets      ended with 2 (configuration) or 3 (taken over): all others are stopped
         ├─ maintain_tables   SIGTERM: sent to all, and waited for
         ├─ report_status
         └─ cutover rehearse  every report.rehearse.interval, if configured; its end ends nothing

Errs to ending: a supervisor that continues with half of its jobs looks healthy from outside. The exit code is the
largest of all jobs: they must not be restarted after a 3, or two drivers would take over from each other in turn.
"""

from __future__ import annotations

import argparse
import json
import logging
import os
import shlex
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import IO, TextIO

from offset_sync.config import Config
from offset_sync.jobs.process_end import PARENT
from offset_sync.jobs.runner import BAD_ARGUMENTS, DONE, FAILED, TAKEN_OVER
from offset_sync.model.errors import ConfigError, TakenOverError
from offset_sync.model.text import escaped
from offset_sync.spark.packages import SPARK_OPTIONS

logger = logging.getLogger(__name__)
JOBS = ("index_records", "sync_offsets", "maintain_tables", "report_status")
SUBMIT = "OFFSET_SYNC_SUBMIT"
"""Environment variable: the command that starts a job by name, quoted as for a shell."""
REHEARSE = "rehearse"
_FIRST_REHEARSAL_S = 600.0
"""After the start: by then the jobs have read what they were behind."""
_POLL_S = 0.2
_SAME_SIGNAL_S = 1.0
"""Ctrl-C reaches all processes of a terminal: a job may end before this one gets the signal."""


@dataclass(frozen=True)
class Patience:
    """Waits in seconds: the pauses before restarts of a job grow from *first* to *longest*.

    A job that has run for *steady* restarts with the first pause again. One that does not end *stopping* seconds after
    SIGTERM is killed: systemd and Kubernetes are configured with 90.
    """

    first: float = 1.0
    longest: float = 60.0
    steady: float = 600.0
    stopping: float = 80.0


@dataclass
class Child:
    """A job and its process; *pause* is that before its next restart, *due_at* its time, None while it runs.

    One with *every* is started every so many seconds, and ends by itself.
    """

    name: str
    command: Sequence[str]
    process: subprocess.Popen[bytes] | None = None
    started_at: float = 0.0
    pause: float = 0.0
    due_at: float | None = None
    every: float | None = None
    reader: threading.Thread | None = field(default=None, repr=False)


class Supervisor:
    """Runs *commands*, by the name of their job, until *stop* is set or one of them must not be restarted."""

    def __init__(
        self,
        commands: Mapping[str, Sequence[str]],
        stop: threading.Event,
        log: JobLog,
        patience: Patience = Patience(),
        recurring: Sequence[Child] = (),
    ) -> None:
        """The *recurring* jobs are first started when they are due."""
        jobs = [Child(name, command, pause=patience.first) for name, command in commands.items()]
        self._children = [*jobs, *recurring]
        self._stop, self._log, self._patience = stop, log, patience

    def run(self) -> dict[str, int]:
        """Return the exit code of each job; a job that was killed counts as FAILED."""
        try:
            for each in self._children:
                if each.every is None:
                    self._start(each)
            while not self._stop.wait(_POLL_S):
                if any(self._look_after(each) for each in self._children):
                    break
        finally:
            codes = self._stop_all()
        return codes

    def _start(self, child: Child) -> None:
        child.due_at, child.started_at = None, time.monotonic()
        child.process = subprocess.Popen(
            child.command,
            env=os.environ | {PARENT: str(os.getpid())},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
        )
        assert child.process.stdout is not None
        child.reader = threading.Thread(target=self._log.follow, args=(child.name, child.process.stdout), daemon=True)
        child.reader.start()

    def _look_after(self, child: Child) -> bool:
        """Restart a job if that is due; return whether it has ended for good."""
        now = time.monotonic()
        if child.due_at is not None:
            if now >= child.due_at:
                self._start(child)
            return False
        assert child.process is not None
        code = child.process.poll()
        if code is None:
            return False
        if child.every is not None:
            log = logger.info if code == DONE else logger.warning
            log("%s %s; the next one in %.1f h", child.name, how_ended(code), child.every / 3600)
            child.due_at = now + child.every
            return False
        if code in (BAD_ARGUMENTS, TAKEN_OVER):
            logger.error("%s ended with exit code %d: stopping all jobs", child.name, code)
            return True
        if code == DONE and self._stop.wait(_SAME_SIGNAL_S):
            return True
        if now - child.started_at >= self._patience.steady:
            child.pause = self._patience.first
        logger.warning("%s %s: restarting it in %.0f s", child.name, how_ended(code), child.pause)
        child.due_at, child.pause = now + child.pause, min(2 * child.pause, self._patience.longest)
        return False

    def _stop_all(self) -> dict[str, int]:
        running = {each.name: each.process for each in self._children if each.process and each.process.poll() is None}
        for process in running.values():
            process.terminate()
        if running:
            logger.info("waiting for %s, for at most %.0f s", ", ".join(running), self._patience.stopping)
        deadline = time.monotonic() + self._patience.stopping
        for name, process in running.items():
            try:
                process.wait(max(0.0, deadline - time.monotonic()))
            except subprocess.TimeoutExpired:
                logger.warning("%s: did not end within %.0f s, killed", name, self._patience.stopping)
                process.kill()
                process.wait()
        for each in self._children:
            if each.reader is not None:
                each.reader.join(1.0)
        return {each.name: _code(each) for each in self._children}


class JobLog:
    """Writes the output of jobs to *out*, each line with the name of its job; as JSON it becomes the key ``job``."""

    def __init__(self, out: TextIO, log_format: str) -> None:
        self._out, self._is_json, self._lock = out, log_format == "json", threading.Lock()

    def follow(self, name: str, said: IO[bytes]) -> None:
        """Write all lines of one job until it ends."""
        for line in said:
            text = self.line(name, line.decode(errors="replace").rstrip("\r\n"))
            with self._lock, suppress(OSError):  # as of a full disk; a job whose output is not read would block
                self._out.write(text + "\n")
                self._out.flush()

    def line(self, name: str, line: str) -> str:
        """Return a line of a job in the output format."""
        if not self._is_json:
            return f"{name:<15} {escaped(line)}"
        if line.startswith('{"'):
            return f'{{"job": {json.dumps(name)}, {line[1:]}'
        return json.dumps({"job": name, "level": "INFO", "logger": name, "msg": line})


class _Named(logging.Formatter):
    """Formats the text of *formatter* as lines of the job ``run``."""

    def __init__(self, log: JobLog, formatter: logging.Formatter) -> None:
        super().__init__()
        self._log, self._formatter = log, formatter

    def format(self, record: logging.LogRecord) -> str:
        return "\n".join(self._log.line("run", line) for line in self._formatter.format(record).split("\n"))


def run(config: Config, arguments: argparse.Namespace, stop: threading.Event) -> Sequence[str]:
    """Run all jobs until stopped; return one line for each that failed.

    Raises TakenOverError or ConfigError if a job ended for that reason.
    """
    log = JobLog(sys.stderr, arguments.log_format)
    for handler in logging.getLogger().handlers:
        handler.setFormatter(_Named(log, handler.formatter or logging.Formatter()))
    logger.info("status page: %s", config.status.page)
    codes = Supervisor(commands(arguments.conf), stop, log, recurring=rehearsals(config, arguments.conf)).run()
    worst = max(codes.values())
    lines = [f"{name} ended with exit code {code}" for name, code in codes.items() if code != DONE]
    if worst == BAD_ARGUMENTS:
        raise ConfigError(lines)
    if worst == TAKEN_OVER:
        raise TakenOverError("; ".join(lines))
    return lines


def commands(config_file: str) -> dict[str, list[str]]:
    """Return the command that starts each job."""
    return {job: _command(job, config_file) for job in JOBS}


def rehearsals(config: Config, config_file: str) -> list[Child]:
    """Return the job that rehearses the moves of the groups in ``report.rehearse``, none without groups."""
    settings = config.report.rehearse
    if not settings.groups:
        return []
    every = settings.interval.total_seconds()
    first_at = time.monotonic() + min(every, _FIRST_REHEARSAL_S)
    return [Child(REHEARSE, _command("cutover", config_file, "rehearse"), due_at=first_at, every=every)]


def _command(job: str, config_file: str, *words: str) -> list[str]:
    submit = shlex.split(os.environ.get(SUBMIT, ""))
    if not submit:  # the wheel; there each job takes the options from the environment
        return [sys.executable, "-m", "offset_sync.jobs.console", job, "--conf", config_file, *words]
    return [*submit, job, *shlex.split(os.environ.get(SPARK_OPTIONS, "")), "--conf", config_file, *words]


def how_ended(code: int) -> str:
    """Return an exit code of a process as words."""
    return f"was killed by {signal.Signals(-code).name}" if code < 0 else f"ended with exit code {code}"


def _code(child: Child) -> int:
    """Return the exit code of a job; FAILED if it waited for its restart, was killed, or had any other code.

    Ended by SIGTERM it has stopped as told: Ctrl-C and ``timeout`` signal all processes, so ours may come second, when
    the job no longer handles signals.
    """
    is_stopped = child.process is not None and child.process.returncode == -signal.SIGTERM
    if child.every is not None or (is_stopped and child.due_at is None):
        return DONE
    code = None if child.process is None or child.due_at is not None else child.process.returncode
    return code if code in (DONE, FAILED, BAD_ARGUMENTS, TAKEN_OVER) else FAILED
