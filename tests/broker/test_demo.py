"""The brokers that every other test here, `make demo` and the benchmarks start: none outlives its program."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from broker.installation import until

pytestmark = pytest.mark.broker

_PROGRAM = """
import sys, time
from pathlib import Path
from offset_sync_demo.kafka.brokers import start_clusters
cluster = start_clusters(["dc9"], Path(sys.argv[1]))["dc9"]
print(cluster.process.pid, flush=True)
time.sleep(600)
"""


def test_a_broker_does_not_outlive_a_python_that_was_killed(broker_parts: None, tmp_path: Path) -> None:
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    words = [sys.executable, "-c", _PROGRAM, str(tmp_path)]
    with subprocess.Popen(words, stdout=subprocess.PIPE, env=environment) as program:
        assert program.stdout is not None
        broker = int(program.stdout.readline())
        os.kill(broker, 0)
        program.send_signal(signal.SIGKILL)
    until(lambda: _is_gone(broker), 120)


def _is_gone(number: int) -> bool:
    try:
        return " Z " in Path(f"/proc/{number}/stat").read_text()  # dead, and no process here is its parent
    except (FileNotFoundError, ProcessLookupError):
        return True
