"""The wheel has what its command needs; without Spark the command answers as spark-submit.sh does elsewhere."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

from offset_sync.jobs.console import COMMANDS

REPO = Path(__file__).resolve().parents[3]
HELP = """
import json, sys
sys.modules |= dict.fromkeys(["pyspark", "py4j", "delta"])
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


def test_every_file_of_the_packages_is_in_the_wheel(tmp_path: Path) -> None:
    source = tmp_path / "source"
    shutil.copytree(REPO / "lib", source / "lib", ignore=shutil.ignore_patterns("__pycache__", "*.egg-info"))
    for name in ("setup.cfg", "pyproject.toml", "README.md", "LICENSE", "NOTICE"):
        shutil.copy(REPO / name, source)
    files = {str(path.relative_to(source / "lib")) for path in (source / "lib").rglob("*") if path.is_file()}
    build = [sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "--no-build-isolation", "--no-index"]
    subprocess.run([*build, f"--wheel-dir={tmp_path}", str(source)], check=True, timeout=120)
    (wheel,) = tmp_path.glob("*.whl")
    with zipfile.ZipFile(wheel) as archive:
        names = {*archive.namelist()}
        (entries,) = [name for name in names if name.endswith("/entry_points.txt")]
        assert "offset-sync = offset_sync.jobs.console:" in archive.read(entries).decode()
    assert {name for name in files if name.startswith("offset_sync/")} - names == set()


def test_without_spark_each_command_helps_or_says_what_to_install() -> None:
    helped = subprocess.run([sys.executable, "-c", HELP], capture_output=True, check=True, timeout=120)
    for name, (code, said, error) in json.loads(helped.stdout).items():
        if COMMANDS[name].is_on_spark:
            assert (code, said, error) == (2, "", f"{name} runs on Spark: pip install 'offset-sync[spark]'\n")
        else:
            assert (code, said.partition(" [")[0]) == (0, f"usage: offset-sync {name}")
