"""The SQL files, and those of the page, travel with the package: in the zip for ``--py-files`` and in the wheel."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from setuptools import Distribution

from bundle import build_zip
from offset_sync.tables.views import QUESTIONS, VIEWS

REPO = Path(__file__).resolve().parents[4]


def test_the_views_are_read_from_inside_the_zip(tmp_path: Path) -> None:
    target = tmp_path / "offset_sync.zip"
    build_zip(REPO / "lib", target)
    program = (
        "import offset_sync.tables.views as v; print(v.__file__); print(*[view.name for view in v.VIEWS]);"
        "import offset_sync.status.page as p; print(*map(len, (p._script(), p._file('plotly-basic.min.js'))))"
    )
    environment = {**os.environ, "PYTHONPATH": str(target)}
    command = [sys.executable, "-c", program]
    said = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, check=True).stdout
    place, names, sizes = said.splitlines()
    assert place.startswith(str(target))
    assert names.split() == [view.name for view in VIEWS]
    assert min(map(int, sizes.split())) > 1_000


def test_the_wheel_takes_every_sql_file(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(REPO)
    distribution = Distribution()
    distribution.parse_config_files()
    build = distribution.get_command_obj("build_py")
    build.ensure_finalized()
    packaged = {(package, name) for package, _, _, names in build.data_files for name in names}
    assert packaged >= {("offset_sync.tables.views", f"{each.name}.sql") for each in (*VIEWS, *QUESTIONS)}
    files = {path.stem for path in (REPO / "lib" / "offset_sync" / "tables" / "views").glob("*.sql")}
    assert files == {each.name for each in (*VIEWS, *QUESTIONS)}
