"""What Delta Kernel reads and writes files with: on a local disk without most of the processes that Hadoop starts.

For each file of a log Delta's log store for local disks has Hadoop start five processes, one for the permissions
(``chmod``) and four for the name (``readlink``). That was two thirds of the time of an append, and of its processor
time. Another log store of Delta's gives the name without them.

It looks whether a file is there, and then puts it: as the first one does on a local disk, so both need the lock of the
table (``lock.py``). But it replaces a file by writing into it, where the first one puts a whole one in its place. So
only what adds a file goes by it.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from pyspark.sql import SparkSession

from offset_sync.tables.delta.jvm import hadoop_configuration, java
from offset_sync.tables.delta.log_store import key_of_kernel

_LOG_STORE = key_of_kernel("file")
_FEW_PROCESSES = {
    _LOG_STORE: "io.delta.storage.LocalLogStore",
    # It asks Hadoop's other interface, whose local disk writes a second file of checksums beside each.
    "fs.file.impl": "org.apache.hadoop.fs.RawLocalFileSystem",
    "fs.file.impl.disable.cache": "true",  # what anybody else in this JVM has opened is of the other kind, and stays so
}


class Engines(NamedTuple):
    """Kernel's *usual* engine, and the one that adds entries and their checksums to a log on a local disk.

    The latter is for local disks alone: Hadoop's client of S3 expects the disk on which it keeps what it sends to be of
    the usual kind.
    """

    usual: Any
    local: Any


def engines_of(spark: SparkSession) -> Engines:
    """Return the engines of this session; where the user has set a log store for local disks it counts."""
    engines, settings = java("io.delta.kernel.defaults.engine.DefaultEngine"), hadoop_configuration(spark)
    usual = engines.create(settings)
    if settings.get(_LOG_STORE) is not None:
        return Engines(usual, usual)
    own = java("org.apache.hadoop.conf.Configuration")(settings)
    for key, value in _FEW_PROCESSES.items():
        own.set(key, value)
    return Engines(usual, engines.create(own))
