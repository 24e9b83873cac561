"""Files of a table that Spark's tasks write, each its own rows, on whatever the table lies; the driver sees no row.

Delta's own writer does it, with what its committer does for tasks that are repeated or run twice: what the attempt that
counts has written is told to the driver, with statistics. Files of other attempts lie there without an entry in the
log, as those of an append that somebody died in, until ``VACUUM`` takes them.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from functools import cache
from typing import NamedTuple

from pyspark.sql import DataFrame, SparkSession

from offset_sync.tables.delta.delta_log import DeltaLog
from offset_sync.tables.delta.filesystem import HadoopFiles
from offset_sync.tables.delta.kernel import DataFile
from offset_sync.tables.delta.self_test import check_maintenance


class WrittenFiles(NamedTuple):
    """Files of a table without an entry in its log; none is older than *began_at*, in seconds since the epoch."""

    files: Sequence[DataFile]
    began_at: float


def write_by_tasks(spark: SparkSession, files: HadoopFiles, path: str, frames: Sequence[DataFrame]) -> WrittenFiles:
    """Have tasks write the rows of *frames*, a file each at most, into the table at *path*; they are stored then.

    Raises PlatformError, the first time, where Delta is not the one that this was written for.
    """
    _check_once()
    began_at, found = time.time(), list[DataFile]()
    for frame in frames:
        # What a table is like is looked at each time: somebody may have set a property.
        for file in DeltaLog(spark, path).begin().write(frame).each(path):
            files.sync(file.name)
            found.append(file._replace(name=files.qualified(file.name)))
    return WrittenFiles(found, began_at)


@cache
def _check_once() -> None:
    check_maintenance()
