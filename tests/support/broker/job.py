"""A job's process."""

from __future__ import annotations

import signal
import subprocess
import time
from dataclasses import dataclass
from pathlib import Path

PATIENCE_SECONDS = 900.0  # ends what hangs; on a machine with other work all takes several times as long


@dataclass(frozen=True)
class Job:
    """A job's process and what it prints."""

    process: subprocess.Popen[bytes]
    log: Path

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

    def terminate(self) -> float:
        """Ask it to end and return how many seconds it took."""
        began = time.monotonic()
        self.process.send_signal(signal.SIGTERM)
        self.wait()
        return time.monotonic() - began

    def output(self) -> str:
        """Return what it has printed so far."""
        return self.log.read_text(encoding="utf-8", errors="replace")
