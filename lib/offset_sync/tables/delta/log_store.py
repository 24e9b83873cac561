"""Whether several drivers may write one table where it lies: whether that place refuses to replace a file.

Delta's log relies on it. HDFS, ABFS and GCS do, and a local disk has our lock (``lock.py``). On S3 a put replaces
unless it says otherwise (``If-None-Match``). The log store that Delta 4.4 takes there looks first and then replaces, so
of two commits at the same moment one is lost without a word. Ours (conf/jars/S3LogStore.java, in a jar of its own) says
so, by hadoop-aws 3.4.2 or newer and to a server that knows it; whether that works is tried at a start.
"""

from __future__ import annotations

import uuid
from collections.abc import Callable, Mapping

from pyspark.sql import SparkSession

from offset_sync.model.errors import PlatformError
from offset_sync.tables.delta.jvm import JavaError, causes_of, class_of, hadoop_configuration, java

_OURS = "offsetsync.S3LogStore"
_SCHEMES = ("s3", "s3a", "s3n")
_IF_NOT_THERE = "fs.option.create.conditional.overwrite"
_REFUSED = {"org.apache.hadoop.fs.FileAlreadyExistsException", "org.apache.hadoop.fs.s3a.RemoteFileChangedException"}
_REMEDY = "see docs/operations.md, Tables and checkpoints"


def log_store_settings(asked: Callable[[str], str | None]) -> Mapping[str, str]:
    """Return what makes both of Delta's writers use our log store on S3; *asked* is what the user has set.

    Nothing where the user has a log store: one for all, or for one of the writers.
    """
    if asked("spark.delta.logStore.class"):
        return {}
    keys = {scheme: (_key_of_spark(scheme), f"spark.hadoop.{key_of_kernel(scheme)}") for scheme in _SCHEMES}
    return {key: _OURS for pair in keys.values() if not any(map(asked, pair)) for key in pair}


def check_log_store(spark: SparkSession, root: str) -> None:
    """Return where drivers beside each other lose none of their commits below *root*.

    Costs two small files on S3, and nothing elsewhere. A log store of the user's own is trusted, if both writers have
    it. Raises PlatformError, in one line, where a commit could be lost.
    """
    scheme = root.partition(":")[0].lower()
    if scheme not in _SCHEMES:
        return
    of_spark, of_kernel = _key_of_spark(scheme), key_of_kernel(scheme)
    by_spark = spark.conf.get(of_spark, None) or spark.conf.get("spark.delta.logStore.class", None)
    by_kernel = hadoop_configuration(spark).get(of_kernel)
    if by_spark is None or by_spark != by_kernel:
        raise PlatformError(
            f"{root}: {of_spark} is {by_spark or 'not set'}, spark.hadoop.{of_kernel} is {by_kernel or 'not set'}: "
            f"Delta's two writers need the same log store there; {_REMEDY}"
        )
    if by_spark == _OURS and (found := _found_wrong(spark, root)):
        raise PlatformError(
            f"{root}: {found}, so drivers could overwrite each other's commits; use hadoop-aws 3.4.2 or newer, "
            f"fs.s3a.create.conditional.enabled=true, and a server that knows If-None-Match; {_REMEDY}"
        )


def _found_wrong(spark: SparkSession, root: str) -> str:
    """Return why a file at *root* can be replaced by who puts it if it is not there; "" where it cannot."""
    try:
        is_safe = _refuses_to_replace(spark, f"{root.rstrip('/')}/.offset-sync-{uuid.uuid4()}")
    except JavaError as problem:
        said = str(problem.java_exception.toString()).splitlines()
        is_unknown = {class_of(problem), *causes_of(problem)} & _UNKNOWN
        if not is_unknown:
            raise
        return f"a put that replaces nothing cannot be asked for ({said[0][:200]})"
    return "" if is_safe else "a put that is to replace nothing replaces"


def _refuses_to_replace(spark: SparkSession, path: str) -> bool:
    """Return whether of two who put *path* at the same moment, if it is not there, one is refused; S3 only.

    Nothing is left of it. Raises JavaError where the file system cannot be asked for that.
    """
    hadoop_path = java("org.apache.hadoop.fs.Path")(path)
    file_system = hadoop_path.getFileSystem(hadoop_configuration(spark))
    try:
        for _ in range(2):
            put = file_system.createFile(hadoop_path).overwrite(False).recursive().must(_IF_NOT_THERE, True)
            stream = put.build()
            stream.write(b"whoever is first")
            stream.close()
    except JavaError as problem:
        if not {class_of(problem), *causes_of(problem)} & _REFUSED:
            raise
        return True
    else:
        return False
    finally:
        file_system.delete(hadoop_path, False)


_UNKNOWN = {"java.lang.IllegalArgumentException", "org.apache.hadoop.fs.PathIOException"}
"""What a file system answers that does not know such a put, or must not do it."""


def _key_of_spark(scheme: str) -> str:
    return f"spark.delta.logStore.{scheme}.impl"


def key_of_kernel(scheme: str) -> str:
    """Return the setting that names the log store of Delta Kernel for paths of this *scheme*."""
    return f"io.delta.kernel.logStore.{scheme}.impl"
