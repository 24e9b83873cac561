"""Spark's checkpoints on a local disk, without the processes that Hadoop starts there.

For each of the two files of a micro-batch that is one ``chmod`` and four ``readlink``: 50 ms before it begins and 30
after it, and a tenth of a core where micro-batches follow each other. A class of ours does the same without them
(conf/jars/LocalCheckpoints.java).
"""

from __future__ import annotations

from pyspark.sql import SparkSession

from offset_sync.tables.delta.jvm import DriverClasses
from offset_sync.tables.files import Files

_SETTING = "spark.sql.streaming.checkpointFileManagerClass"
_OURS = "offsetsync.LocalCheckpoints"


def start_no_processes(spark: SparkSession, files: Files, folder: str) -> None:
    """Have the queries of this session keep their checkpoints so, where they lie on a local disk, in *folder*.

    A class that the user has set counts, and without ours, as where the jar is of another version, all is as Spark has
    it.
    """
    if files.local(folder) is None or spark.conf.get(_SETTING, None):
        return
    try:
        DriverClasses().missing(_OURS)
    except LookupError:
        return
    spark.conf.set(_SETTING, _OURS)
