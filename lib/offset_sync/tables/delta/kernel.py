"""Write Arrow tables to Delta tables without a Spark job: a Parquet file, and its entry in the log by Delta Kernel.

Delta Kernel is Delta's own library for engines other than Spark, and delta-spark brings it along.
"""

from __future__ import annotations

import json
import logging
import time
import uuid
from typing import Any

import pyarrow as pa
from py4j.protocol import Py4JJavaError
from pyspark.sql import SparkSession

from offset_sync.tables.delta.filesystem import HadoopFiles
from offset_sync.tables.delta.statistics import statistics_of

logger = logging.getLogger(__name__)
_ENGINE = "offset-sync"


class KernelWriter:
    """What every write by Delta Kernel is made of, on any Hadoop file system; threads may share it."""

    def __init__(self, spark: SparkSession) -> None:
        jvm: Any = spark._jvm
        self._jvm = jvm
        self._kernel = jvm.io.delta.kernel
        self._files = HadoopFiles(spark)
        self._engine = self._kernel.defaults.engine.DefaultEngine.create(spark._jsc.hadoopConfiguration())

    def version(self, path: str) -> int:
        """Return the last version of a table."""
        return int(self._newest(path).getVersion())

    def _newest(self, path: str) -> Any:
        return self._kernel.Table.forPath(self._engine, path).getLatestSnapshot(self._engine)

    def _update(self, snapshot: Any) -> Any:
        """Return a builder of a transaction on top of *snapshot*."""
        return snapshot.buildUpdateTableTransaction(_ENGINE, self._kernel.Operation.WRITE)

    def _write(self, path: str, rows: pa.Table, transaction: Any) -> Any:
        """Write the data file and return what the log shall say of it."""
        name, size = self._files.write_parquet(f"{path}/part-00000-{uuid.uuid4()}-c000.snappy.parquet", rows)
        facts, schema = json.dumps(statistics_of(rows)), transaction.getSchema(self._engine)
        statistics = self._kernel.statistics.DataFileStatistics.deserializeFromJson(facts, schema)
        return self._kernel.utils.DataFileStatus(name, size, int(time.time() * 1000), statistics)

    def _additions(self, transaction: Any, file: Any) -> Any:
        """Return an iterator of the actions that add *file*."""
        kernel, engine = self._kernel, self._engine
        state = transaction.getTransactionState(engine)
        context = kernel.Transaction.getWriteContext(engine, state, self._jvm.java.util.HashMap())
        files = kernel.internal.util.Utils.singletonCloseableIterator(file)
        return kernel.Transaction.generateAppendActions(engine, state, files, context)

    def _has_checkpointed(self, path: str, result: Any) -> bool:
        """Do what is due after a commit: a checksum, by which logs are cleaned up, and now and then a checkpoint.

        From a checkpoint on the table is known by it and not by every entry before.
        """
        due = list(result.getPostCommitHooks())
        for hook in due:
            try:
                hook.threadSafeInvoke(self._engine)
            except Py4JJavaError as problem:  # the rows are in the table all the same
                logger.warning("%s: %s not written: %s", path, hook.getType().toString(), problem.java_exception)
        return any(hook.getType().toString() == "CHECKPOINT" for hook in due)
