"""A log of a table on a local disk whose newest entry is empty or cut off, as a power failure leaves it.

An append returns when its entry is stored. So an entry that is not whole belongs to an append that never returned, and
what was to be appended comes again: a micro-batch is repeated until it is written. Delta would take the empty file for
an entry without rows, and the repetition for one. An entry with others above it is a matter for a person.
"""

from __future__ import annotations

import json
import logging
import re
from pathlib import Path

from offset_sync.model.errors import TableError
from offset_sync.tables.delta.lock import table_lock

logger = logging.getLogger(__name__)
_ENTRY = re.compile(r"\d{20}\.json")


def repair_log(table: Path) -> bool:
    """Remove the newest entry of the log of *table* if it is not whole; return whether it was removed.

    Raises TableError where an entry that others stand on is empty.
    """
    if not _damaged(table):
        return False
    with table_lock(table):  # nobody is just writing it
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


def _entries(table: Path) -> list[Path]:
    log = table / "_delta_log"
    return sorted(each for each in log.iterdir() if _ENTRY.fullmatch(each.name)) if log.is_dir() else []


def _damaged(table: Path) -> list[Path]:
    """Return the entries without content, and the newest one also where it ends in the middle."""
    entries = _entries(table)
    empty = [each for each in entries if each.stat().st_size == 0]
    if entries and entries[-1] not in empty and not _is_whole(entries[-1]):
        empty.append(entries[-1])
    return empty


def _is_whole(entry: Path) -> bool:
    try:
        lines = [json.loads(line) for line in entry.read_text(encoding="utf-8").splitlines() if line.strip()]
    except ValueError:
        return False
    return bool(lines)
