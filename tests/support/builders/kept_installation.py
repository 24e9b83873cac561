"""The tables and checkpoints of ``tests/golden/installation.tar.xz``, see ``unit/state/test_kept_installation.py``."""

from __future__ import annotations

import tarfile
from pathlib import Path

from fakes.reconciler_site import config_of
from offset_sync.config import Config


def kept_installation(folder: Path) -> Config:
    """Unpack it into *folder*; return its configuration."""
    with tarfile.open(Path(__file__).parents[2] / "golden" / "installation.tar.xz") as archive:
        archive.extractall(folder, filter="data")
    places = {"root": f"{folder}/tables", "checkpoints": f"{folder}/checkpoints"}
    named = {"names": "mm2", "place_header": "Place"}
    return config_of(["dc1", "dc2"], mirror=named, topics={"include": ["named"]}, tables=places)
