"""Whether tables and checkpoints can be written to, wherever they lie."""

from __future__ import annotations

import os
import tempfile
import uuid
from collections.abc import Iterator
from pathlib import Path

from offset_sync.config import Config
from offset_sync.model.errors import PlatformError
from offset_sync.model.finding import Finding, Level
from offset_sync.model.text import told
from offset_sync.tables.files import Files, files_of
from offset_sync.tables.storage_check import check_storage

_PLACE = "tables"


def check_places(config: Config) -> Iterator[Finding]:
    """Yield a line for each place; a file is written there and deleted again."""
    files = files_of(config)
    for key, path in (("root", config.tables.root), ("checkpoints", config.tables.checkpoints)):
        own = files.local(path)
        yield _check_storage(key, path, files) if own is None else _check_folder(key, own)


def _check_folder(key: str, folder: Path) -> Finding:
    # What is not there yet is not made: the jobs do that. It has to be possible where it would be made.
    there = next(each for each in (folder.absolute(), *folder.absolute().parents) if each.exists())
    try:
        with tempfile.NamedTemporaryFile(dir=there, prefix=".offset-sync-check-") as file:
            file.write(b"check")
            file.flush()
    except OSError as error:
        reason = error.strerror or type(error).__name__
        return Finding(Level.FAIL, _PLACE, key, f"{there} cannot be written to ({reason}); let uid {os.getuid()} do it")
    is_there = there == folder.absolute()
    return Finding(Level.OK, _PLACE, key, str(folder) if is_there else f"{folder}, which will be made in {there}")


def _check_storage(key: str, path: str, files: Files) -> Finding:
    name = f"{path.rstrip('/')}/.offset-sync-check-{uuid.uuid4()}"
    try:
        files.write_text(name, "check")
        files.delete(name)
        if key == "root":
            check_storage(path, files)
    except PlatformError as error:
        return Finding(Level.FAIL, _PLACE, key, str(error))
    except OSError as error:
        text = f"{path} cannot be written to ({told(error)[:300]}); see tables.storage in conf/reference.yaml"
        return Finding(Level.FAIL, _PLACE, key, text)
    return Finding(Level.OK, _PLACE, key, path)
