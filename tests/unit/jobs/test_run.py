"""The job that runs the others: what it starts again, what ends it, and what its log says; with real processes."""

from __future__ import annotations

import io
import os
import sys
import threading
import time
from argparse import Namespace
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any
from unittest.mock import MagicMock

import pytest

from offset_sync.config.sections import Rehearse, Reporting
from offset_sync.jobs import run as module
from offset_sync.jobs.process_end import PARENT
from offset_sync.jobs.run import JOBS, SUBMIT, Child, JobLog, Supervisor, run
from offset_sync.model.errors import ConfigError, TakenOverError

UNTIL_TERM = """
import signal, sys, time
signal.signal(signal.SIGTERM, lambda *_: (print("stopping", flush=True), sys.exit(0)))
print("ready", flush=True)
time.sleep(60)
"""


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, seconds in (("FIRST_S", 0.05), ("LONGEST_S", 0.2), ("STOPPING_S", 5.0)):
        monkeypatch.setattr(module, name, seconds)


class Running:
    """A supervisor in a thread, its jobs given as scripts of Python."""

    def __init__(self, scripts: Mapping[str, str], recurring: Sequence[Child] = ()) -> None:
        self.stop, self.out = threading.Event(), io.StringIO()
        jobs = [Child(name, [sys.executable, "-c", script]) for name, script in scripts.items()]
        self.supervisor = Supervisor([*jobs, *recurring], self.stop, JobLog(self.out, "text"))
        self.codes: dict[str, int] = {}
        self._thread = threading.Thread(target=self._run)
        self._thread.start()

    def _run(self) -> None:
        self.codes = self.supervisor.run()

    def until(self, text: str, count: int = 1) -> None:
        """Wait until the log has a text so many times."""
        deadline = time.monotonic() + 30
        while self.out.getvalue().count(text) < count:
            assert time.monotonic() < deadline, self.out.getvalue()
            time.sleep(0.02)

    def ended(self) -> dict[str, int]:
        """Wait for the end, and return the exit codes."""
        self._thread.join(30)
        assert not self._thread.is_alive()
        return self.codes


@pytest.mark.parametrize("end", ["os.kill(os.getpid(), 9)", "sys.exit(0)"])
def test_a_job_that_fails_is_started_again_after_longer_and_longer_pauses(
    end: str, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("INFO")
    running = Running({"failing": f"import os, sys; print('started', flush=True); {end}", "other": UNTIL_TERM})
    running.until("started", 4)
    running.stop.set()
    codes = running.ended()
    assert codes["other"] == 0
    assert running.out.getvalue().count("ready") == 1, "the other goes on"
    said = [each.getMessage() for each in caplog.records if "restarting it" in each.getMessage()]
    assert [line.rpartition(" in ")[2] for line in said[:3]] == ["0.1 s", "0.1 s", "0.2 s"]


def test_a_line_that_cannot_be_written_as_on_a_full_disk_is_lost_and_the_next_is_read() -> None:
    out = MagicMock()
    out.write.side_effect = [OSError("No space left on device"), None]
    JobLog(out, "text").follow("a_job", io.BytesIO(b"first\nsecond\n"))
    out.write.assert_called_with(f"{'a_job':<15} second\n")


@pytest.mark.parametrize("code", [2, 3])
def test_bad_configuration_and_another_driver_end_all(code: int, tmp_path: Path) -> None:
    may_end = tmp_path / "may end"
    ending = f"import os, time\nwhile not os.path.exists({str(may_end)!r}): time.sleep(0.01)\nraise SystemExit({code})"
    running = Running({"ending": ending, "other": UNTIL_TERM})
    running.until("ready")
    may_end.touch()
    assert running.ended() == {"ending": code, "other": 0}
    assert "stopping" in running.out.getvalue()


# The job itself


def config(**rehearse: Any) -> Any:
    return Namespace(status=Namespace(page="status.html"), report=Reporting(rehearse=Rehearse(**rehearse)))


@pytest.mark.parametrize(
    ("ending", "error", "words"),
    [
        ({"maintain_tables": 2}, ConfigError, "maintain_tables ended with exit code 2"),
        ({"sync_offsets": 3, "maintain_tables": 2}, TakenOverError, "index_records ended with exit code 1; sync_off"),
    ],
    ids=["configuration", "taken over: nothing starts the jobs again"],
)
def test_the_largest_exit_code_is_that_of_the_command(
    monkeypatch: pytest.MonkeyPatch, ending: dict[str, int], error: type[Exception], words: str
) -> None:
    monkeypatch.setattr(Supervisor, "run", lambda self: dict.fromkeys(JOBS, 1) | ending)
    monkeypatch.setenv(SUBMIT, "python submit.py")
    with pytest.raises(error, match=words):
        run(config(), Namespace(conf="my.yaml", log_format="text"), threading.Event())


def test_a_rehearsal_is_repeated_however_it_ends_and_decides_nothing_else() -> None:
    """Its lines have its name, and show what terminals act on; the others are stopped by SIGTERM."""
    script = f"""import os, sys; print('rehearsing', os.environ[{PARENT!r}], flush=True)
sys.stdout.buffer.write(b'a\\x1b[2J\\xffb\\r\\n'); os.kill(os.getpid(), 9)"""
    daily = Child("rehearse", [sys.executable, "-c", script], every=0.2)
    running = Running({"other": UNTIL_TERM}, recurring=[daily])
    running.until("rehearsing", 3)
    running.stop.set()
    assert running.ended() == {"other": 0, "rehearse": 0}
    lines = running.out.getvalue().splitlines()
    assert [line for line in lines if line.startswith("other")] == [f"{'other':<15} {w}" for w in ("ready", "stopping")]
    assert f"{'rehearse':<15} rehearsing {os.getpid()}" in lines, "a job knows whose end is its own"
    assert "\x1b" not in running.out.getvalue()
