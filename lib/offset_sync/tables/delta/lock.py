"""One writer at a time where the file system cannot see to it.

Delta's log relies on a file system that refuses to replace a file. HDFS, ABFS and GCS do; a local disk, as Hadoop sees
it, looks first and then replaces: of two commits at the same moment one is lost, without an error (tried: 8 threads,
the first round). S3 is left to ``log_store.py``, or to ``S3DynamoDBLogStore`` (docs/operations.md), for nothing here
can lock among machines.
"""

from __future__ import annotations

import fcntl
import json
import logging
import os
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TextIO

from offset_sync.model.errors import TableError

logger = logging.getLogger(__name__)
PATIENCE_SECONDS = 900.0
"""So long a compaction of a large table may take."""
_REMARK_SECONDS = 30.0
_FIRST_PAUSE_SECONDS, _LONGEST_PAUSE_SECONDS = 0.001, 0.05


@contextmanager
def table_lock(table: Path | None, patience_seconds: float = PATIENCE_SECONDS) -> Iterator[None]:
    """Hold the lock of the *table* in a local folder, among all threads and processes of this machine; None: no lock.

    The lock file lies beside the table, for the table itself may not be there yet. It ends with its holder, and says
    who that is. Raises TableError where somebody else holds it for longer than the patience.
    """
    if table is None:
        yield
        return
    table.parent.mkdir(parents=True, exist_ok=True)
    with (table.parent / f".{table.name}.lock").open("a+") as lock:
        _take(lock, table, patience_seconds)
        _sign(lock)
        yield


def _take(lock: TextIO, table: Path, patience_seconds: float) -> None:
    began_at, pause, is_told = time.monotonic(), _FIRST_PAUSE_SECONDS, False
    while True:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            waited = time.monotonic() - began_at
            if waited > patience_seconds:
                raise TableError(
                    f"{table}: locked for {waited:.0f} s by {_holder(lock)}; if it hangs, end it: its lock ends with it"
                ) from None
            if waited > _REMARK_SECONDS and not is_told:
                logger.info("%s: waits for %s, which writes there", table, _holder(lock))
                is_told = True
            time.sleep(pause)
            pause = min(2 * pause, _LONGEST_PAUSE_SECONDS)
        else:
            return


def _sign(lock: TextIO) -> None:
    """Write down who holds it; the lock holds without, as on a disk that is full. Past the buffer of the file, which
    would be written again when it is closed.
    """
    holder = {"pid": os.getpid(), "job": Path(sys.argv[0]).stem, "since": time.strftime("%FT%TZ", time.gmtime())}
    try:
        os.ftruncate(lock.fileno(), 0)
        os.pwrite(lock.fileno(), json.dumps(holder).encode(), 0)
    except OSError as problem:
        logger.info("%s: not signed: %s", lock.name, problem)


def _holder(lock: TextIO) -> str:
    try:
        lock.seek(0)
        said = json.load(lock)
        return f"process {said['pid']} ({said['job']}) since {said['since']}"
    except (ValueError, KeyError, TypeError, OSError):
        return "a process that has not said who it is"
