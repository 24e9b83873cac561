"""Append Arrow tables to Delta tables without a Spark job.

A micro-batch appends some hundred rows. Through Spark's writer that is two jobs and a replay of the whole table state,
0.9 s of processor time however few the rows; this way it is 0.06 s (``benchmarks/append.py``).
"""

from __future__ import annotations

import threading
import time
from collections import defaultdict
from dataclasses import dataclass, field
from typing import Any

import pyarrow as pa
from py4j.protocol import Py4JJavaError
from pyspark.sql import SparkSession

from offset_sync.tables.delta.kernel import KernelWriter
from offset_sync.tables.delta.lock import table_lock

_ALREADY_THERE = "io.delta.kernel.exceptions.ConcurrentTransactionException"
_CHANGED = {f"io.delta.kernel.exceptions.{name}Exception" for name in ("MetadataChanged", "ProtocolChanged")}
"""Somebody set a property of the table since the append began, as maintenance does once."""
_ATTEMPTS = 5
_FRESH_SECONDS = 300.0
"""A file without an entry in the log is not older than that when it gets one: VACUUM may take what is."""


class DeltaAppender(KernelWriter):
    """Appends to tables on any Hadoop file system; threads may share it."""

    def __init__(self, spark: SparkSession) -> None:
        super().__init__(spark)
        self._tails: defaultdict[str, _Tail] = defaultdict(_Tail)

    def append(self, path: str, rows: pa.Table, writer: tuple[str, int] | None = None) -> None:
        """Append *rows*, once for each *writer* (application id, version): a version not above the last is left out.

        The log's entry is what makes the rows visible, all or none. A file without one, left by whoever dies in
        between, is never read, and removed by ``VACUUM``. Raises Py4JJavaError when the table cannot be written.
        """
        tail = self._tails[path]
        with tail.lock:
            snapshot, tail.snapshot = tail.snapshot, None
            for attempt in range(1, _ATTEMPTS + 1):
                try:
                    is_done, tail.snapshot = self._commit(path, snapshot or self._newest(path), rows, writer)
                    if is_done:
                        return
                except Py4JJavaError as problem:
                    # What the last append has left may be too old to go on from; then look at what the table is now.
                    is_final = attempt == _ATTEMPTS or problem.java_exception.getClass().getName() not in _CHANGED
                    if is_final and snapshot is None:
                        raise
                snapshot = None
            raise TimeoutError(f"{path}: no entry in the log within {_FRESH_SECONDS:.0f} s of writing a file")

    def _commit(self, path: str, snapshot: Any, rows: pa.Table, writer: tuple[str, int] | None) -> tuple[bool, Any]:
        """Commit on top of *snapshot*; return whether it is done, and the table as it is then.

        None for a table that has to be looked up. Not done is what took so long that VACUUM may take the file.
        """
        builder = self._update(snapshot)
        if writer is not None:
            builder = builder.withTransactionId(*writer)
        try:
            transaction = builder.build(self._engine)
            began_at = time.time()
            actions = self._actions(transaction, self._write(path, rows, transaction))
            with table_lock(self._files.local(path)):
                if time.time() - began_at > _FRESH_SECONDS:
                    return False, None
                result = transaction.commit(self._engine, actions)
        except Py4JJavaError as problem:
            if writer is None or problem.java_exception.getClass().getName() != _ALREADY_THERE:
                raise
            return True, snapshot
        return True, None if self._has_checkpointed(path, result) else result.getPostCommitSnapshot().orElse(None)

    def _actions(self, transaction: Any, file: Any) -> Any:
        return self._kernel.utils.CloseableIterable.inMemoryIterable(self._additions(transaction, file))


@dataclass
class _Tail:
    """The end of a table's log, as the last append has left it: the next one need not list the whole log for it."""

    lock: threading.Lock = field(default_factory=threading.Lock)
    snapshot: Any = None
