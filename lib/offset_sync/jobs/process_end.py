"""External ends of a job's process: a signal, handled whatever the main thread is doing, and a JVM that dies.

Python runs signal handlers between two instructions of the main thread, which may wait for Spark or a cluster for a
minute, or hold a lock that the handler needs. So a separate thread reads signals from the wakeup file descriptor, which
C writes to, and sets the flag. A main thread that checks the flag finishes its work and ends. One that does not is
still starting, or doing repeatable work, and the process ends without it: the same as SIGKILL, which every job
survives.
"""

from __future__ import annotations

import atexit
import logging
import os
import signal
import socket
import sys
import threading
import time
from collections.abc import Callable
from types import FrameType, TracebackType
from typing import NoReturn

from offset_sync.model.errors import JvmEndedError

logger = logging.getLogger(__name__)
SIGNALS = (signal.SIGTERM, signal.SIGINT)
PATIENCE_S = 3.0
"""How long the main thread may take to check the flag."""
LOG_FORMAT = "OFFSET_SYNC_LOG_FORMAT"
"""Environment variable for Python and the JVM of driver and executors: text, the default, or json."""
JOB = "OFFSET_SYNC_JOB"
"""Environment variable: how each line of this process begins, or what its key ``job`` is, among those of other jobs."""
PARENT = "OFFSET_SYNC_PARENT"
"""Environment variable: the process id of the job ``run`` that started this one, which ends with it."""
_POLL_S = 0.5
_SAME_SIGNAL_S = 1.5
"""A signal that ended the JVM too has arrived by then."""
_CLEANED_UP_S = 1.0
"""A killed process closes its connections up to this long before its end is known."""


def end_process(code: int) -> NoReturn:
    """End the process as a job does: run the atexit functions, without finalizing the interpreter.

    A daemon thread that returns from Arrow or delta-rs into an interpreter in finalization sometimes ends the process
    with SIGSEGV, and the exit code is lost. So does a thread of librdkafka that calls back.
    """
    atexit._run_exitfuncs()
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(code)


class StopFlag(threading.Event):
    """Set when the job is to stop; ``is_heard`` is set once the main thread has seen that."""

    def __init__(self) -> None:
        super().__init__()
        self.is_heard = threading.Event()

    def is_set(self) -> bool:
        """Return whether the job is to stop."""
        return self._note(super().is_set())

    def wait(self, timeout: float | None = None) -> bool:
        """Wait for that; return whether the job is to stop."""
        return self._note(super().wait(timeout))

    def _note(self, is_set: bool) -> bool:
        if is_set and threading.current_thread() is threading.main_thread():
            self.is_heard.set()
        return is_set


class ProcessEnd:
    """Inside it signals set the flag ``stop``, and a dead JVM ends the process.

    *tell* prints a line. *code_when_stopped* is the exit code of a stopped job that could not end by itself.
    """

    def __init__(self, tell: Callable[[str], None], code_when_stopped: int) -> None:
        self.stop = StopFlag()
        self._tell, self._code_when_stopped = tell, code_when_stopped
        self._signal, self._is_over, self._lock = "", threading.Event(), threading.Lock()

    def __enter__(self) -> ProcessEnd:
        self._wakeup_in, self._wakeup_out = socket.socketpair()
        self._wakeup_out.setblocking(False)
        self._handlers = {number: signal.signal(number, self._on_signal) for number in SIGNALS}
        self._old_fd = signal.set_wakeup_fd(self._wakeup_out.fileno(), warn_on_full_buffer=False)
        for name, run in (("signals", self._read_signals), ("ends", self._watch_ends)):
            threading.Thread(target=run, name=name, daemon=True).start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, problem: BaseException | None, trace: TracebackType | None
    ) -> None:
        if problem is not None and not isinstance(problem, SystemExit) and has_jvm_ended(within_s=_CLEANED_UP_S):
            self._end_without_jvm()
        if isinstance(problem, JvmEndedError) and self.stop.wait(_SAME_SIGNAL_S):
            self._end(f"stopped by {self._signal} while starting", self._code_when_stopped)
        self._is_over.set()
        signal.set_wakeup_fd(self._old_fd)
        for number, handler in self._handlers.items():
            signal.signal(number, handler)
        self._wakeup_out.close()  # which ends the thread that reads

    def _on_signal(self, number: int, _frame: FrameType | None) -> None:
        """Note the signal only: the main thread, interrupted between two instructions, may hold the flag's lock."""
        self._signal = self._signal or signal.Signals(number).name

    def _read_signals(self) -> None:
        is_stopping = False
        with self._wakeup_in:  # open to the end: a further signal must not write into a closed pipe
            while numbers := self._wakeup_in.recv(64):
                heard = [number for number in numbers if number in SIGNALS]
                if heard and not is_stopping:
                    is_stopping = True
                    self._stop_by(heard[0])

    def _stop_by(self, number: int) -> None:
        self._on_signal(number, None)
        self.stop.set()
        logger.info("%s: stopping", self._signal)
        if not self.stop.is_heard.wait(PATIENCE_S) and not self._is_over.is_set():
            self._end(f"stopped by {self._signal}; the next start continues from there", self._code_when_stopped)

    def _watch_ends(self) -> None:
        parent = int(os.environ.get(PARENT, 0))
        while not self._is_over.wait(_POLL_S):
            if has_jvm_ended():
                self._end_without_jvm()
            if parent and os.getppid() != parent:
                parent = 0
                logger.warning("the process of run, which started this job, has ended: stopping")
                os.kill(os.getpid(), signal.SIGTERM)

    def _end_without_jvm(self) -> None:
        if self.stop.wait(_SAME_SIGNAL_S):
            stopped = f"stopped by {self._signal}, and so was the JVM; the next start continues from there"
            self._end(stopped, self._code_when_stopped)
        how = how_ended(jvm_exit_code() or 0)
        self._end(f"the JVM {how}, so this job ends: see the lines above for the cause, and start it again", 1)

    def _end(self, line: str, code: int) -> None:
        with self._lock:  # one thread only
            self._tell(line)
            logging.shutdown()
            sys.stdout.flush()
            sys.stderr.flush()
            os._exit(code)


def has_jvm_ended(within_s: float = 0.0) -> bool:
    """Return whether the JVM of this process has ended; a broken connection may be noticed a moment before its end."""
    ends_at = time.monotonic() + within_s
    while "offset_sync.spark.jvm" in sys.modules:
        if jvm_exit_code() is not None:
            return True
        if time.monotonic() >= ends_at:
            break
        time.sleep(0.05)
    return False


def jvm_exit_code() -> int | None:
    """Return how it has ended; None as long as it runs, is not the child of this process, or was never started."""
    jvm = sys.modules.get("offset_sync.spark.jvm")  # without loading pyspark
    code: int | None = None if jvm is None else jvm.jvm_exit_code()
    return code


def how_ended(code: int) -> str:
    """Return an exit code of a process as words."""
    return f"was killed by {signal.Signals(-code).name}" if code < 0 else f"ended with exit code {code}"
