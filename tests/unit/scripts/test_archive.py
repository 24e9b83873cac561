"""What is packed: the archive for YARN, which can be unpacked anywhere, the zip for --py-files, and the jars."""

from __future__ import annotations

import subprocess
import venv
import zipfile
from pathlib import Path

import pytest

import jars
from archive import pack
from bundle import build_zip

REPO = Path(__file__).resolve().parents[3]


@pytest.fixture(scope="module")
def unpacked(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("archive")
    venv.create(folder / "environment", symlinks=True)
    (own,) = folder.glob("environment/lib/python3.*/site-packages")
    for module in ("numpy_like", "pyspark", "py4j"):
        (own / module).mkdir()
        (own / module / "__init__.py").write_text("answer = 42")
    (folder / "environment" / "bin" / "spark-submit").write_text("#!/bin/sh")
    packed = pack(folder / "environment", folder / "environment.tar.gz")
    assert packed.stat().st_mode & 0o444 == 0o444
    target = folder / "elsewhere"
    target.mkdir()
    subprocess.run(["tar", "-xzf", str(packed), "-C", str(target)], check=True)
    (folder / "environment").rename(folder / "gone")
    return target


def test_it_runs_where_it_is_unpacked(unpacked: Path) -> None:
    command = "import sys, numpy_like; print(numpy_like.answer, sys.prefix)"
    said = subprocess.run(
        [str(unpacked / "bin" / "python"), "-c", command], capture_output=True, text=True, check=True, cwd="/"
    )
    assert said.stdout.split() == ["42", str(unpacked)]


def test_what_only_the_tests_of_a_cluster_need_is_no_part_of_an_installation() -> None:
    pinned = (REPO / "conf" / "jars" / "ivy.xml").read_text()
    for_cluster = jars.wanted_jars(pinned, jars.CLUSTER)
    assert {path.partition("/")[0] for path in for_cluster} == {"hadoop", "s3proxy", "s3a"}
    assert set(for_cluster).isdisjoint(jars.wanted_jars(pinned))
    command = jars._ivy_command(jars.CLUSTER, jars.JARS / "cluster")
    # Jars deleted there because they are no longer pinned are below this folder; jars of the jobs are not.
    assert command[-1].startswith("jars/cluster/[conf]/")


def test_the_zip_has_the_package_at_its_root_and_is_written_again_only_when_a_source_changed(
    tmp_path: Path,
) -> None:
    package = tmp_path / "lib" / "offset_sync"
    (package / "deep" / "__pycache__").mkdir(parents=True)
    for name in ("__init__.py", "deep/one.py", "deep/page.html", "deep/__pycache__/one.cpython-311.pyc"):
        (package / name).write_text(name)
    target = tmp_path / "dist" / "offset_sync.zip"
    assert build_zip(package, target)
    with zipfile.ZipFile(target) as archive:
        assert archive.namelist() == [
            "offset_sync/__init__.py",
            "offset_sync/deep/one.py",
            "offset_sync/deep/page.html",
        ]
        assert archive.read("offset_sync/deep/one.py") == b"deep/one.py"
    assert [path.name for path in target.parent.iterdir()] == [target.name]
    first = target.read_bytes()
    assert not build_zip(package, target), "nothing has changed"
    (package / "__init__.py").write_text("a = 2")
    assert build_zip(package, target)
    target.write_bytes(b"cut short")
    (package / "__init__.py").write_text("__init__.py")
    assert build_zip(package, target)
    assert target.read_bytes() == first
