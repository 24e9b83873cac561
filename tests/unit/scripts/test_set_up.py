"""The archive for executors, the wheel, and the program that runs all tests."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

import run_tests
from bundle import build_zip
from offset_sync.jobs.console import COMMANDS
from offset_sync.tables.views import VIEWS
from run_tests import main

REPO = Path(__file__).resolve().parents[3]


def test_the_zip_holds_what_the_package_reads_and_is_written_again_only_when_a_source_changed(tmp_path: Path) -> None:
    lib, target = Path(shutil.copytree(REPO / "lib", tmp_path / "lib")), tmp_path / "dist" / "offset_sync.zip"
    (lib / "offset_sync" / "__pycache__").mkdir(exist_ok=True)
    (lib / "offset_sync" / "__pycache__" / "one.pyc").touch()
    assert build_zip(lib, target)
    with zipfile.ZipFile(target) as archive:
        names = archive.namelist()
    assert [name for name in names if "__pycache__" in name or name.startswith("offset_sync_demo")] == []
    assert any(name.endswith(".dist-info/entry_points.txt") for name in names)
    program = (
        "import offset_sync.tables.views as v; print(v.__file__); print(*[view.name for view in v.VIEWS]);"
        "import offset_sync.status.page as p; print(*map(len, (p._script(), p._file('plotly-basic.min.js'))))"
    )
    environment, command = {**os.environ, "PYTHONPATH": str(target)}, [sys.executable, "-c", program]
    said = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, check=True).stdout
    place, views, sizes = said.splitlines()
    assert place.startswith(str(target))
    assert views.split() == [view.name for view in VIEWS]
    assert min(map(int, sizes.split())) > 1_000
    assert not build_zip(lib, target), "nothing has changed"
    target.write_bytes(b"cut short")
    (lib / "offset_sync" / "__init__.py").write_text("a = 2")
    assert build_zip(lib, target)
    assert zipfile.is_zipfile(target)


ONE_OF_EACH = """
import pytest
def test_passes(): pass
def test_fails(): assert False
@pytest.mark.skip
def test_is_skipped(): pass
@pytest.fixture
def broken(): raise OSError
def test_cannot_begin(broken): pass
"""


def test_a_broken_group_does_not_keep_the_others_from_running_and_the_last_line_has_the_sum(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    """In a project of its own."""
    (tmp_path / "pytest.ini").write_text("[pytest]\n")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")
    for name in ("one", "two", "three"):
        (tmp_path / f"test_{name}.py").write_text(ONE_OF_EACH if name == "three" else "def test_it(): pass\n")
    (tmp_path / "test_one.py").write_text("import nothing_of_that_name\n")
    lanes = {"quick": [("test_one.py",), ("test_two.py",)], "slow": [("test_three.py",)]}
    replaced = {"REPO": tmp_path, "LANES": lanes, "OPTIONS": []}
    for name, value in replaced.items():
        monkeypatch.setattr(run_tests, name, value)
    assert main([]) == 1
    *lines, last = capfd.readouterr().out.splitlines()
    assert last == "tests: 2 passed, 3 failed, 1 skipped"
    failed = [line for line in lines if line.startswith("== failed: ")]
    assert [line.rpartition("::")[2] for line in failed] == ["test_one", "test_fails", "test_cannot_begin"]
    assert any("assert False" in line for line in lines[lines.index(failed[1]) :])


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
