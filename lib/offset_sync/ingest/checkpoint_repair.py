"""A checkpoint whose newest files are empty or cut off, as a power failure leaves them where nothing was synced.

Spark refuses such a query for ever. Without the newest plan it plans that micro-batch anew, from where the one before
has ended: nothing is left out, and what was written of it may come twice. It comes under a new id of the query, for
under the old one the tables would take it for a repetition although it reads up to elsewhere. What came twice changes
nothing (design.md, invariant 3). An older file that cannot be read is a matter for a person.
"""

from __future__ import annotations

import json
import logging
import uuid

from offset_sync.model.errors import TableError
from offset_sync.spark import CHECKPOINT_FORMAT
from offset_sync.tables.files import Files

logger = logging.getLogger(__name__)
_INITIAL = "sources/0/0"
_NO_OFFSET = "-"


def repair_checkpoint(files: Files, path: str) -> list[str]:
    """Remove the newest files of the checkpoint at *path* that cannot be read; return their names.

    The query must not be running. Raises TableError, and changes nothing, where another file cannot be read that Spark
    needs. Files of another format are left to whoever reads them.
    """
    planned, done = _numbers(files, f"{path}/offsets"), _numbers(files, f"{path}/commits")
    damaged = _damaged_plans(files, path, planned)
    gone = [f"commits/{number}" for number in done[-1:] if _is_damaged(files, f"{path}/commits/{number}", lines=2)]
    if damaged and done and done[-1] == planned[-1] and not gone:
        gone = [f"commits/{done[-1]}"]
    is_nameless = _is_nameless(files, path)
    if damaged or (is_nameless and planned):
        files.write_text(f"{path}/metadata", json.dumps({"id": str(uuid.uuid4())}))
    elif is_nameless and files.exists(f"{path}/metadata"):
        gone.append("metadata")
    for name in [*gone, *damaged]:
        files.delete(f"{path}/{name}")
        logger.warning("%s/%s was empty or cut off and is removed: its micro-batch is read again", path, name)
    return [*gone, *damaged]


def _damaged_plans(files: Files, path: str, planned: list[int]) -> list[str]:
    """Return what has to go for the newest micro-batch to be planned anew; nothing where its plan can be read."""
    needed = [f"offsets/{number}" for number in planned[-2:]]
    damaged = [name for name in needed if _is_damaged(files, f"{path}/{name}", lines=3)]
    if damaged and damaged != needed[-1:]:
        raise TableError(_refusal(path, damaged[0]))
    if planned[-1:] in ([], [0]) and _is_damaged(files, f"{path}/{_INITIAL}", lines=2):
        return [*needed, _INITIAL]
    return damaged


def _numbers(files: Files, folder: str) -> list[int]:
    return sorted(int(name) for name in files.names(folder) if name.isdigit())


def _is_damaged(files: Files, path: str, lines: int) -> bool:
    """Return whether a file of so many *lines* is there and is not all of what Spark wrote."""
    try:
        text = files.read_text(path).lstrip("\0")
    except FileNotFoundError:
        return False
    except UnicodeDecodeError:
        return True
    first = f"{CHECKPOINT_FORMAT}\n"
    if not text.startswith(first):
        return first.startswith(text)
    try:
        found = [line == _NO_OFFSET or json.loads(line) for line in text.split("\n")[1:] if line]
    except ValueError:
        return True
    return len(found) < lines - 1


def _is_nameless(files: Files, path: str) -> bool:
    try:
        return not isinstance(json.loads(files.read_text(f"{path}/metadata"))["id"], str)
    except (FileNotFoundError, ValueError, KeyError, TypeError):
        return True


def _refusal(path: str, name: str) -> str:
    return (
        f"{path}/{name}: empty or cut off, and others stand on it; delete the folder {path}: its query then reads its "
        "logs again from the beginning"
    )
