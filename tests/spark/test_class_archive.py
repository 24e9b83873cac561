"""The archive of Spark's classes: a driver on this machine maps it, and finds its settings all the same."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from spark_options import split_options
from submit import build_command

REPO = Path(__file__).resolve().parents[2]
_PROGRAM = """
from pyspark import SparkContext
from offset_sync.jobs.spark_session import open_session
from offset_sync.tables.delta.jvm import java
spark = open_session("class archive")
jvm = java("java.lang.ProcessHandle").current().pid()
print("mapped", "spark.jsa" in open(f"/proc/{jvm}/maps").read())
print("level", java("org.apache.logging.log4j.LogManager").getRootLogger().getLevel().toString())
print("speculation", spark.sparkContext.getConf().get("spark.speculation"))
"""


@pytest.mark.skipif(not Path("/proc/self/maps").exists(), reason="what a process has mapped is asked of Linux")
def test_a_driver_maps_the_archive_and_has_the_settings_of_conf() -> None:
    assert (REPO / "jars" / "classes" / "spark.jsa").is_file(), "make install makes it"
    environ = {name: value for name, value in os.environ.items() if not name.startswith(("SPARK_", "PYSPARK_"))}
    built = build_command(REPO, "report_status", split_options(["--driver-memory", "1g"]), environ)
    command = [sys.executable, "-c", _PROGRAM]
    run = subprocess.run(command, env=environ | built.environment, capture_output=True, text=True, timeout=300)
    assert run.stdout.split() == ["mapped", "True", "level", "WARN", "speculation", "false"], run.stderr[-2000:]
