"""The commands start without what only Spark's jobs need."""

from __future__ import annotations

import subprocess
import sys

import pytest

from offset_sync.jobs.console import COMMANDS

_STARTED = """
import argparse
import sys
from offset_sync.jobs.console import main

def ends(parser, status=0, message=None):
    import pyarrow

    assert pyarrow.array([1, None]).to_pylist() == [1, None]
    print(sorted({{"pandas", "pyspark", "py4j"}} & sys.modules.keys()), file=sys.stderr)
    raise SystemExit(status)

argparse.ArgumentParser.exit = ends
try:
    main([{name!r}, "--help"])
except SystemExit:
    import pandas  # for users who have called a command from a process of their own
"""


@pytest.mark.parametrize("name", [name for name, command in COMMANDS.items() if not command.is_on_spark])
def test_no_command_loads_pandas_or_spark_though_both_are_installed(name: str) -> None:
    command = [sys.executable, "-c", _STARTED.format(name=name)]
    done = subprocess.run(command, capture_output=True, text=True, check=True, timeout=60)
    assert "usage:" in done.stdout
    assert done.stderr == "[]\n"
