"""The wheel in an environment without Spark: its command answers there as spark-submit.sh does elsewhere."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest

from offset_sync import __version__
from offset_sync.jobs.console import COMMANDS
from tools.wheel_environment import make_environment

pytestmark = [pytest.mark.timeout(300), pytest.mark.xdist_group("wheel")]
HELP = """
import json
from contextlib import redirect_stderr, redirect_stdout
from io import StringIO
from offset_sync.jobs.console import COMMANDS, main

def help_of(name):
    with redirect_stdout(StringIO()) as said, redirect_stderr(StringIO()) as error:
        try:
            code = main([name, "--help"])
        except SystemExit as ended:
            code = ended.code
    return code, said.getvalue(), error.getvalue()

print(json.dumps({name: help_of(name) for name in COMMANDS}))
"""


@pytest.fixture(scope="module")
def programs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where the command is."""
    return make_environment(tmp_path_factory.mktemp("wheel"))


def run(programs: Path, *words: str | Path) -> subprocess.CompletedProcess[str]:
    command = [str(programs / "offset-sync"), *map(str, words)]
    environment = {"PATH": "/usr/bin:/bin", "HOME": "/nowhere", "LANG": "C.UTF-8"}
    return subprocess.run(command, capture_output=True, text=True, check=False, timeout=120, env=environment)


def test_there_is_no_spark_in_it_and_it_says_what_there_is(programs: Path) -> None:
    lacking = "import importlib.util as u, sys; sys.exit(any(map(u.find_spec, ['pyspark', 'py4j', 'delta', 'pandas'])))"
    assert subprocess.run([programs / "python", "-c", lacking], check=False, timeout=60).returncode == 0
    said = run(programs, "--help")
    assert said.returncode == 0
    assert all(f"  {name} " in said.stdout for name in COMMANDS)
    assert run(programs, "--version").stdout == f"offset-sync {__version__}\n"
    helped = subprocess.run([programs / "python", "-c", HELP], capture_output=True, check=True, timeout=120)
    for name, (code, said, error) in json.loads(helped.stdout).items():
        if COMMANDS[name].is_on_spark:
            assert (code, said, error) == (2, "", f"{name} runs on Spark: pip install 'offset-sync[spark]'\n")
        else:
            assert (code, said.partition(" [")[0]) == (0, f"usage: offset-sync {name}")
