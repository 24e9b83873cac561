"""Delta Kernel, which writes Arrow tables to Delta tables without a Spark job: a Parquet file and its entry in the log.

It is Delta's own library for engines other than Spark, and delta-spark brings it along. Nothing else here calls it.
"""

from __future__ import annotations

import json
import logging
import math
import time
import uuid
from collections.abc import Generator, Iterable
from contextlib import closing
from dataclasses import dataclass
from typing import Any, NamedTuple

import pyarrow as pa
from pyspark.sql import SparkSession

from offset_sync.tables.delta.engines import engines_of
from offset_sync.tables.delta.filesystem import HadoopFiles
from offset_sync.tables.delta.jvm import JavaError, class_of, items_of, java
from offset_sync.tables.delta.statistics import statistics_of
from offset_sync.tables.delta.transaction_log import entry

logger = logging.getLogger(__name__)
_ENGINE = "offset-sync"
_ADDING = {"CHECKSUM_SIMPLE", "CHECKSUM_FULL"}
"""What is due after a commit and adds a file; a checkpoint replaces the one that says which checkpoint is the last."""
_REPEATED = "io.delta.kernel.exceptions.ConcurrentTransactionException"
_OVERTAKEN = "io.delta.kernel.exceptions.MaxCommitRetryLimitReachedException"
_UNEXPECTED, _GAP = "java.lang.IllegalStateException", "Gaps in Delta log commit files"
_CHANGED = (
    "io.delta.kernel.exceptions.MetadataChangedException",
    "io.delta.kernel.exceptions.ProtocolChangedException",
)


class DataFile(NamedTuple):
    """A file of a table: its qualified *name*, its *size* in bytes, and Delta's *statistics* of it, as JSON."""

    name: str
    size: int
    written_ms: int
    statistics: str


class Writer(NamedTuple):
    """Who writes, and which of its writes it is: what was written once is not written again."""

    application_id: str
    version: int


def is_repeated(problem: JavaError) -> bool:
    """Return whether the table has what this writer wrote under this version, or a later one."""
    return class_of(problem) == _REPEATED


def is_changed(problem: JavaError) -> bool:
    """Return whether the write may succeed when it begins anew, on the table as it is then.

    Where somebody set a property of the table meanwhile, as maintenance does once; and where a list of the log has a
    later entry of others and not one before it: on S3 what is put while a list is made may or may not be in it.
    """
    return class_of(problem) in _CHANGED or (class_of(problem) == _UNEXPECTED and _GAP in str(problem))


def is_overtaken(problem: JavaError) -> bool:
    """Return whether somebody else has committed since the write began."""
    return class_of(problem) == _OVERTAKEN


class Kernel:
    """Tables on any Hadoop file system, and transactions on them; threads may share it."""

    def __init__(self, spark: SparkSession) -> None:
        self.files = HadoopFiles(spark)
        self._engine, self._local_engine = engines_of(spark)

    def newest(self, path: str) -> Snapshot:
        """Return a table as it is now; the whole log is listed for it."""
        return Snapshot(java("io.delta.kernel.Table").forPath(self._engine, path).getLatestSnapshot(self._engine))

    def begin(self, path: str, snapshot: Snapshot, writer: Writer | None = None) -> Transaction:
        """Begin to append to the table on top of *snapshot*; whoever appends meanwhile does no harm.

        Raises a JavaError that :func:`is_repeated`, now or at the end, where *writer* has written this version.
        """
        builder = self._builder(snapshot)
        if writer is not None:
            builder = builder.withTransactionId(writer.application_id, writer.version)
        return self._transaction(path, builder)

    def begin_alone(self, path: str, snapshot: Snapshot) -> Transaction:
        """Begin to write; at the end a JavaError that :func:`is_overtaken` is raised where anybody else has written.

        Kernel's own look at what was written meanwhile may keep the rows of two writers.
        """
        builder = self._builder(snapshot).withMaxRetries(0)
        return self._transaction(path, builder)

    def data_files(self, snapshot: Snapshot, most: int, most_bytes: float = math.inf) -> list[str] | None:
        """Return where the files of *snapshot* lie; None where they are more or larger, or some of their rows gone."""
        utils, found, size = java("io.delta.kernel.internal.InternalScanFileUtils"), list[str](), 0
        with closing(self._scan(snapshot)) as files:
            for each in files:
                status = utils.getAddFileStatus(each)
                found.append(str(status.getPath()))
                size += int(status.getSize())
                if len(found) > most or size > most_bytes or utils.getDeletionVectorDescriptorFromRow(each):
                    return None
        return found

    def removals(self, snapshot: Snapshot) -> Any:
        """Return an iterator, of Kernel's, of the actions that remove every file of *snapshot*."""
        utils, found = java("io.delta.kernel.internal.util.Utils"), java("java.util.ArrayList")()
        number = java("io.delta.kernel.internal.InternalScanFileUtils").ADD_FILE_ORDINAL
        removed_at_ms = java("java.util.Optional").of(int(time.time() * 1000))
        for each in self._scan(snapshot):
            file = java("io.delta.kernel.internal.actions.AddFile")(each.getStruct(number))
            gone = file.toRemoveFileRow(True, removed_at_ms)
            found.add(java("io.delta.kernel.internal.actions.SingleAction").createRemoveFileSingleAction(gone))
        return utils.toCloseableIterator(found.iterator())

    def _scan(self, snapshot: Snapshot) -> Generator[Any, None, None]:
        """Yield a row of Kernel's for each file of *snapshot*."""
        scan = snapshot.handle.getScanBuilder().build().getScanFiles(self._engine)
        files = java("io.delta.kernel.internal.util.Utils").intoRows(scan)
        try:
            while files.hasNext():
                yield files.next()
        finally:
            files.close()

    def _transaction(self, path: str, builder: Any) -> Transaction:
        adding = self._engine if self.files.local(path) is None else self._local_engine
        return Transaction(path, self.files, self._engine, adding, builder.build(self._engine))

    def _builder(self, snapshot: Snapshot) -> Any:
        return snapshot.handle.buildUpdateTableTransaction(_ENGINE, java("io.delta.kernel.Operation").WRITE)


@dataclass(frozen=True)
class Snapshot:
    """A version of a table."""

    handle: Any

    @property
    def version(self) -> int:
        """Its number."""
        return int(self.handle.getVersion())

    @property
    def column_names(self) -> list[str]:
        """The columns that the table has at it."""
        return [str(name) for name in items_of(self.handle.getSchema().fieldNames())]


@dataclass(frozen=True)
class Transaction:
    """A write that is begun; until it is committed nobody sees anything of it. *adding* is an engine for the entry."""

    path: str
    files: HadoopFiles
    engine: Any
    adding: Any
    handle: Any

    def add(self, rows: pa.Table) -> Any:
        """Write a data file; return an iterator, of Kernel's, of the actions that add it."""
        name, size = self.files.write_parquet(f"{self.path}/part-00000-{uuid.uuid4()}-c000.snappy.parquet", rows)
        return self.enter([DataFile(name, size, int(time.time() * 1000), json.dumps(statistics_of(rows)))])

    def enter(self, files: Iterable[DataFile]) -> Any:
        """Return an iterator, of Kernel's, of the actions that add *files*, which are written."""
        found, schema = java("java.util.ArrayList")(), self.handle.getSchema(self.engine)
        for each in files:
            facts = java("io.delta.kernel.statistics.DataFileStatistics").deserializeFromJson(each.statistics, schema)
            name, size, written_ms, _ = each
            found.add(java("io.delta.kernel.utils.DataFileStatus")(name, size, written_ms, facts))
        transactions, state = java("io.delta.kernel.Transaction"), self.handle.getTransactionState(self.engine)
        context = transactions.getWriteContext(self.engine, state, java("java.util.HashMap")())
        iterator = java("io.delta.kernel.internal.util.Utils").toCloseableIterator(found.iterator())
        return transactions.generateAppendActions(self.engine, state, iterator, context)

    def commit(self, *actions: Any) -> Commit:
        """Write the actions of these iterators into the log: all of them or none; when it returns they are stored."""
        first, *more = actions
        for each in more:
            first = first.combine(each)
        iterable = java("io.delta.kernel.utils.CloseableIterable").inMemoryIterable(first)
        result = self.handle.commit(self.adding, iterable)
        self.files.sync(entry(self.path, int(result.getVersion())))
        return Commit(self.path, self.engine, self.adding, result)


@dataclass(frozen=True)
class Commit:
    """A write that is in the log."""

    path: str
    engine: Any
    adding: Any
    handle: Any

    def finish(self) -> Snapshot | None:
        """Do what is due after a commit; return the table as it is then, None where it has to be looked up.

        Due are a checksum, by which logs are cleaned up, and now and then a checkpoint: from that on the table is known
        by it and not by every entry before.
        """
        due = [(str(hook.getType().toString()), hook) for hook in items_of(self.handle.getPostCommitHooks())]
        for kind, hook in due:
            try:
                hook.threadSafeInvoke(self.adding if kind in _ADDING else self.engine)
            except JavaError as problem:  # the rows are in the table all the same
                logger.warning("%s: %s not written: %s", self.path, kind, problem.java_exception)
        if any(kind == "CHECKPOINT" for kind, _ in due):
            return None
        after = self.handle.getPostCommitSnapshot().orElse(None)
        return None if after is None else Snapshot(after)
