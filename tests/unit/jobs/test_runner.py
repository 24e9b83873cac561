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
NAMES = "mirror: {names: mm2}\n"

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


def test_a_job_gets_its_configuration_and_arguments_and_ends_with_0(conf: str) -> None:
    seen: list[object] = []

    def function(config: Config, arguments: argparse.Namespace, stop: threading.Event) -> Sequence[str]:
        seen.extend([list(config.clusters), arguments.once, stop.is_set()])
        return []

    assert run(function, "--conf", conf, "--once") == 0
    assert seen == [["x", "y"], True, False]


def test_what_cannot_be_verified_is_logged_at_the_start_unless_the_job_says_it_itself(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    path = tmp_path / "three.yaml"
    path.write_text(CONF.replace("clusters: {", "clusters: {z: {kafka: {bootstrap.servers: 'z:1'}}, ") + NAMES)
    assert run(doing(), "--conf", str(path)) == 0
    (warning,) = [each.getMessage() for each in caplog.records if each.levelname == "WARNING"]
    assert warning.startswith("mirror.place_header: is empty")
    caplog.clear()
    parser = job_arguments("Checks.")
    parser.set_defaults(tells_cautions=True)
    assert run_job(doing(), parser, ["--conf", str(path)]) == 0
    assert [each for each in caplog.records if each.levelname == "WARNING"] == []


def test_each_failure_is_a_line_and_the_code_is_1(conf: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(doing("clusters.x: silent", "clusters.y: silent too"), "--conf", conf) == 1
    assert capsys.readouterr().err.splitlines()[-2:] == ["clusters.x: silent", "clusters.y: silent too"]


def test_a_failure_is_one_line_whatever_it_names(conf: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(doing("first a\nall is well\x1b[2K/orders/0: silent"), "--conf", conf) == 1
    assert capsys.readouterr().err.splitlines()[-1] == "first a\\u000aall is well\\u001b[2K/orders/0: silent"


def test_a_full_disk_is_a_line_and_the_code_is_1(conf: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(raising(OSError("[Errno 28] No space left on device")), "--conf", conf) == 1
    last = capsys.readouterr().err.splitlines()[-1]
    assert last.startswith("the disk is full: make room in ")
    assert last.endswith("([Errno 28] No space left on device); then start it again")
    with pytest.raises(OSError, match="Errno 5"):
        run(raising(OSError("[Errno 5] Input/output error")), "--conf", conf)


def test_an_error_of_ours_is_a_line_and_the_code_is_1(conf: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(raising(ClusterError("x", "silent")), "--conf", conf) == 1
    assert capsys.readouterr().err.splitlines()[-1] == "clusters.x: silent"


def test_a_job_that_was_taken_over_is_a_line_and_the_code_is_3(conf: str, capsys: pytest.CaptureFixture[str]) -> None:
    line = "sync_offsets was taken over by process 7 on another; this one writes nothing more and ends"
    assert run(raising(TakenOverError(line)), "--conf", conf) == 3
    assert capsys.readouterr().err.splitlines()[-1] == line


def test_a_bug_is_not_hidden(conf: str) -> None:
    with pytest.raises(ZeroDivisionError):
        run(raising(ZeroDivisionError()), "--conf", conf)


@pytest.mark.parametrize("content", ["clusters: {", "clusters: {}\n", None])
def test_a_configuration_that_is_wrong_or_missing_is_2(
    tmp_path: Path, content: str | None, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "wrong.yaml"
    if content is not None:
        path.write_text(content)
    assert run(doing("never run"), "--conf", str(path)) == 2
    assert "never run" not in (said := capsys.readouterr().err)
    assert said


def test_every_problem_of_a_configuration_is_a_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "wrong.yaml"
    path.write_text(CONF + "sync: {trigger_intervall: 1s}\nindex: {starting: late}\n")
    assert run(doing(), "--conf", str(path)) == 2
    said = capsys.readouterr().err
    assert "sync.trigger_intervall" in said
    assert "index.starting" in said


def test_a_configuration_found_wrong_while_running_is_2(conf: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(raising(ConfigError(["SPARK_REMOTE: unset it"])), "--conf", conf) == 2
    assert capsys.readouterr().err.splitlines()[-1] == "SPARK_REMOTE: unset it"


@pytest.mark.parametrize("argv", [(), ("--conf",), ("--conf", "x", "--twice")])
def test_wrong_arguments_are_2(argv: tuple[str, ...]) -> None:
    with pytest.raises(SystemExit) as caught:
        run(doing(), *argv)
    assert caught.value.code == 2


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_asks_the_job_to_stop_and_interrupts_nothing(conf: str, number: signal.Signals) -> None:
    seen: list[bool] = []

    def function(config: Config, arguments: argparse.Namespace, stop: threading.Event) -> Sequence[str]:
        os.kill(os.getpid(), number)
        seen.append(stop.wait(60))
        return []  # reached: nothing was raised

    assert run(function, "--conf", conf) == 0
    assert seen == [True]
