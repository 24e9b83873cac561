"""Repair of a table's log on a local disk, where a power failure has left a checkpoint empty or cut off.

An entry is stored before it has its name, so none is partial. delta-rs writes checkpoints otherwise, and cannot open a
table with a partial one. It is removed where the entries up to it, with the same content, are there; they are kept for
hours.
"""

from __future__ import annotations

import fcntl
import json
import logging
import re
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TextIO

from offset_sync.model.errors import TableError

logger = logging.getLogger(__name__)
_ENTRY = re.compile(r"\d{20}\.json")
_CHECKPOINT = re.compile(r"\d{20}\.checkpoint")
_PATIENCE_SECONDS, _PAUSE_SECONDS = 60.0, 0.05


def repair_log(table: Path) -> None:
    """Remove partial checkpoints from the log of *table*; raises TableError where nothing else has their content."""
    if not _damaged_checkpoints(table):
        return
    with alone(table, _PATIENCE_SECONDS) as is_alone:
        if not is_alone:
            raise TableError(
                f"{table}: cannot repair its log: another process has locked it for {_PATIENCE_SECONDS:.0f} s; "
                "if one of our jobs or commands hangs, end it"
            )
        for each in _damaged_checkpoints(table):
            if _CHECKPOINT.match(each.name) and not _is_covered(table, each):
                raise TableError(f"{each}: cut off, and the entries before it are gone; put back a copy of the file")
            each.unlink(missing_ok=True)
            logger.warning("%s is unusable and is removed: the entries of the log have the same content", each)


@contextmanager
def alone(table: Path, patience_seconds: float = 0.0) -> Iterator[bool]:
    """Lock the log of *table* against repairs, clean-ups and checkpoints elsewhere; yield whether that succeeded.

    The lock is released when its holder ends.
    """
    gives_up_at = time.monotonic() + patience_seconds
    with (table.parent / f".{table.name}.lock").open("a+") as lock:
        while not (is_alone := _is_locked(lock)) and time.monotonic() < gives_up_at:
            time.sleep(_PAUSE_SECONDS)
        yield is_alone


def _is_locked(lock: TextIO) -> bool:
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def _is_covered(table: Path, checkpoint: Path) -> bool:
    """Return whether the content of *checkpoint* is in entries from the beginning, or after an earlier checkpoint."""
    version, log = int(checkpoint.name[:20]), table / "_delta_log"
    known = {int(each.name[:20]) for each in log.glob("*.json") if _ENTRY.fullmatch(each.name)}
    whole = {int(each.name[:20]) for each in log.glob("*.checkpoint*.parquet") if _is_parquet(each)}
    first = max((each for each in whole if each < version), default=-1) + 1
    return {*range(first, version + 1)} <= known


def _damaged_checkpoints(table: Path) -> list[Path]:
    """Return the unreadable checkpoints, and the file that names the last one where that one is missing."""
    log = table / "_delta_log"
    last, torn = log / "_last_checkpoint", [x for x in sorted(log.glob("*.checkpoint*.parquet")) if not _is_parquet(x)]
    with suppress(FileNotFoundError, ValueError, KeyError, TypeError):  # readers skip a file that is invalid
        version = int(json.loads(last.read_bytes())["version"])
        if all(each in torn for each in log.glob(f"{version:020d}.checkpoint*")):
            return [*torn, last]
    return torn


def _is_parquet(path: Path) -> bool:
    """Return whether a file begins and ends as Parquet does: what was not stored is missing or zero."""
    try:
        content = path.read_bytes()
    except FileNotFoundError:  # cleaned up since
        return True
    return content[:4] == content[-4:] == b"PAR1" and len(content) > 8
