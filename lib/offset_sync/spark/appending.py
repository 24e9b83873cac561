"""Append Arrow tables to Delta tables without a Spark job: a Parquet file, and its entry in the log by Delta Kernel.

A micro-batch appends some hundred rows. Through Spark's writer that is two jobs and a replay of the whole table state,
0.9 s of processor time however few the rows; this way it is 0.06 s (``benchmarks/append.py``). Delta Kernel is Delta's
own library for engines other than Spark, and delta-spark brings it along.
"""

from __future__ import annotations

import json
import logging
import threading
import time
import uuid
from collections import defaultdict
from dataclasses import dataclass, field
from datetime import datetime, timedelta, timezone
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
from py4j.protocol import Py4JJavaError
from pyspark.sql import SparkSession

from offset_sync.spark.files import HadoopFiles
from offset_sync.spark.locking import alone_at

logger = logging.getLogger(__name__)
_ENGINE = "offset-sync"
_ALREADY_THERE = "io.delta.kernel.exceptions.ConcurrentTransactionException"
_CHANGED = {f"io.delta.kernel.exceptions.{name}Exception" for name in ("MetadataChanged", "ProtocolChanged")}
"""Somebody set a property of the table since the append began, as maintenance does once."""
_ATTEMPTS = 5
_FRESH_SECONDS = 300.0
"""A file without an entry in the log is not older than that when it gets one: VACUUM may take what is."""
_FIRST_MS, _LAST_MS = -62_135_596_800_000, 253_402_300_799_999
"""The years 1 to 9999; times beyond have no statistics."""
_LONGEST = 256
"""Longer strings have no statistics: the log would grow with them."""


class Appender:
    """Appends to tables on any Hadoop file system; threads may share it."""

    def __init__(self, spark: SparkSession) -> None:
        jvm: Any = spark._jvm
        self._jvm = jvm
        self._files = HadoopFiles(spark)
        engines = jvm.io.delta.kernel.defaults.engine.DefaultEngine
        self._engine = engines.create(spark._jsc.hadoopConfiguration())
        self._tails: defaultdict[str, _Tail] = defaultdict(_Tail)

    def version(self, path: str) -> int:
        """Return the last version of a table."""
        return int(self._newest(path).getVersion())

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

    def _newest(self, path: str) -> Any:
        return self._jvm.io.delta.kernel.Table.forPath(self._engine, path).getLatestSnapshot(self._engine)

    def _commit(self, path: str, snapshot: Any, rows: pa.Table, writer: tuple[str, int] | None) -> tuple[bool, Any]:
        """Commit on top of *snapshot*; return whether it is done, and the table as it is then.

        None for a table that has to be looked up. Not done is what took so long that VACUUM may take the file.
        """
        builder = snapshot.buildUpdateTableTransaction(_ENGINE, self._jvm.io.delta.kernel.Operation.WRITE)
        if writer is not None:
            builder = builder.withTransactionId(*writer)
        try:
            transaction = builder.build(self._engine)
            began_at = time.time()
            actions = self._actions(transaction, self._write(path, rows, transaction))
            with alone_at(self._files.local(path)):
                if time.time() - began_at > _FRESH_SECONDS:
                    return False, None
                result = transaction.commit(self._engine, actions)
        except Py4JJavaError as problem:
            if writer is None or problem.java_exception.getClass().getName() != _ALREADY_THERE:
                raise
            return True, snapshot
        return True, None if self._has_checkpointed(path, result) else result.getPostCommitSnapshot().orElse(None)

    def _has_checkpointed(self, path: str, result: Any) -> bool:
        """Write a checkpoint where one is due: from then on the table is known by it and not by every entry before.

        Checksums, the other thing to do after a commit, cost a third of it and twice the files, and nobody needs them.
        """
        due = [hook for hook in result.getPostCommitHooks() if hook.getType().toString() == "CHECKPOINT"]
        for hook in due:
            try:
                hook.threadSafeInvoke(self._engine)
            except Py4JJavaError as problem:  # the rows are in the table all the same
                logger.warning("%s: no checkpoint written: %s", path, problem.java_exception)
        return bool(due)

    def _write(self, path: str, rows: pa.Table, transaction: Any) -> Any:
        """Write the data file and return what the log shall say of it."""
        name, size = self._files.write_parquet(f"{path}/part-00000-{uuid.uuid4()}-c000.snappy.parquet", rows)
        kernel, facts = self._jvm.io.delta.kernel, json.dumps(statistics_of(rows))
        schema = transaction.getSchema(self._engine)
        statistics = kernel.statistics.DataFileStatistics.deserializeFromJson(facts, schema)
        return kernel.utils.DataFileStatus(name, size, int(time.time() * 1000), statistics)

    def _actions(self, transaction: Any, file: Any) -> Any:
        kernel, engine = self._jvm.io.delta.kernel, self._engine
        state = transaction.getTransactionState(engine)
        context = kernel.Transaction.getWriteContext(engine, state, self._jvm.java.util.HashMap())
        files = kernel.internal.util.Utils.singletonCloseableIterator(file)
        actions = kernel.Transaction.generateAppendActions(engine, state, files, context)
        return kernel.utils.CloseableIterable.inMemoryIterable(actions)


@dataclass
class _Tail:
    """The end of a table's log, as the last append has left it: the next one need not list the whole log for it."""

    lock: threading.Lock = field(default_factory=threading.Lock)
    snapshot: Any = None


def statistics_of(rows: pa.Table) -> dict[str, Any]:
    """Return Delta's statistics of a file: readers skip files by them, and the clustered columns must have them.

    A maximum is rounded up to the milliseconds that the format has: below the true one it would hide rows.
    """
    least, most, nulls = dict[str, Any](), dict[str, Any](), dict[str, int]()
    for name, column in zip(rows.column_names, rows.columns, strict=True):
        nulls[name] = column.null_count
        extent = _extent(column) if column.null_count < len(column) else None
        if extent is not None:
            least[name], most[name] = extent
    return {"numRecords": rows.num_rows, "minValues": least, "maxValues": most, "nullCount": nulls}


def _extent(column: pa.ChunkedArray) -> tuple[Any, Any] | None:
    """Return a lower and an upper bound of the values, None where the log shall not have any."""
    if pa.types.is_timestamp(column.type):
        bounds = pc.min_max(column.cast(pa.int64())).as_py()
        least_ms, most_ms = bounds["min"] // 1000, -(-bounds["max"] // 1000)
        return (_iso(least_ms), _iso(most_ms)) if least_ms >= _FIRST_MS and most_ms <= _LAST_MS else None
    if not (pa.types.is_integer(column.type) or pa.types.is_string(column.type)):
        return None
    least, most = pc.min_max(column).as_py().values()
    return None if isinstance(least, str) and max(len(least), len(most)) > _LONGEST else (least, most)


def _iso(milliseconds: int) -> str:
    moment = datetime.fromtimestamp(0, timezone.utc) + timedelta(milliseconds=milliseconds)
    return moment.isoformat(timespec="milliseconds").replace("+00:00", "Z")
