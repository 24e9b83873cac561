"""`make consumer`: the jar of the interceptor, for Java 8; and the wheel, installed."""

from __future__ import annotations

import subprocess
import sys
import zipfile
from importlib.metadata import PathDistribution
from pathlib import Path

import pytest

import consumer_wheel
import offset_sync
import offset_sync_consumer

pytestmark = pytest.mark.xdist_group("consumer")
SOURCES = Path(__file__).resolve().parents[3] / "consumer" / "src"
JAVA_8 = 52


def test_the_jar_holds_the_classes_for_java_8(consumer_jar_file: Path) -> None:
    with zipfile.ZipFile(consumer_jar_file) as archive:
        names = archive.namelist()
        assert names[:3] == ["META-INF/MANIFEST.MF", "META-INF/LICENSE", "META-INF/NOTICE"]
        assert {f"{path.relative_to(SOURCES).with_suffix('.class')}" for path in SOURCES.rglob("*.java")} <= {*names}
        # JVMS 4.1: the magic number, and the version in the two bytes behind the minor one.
        heads = {archive.read(name)[:8] for name in names[3:]}
        assert heads == {b"\xca\xfe\xba\xbe\0\0" + JAVA_8.to_bytes(2, "big")}


def test_pip_installs_the_wheel_and_it_can_be_imported(tmp_path: Path) -> None:
    wheel = consumer_wheel.build_wheel(tmp_path / "dist")
    pip = [sys.executable, "-m", "pip", "install", "--no-index", "--no-deps", "--disable-pip-version-check", "-q"]
    subprocess.run([*pip, "--target", str(tmp_path), str(wheel)], check=True)
    (about,) = tmp_path.glob("*.dist-info")
    installed = PathDistribution(about)
    assert installed.version == offset_sync.__version__ == offset_sync_consumer.__version__
    assert installed.requires == ["confluent-kafka>=2.16"]
    told = f"import sys; sys.path.insert(0, {str(tmp_path)!r}); import offset_sync_consumer.aio as a; print(a.__file__)"
    said = subprocess.run([sys.executable, "-c", told], capture_output=True, text=True, check=True, cwd=tmp_path)
    assert said.stdout == f"{tmp_path}/offset_sync_consumer/aio.py\n"
