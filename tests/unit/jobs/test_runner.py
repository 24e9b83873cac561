"""What every job does first and last: exit code 0, 1 or 2, one line per failure, and a signal that is only a wish."""

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
from offset_sync.model.errors import ClusterError, ConfigError, TakenOverError

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
        (doing("clusters.x: silent", "clusters.y: silent too"), ["clusters.x: silent", "clusters.y: silent too"], 1),
        (
            doing("first a\nall is well\x1b[2K/orders/0: silent"),
            ["first a\\u000aall is well\\u001b[2K/orders/0: silent"],
            1,
        ),
        (raising(ClusterError("x", "silent")), ["clusters.x: silent"], 1),
        (raising(ConfigError(["SPARK_REMOTE: unset it"])), ["SPARK_REMOTE: unset it"], 2),
    ],
    ids=["failures", "hostile", "error of ours", "configuration, while running"],
)
def test_each_failure_is_one_line_whatever_it_names(
    conf: str, capsys: pytest.CaptureFixture[str], function: JobFunction, lines: list[str], code: int
) -> None:
    assert run(function, "--conf", conf) == code
    assert capsys.readouterr().err.splitlines()[-len(lines) :] == lines


def test_a_full_disk_is_a_line_and_no_other_error_of_the_machine_or_of_ours_is_hidden(
    conf: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(raising(OSError("[Errno 28] No space left on device")), "--conf", conf) == 1
    last = capsys.readouterr().err.splitlines()[-1]
    assert last.startswith("the disk is full: make room in ")
    assert last.endswith("([Errno 28] No space left on device); then start it again")
    for error in (OSError("[Errno 5] Input/output error"), ZeroDivisionError()):
        with pytest.raises(type(error)):
            run(raising(error), "--conf", conf)


def test_a_job_that_was_taken_over_is_a_line_and_the_code_is_3(conf: str, capsys: pytest.CaptureFixture[str]) -> None:
    line = "sync_offsets was taken over by process 7 on another; this one writes nothing more and ends"
    assert run(raising(TakenOverError(line)), "--conf", conf) == 3
    assert capsys.readouterr().err.splitlines()[-1] == line


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ("clusters: {", []),
        ("clusters: {}\n", []),
        (None, []),
        (
            CONF + "sync: {trigger_intervall: 1s}\nindex: {starting: late}\n",
            ["sync.trigger_intervall", "index.starting"],
        ),
    ],
)
def test_a_configuration_that_is_wrong_or_missing_is_2_and_every_problem_is_said(
    tmp_path: Path, content: str | None, said: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "wrong.yaml"
    if content is not None:
        path.write_text(content)
    assert run(doing("never run"), "--conf", str(path)) == 2
    text = capsys.readouterr().err
    assert text
    assert [word for word in ["never run", *said] if word in text] == said


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_asks_the_job_to_stop_and_interrupts_nothing(conf: str, number: signal.Signals) -> None:
    seen: list[bool] = []

    def function(config: Config, arguments: argparse.Namespace, stop: threading.Event) -> Sequence[str]:
        os.kill(os.getpid(), number)
        seen.append(stop.wait(60))
        return []  # reached: nothing was raised

    assert run(function, "--conf", conf) == 0
    assert seen == [True]
