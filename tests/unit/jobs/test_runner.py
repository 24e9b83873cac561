"""What every job does first and last: its client, exit codes, a line per failure, and a signal that is only a wish."""

from __future__ import annotations

import argparse
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Sequence
from pathlib import Path

import pytest

from offset_sync.config import Config
from offset_sync.jobs.console import COMMANDS
from offset_sync.jobs.runner import JobFunction, job_arguments, run_job
from offset_sync.kafka.librdkafka import CONFLUENT_KAFKA
from offset_sync.model.errors import ClusterError, ConfigError, FormatError, TakenOverError

CONF = """
clusters: {x: {kafka: {bootstrap.servers: "x:9092"}}, y: {kafka: {bootstrap.servers: "y:9092"}}}
topics: {include: [orders]}
"""
pytestmark = pytest.mark.usefixtures("signals")


@pytest.fixture
def conf(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.setattr(threading, "excepthook", threading.excepthook)  # put back what a job sets
    path = tmp_path / "sync.yaml"
    path.write_text(CONF)
    return str(path)


def run(function: JobFunction, *argv: str) -> int:
    return run_job(function, job_arguments("Does something."), argv)


def doing(*failures: str) -> JobFunction:
    return lambda config, arguments, stop: failures


def raising(error: Exception) -> JobFunction:
    def function(config: Config, arguments: argparse.Namespace, stop: threading.Event) -> Sequence[str]:
        raise error

    return function


@pytest.mark.parametrize(
    ("function", "lines", "code"),
    [
        (doing("clusters.x: silent", "clusters.y: silent too"), ["clusters.x: silent", "clusters.y: silent too"], 1),
        (
            doing("first a\nall is well\x1b[2K/orders/0: silent"),
            ["first a\\u000aall is well\\u001b[2K/orders/0: silent"],
            1,
        ),
        (raising(ClusterError("x", "silent")), ["clusters.x: silent"], 1),
        (raising(ConfigError(["SPARK_REMOTE: unset it"])), ["SPARK_REMOTE: unset it"], 2),
        (raising(FormatError("has format 1")), ["has format 1"], 2),
        (raising(TakenOverError("by process 7")), ["by process 7"], 3),
    ],
    ids=["failures", "hostile", "error of ours", "configuration, while running", "format", "taken over"],
)
def test_each_failure_is_one_line_whatever_it_names(
    conf: str, capsys: pytest.CaptureFixture[str], function: JobFunction, lines: list[str], code: int
) -> None:
    assert run(function, "--conf", conf) == code
    assert capsys.readouterr().err.splitlines()[-len(lines) :] == lines


def test_a_full_disk_is_a_line_and_no_other_error_of_the_machine_or_of_ours_is_hidden(
    conf: str, capsys: pytest.CaptureFixture[str], caplog: pytest.LogCaptureFixture
) -> None:
    assert run(raising(OSError("[Errno 28] No space left on device")), "--conf", conf) == 1
    last = capsys.readouterr().err.splitlines()[-1]
    assert last.startswith("the disk is full: make room in ")
    assert last.endswith("([Errno 28] No space left on device); then start it again")
    for error in (OSError("[Errno 5] Input/output error"), ZeroDivisionError()):
        assert run(raising(error), "--conf", conf) == 1
        assert caplog.records[-1].exc_info[1] is error
        assert "make room" not in capsys.readouterr().err


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_asks_the_job_to_stop_and_interrupts_nothing(conf: str, number: signal.Signals) -> None:
    seen: list[bool] = []

    def function(config: Config, arguments: argparse.Namespace, stop: threading.Event) -> Sequence[str]:
        os.kill(os.getpid(), number)
        seen.append(stop.wait(60))
        return []  # reached: nothing was raised

    assert run(function, "--conf", conf) == 0
    assert seen == [True]


_STARTED = """
import argparse
import sys
from offset_sync.jobs.console import COMMANDS, main

def ends(parser, status=0, message=None):
    import pyarrow

    assert pyarrow.array([1, None]).to_pylist() == [1, None]
    raise SystemExit(status)

argparse.ArgumentParser.exit = ends
for name, command in COMMANDS.items():
    if not command.is_on_spark:
        try:
            main([name, "--help"])
        except SystemExit:
            print(name, sorted({"pandas", "pyspark", "py4j"} & sys.modules.keys()), file=sys.stderr)
import pandas  # for users who have called a command from a process of their own
"""


def test_no_command_loads_pandas_or_spark_though_both_are_installed() -> None:
    done = subprocess.run([sys.executable, "-c", _STARTED], capture_output=True, text=True, check=True, timeout=300)
    names = [name for name, command in COMMANDS.items() if not command.is_on_spark]
    assert done.stdout.count("usage:") == len(names) > 0
    assert done.stderr.splitlines() == [f"{name} []" for name in names]


REPO = Path(__file__).resolve().parents[3]
OTHER_CLIENT = """
import runpy, sys
import confluent_kafka
confluent_kafka.__version__ = "2.3.0"
runpy.run_path(sys.argv.pop(1), run_name="__main__")
"""
MOVE = ("plan", "--from", "dc1", "--to", "dc2", "--groups", "g")
JOBS = {"sync_offsets": (), "cutover": MOVE}


@pytest.mark.parametrize("job", JOBS)
def test_every_job_looks_at_its_client_before_anything_else(job: str) -> None:
    script = str(REPO / "jobs" / f"{job}.py")
    command = [sys.executable, "-c", OTHER_CLIENT, script, *JOBS[job], "--conf", str(REPO / "conf/two-clusters.yaml")]
    environ = {"PATH": os.environ["PATH"], "PYTHONPATH": str(REPO / "lib"), "JAVA_HOME": "/no/java"}
    ended = subprocess.run(command, capture_output=True, text=True, check=False, env=environ, timeout=300)
    remedy = "run 'make install', which installs the wheel of confluent-kafka that this was built with"
    lines = [line for line in ended.stderr.splitlines() if " INFO offset_sync.jobs.runner " not in line]
    assert lines == [f"expected confluent-kafka {CONFLUENT_KAFKA}, found 2.3.0; {remedy}"]
    assert (ended.returncode, ended.stdout) == (1, "")
