"""`make connect`: the jar of the transform, which is the same whenever it is made, and which Connect finds."""

from __future__ import annotations

import zipfile
from pathlib import Path

import pytest

import connect_jar
import offset_sync
from connect.mirror_cases import Record, mirror_cases

pytestmark = pytest.mark.xdist_group("connect")
REPO = Path(__file__).resolve().parents[3]
CLASS = "offsetsync/connect/StampOrigin.class"
JAVA_11 = 55


@pytest.fixture(scope="module")
def jar(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The jar, where there is a compiler."""
    try:
        connect_jar.PART.find_javac()
    except SystemExit as missing:
        pytest.skip(str(missing))
    return connect_jar.build_jar(tmp_path_factory.mktemp("dist"))


def test_it_is_named_as_the_version_and_holds_one_class_and_what_tells_of_it(jar: Path) -> None:
    assert jar.name == f"offset-sync-connect-{offset_sync.__version__}.jar"
    with zipfile.ZipFile(jar) as archive:
        assert archive.namelist() == [
            "META-INF/MANIFEST.MF",
            "META-INF/LICENSE",
            "META-INF/NOTICE",
            "META-INF/services/org.apache.kafka.connect.transforms.Transformation",
            CLASS,
        ]
        assert {entry.date_time for entry in archive.infolist()} == {(1980, 1, 1, 0, 0, 0)}
        assert archive.read("META-INF/LICENSE") == (REPO / "LICENSE").read_bytes()
        assert archive.read(connect_jar.SERVICES) == b"offsetsync.connect.StampOrigin\n"
        manifest = archive.read("META-INF/MANIFEST.MF").decode().split("\r\n")
        assert manifest[0] == "Manifest-Version: 1.0"
        assert f"Implementation-Version: {offset_sync.__version__}" in manifest
        # JVMS 4.1: the magic number, and the version in the two bytes behind the minor one.
        assert archive.read(CLASS)[:8] == b"\xca\xfe\xba\xbe\0\0" + JAVA_11.to_bytes(2, "big")


def test_it_is_made_the_same_again_and_takes_the_place_of_older_ones(jar: Path, tmp_path: Path) -> None:
    for name in ("offset-sync-connect-0.0.1.jar", "offset_sync.zip"):
        (tmp_path / name).write_bytes(b"older")
    again = connect_jar.build_jar(tmp_path)
    assert sorted(path.name for path in tmp_path.iterdir()) == [jar.name, "offset_sync.zip"]
    assert again.read_bytes() == jar.read_bytes()


def test_connect_runs_what_is_in_it(jar: Path, tmp_path: Path) -> None:
    with mirror_cases(tmp_path, jar) as mirror:
        (answer,) = mirror.apply(Record())
        assert answer.result is not None
        assert answer.result.stamp() == (b"dc1", b"7", b"orders-3")
        said = mirror.ask({"options": {}, "records": [], "times": 1, "more": 0})
        assert said["version"] == offset_sync.__version__
