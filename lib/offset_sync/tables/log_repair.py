"""Repair of a table's log on a local disk, where a power failure has left the newest files empty or cut off.

An append returns when its entry is stored. So a partial entry belongs to an append that never returned and that will be
repeated: a micro-batch is until it is written. Delta would read the empty file as an entry without rows, and take the
repetition for a duplicate. A partial entry below others needs an operator.

delta-rs cannot open a table with a partial checkpoint. It is removed where the entries up to it, with the same content,
are there; they are kept for hours.
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
from offset_sync.tables.transaction_log import OURS

logger = logging.getLogger(__name__)
_ENTRY = re.compile(r"\d{20}\.json")
_CHECKPOINT = re.compile(r"\d{20}\.checkpoint")
_PATIENCE_SECONDS, _PAUSE_SECONDS = 60.0, 0.05


def repair_log(table: Path) -> None:
    """Remove partial checkpoints and a partial newest entry from the log of *table*.

    Raises TableError where an empty entry is followed by others.
    """
    if not _damaged(table) and not _damaged_checkpoints(table):
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
        damaged = _damaged(table)
        if not damaged:
            return
        newest = _entries(table)[-1]
        if damaged != [newest] or any(newest.parent.glob(f"{newest.stem}.checkpoint*")):
            raise TableError(
                f"{damaged[0]}: empty or cut off, and later entries need it; put back a copy of the file, or stop all "
                "jobs and give tables.root and tables.checkpoints new places: all is read again"
            )
        for each in (newest, newest.with_suffix(".crc")):
            each.unlink(missing_ok=True)
        logger.warning("%s was empty or cut off and is removed: its append is repeated", newest)


@contextmanager
def alone(table: Path, patience_seconds: float = 0.0) -> Iterator[bool]:
    """Lock the log of *table* against repairs, clean-ups and checkpoints elsewhere; yield whether that succeeded.

    The lock is released when its holder ends. After a wait look at the entries again: one may have been replaced.
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
    known = {int(each.name[:20]) for each in _entries(table)}
    whole = {int(each.name[:20]) for each in log.glob("*.checkpoint*.parquet") if _is_parquet(each)}
    first = max((each for each in whole if each < version), default=-1) + 1
    return {*range(first, version + 1)} <= known


def _damaged_checkpoints(table: Path) -> list[Path]:
    """Return the unreadable checkpoints, and the file that names the last one where that one is missing."""
    log = table / "_delta_log"
    last, torn = log / "_last_checkpoint", [x for x in sorted(log.glob("*.checkpoint*.parquet")) if not _is_parquet(x)]
    version = _last_version(last)
    if version is None or any(each not in torn for each in log.glob(f"{version:020d}.checkpoint*")):
        return torn
    return [*torn, last]


def _last_version(last: Path) -> int | None:
    """Return the version of the last checkpoint, as the log has it; readers skip a file that is invalid."""
    try:
        return int(json.loads(last.read_bytes())["version"])
    except (FileNotFoundError, ValueError, KeyError, TypeError):
        return None


def _is_parquet(path: Path) -> bool:
    """Return whether a file begins and ends as Parquet does: what was not stored is missing or zero."""
    content = _read(path)
    return content is None or (content[:4] == content[-4:] == b"PAR1" and len(content) > 8)


def _read(path: Path) -> bytes | None:
    with suppress(FileNotFoundError):  # cleaned up since
        return path.read_bytes()
    return None


def _entries(table: Path) -> list[Path]:
    log = table / "_delta_log"
    return sorted(each for each in log.iterdir() if _ENTRY.fullmatch(each.name)) if log.is_dir() else []


def _damaged(table: Path) -> list[Path]:
    """Return the empty entries, and the newest one also where it is cut off."""
    entries = _entries(table)
    empty = [each for each in entries if _size(each) == 0]
    if entries and entries[-1] not in empty and not _is_whole(entries[-1]):
        empty.append(entries[-1])
    return empty


def _size(entry: Path) -> int | None:
    with suppress(FileNotFoundError):  # cleaned up since
        return entry.stat().st_size
    return None


def _is_whole(entry: Path) -> bool:
    """Return whether an entry has all of its lines: one of ours has their number, the first one has two.

    Errs to yes: an entry of another writer may be a single line.
    """
    if (content := _read(entry)) is None:
        return True
    try:
        lines = [json.loads(line) for line in content.splitlines() if line.strip()]
    except ValueError:
        return False
    kinds = [kind for line in lines for kind in line if kind != "commitInfo"]
    ours = next((line["commitInfo"].get(OURS) for line in lines if "commitInfo" in line), None)
    if isinstance(ours, dict):
        return len(kinds) >= int(ours["actions"])
    return {"protocol", "metaData"} <= {*kinds} if int(entry.name[:20]) == 0 else bool(lines)
