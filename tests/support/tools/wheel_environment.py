"""An environment with the wheel of this project and its base dependencies alone, made from what is installed here.

The libraries are links to those of the environment of the tests: nothing is fetched, and nothing else is there.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
import venv
from importlib.metadata import Distribution, distribution
from pathlib import Path

from packaging.requirements import Requirement

REPO = Path(__file__).resolve().parents[3]


def make_environment(folder: Path) -> Path:
    """Build the wheel and install it in *folder*; return where the programs of the environment are."""
    build = [sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "--no-build-isolation", "--no-index"]
    source = _copied_source(folder / "source")
    subprocess.run([*build, f"--wheel-dir={folder}", str(source)], check=True, timeout=120)
    (wheel,) = folder.glob("*.whl")
    venv.create(folder / "environment", with_pip=False)
    programs = folder / "environment" / "bin"
    (site,) = (folder / "environment" / "lib").glob("python*/site-packages")
    install = [sys.executable, "-m", "pip", "--python", str(programs / "python"), "install", "--quiet", "--no-deps"]
    subprocess.run([*install, "--no-index", str(wheel)], check=True, timeout=120)
    for name in _brought_along(site):
        _link(distribution(name), site)
    return programs


def _copied_source(folder: Path) -> Path:
    """Return a folder with what the wheel is made of: a build leaves files beside it."""
    folder.mkdir(parents=True)
    for name in ("setup.cfg", "pyproject.toml", "README.md", "LICENSE", "NOTICE"):
        shutil.copy(REPO / name, folder)
    shutil.copytree(REPO / "lib", folder / "lib", ignore=shutil.ignore_patterns("__pycache__", "*.egg-info"))
    return folder


def _brought_along(site: Path) -> list[str]:
    """Return what the wheel in *site* needs without any extra, and what that needs."""
    (info,) = site.glob("offset_sync-*.dist-info")
    found, waiting = list[str](), list(Distribution.at(info).requires or [])
    while waiting:
        wanted = Requirement(waiting.pop())
        if wanted.name in found or (wanted.marker and not wanted.marker.evaluate({"extra": ""})):
            continue
        found.append(wanted.name)
        waiting += distribution(wanted.name).requires or []
    return found


def _link(library: Distribution, site: Path) -> None:
    for name in {path.parts[0] for path in library.files or [] if path.parts[0] not in ("..", "__pycache__")}:
        source = Path(str(library.locate_file(name)))
        if not (site / name).exists():
            (site / name).symlink_to(source)
