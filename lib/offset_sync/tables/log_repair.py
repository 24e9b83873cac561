"""A log of a table on a local disk of which the newest files are empty or cut off, as a power failure leaves them.

An append returns when its entry is stored. So an entry that is not whole belongs to an append that never returned, and
what was to be appended comes again: a micro-batch is repeated until it is written. Delta would take the empty file for
an entry without rows, and the repetition for one. An entry with others above it is a matter for a person.

delta-rs cannot open a table with a checkpoint that is not whole. The checkpoint is removed where the entries up to it,
which say the same, are there; they stay for hours.
"""

from __future__ import annotations

import fcntl
import json
import logging
import os
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


def repair_log(table: Path) -> bool:
    """Remove what is not whole of the log of *table*: checkpoints, and the newest entry; return whether that was one.

    Raises TableError where an entry that others stand on is empty.
    """
    if not _damaged(table) and not _damaged_checkpoints(table):
        return False
    with alone(table, _PATIENCE_SECONDS) as is_alone:
        if not is_alone:
            raise TableError(
                f"{table}: its log is to be repaired, and another process holds it for {_PATIENCE_SECONDS:.0f} s; "
                "if one of our jobs or commands hangs, end it"
            )
        for each in _damaged_checkpoints(table):
            if _CHECKPOINT.match(each.name) and not _is_said_otherwise(table, each):
                raise TableError(f"{each}: cut off, and the entries before it are gone; put back a copy of the file")
            each.unlink(missing_ok=True)
            logger.warning("%s is of no use and is removed: the entries of the log say the same", each)
        damaged = _damaged(table)
        if not damaged:
            return False
        newest = _entries(table)[-1]
        if damaged != [newest] or any(newest.parent.glob(f"{newest.stem}.checkpoint*")):
            raise TableError(
                f"{damaged[0]}: empty or cut off, and others stand on it; put back a copy of the file, or stop all "
                "jobs and give tables.root and tables.checkpoints new places: all is read again"
            )
        for each in (newest, newest.with_name(f".{newest.name}.crc"), newest.with_suffix(".crc")):
            each.unlink(missing_ok=True)
        logger.warning("%s was empty or cut off and is removed: what it was to enter comes again", newest)
    return True


@contextmanager
def alone(table: Path, patience_seconds: float = 0.0) -> Iterator[bool]:
    """Have no other process repair or clean up the log of *table*, or write a checkpoint; yield whether that is so.

    What is locked is free when its holder ends. Who waits to repair may have seen an entry that has another one in its
    place by then.
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


def _is_said_otherwise(table: Path, checkpoint: Path) -> bool:
    """Return whether what *checkpoint* says is in entries from the beginning, or after an earlier checkpoint."""
    version, log = int(checkpoint.name[:20]), table / "_delta_log"
    known = {int(each.name[:20]) for each in _entries(table)}
    whole = {int(each.name[:20]) for each in log.glob("*.checkpoint*.parquet") if _is_parquet(each)}
    first = max((each for each in whole if each < version), default=-1) + 1
    return {*range(first, version + 1)} <= known


def _damaged_checkpoints(table: Path) -> list[Path]:
    """Return the checkpoints that cannot be read, and the file that names the last one where there is no such one."""
    log = table / "_delta_log"
    last, torn = log / "_last_checkpoint", [x for x in sorted(log.glob("*.checkpoint*.parquet")) if not _is_parquet(x)]
    version = _last_version(last)
    if version is None or any(each not in torn for each in log.glob(f"{version:020d}.checkpoint*")):
        return torn
    return [*torn, last]


def _last_version(last: Path) -> int | None:
    """Return of which version the last checkpoint is, as the log says; readers pass over what is no such file."""
    try:
        return int(json.loads(last.read_bytes())["version"])
    except (FileNotFoundError, ValueError, KeyError, TypeError):
        return None


def _is_parquet(path: Path) -> bool:
    """Return whether a file begins and ends as Parquet does: what was not stored is missing or zero."""
    try:
        with path.open("rb") as file:
            first = file.read(4)
            size = file.seek(0, os.SEEK_END)
            file.seek(max(0, size - 4))
            return first == file.read() == b"PAR1" and size > 2 * len(first)
    except FileNotFoundError:  # cleaned up since
        return True


def _entries(table: Path) -> list[Path]:
    log = table / "_delta_log"
    return sorted(each for each in log.iterdir() if _ENTRY.fullmatch(each.name)) if log.is_dir() else []


def _damaged(table: Path) -> list[Path]:
    """Return the entries without content, and the newest one also where it ends in the middle."""
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
    """Return whether an entry has all of its lines: one of ours says how many, the first one has two.

    Errs to yes: what others entered may be a single line.
    """
    try:
        lines = [json.loads(line) for line in entry.read_text(encoding="utf-8").splitlines() if line.strip()]
    except ValueError:
        return False
    except FileNotFoundError:  # cleaned up since
        return True
    kinds = [kind for line in lines for kind in line if kind != "commitInfo"]
    ours = next((line["commitInfo"].get(OURS) for line in lines if "commitInfo" in line), None)
    if isinstance(ours, dict):
        return len(kinds) >= int(ours["actions"])
    return {"protocol", "metaData"} <= {*kinds} if int(entry.name[:20]) == 0 else bool(lines)
