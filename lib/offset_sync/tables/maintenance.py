"""Keep Delta tables small beside the jobs that append to them: cut rows, compact files, clean up what is left.

All of it leaves out what is appended meanwhile, and to a follower of the log every version made here is one that
removes files: nothing in it was not there before. On a local disk the entries are written under the lock of the table
(``delta/lock.py``), and appends wait for a compaction as long as it takes.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

import pyarrow as pa
from delta.exceptions import ConcurrentAppendException
from delta.tables import DeltaTable
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from offset_sync.tables.definition import Table
from offset_sync.tables.delta.delta_log import DeltaLog, moved
from offset_sync.tables.delta.kernel import DataFile, Kernel
from offset_sync.tables.delta.lock import table_lock
from offset_sync.tables.delta.self_test import check_maintenance
from offset_sync.tables.delta.statistics import statistics_of
from offset_sync.tables.delta.transaction_log import is_only_appended
from offset_sync.tables.sorted_compaction import FILE_ROWS, TableFile, new_name, sorted_parts, to_put_together
from offset_sync.tables.sorted_files import SortedRows

PARTITION = ("cluster", "topic", "partition")
BEGINS_SCHEMA = pa.schema(
    [("cluster", pa.string()), ("topic", pa.string()), ("partition", pa.int32()), ("begin", pa.int64())]
)
"""Where the index of each partition is to begin."""
_SESSION = {
    # What is as large is not compacted again: otherwise every run would write the whole table anew.
    "spark.databricks.delta.optimize.minFileSize": str(64 << 20),
    "spark.databricks.delta.optimize.maxFileSize": str(128 << 20),
    "spark.databricks.delta.optimize.clustering.mergeStrategy.minCubeSize.threshold": str(256 << 20),
    "spark.databricks.delta.optimize.clustering.mergeStrategy.targetCubeSize": str(384 << 20),
    # VACUUM lists folders in so many tasks, 10,000 by default; it writes no entries into the log.
    "spark.sql.sources.parallelPartitionDiscovery.parallelism": "4",
    "spark.databricks.delta.vacuum.logging.enabled": "false",
}
_ATTEMPTS = 50
_FEW_FILES = 500
_LEAST_SHARE = 0.1
"""Files are written anew when so much of them may go: a few rows less are not worth it."""


@dataclass(frozen=True)
class Size:
    """A table now: its *files*, their *size* in bytes, and how many files lie in its folder, its log among them."""

    files: int
    size: int
    on_disk: int


class Maintainer:
    """Works on tables at their paths; readers and writers elsewhere may go on.

    A version can be read for *keep* after the next one was there, and so can its files. Raises PlatformError where
    Delta is not the one that this was written for.
    """

    def __init__(self, spark: SparkSession, keep: timedelta) -> None:
        check_maintenance()
        self._spark = spark
        self._kernel = Kernel(spark)
        self._files = self._kernel.files
        self._keep = keep
        for name, value in _SESSION.items():
            spark.conf.set(name, value)

    def is_there(self, path: str) -> bool:
        """Return whether there is a table."""
        return bool(DeltaTable.isDeltaTable(self._spark, path))

    def size(self, path: str) -> Size:
        """Return how large a table is."""
        row = self._spark.sql(f"DESCRIBE DETAIL delta.`{path}`").select("numFiles", "sizeInBytes").collect()[0]
        return Size(row["numFiles"], row["sizeInBytes"], self._files.count(path))

    def prepare(self, path: str, table: Table) -> bool:
        """Set the properties that maintenance needs, where the table has others; return whether it had."""
        seconds = f"interval {int(self._keep.total_seconds())} seconds"
        wanted = {
            "delta.appendOnly": str(table.is_append_only).lower(),
            "delta.logRetentionDuration": seconds,
            "delta.deletedFileRetentionDuration": seconds,
        }
        found = self._spark.sql(f"DESCRIBE DETAIL delta.`{path}`").select("properties").collect()[0][0]
        changed = {name: value for name, value in wanted.items() if found.get(name) != value}
        if changed:
            words = ", ".join(f"'{name}' = '{value}'" for name, value in changed.items())
            with table_lock(self._files.local(path)):
                self._spark.sql(f"ALTER TABLE delta.`{path}` SET TBLPROPERTIES ({words})")
                self._files.sync_everything(path)
        return bool(changed)

    def compact(self, path: str) -> None:
        """Join small files into larger ones, sorted by the columns that the table is clustered by."""
        with table_lock(self._files.local(path)):
            self._spark.sql(f"OPTIMIZE delta.`{path}`")
            # Before anybody's entry stands on this one.
            self._files.sync_everything(path)

    def sort(self, path: str, table: Table) -> None:
        """Join files into sorted ones, which whoever reads the table log by log need not sort (``sorted_files``).

        Nobody waits meanwhile, but for the moment in which a file is entered. As Delta's own compaction where another
        version of this has added columns, or rows of files are gone. Raises RuntimeError as :meth:`cut` does.
        """
        now = DeltaLog(self._spark, path).begin()
        found = now.all_files()
        if set(now.columns) - set(table.names) or not all(file.is_whole for file in found):
            self.compact(path)
            return
        by_name = {file.name: file for file in found}
        known = [TableFile(file.name, file.rows or FILE_ROWS, file.written_ms) for file in found]
        version = now.version
        for group in to_put_together(known):
            files = [by_name[each.name] for each in group]
            new, rows = list[DataFile](), 0
            for part in sorted_parts(self._files, [file.path(path) for file in files], table):
                new.append(self._write_sorted(path, part, max(file.written_ms for file in files)))
                rows += part.rows.num_rows
            held = sum(file.rows or 0 for file in files)
            if rows < held or (rows > held and all(file.rows is not None for file in files)):
                raise RuntimeError(f"{path}: {rows} rows were sorted instead of {held}; they stay as they are")
            version = self._enter(path, version, moved(files, new))

    def _write_sorted(self, path: str, part: SortedRows, written_ms: int) -> DataFile:
        name = f"{path}/{new_name()}"
        _, size = self._files.write_file(name, part.write)
        return DataFile(name, size, written_ms, json.dumps(statistics_of(part.rows)))

    def clean_up(self, path: str) -> None:
        """Delete entries of the log, and files that no version needs, after the time that they are kept.

        Delta itself leaves the entries of whole days: at a version a second, hundreds of thousands of them.
        """
        DeltaLog(self._spark, path).clean_up()
        if self._may_have_left_over(path):
            self._spark.sql(f"VACUUM delta.`{path}`")

    def _may_have_left_over(self, path: str) -> bool:
        """Return whether any file is old enough to be deleted and not one of the newest version's; errs to True.

        VACUUM finds that out in three jobs, however small the table is.
        """
        if self._files.folders(path) != ["_delta_log"]:
            return True
        old_before_ms = (time.time() - self._keep.total_seconds()) * 1000
        old = [name for name, written_ms in self._files.written_ms(path).items() if written_ms < old_before_ms]
        if not 0 < len(old) <= _FEW_FILES:
            return bool(old)
        live = self._kernel.data_files(self._kernel.newest(path), most=_FEW_FILES)
        return live is None or not {*old} <= {each.rsplit("/", 1)[1] for each in live}

    def cut(self, path: str, begins: pa.Table) -> int:
        """Remove the rows that begin below their partition's *begins* and end at or below it; return how many.

        None are where it is not worth it. What is appended meanwhile stays, whatever it is. Raises RuntimeError where
        somebody else removes files at the same time or a row that stays was not written; nothing is changed then.
        """
        if begins.num_rows == 0:
            return 0
        cuts = self._spark.createDataFrame(begins.cast(BEGINS_SCHEMA))
        return self.remove(path, lambda rows: _with_cut(rows, cuts))

    def remove(self, path: str, with_cut: Callable[[DataFrame], DataFrame]) -> int:
        """Do the same with the rows that *with_cut*, which adds the column ``is_cut`` to rows, marks by it."""
        transaction = DeltaLog(self._spark, path).begin()
        rows = self._spark.read.format("delta").option("versionAsOf", transaction.version).load(path)
        marked = with_cut(rows.withColumn("file", F.col("_metadata.file_path")))
        by_file = marked.groupBy("file").agg(F.count_if("is_cut").alias("cut"), F.count("*").alias("rows")).collect()
        touched = {row["file"].rsplit("/", 1)[1]: row for row in by_file if row["cut"]}
        gone, held = (sum(row[name] for row in touched.values()) for name in ("cut", "rows"))
        if not touched or gone < _LEAST_SHARE * held:
            return 0
        files = transaction.files(touched)
        kept = with_cut(transaction.read(files)).where(~F.col("is_cut")).select(*rows.columns)
        added = transaction.write(kept.coalesce(_files_for(held - gone)))
        written = added.rows
        if len(files) != len(touched) or written != held - gone:
            raise RuntimeError(f"{path}: {written} rows were to be kept instead of {held - gone}; nothing is removed")
        self._enter(path, transaction.version, added.instead_of(files))
        return int(gone)

    def _enter(self, path: str, version: int, actions: Any) -> int:
        """Write *actions*, made from what *version* held, into the log; return the version that this made.

        Delta lets nobody remove files while others append: what they append could be meant too. Here it is not, so a
        new transaction is tried until nobody comes between its beginning and its end, which takes a moment only.
        """
        log = DeltaLog(self._spark, path)
        for _ in range(_ATTEMPTS):
            with table_lock(self._files.local(path)):
                transaction = log.begin()
                if not is_only_appended(self._files, path, version, transaction.version):
                    raise RuntimeError(f"{path}: somebody else has removed files or changed a property; try again")
                version = transaction.version
                try:
                    made = transaction.commit(actions)
                except ConcurrentAppendException:
                    continue
                self._files.sync_everything(path)
                return made
        raise RuntimeError(f"{path}: others have appended {_ATTEMPTS} times in between; try again")


def _with_cut(rows: DataFrame, cuts: DataFrame) -> DataFrame:
    """Return *rows* with ``is_cut``; a partition that is not among the *cuts* keeps all of its rows."""
    is_below = (F.col("start_offset") < F.col("begin")) & (F.col("start_offset") + F.col("length") <= F.col("begin"))
    marked = rows.join(F.broadcast(cuts), list(PARTITION), "left")
    return marked.withColumn("is_cut", F.coalesce(is_below, F.lit(False)))


def _files_for(rows: int) -> int:
    return max(1, rows // 2_000_000)
