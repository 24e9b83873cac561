"""`make consumer`: the jar of the interceptor, which is the same whenever it is made, and runs on Java 8."""

from __future__ import annotations

import zipfile
from pathlib import Path

import pytest

import consumer_jar
import offset_sync

pytestmark = pytest.mark.xdist_group("consumer")
REPO = Path(__file__).resolve().parents[3]
SOURCES = REPO / "consumer" / "src"
JAVA_8 = 52


def test_it_is_named_as_the_version_and_holds_the_classes_and_what_tells_of_them(consumer_jar_file: Path) -> None:
    assert consumer_jar_file.name == f"offset-sync-consumer-{offset_sync.__version__}.jar"
    with zipfile.ZipFile(consumer_jar_file) as archive:
        names = archive.namelist()
        assert names[:3] == ["META-INF/MANIFEST.MF", "META-INF/LICENSE", "META-INF/NOTICE"]
        outer = {name for name in names[3:] if "$" not in name}
        assert outer == {path.relative_to(SOURCES).with_suffix(".class").as_posix() for path in SOURCES.rglob("*.java")}
        assert "offsetsync/consumer/SkipRead.class" in outer
        assert f"Implementation-Version: {offset_sync.__version__}\r\n" in archive.read(names[0]).decode()
        # JVMS 4.1: the magic number, and the version in the two bytes behind the minor one.
        heads = {archive.read(name)[:8] for name in names[3:]}
        assert heads == {b"\xca\xfe\xba\xbe\0\0" + JAVA_8.to_bytes(2, "big")}


def test_it_is_made_the_same_again_and_takes_the_place_of_older_ones(consumer_jar_file: Path, tmp_path: Path) -> None:
    for name in ("offset-sync-consumer-0.0.1.jar", "offset-sync-connect-0.0.1.jar"):
        (tmp_path / name).write_bytes(b"older")
    again = consumer_jar.build_jar(tmp_path)
    kept = ["offset-sync-connect-0.0.1.jar", consumer_jar_file.name]
    assert sorted(path.name for path in tmp_path.iterdir()) == kept
    assert again.read_bytes() == consumer_jar_file.read_bytes()
