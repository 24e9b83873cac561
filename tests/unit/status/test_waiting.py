"""What a command says while it waits: on a terminal and elsewhere."""

from __future__ import annotations

import os
import pty
import re
import subprocess
import sys
import time

import pytest

from offset_sync.status import waiting as module
from offset_sync.status.waiting import waiting

SCRIPT = """
import logging, time
from offset_sync.jobs.log_format import start_logging
from offset_sync.status import waiting
waiting.SOON_S = 0.1
start_logging("text")
with waiting.waiting("clusters dc1, dc2", 20.0):
    time.sleep(0.6)
    logging.getLogger("offset_sync").info("a line of the log")
    time.sleep(0.4)
print("the answer")
"""


@pytest.fixture(autouse=True)
def soon(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "SOON_S", 0.05)
    monkeypatch.setattr(module, "LINE_EVERY_S", 0.1)


def test_a_long_one_says_what_it_waits_for_and_how_long_at_most(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level("INFO")
    with waiting("clusters dc1, dc2", 20.0):
        time.sleep(0.4)
    assert len(caplog.messages) >= 2
    said = re.compile(r"waiting for clusters dc1, dc2: \d+ s of at most 20 s")
    assert all(map(said.fullmatch, caplog.messages))


def test_a_terminal_gets_a_bar_above_which_the_log_goes_on() -> None:
    shown = on_a_terminal()
    assert "waiting for clusters dc1, dc2" in shown
    assert "of at most 20 s" in shown
    (line,) = [each for each in re.split(r"[\r\n]+", shown) if "a line of the log" in each]
    assert "waiting for" not in line


def on_a_terminal(script: str = SCRIPT) -> str:
    """Return what the script shows on a terminal; its standard output goes elsewhere."""
    ours, theirs = pty.openpty()
    environment = os.environ | {"TERM": "xterm", "COLUMNS": "120", "OFFSET_SYNC_LOG_FORMAT": "text"}
    with subprocess.Popen(
        [sys.executable, "-c", script], stderr=theirs, stdin=theirs, stdout=subprocess.PIPE, env=environment, text=True
    ) as process:
        os.close(theirs)
        shown = b""
        while True:
            try:
                more = os.read(ours, 4096)
            except OSError:
                break
            shown += more
            if not more:
                break
        assert process.stdout is not None
        assert process.stdout.read() == "the answer\n"
    os.close(ours)
    assert process.returncode == 0
    return shown.decode()
