"""One writer at a time where the file system cannot see to it.

Delta's log relies on a file system that refuses to replace a file. HDFS, ABFS and GCS do; a local disk, as Hadoop sees
it, looks first and then replaces: of two commits at the same moment one is lost, without an error (tried: 8 threads,
the first round). So does S3 under Delta's own log store for it, whose lock holds inside one JVM only: there it takes
``S3DynamoDBLogStore`` (docs/operations.md), for nothing here can lock among machines.
"""

from __future__ import annotations

import fcntl
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


@contextmanager
def table_lock(table: Path | None) -> Iterator[None]:
    """Hold the lock of the *table* in a local folder, among all threads and processes of this machine; None: no lock.

    The lock file lies beside the table, for the table itself may not be there yet. It ends with its holder.
    """
    if table is None:
        yield
        return
    table.parent.mkdir(parents=True, exist_ok=True)
    with (table.parent / f".{table.name}.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield
