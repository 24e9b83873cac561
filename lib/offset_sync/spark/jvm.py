"""Access to the driver's JVM: nothing else in the package uses private parts of pyspark and py4j.

:func:`java` returns classes by name. Their methods are no public interface of Spark, so ``platform.py`` compares
versions when a job starts.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from functools import cache
from typing import Any, TypeAlias

from py4j.java_gateway import JavaClass
from py4j.protocol import Py4JError, Py4JJavaError, Py4JNetworkError
from pyspark import SparkContext
from pyspark.errors import PySparkRuntimeError
from pyspark.sql import DataFrame, SparkSession

from offset_sync.model.errors import JvmEndedError, PlatformError

JavaError: TypeAlias = Py4JJavaError
"""An exception of the JVM, which every call into it may raise."""


def start_jvm() -> None:
    """Start the driver's JVM unless it runs; needs no session. Raises JvmEndedError where it ends."""
    try:
        SparkContext._ensure_initialized()
    except PySparkRuntimeError as problem:
        raise JvmEndedError("Java ended while it was starting; the lines before say why") from problem


def jvm_exit_code() -> int | None:
    """Return how the driver's JVM has ended, None as long as it runs or is not the child of this process."""
    process = getattr(SparkContext._gateway, "proc", None)
    return None if process is None else process.poll()


def is_connection_lost(problem: BaseException | None) -> bool:
    """Return whether *problem* was caused by a broken connection to the JVM."""
    while problem is not None:
        if isinstance(problem, (Py4JNetworkError, ConnectionError)) or type(problem) is Py4JError:
            return True
        problem = problem.__cause__ or problem.__context__
    return False


def java(name: str) -> Any:
    """Return the class *name*, for its static methods or to make an object of it; raises PlatformError without it."""
    return _class(SparkContext._jvm, name)


@cache
def _class(jvm: Any, name: str) -> Any:
    """Return a class; it is cached, as each look-up is a call to the JVM."""
    found = getattr(jvm, name)
    if not isinstance(found, JavaClass):
        raise PlatformError(f"{name}: not on Spark's class path; run 'make install'")
    return found


def release(frame: DataFrame) -> None:
    """Release the rows of a local checkpoint at the executors; otherwise they keep them until Java collects garbage.

    A later read of *frame* fails.
    """
    frame._jdf.queryExecution().logical().rdd().unpersist(False)


def default_file_system(spark: SparkSession) -> str:
    """Return Hadoop's ``fs.defaultFS``, to which its paths without a scheme lead."""
    return str(spark.sparkContext._jsc.hadoopConfiguration().get("fs.defaultFS"))


def processors() -> int:
    """Return the number that ``*`` in ``local[*]`` means; Java respects a container's limits."""
    return int(java("java.lang.Runtime").getRuntime().availableProcessors())


_BATCHES = "org.apache.spark.sql.execution.streaming.runtime.MicroBatchExecution"


def silence_batches(is_worth_telling: Callable[[logging.LogRecord], bool]) -> None:
    """Keep the requested end of a micro-batch out of the logs, where Spark would print two screens of it.

    Records of py4j about it pass only where *is_worth_telling*.
    """
    off = java("org.apache.logging.log4j.Level").OFF
    java("org.apache.logging.log4j.core.config.Configurator").setLevel(_BATCHES, off)
    logging.getLogger("py4j.clientserver").addFilter(is_worth_telling)


def jar_of(name: str) -> str:
    """Return the path of the jar of a class, "" where it has none.

    Raises LookupError, with Java's message, where the class or one that it needs is missing.
    """
    loader = java("java.lang.Thread").currentThread().getContextClassLoader()
    try:
        source = loader.loadClass(name).getProtectionDomain().getCodeSource()
    except JavaError as problem:
        raise LookupError(str(problem.java_exception.toString())) from problem
    return "" if source is None else str(source.getLocation().getPath())
