"""Build dist/offset_sync_consumer-VERSION-py3-none-any.whl of consumer/python. Standard library only.

Written by hand, so that it takes no network and is the same, byte for byte, whenever it is built (PEP 427).
"""

from __future__ import annotations

import base64
import hashlib
import tomllib
import zipfile
from pathlib import Path
from typing import Any

REPO = Path(__file__).resolve().parent.parent
_SOURCES = REPO / "consumer" / "python"
_PACKAGE = "offset_sync_consumer"
_SAME_DATE = (1980, 1, 1, 0, 0, 0)
_WHEEL = b"Wheel-Version: 1.0\nGenerator: scripts/consumer_wheel.py\nRoot-Is-Purelib: true\nTag: py3-none-any\n"
_LICENSES = ("LICENSE", "NOTICE")


def build_wheel(folder: Path) -> Path:
    """Write the wheel into *folder*, in place of any other one there; return it."""
    version = _version()
    about = f"{_PACKAGE}-{version}.dist-info"
    entries = {path.relative_to(_SOURCES).as_posix(): path.read_bytes() for path in sorted(_package_files())}
    entries |= {f"{about}/licenses/{name}": (REPO / name).read_bytes() for name in _LICENSES}
    entries |= {f"{about}/METADATA": _metadata(version).encode(), f"{about}/WHEEL": _WHEEL}
    entries[f"{about}/RECORD"] = _record(entries, f"{about}/RECORD")
    folder.mkdir(parents=True, exist_ok=True)
    for former in folder.glob(f"{_PACKAGE}-*.whl"):
        former.unlink()
    wheel = folder / f"{_PACKAGE}-{version}-py3-none-any.whl"
    # Not packed, as not every zlib packs alike.
    with zipfile.ZipFile(wheel, "w") as archive:
        for name, content in entries.items():
            member = zipfile.ZipInfo(name, _SAME_DATE)
            member.external_attr = 0o644 << 16
            archive.writestr(member, content)
    return wheel


def _package_files() -> list[Path]:
    return [path for path in (_SOURCES / _PACKAGE).iterdir() if path.suffix == ".py" or path.name == "py.typed"]


def _version() -> str:
    found: dict[str, Any] = {}
    exec((_SOURCES / _PACKAGE / "version.py").read_text(encoding="utf-8"), found)
    return str(found["__version__"])


def _metadata(version: str) -> str:
    """Return the core metadata (2.4) of what ``pyproject.toml`` says."""
    project: dict[str, Any] = tomllib.loads((_SOURCES / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    lines = [
        "Metadata-Version: 2.4",
        f"Name: {project['name']}",
        f"Version: {version}",
        f"Summary: {project['description']}",
        f"License-Expression: {project['license']}",
        *(f"License-File: {name}" for name in _LICENSES),
        *(f"Classifier: {each}" for each in project["classifiers"]),
        f"Requires-Python: {project['requires-python']}",
        *(f"Requires-Dist: {each}" for each in project["dependencies"]),
        "Description-Content-Type: text/markdown",
    ]
    return "\n".join(lines) + "\n\n" + (_SOURCES / str(project["readme"])).read_text(encoding="utf-8")


def _record(entries: dict[str, bytes], name: str) -> bytes:
    lines = [f"{path},sha256={_digest(content)},{len(content)}\n" for path, content in entries.items()]
    return "".join([*lines, f"{name},,\n"]).encode()


def _digest(content: bytes) -> str:
    return base64.urlsafe_b64encode(hashlib.sha256(content).digest()).rstrip(b"=").decode()


if __name__ == "__main__":
    print(build_wheel(REPO / "dist"))
