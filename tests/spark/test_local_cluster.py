"""Executors that are processes of their own get code, jars and environment from what spark-submit.sh gives along.

Two executors that share nothing with the driver but the disk: their Python is an archive packed by scripts/archive.py,
which has the libraries and not this package, and their PYTHONPATH is empty; so what they import came with --py-files.
"""

from __future__ import annotations

import json
import os
import re
import site
import subprocess
import venv
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from archive import pack
from bundle import build_zip
from spark_options import split_options
from submit import Command, build_command

pytestmark = [pytest.mark.long, pytest.mark.timeout(1800)]

REPO = Path(__file__).resolve().parents[2]
PROBE = Path(__file__).with_name("cluster_probe.py")
SETTINGS = {
    "spark.executor.instances": "2",
    "spark.executor.memory": "512m",
    "spark.executor.extraJavaOptions": "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC",
    "spark.executorEnv.PYTHONPATH": "",
    "spark.task.maxFailures": "2",  # one of the checks lets tasks be repeated
    "spark.ui.enabled": "false",
}
# What a log that is not JSON begins with: a time as conf/log4j2.properties or Spark's own profile writes it.
TEXT_LINE = re.compile(r"^(\d{4}-\d\d-\d\d|\d\d/\d\d/\d\d) \d\d:\d\d:\d\d\S* [A-Z]+ |^Using Spark's default log4j")
Found = dict[str, Any]


@pytest.fixture(scope="module")
def spark_home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Spark as it is installed, in a folder into which its workers may write."""
    import pyspark

    home, installed = tmp_path_factory.mktemp("home"), Path(pyspark.__file__).parent
    for name in ("bin", "jars", "python", "sbin"):
        (home / name).symlink_to(installed / name)
    return home


@pytest.fixture(scope="module")
def archive(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A packed Python with all libraries and without this package, like the one that make archive packs."""
    folder = tmp_path_factory.mktemp("archive")
    venv.create(folder / "environment", symlinks=True)
    (own,) = folder.glob("environment/lib/python3.*/site-packages")
    # What a .pth file adds is searched, but the .pth files there, one of which links to this package, are not read.
    (own / "libraries.pth").write_text(f"import sys; sys.path += {site.getsitepackages()!r}")
    return pack(folder / "environment", folder / "environment.tar.gz")


def submitted(folder: Path, home: Path, archive: Path) -> Command:
    """Return the command that spark-submit.sh would run, for the probe in place of a job."""
    settings = [word for key, value in SETTINGS.items() for word in ("--conf", f"{key}={value}")]
    words = ["--master", "local-cluster[2,1,1024]", *settings, "--driver-java-options", "-XX:TieredStopAtLevel=1"]
    words += ["--archives", f"{archive}#environment", "--conf", "spark.pyspark.python=./environment/bin/python"]
    words += ["--driver-memory", "1g", "--log-format", "json", "--conf", str(folder / "found.json")]
    command = build_command(REPO, "sync_offsets", split_options(words), {**os.environ, "SPARK_HOME": str(home)})
    job = [str(PROBE) if word.endswith("sync_offsets.py") else word for word in command.words]
    own = {"SPARK_HOME": str(home), "SPARK_CONF_DIR": str(REPO / "conf"), "SPARK_LOCAL_DIRS": str(folder / "scratch")}
    return Command(job, command.environment | own)


def run(command: Command, folder: Path) -> Found:
    build_zip(REPO / "lib" / "offset_sync", REPO / "dist" / "offset_sync.zip")
    left_out = ("PYSPARK_GATEWAY_PORT", "PYSPARK_GATEWAY_SECRET", "SPARK_ENV_LOADED")
    environ: Mapping[str, str] = {k: v for k, v in os.environ.items() if k not in left_out} | command.environment
    with (folder / "log").open("w") as log:
        ended = subprocess.run(command.words, env=environ, stdout=log, stderr=log, check=False, timeout=800, cwd=folder)
    said = (folder / "log").read_text()
    assert ended.returncode == 0, said[-3000:]
    found: Found = json.loads((folder / "found.json").read_text())
    return found


@pytest.fixture(scope="module")
def whole(spark_home: Path, archive: Path, tmp_path_factory: pytest.TempPathFactory) -> Found:
    """What executors find where everything is given along."""
    folder = tmp_path_factory.mktemp("whole")
    return run(submitted(folder, spark_home, archive), folder)


def test_both_executors_import_the_code_from_the_zip_and_log_as_the_driver(whole: Found) -> None:
    assert len({each["executor"] for each in whole["code"]}) == 2
    assert all("/offset_sync.zip/offset_sync/decode/" in each["code"] for each in whole["code"])
    assert {each["log_format"] for each in whole["code"]} == {"json"}


def test_executors_decode_commit_write_delta_tables_and_reach_for_kafka(whole: Found) -> None:
    assert "golden-assigned" in whole["decoding"]
    outcomes = whole["committing"]  # by the compiled client
    assert outcomes
    assert all(each.startswith("FAILED: ") for each in outcomes)
    assert any("127.0.0.1:1" in each for each in outcomes)
    assert whole["delta"] == 100
    assert whole["repeated"] == list(range(100)), "of tasks that died and were repeated every row once"
    assert "TimeoutException: Topic t not present in metadata after 500 ms" in whole["kafka"]


def test_executors_run_the_python_of_the_archive_where_they_have_unpacked_it(whole: Found, spark_home: Path) -> None:
    prefixes = {each["prefix"] for each in whole["code"]}
    assert len(prefixes) == 2
    assert all(re.fullmatch(rf"{spark_home / 'work'}/app-\S+/\d/environment", prefix) for prefix in prefixes)


def test_what_executors_log_is_json(whole: Found, spark_home: Path) -> None:
    logs = [log.read_text() for log in spark_home.glob("work/app-*/*/stderr")]
    assert logs
    assert [line for log in logs for line in log.splitlines() if TEXT_LINE.search(line)] == []
    # Between the events are other lines: of the JVM before logging starts, and the traceback of a Python
    # worker whose executor is being killed. That may break off an event, too, or run into its line.
    lines = (line for log in logs for line in log.splitlines() if line.startswith('{"ts"') and line.endswith("}"))
    events = [event for line in lines if isinstance(event := parsed(line), dict)]
    assert {"ts", "level", "logger", "msg"} <= set.intersection(*(set(event) for event in events))
    (died, *_) = [event for event in events if "died once" in event.get("exception", {}).get("msg", "")]
    assert died["logger"] == "org.apache.spark.executor.Executor"
    assert died["exception"]["class"] == "org.apache.spark.api.python.PythonException"
    assert died["exception"]["stacktrace"].count("\n") > 5


def parsed(line: str) -> object:
    """Return the value of a line of JSON; None where it is not whole."""
    try:
        return json.loads(line)
    except json.JSONDecodeError:
        return None
