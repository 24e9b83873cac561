"""Build dist/offset_sync.zip for ``--py-files``: the packages at its root, as in the wheel. Standard library only."""

from __future__ import annotations

import hashlib
import os
import tempfile
import zipfile
from collections.abc import Iterator
from pathlib import Path

REPO = Path(__file__).resolve().parent.parent
_SAME_DATE = (1980, 1, 1, 0, 0, 0)


PACKAGES = ("offset_sync", "offset_sync_contents", "offset_sync_contents-*.dist-info")
"""Of ``lib``: what is shipped, and the entry points by which the first finds the second."""


def build_zip(lib: Path, target: Path) -> bool:
    """Write the packages in *lib* into *target* unless it holds these very sources; True where it was written.

    Two jobs may start at once: the new file takes the place of the old one in a single step, and equal sources give
    equal bytes.
    """
    packages = [package for pattern in PACKAGES for package in sorted(lib.glob(pattern))]
    sources = {path.relative_to(lib).as_posix(): path.read_bytes() for each in packages for path in _sources(each)}
    made_from = hashlib.sha256(repr(sorted(sources.items())).encode()).hexdigest().encode()
    if _comment(target) == made_from:
        return False
    target.parent.mkdir(parents=True, exist_ok=True)
    handle, unfinished = tempfile.mkstemp(dir=target.parent, suffix=".unfinished")
    with os.fdopen(handle, "wb") as stream, zipfile.ZipFile(stream, "w") as archive:
        for name, content in sorted(sources.items()):
            archive.writestr(zipfile.ZipInfo(name, _SAME_DATE), content, zipfile.ZIP_DEFLATED)
        archive.comment = made_from
    os.chmod(unfinished, 0o644)
    os.replace(unfinished, target)
    return True


def _sources(package: Path) -> Iterator[Path]:
    for path in sorted(package.rglob("*")):
        if path.is_file() and "__pycache__" not in path.parts and path.suffix != ".pyc":
            yield path


def _comment(target: Path) -> bytes | None:
    try:
        with zipfile.ZipFile(target) as archive:
            return archive.comment
    except (FileNotFoundError, zipfile.BadZipFile):
        return None


if __name__ == "__main__":
    zip_path = REPO / "dist" / "offset_sync.zip"
    written = build_zip(REPO / "lib", zip_path)
    print(f"{zip_path}: {'built' if written else 'up to date'}")
