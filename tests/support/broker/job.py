"""A running job: a process of its own, or a thread of this one for stories in which no process ends."""

from __future__ import annotations

import logging
import signal
import subprocess
import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from unittest import mock

from pyspark.sql import SparkSession

from offset_sync.jobs import spark_session

OPEN_SESSION = spark_session.open_session
PATIENCE_SECONDS = 900.0  # ends what hangs; on a machine with other work all takes several times as long


@dataclass(frozen=True)
class Job:
    """A job's process and what it prints."""

    process: subprocess.Popen[bytes]
    log: Path

    @property
    def has_ended(self) -> bool:
        """Return whether the process is no more."""
        return self.process.poll() is not None

    @property
    def exit_code(self) -> int:
        """Return the exit code of a job that has ended."""
        assert self.process.returncode is not None
        return self.process.returncode

    def wait(self) -> None:
        """Return when it has ended."""
        try:
            self.process.wait(PATIENCE_SECONDS)
        except subprocess.TimeoutExpired:
            raise AssertionError(f"the job did not end:\n{self.output()[-4000:]}") from None

    def terminate(self) -> None:
        """Ask it to end, and return when it has."""
        self.process.send_signal(signal.SIGTERM)
        self.wait()

    def output(self) -> str:
        """Return what it has printed so far."""
        return self.log.read_text(encoding="utf-8", errors="replace")


class ThreadJob(logging.Handler):
    """A job in a thread; it has heard all warnings that were logged in this process since it began."""

    def __init__(self, run: Callable[[threading.Event], Sequence[str]], pool: ThreadPoolExecutor) -> None:
        super().__init__(logging.WARNING)
        self._heard, self.stop = list[str](), threading.Event()
        self._future: Future[Sequence[str]] = pool.submit(run, self.stop)

    def emit(self, record: logging.LogRecord) -> None:
        """Hear a line."""
        self._heard.append(record.getMessage())

    @property
    def has_ended(self) -> bool:
        """Return whether the job has returned or raised."""
        return self._future.done()

    def terminate(self) -> None:
        """Ask it to end as SIGTERM does; nothing may have failed."""
        self.stop.set()
        assert self._future.result(PATIENCE_SECONDS) == []

    def output(self) -> str:
        """Return what was logged so far, and how the job failed."""
        failure = [repr(self._future.exception())] if self._future.done() else []
        return "\n".join([*self._heard, *failure])


@contextmanager
def thread_job(run: Callable[[threading.Event], Sequence[str]]) -> Iterator[ThreadJob]:
    """Run the job *run* in a thread until the end of the block, with settings and queries of its own.

    In a process of its own it would take ten seconds of processor time to come as far as this, and then compile.
    """

    def open_apart(*words: Any, **options: Any) -> SparkSession:
        session = OPEN_SESSION(*words, **options).newSession()
        internal = str(options.get("reads_internal_topics", False)).lower()
        session.conf.set("spark.sql.streaming.kafka.useDeprecatedOffsetFetching", internal)
        return session

    with mock.patch.object(spark_session, "open_session", open_apart), ThreadPoolExecutor(1) as pool:
        job = ThreadJob(run, pool)
        logging.getLogger().addHandler(job)
        try:
            yield job
        finally:
            job.stop.set()
            logging.getLogger().removeHandler(job)
        job.terminate()
