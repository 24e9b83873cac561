"""Put rows in the place of all that a Delta table holds, without a Spark job.

A report replaces ``sync_status`` every time. Through Spark's writer the first one of a session took 19 s on a busy
machine and each further one 5 s; this way it is as quick as an append.
"""

from __future__ import annotations

import pyarrow as pa
from pyspark.sql import SparkSession

from offset_sync.tables.delta.jvm import JavaError
from offset_sync.tables.delta.kernel import Kernel, is_overtaken
from offset_sync.tables.delta.lock import table_lock

_ATTEMPTS = 5


class DeltaReplacer:
    """Replaces the content of tables on any Hadoop file system; threads may share it."""

    def __init__(self, spark: SparkSession) -> None:
        self.kernel = Kernel(spark)

    def replace(self, path: str, rows: pa.Table) -> None:
        """Put *rows* in the place of all rows; readers see the old ones or the new ones, and never both.

        Whoever replaces at the same moment is waited for, or found out when the log is written: then all is done
        again on top of that one's rows. Raises JavaError when the table cannot be written.
        """
        for attempt in range(1, _ATTEMPTS + 1):
            try:
                with table_lock(self.kernel.files.local(path)):
                    self._replace(path, rows)
            except JavaError as problem:
                if attempt == _ATTEMPTS or not is_overtaken(problem):
                    raise
            else:
                return

    def _replace(self, path: str, rows: pa.Table) -> None:
        snapshot = self.kernel.newest(path)
        transaction = self.kernel.begin_alone(path, snapshot)
        removals = self.kernel.removals(snapshot)
        commit = transaction.commit(removals, transaction.add(rows)) if rows.num_rows else transaction.commit(removals)
        commit.finish()
