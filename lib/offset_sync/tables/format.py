"""The number of the format in which tables and checkpoints are stored; state of another number is refused.

It grows with each change that the program before or after could not read, or would take for something else. Nothing is
converted: what the jobs need is read again from the logs.
"""

from __future__ import annotations

from collections.abc import Mapping

from offset_sync.model.errors import FormatError
from offset_sync.tables.files import Files

FORMAT = 4
"""With another number ``tests/golden/installation.tar.xz`` is taken anew."""
PROPERTY = "offset_sync.format"
"""The property of a table with its number."""
_FILE = "offset_sync.format"
_JOBS = ("index_records", "sync_offsets")
"""What the names below the folder of checkpoints begin with."""


def check_table(path: str, properties: Mapping[str, str]) -> None:
    """Raise FormatError if a table with these *properties* has another format."""
    _check(path, properties.get(PROPERTY))


def check_checkpoints(files: Files, folder: str) -> None:
    """Raise FormatError if the checkpoints in *folder* have another format; note the number where there are none yet.

    To be called before anything is written there.
    """
    found = _noted(files, folder)
    if found is None and any(name.startswith(_JOBS) for name in files.below(folder)):
        found = _noted(files, folder) or ""  # another job may have begun meanwhile
    if found is None:
        files.write_text(f"{folder}/{_FILE}", f"{FORMAT}\n")
    else:
        _check(folder, found)


def _noted(files: Files, folder: str) -> str | None:
    try:
        return files.read_text(f"{folder}/{_FILE}").strip()
    except FileNotFoundError:
        return None


def _check(place: str, found: str | None) -> None:
    if found != str(FORMAT):
        said = f"has format {found}" if found else "is of a version without formats"
        raise FormatError(
            f"{place}: {said}, and this version has format {FORMAT}; give tables.root and tables.checkpoints new "
            "places, see docs/operations.md, Rebuild the index"
        )
