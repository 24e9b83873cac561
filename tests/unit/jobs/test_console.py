"""Commands start without what only Spark's jobs need; with another client jobs end before they start Java."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from offset_sync.jobs.console import COMMANDS
from offset_sync.kafka.librdkafka import CONFLUENT_KAFKA

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
