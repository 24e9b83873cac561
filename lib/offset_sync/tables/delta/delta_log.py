"""Spark's Delta where its SQL has no words: clean a log up to the minute, and write some files of a table anew."""

from __future__ import annotations

import json
import time
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from typing import Any
from urllib.parse import unquote

from pyspark.sql import DataFrame, SparkSession

from offset_sync.tables.delta.jvm import java, java_rows, java_session, none, to_seq
from offset_sync.tables.delta.kernel import DataFile
from offset_sync.tables.delta.transaction_log import data_path


class DeltaLog:
    """The log of the table at *path*."""

    def __init__(self, spark: SparkSession, path: str) -> None:
        self._spark = spark
        self._log = java("org.apache.spark.sql.delta.DeltaLog").forTable(java_session(spark), path)

    def clean_up(self) -> None:
        """Delete the entries that are older than the table keeps them; Delta itself does so by whole days only."""
        minute = java("org.apache.spark.sql.delta.TruncationGranularity").MINUTE()
        self._log.cleanUpExpiredLogs(self._log.update(False, none(), none()), none(), none(), minute)

    def begin(self) -> DeltaTransaction:
        """Begin a transaction on the table as it is now."""
        return DeltaTransaction(self._spark, self._log, self._log.startTransaction(none(), none()))


@dataclass(frozen=True)
class NewFiles:
    """Files that are written and not in the log yet."""

    handle: Any

    @property
    def rows(self) -> int:
        """How many rows are in them, by their own statistics."""
        return sum(int(self.handle.apply(n).numPhysicalRecords().get()) for n in range(self.handle.size()))

    def each(self, table: str) -> Iterator[DataFile]:
        """Yield the files, which lie in the folder *table*."""
        for place in range(self.handle.size()):
            file = self.handle.apply(place)
            path = data_path(table, unquote(str(file.path())))
            yield DataFile(path, int(file.size()), int(file.modificationTime()), str(file.stats()))

    def instead_of(self, files: list[Any]) -> Any:
        """Return what the log has to say for these to take the place of *files*, whose rows are among them or gone."""
        now_ms = int(time.time() * 1000)
        return self.handle.appendedAll(to_seq(file.removeWithTimestamp(now_ms, True) for file in files))


@dataclass(frozen=True)
class LiveFile:
    """A file of the table as it is in the log."""

    handle: Any

    @property
    def name(self) -> str:
        """Its name, without the folder."""
        return str(self.handle.path()).rsplit("/", 1)[-1]

    def path(self, table: str) -> str:
        """Return where it lies, a file of the table at the path *table*."""
        return data_path(table, unquote(str(self.handle.path())))

    @property
    def rows(self) -> int | None:
        """How many rows it has, by the log's statistics; None where these do not say."""
        found = self.handle.numPhysicalRecords()
        return None if found.isEmpty() else int(found.get())

    @property
    def written_ms(self) -> int:
        """When it was written, in ms."""
        return int(self.handle.modificationTime())

    @property
    def is_whole(self) -> bool:
        """Whether all of its rows are in the table."""
        return self.handle.deletionVector() is None


def moved(files: Sequence[LiveFile], into: Sequence[DataFile]) -> Any:
    """Return what the log has to say for the rows of *files* to stand in other files, and nothing else to change."""
    now_ms, action = int(time.time() * 1000), java("org.apache.spark.sql.delta.actions.Action")
    gone = [each.handle.removeWithTimestamp(now_ms, False) for each in files]
    for each in into:
        about = {"path": each.name.rsplit("/", 1)[-1], "size": each.size, "modificationTime": each.written_ms}
        added = {"partitionValues": {}, **about, "dataChange": False, "stats": each.statistics}
        gone.append(action.fromJson(json.dumps({"add": added})))
    return to_seq(gone)


class DeltaTransaction:
    """A transaction on one version of a table; nothing of it is seen until it is committed."""

    def __init__(self, spark: SparkSession, log: Any, transaction: Any) -> None:
        self._spark, self._log, self._transaction = spark, log, transaction
        self._snapshot = transaction.snapshot()
        self.version = int(self._snapshot.version())

    def files(self, names: Collection[str]) -> list[Any]:
        """Return the files of the table that have these names, without their folders."""
        files = self._snapshot.allFiles().collectAsList()
        return [file for file in files if file.path().rsplit("/", 1)[-1] in names]

    @property
    def columns(self) -> list[str]:
        """The names of the table's columns."""
        return list(self._snapshot.schema().fieldNames())

    def all_files(self) -> list[LiveFile]:
        """Return the files of the table."""
        return [LiveFile(each) for each in self._snapshot.allFiles().collectAsList()]

    def read(self, files: list[Any]) -> DataFrame:
        """Return the rows of *files*."""
        return DataFrame(self._log.createDataFrame(self._snapshot, to_seq(files), False, none()), self._spark)

    def write(self, rows: DataFrame) -> NewFiles:
        """Write *rows* as files, one per partition of the DataFrame."""
        return NewFiles(self._transaction.writeFiles(java_rows(rows)))

    def commit(self, actions: Any) -> int:
        """Write *actions* into the log, and return the version that this made.

        Raises ConcurrentAppendException where somebody has appended meanwhile.
        """
        operation = java("org.apache.spark.sql.delta.DeltaOperations$ManualUpdate$")
        return int(self._transaction.commit(actions, getattr(operation, "MODULE$")))
