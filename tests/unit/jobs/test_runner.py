"""What every job does first and last: its client, exit codes, a line per failure, and a signal that is only a wish."""

from __future__ import annotations

import argparse
import os
import signal
import threading
from collections.abc import Sequence
from pathlib import Path

import pytest

from offset_sync.config import Config
from offset_sync.jobs.runner import JobFunction, job_arguments, run_job
from offset_sync.model.errors import ClusterError, ConfigError, FormatError, TakenOverError

CONF = """
clusters: {x: {kafka: {bootstrap.servers: "x:9092"}}, y: {kafka: {bootstrap.servers: "y:9092"}}}
topics: {include: [orders]}
"""
pytestmark = pytest.mark.usefixtures("signals")


@pytest.fixture
def conf(tmp_path: Path) -> str:
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
        (doing("x: silent", "a\nall is well\x1b[2K"), ["x: silent", "a\\u000aall is well\\u001b[2K"], 1),
        (raising(ClusterError("x", "silent")), ["clusters.x: silent"], 1),
        (raising(ConfigError(["SPARK_REMOTE: unset it"])), ["SPARK_REMOTE: unset it"], 2),
        (raising(FormatError("has format 1")), ["has format 1"], 2),
        (raising(TakenOverError("by process 7")), ["by process 7"], 3),
    ],
    ids=["failures", "error of ours", "configuration, while running", "format", "taken over"],
)
def test_each_failure_is_one_line_whatever_it_names(
    conf: str, capsys: pytest.CaptureFixture[str], function: JobFunction, lines: list[str], code: int
) -> None:
    assert run(function, "--conf", conf) == code
    assert capsys.readouterr().err.splitlines()[-len(lines) :] == lines


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_asks_the_job_to_stop_and_interrupts_nothing(conf: str, number: signal.Signals) -> None:
    seen: list[bool] = []

    def function(config: Config, arguments: argparse.Namespace, stop: threading.Event) -> Sequence[str]:
        os.kill(os.getpid(), number)
        seen.append(stop.wait(60))
        return []  # reached: nothing was raised

    assert run(function, "--conf", conf) == 0
    assert seen == [True]
