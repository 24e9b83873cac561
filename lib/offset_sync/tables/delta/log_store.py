"""Whether several drivers may write one table where it lies: whether that place refuses to replace a file.

Delta's log relies on it. HDFS, ABFS and GCS do, and a local disk has our lock (``lock.py``). On S3 Delta's log store
creates an entry without replacing one, and it depends on the file system's settings, on its version and on the server
whether that holds (``fs.s3a.performance.flags`` with ``create``, which every job sets, makes it a conditional put from
hadoop-aws 3.4.2 on). So it is tried. Where a file is replaced, of two commits at the same moment one would be lost
without a word: then nothing is written.
"""

from __future__ import annotations

import uuid

from pyspark.sql import SparkSession

from offset_sync.model.errors import PlatformError
from offset_sync.tables.delta.filesystem import HadoopFiles
from offset_sync.tables.delta.jvm import hadoop_configuration

_S3 = ("s3", "s3a", "s3n")
_REMEDY = "docs/operations.md, Tables and checkpoints"


def check_log_store(spark: SparkSession, root: str) -> None:
    """Return where drivers beside each other lose none of their commits below *root*.

    Costs two small files on S3, and nothing elsewhere. A log store of one's own for both of Delta's writers is trusted.
    Raises PlatformError, in one line, where a commit could be lost.
    """
    scheme = root.partition(":")[0].lower()
    if scheme not in _S3:
        return
    spark_key, kernel_key = f"spark.delta.logStore.{scheme}.impl", f"io.delta.kernel.logStore.{scheme}.impl"
    by_spark = spark.conf.get(spark_key, None)
    by_kernel = hadoop_configuration(spark).get(kernel_key)
    if by_spark and by_kernel == by_spark:
        return
    if by_spark or by_kernel:
        raise PlatformError(
            f"{root}: {spark_key} is {by_spark or 'not set'} and spark.hadoop.{kernel_key} {by_kernel or 'not set'}: "
            f"both writers have to use the same log store ({_REMEDY})"
        )
    if not HadoopFiles(spark).refuses_to_replace(f"{root.rstrip('/')}/.offset-sync-{uuid.uuid4()}"):
        raise PlatformError(
            f"{root}: a file can be replaced by who creates it, so drivers could overwrite each other's commits; use "
            f"hadoop-aws 3.4.2 or newer with fs.s3a.performance.flags=create and fs.s3a.create.conditional.enabled="
            f"true, at a server that knows If-None-Match, or a lock table ({_REMEDY})"
        )
