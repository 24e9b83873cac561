"""Append Arrow tables to Delta tables without a Spark job.

A micro-batch appends some hundred rows. Through Spark's writer that is two jobs and a replay of the whole table state,
0.9 s of processor time however few the rows; this way it is 0.06 s (``benchmarks/append.py``).
"""

from __future__ import annotations

import math
import threading
import time
from collections import defaultdict
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import pyarrow as pa
from pyspark.sql import SparkSession

from offset_sync.tables.delta.jvm import JavaError
from offset_sync.tables.delta.kernel import Kernel, Snapshot, Transaction, Writer, is_changed, is_repeated
from offset_sync.tables.delta.lock import table_lock
from offset_sync.tables.delta.task_files import WrittenFiles

_ATTEMPTS = 5
_FRESH_SECONDS = 300.0
"""A file without an entry in the log is not older than that when it gets one: VACUUM may take what is."""
_REMEDY = "let a micro-batch have fewer records (max_offsets_per_trigger), or find out why the storage is slow"


class DeltaAppender:
    """Appends to tables on any Hadoop file system; threads may share it.

    *before_entry* is called with the path of the table when a file is written that is not in the log yet.
    """

    def __init__(self, spark: SparkSession, before_entry: Callable[[str], None] = lambda _path: None) -> None:
        self._before_entry = before_entry
        self.kernel = Kernel(spark)
        self._tails: defaultdict[str, _Tail] = defaultdict(_Tail)

    def append(
        self,
        path: str,
        rows: pa.Table,
        writer: tuple[str, int] | None = None,
        written: WrittenFiles | None = None,
    ) -> None:
        """Append *rows*, once for each *writer* (application id, version): a version not above the last is left out.

        What tasks have *written* is entered with them. The log's entry is what makes the rows visible, all or none. A
        file without one, left by whoever dies in between, is never read, and removed by ``VACUUM``. Raises JavaError
        when the table cannot be written, and TimeoutError where a file would be too old when it gets its entry.
        """
        content = _Content(rows, written)
        tail = self._tails[path]
        with tail.lock:
            snapshot, tail.snapshot = tail.snapshot, None
            for attempt in range(1, _ATTEMPTS + 1):
                try:
                    is_done, tail.snapshot = self._commit(path, snapshot or self.kernel.newest(path), content, writer)
                    if is_done:
                        return
                except JavaError as problem:
                    # What the last append has left may be too old to go on from; then look at what the table is now.
                    is_final = attempt == _ATTEMPTS or not is_changed(problem)
                    if is_final and snapshot is None:
                        raise
                snapshot = None
            raise TimeoutError(f"{path}: no entry within {_FRESH_SECONDS:.0f} s of writing a file; {_REMEDY}")

    def _commit(
        self, path: str, snapshot: Snapshot, content: _Content, writer: tuple[str, int] | None
    ) -> tuple[bool, Snapshot | None]:
        """Commit on top of *snapshot*; return whether it is done, and the table as it is then.

        None for a table that has to be looked up. Not done is what took so long that VACUUM may take the file.
        """
        try:
            transaction = self.kernel.begin(path, snapshot, writer and Writer(*writer))
            began_at = min(time.time(), math.inf if content.written is None else content.written.began_at)
            actions = content.add_to(transaction)
            self._before_entry(path)
            with table_lock(self.kernel.files.local(path)):
                if time.time() - began_at > _FRESH_SECONDS:
                    return False, None
                commit = transaction.commit(*actions)
        except JavaError as problem:
            if writer is None or not is_repeated(problem):
                raise
            return True, snapshot
        return True, commit.finish()


class _Content(NamedTuple):
    """What an append adds: *rows*, which are still to be written, and files that tasks have *written*."""

    rows: pa.Table
    written: WrittenFiles | None

    def add_to(self, transaction: Transaction) -> list[Any]:
        """Write the rows as a file; return iterators, of Kernel's, of the actions that add everything."""
        actions = [transaction.add(self.rows)] if self.rows.num_rows else []
        return [*actions, transaction.enter(self.written.files)] if self.written is not None else actions


@dataclass
class _Tail:
    """The end of a table's log, as the last append has left it: the next one need not list the whole log for it."""

    lock: threading.Lock = field(default_factory=threading.Lock)
    snapshot: Snapshot | None = None
