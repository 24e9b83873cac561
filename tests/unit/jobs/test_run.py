"""The job that runs the others: what it starts again, what ends it, and what its log says; with real processes."""

from __future__ import annotations

import os
import sys
import threading
import time
from argparse import Namespace
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from offset_sync.jobs import run as module
from offset_sync.jobs.process_end import PARENT
from offset_sync.jobs.run import JOBS, SUBMIT, Child, Supervisor, run
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
    """A supervisor in a thread, its jobs given as scripts of Python; what they write is what *capfd* has."""

    def __init__(self, capfd: pytest.CaptureFixture[str], scripts: Mapping[str, str]) -> None:
        self.stop, self._capfd, self.out = threading.Event(), capfd, ""
        jobs = [Child(name, [sys.executable, "-c", script]) for name, script in scripts.items()]
        self.supervisor = Supervisor(jobs, self.stop)
        self.codes: dict[str, int] = {}
        self._thread = threading.Thread(target=self._run)
        self._thread.start()

    def _run(self) -> None:
        self.codes = self.supervisor.run()

    def until(self, text: str, count: int = 1) -> None:
        """Wait until the log has a text so many times."""
        deadline = time.monotonic() + 30
        while self.said().count(text) < count:
            assert time.monotonic() < deadline, self.out
            time.sleep(0.02)

    def said(self) -> str:
        """Return all that was written until now."""
        self.out += self._capfd.readouterr().out
        return self.out

    def ended(self) -> dict[str, int]:
        """Wait for the end, and return the exit codes."""
        self._thread.join(30)
        assert not self._thread.is_alive()
        return self.codes


@pytest.mark.parametrize("end", ["os.kill(os.getpid(), 9)", "sys.exit(0)"])
def test_a_job_that_fails_is_started_again_after_longer_and_longer_pauses(
    end: str, caplog: pytest.LogCaptureFixture, capfd: pytest.CaptureFixture[str]
) -> None:
    caplog.set_level("INFO")
    running = Running(capfd, {"failing": f"import os, sys; print('started', flush=True); {end}", "other": UNTIL_TERM})
    running.until("started", 4)
    running.stop.set()
    codes = running.ended()
    assert codes["other"] == 0
    assert running.said().count("ready") == 1, "the other goes on"
    said = [each.getMessage() for each in caplog.records if "restarting it" in each.getMessage()]
    assert [line.rpartition(" in ")[2] for line in said[:3]] == ["0.1 s", "0.1 s", "0.2 s"]


@pytest.mark.parametrize("code", [2, 3])
def test_bad_configuration_and_another_driver_end_all(
    code: int, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    may_end = tmp_path / "may end"
    ending = f"import os, time\nwhile not os.path.exists({str(may_end)!r}): time.sleep(0.01)\nraise SystemExit({code})"
    running = Running(capfd, {"ending": ending, "other": UNTIL_TERM})
    running.until("ready")
    may_end.touch()
    assert running.ended() == {"ending": code, "other": 0}
    assert "stopping" in running.said()


# The job itself


CONFIG: Any = Namespace(status=Namespace(page="status.html"))


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
        run(CONFIG, Namespace(conf="my.yaml", log_format="text"), threading.Event())


def test_each_line_of_a_job_has_its_name_and_it_knows_whose_end_is_its_own(capfd: pytest.CaptureFixture[str]) -> None:
    script = f"""import os, sys; sys.stderr = sys.stdout
from offset_sync.jobs.runner import start_logging, logger
start_logging("text"); logger.info("below %s", os.environ[{PARENT!r}])"""
    running = Running(capfd, {"logging": script, "other": UNTIL_TERM})
    running.until(f"below {os.getpid()}")
    running.stop.set()
    assert running.ended()["other"] == 0
    assert {line.split()[0] for line in running.out.splitlines() if "below" in line} == {"logging"}
