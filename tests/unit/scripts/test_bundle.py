"""The zip for --py-files."""

from __future__ import annotations

import zipfile
from pathlib import Path

from bundle import build_zip


def test_the_zip_has_the_package_at_its_root_and_no_bytecode(tmp_path: Path) -> None:
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


def test_the_zip_is_written_again_only_when_a_source_changed(tmp_path: Path) -> None:
    package = tmp_path / "offset_sync"
    package.mkdir()
    (package / "__init__.py").write_text("a = 1")
    target = tmp_path / "x.zip"
    assert build_zip(package, target)
    first = target.read_bytes()
    assert not build_zip(package, target)
    (package / "__init__.py").write_text("a = 2")
    assert build_zip(package, target)
    target.write_bytes(b"cut short")
    (package / "__init__.py").write_text("a = 1")
    assert build_zip(package, target)
    assert target.read_bytes() == first
