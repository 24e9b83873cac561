"""The door to the driver's JVM: nothing else in the package touches what pyspark and py4j keep to themselves.

Classes are asked for by name with :func:`java`. Each one, and everything that is called on it, stands in
``requirements.py``, which is checked when a job starts (``self_test.py``): py4j itself takes a class that is not there
for a package, and a method that is not there is noticed by its first call only.
"""

from __future__ import annotations

import logging
import re
from collections.abc import Callable, Collection
from functools import cache
from typing import Any, TypeAlias

from py4j.java_gateway import JavaClass
from py4j.protocol import Py4JError, Py4JJavaError, Py4JNetworkError
from pyspark import SparkContext
from pyspark.errors import PySparkRuntimeError
from pyspark.sql import DataFrame

from offset_sync.model.errors import JvmEndedError, PlatformError

JavaError: TypeAlias = Py4JJavaError
"""An exception of the JVM, as every call into it may raise."""
_MEMBER = re.compile(r"\.([\w$]+)(?:\(([^()]*)\))?(?: throws [\w$., ]+)?(?=, (?:public|protected) |\)$)")


def start_jvm() -> None:
    """Start the driver's JVM unless it runs; there need not be a session yet. Raises JvmEndedError where it ends."""
    try:
        SparkContext._ensure_initialized()
    except PySparkRuntimeError as problem:
        raise JvmEndedError("Java ended while it was starting; the lines before say why") from problem


def jvm_exit_code() -> int | None:
    """Return how the driver's JVM has ended, None as long as it runs or is not the child of this process."""
    process = getattr(SparkContext._gateway, "proc", None)
    return None if process is None else process.poll()


def is_connection_lost(problem: BaseException | None) -> bool:
    """Return whether *problem* comes of a connection to the JVM that has broken."""
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
    """Return a class, kept: asking for it is a question to the JVM."""
    found = getattr(jvm, name)
    if not isinstance(found, JavaClass):
        raise PlatformError(f"{name}: not on Spark's class path; run 'make install'")
    return found


def java_rows(frame: DataFrame) -> Any:
    """Return a DataFrame as the JVM knows it."""
    return frame._jdf


def release(frame: DataFrame) -> None:
    """Let the executors forget the rows of a local checkpoint; otherwise they keep them until Java looks for garbage.

    Whoever reads *frame* later fails.
    """
    java_rows(frame).queryExecution().logical().rdd().unpersist(False)


def processors() -> int:
    """Return what ``*`` in ``local[*]`` stands for; Java knows of a container's limits."""
    return int(java("java.lang.Runtime").getRuntime().availableProcessors())


_BATCHES = "org.apache.spark.sql.execution.streaming.runtime.MicroBatchExecution"


def silence_batches(is_worth_telling: Callable[[logging.LogRecord], bool]) -> None:
    """Keep the end of a micro-batch that was asked for out of the logs: Spark would print it over two screens.

    What py4j has to say of it in Python is told only where *is_worth_telling*. Until :func:`hear_batches`.
    """
    _set_level(_BATCHES, java("org.apache.logging.log4j.Level").OFF)
    logging.getLogger("py4j.clientserver").addFilter(is_worth_telling)


def hear_batches(is_worth_telling: Callable[[logging.LogRecord], bool]) -> None:
    """Take back what :func:`silence_batches` has done."""
    _set_level(_BATCHES, None)  # that of the loggers above it
    logging.getLogger("py4j.clientserver").removeFilter(is_worth_telling)


def _set_level(name: str, level: Any) -> None:
    java("org.apache.logging.log4j.core.config.Configurator").setLevel(name, level)


class DriverClasses:
    """The classes that the driver's JVM can load, looked at without running anything of theirs."""

    def __init__(self) -> None:
        self._loader = java("java.lang.Thread").currentThread().getContextClassLoader()
        self._text = java("scala.runtime.ScalaRunTime")

    def missing(self, name: str, members: Collection[str] = ()) -> list[str]:
        """Return which of these public *members* a class has not got, sorted.

        ``commit/2`` is a method with two arguments, ``MODULE$`` a field; a constructor has the name of its class.
        Raises LookupError, with what Java says, where the class or one that it needs is not there.
        """
        found = self._load(name)
        try:
            kinds = [found.getMethods()] if any("/" in member for member in members) else []
            kinds += [found.getFields()] if any("/" not in member for member in members) else []
            there = {member for kind in kinds for member in read_members(self._text.stringOf(kind))}
            if any(member.startswith(f"{name.rpartition('.')[2]}/") for member in members):
                there.update(read_members(self._text.stringOf(found.getConstructors())))
        except JavaError as problem:
            raise LookupError(_reason(problem)) from problem
        return sorted(set(members) - there)

    def version(self, name: str) -> str:
        """Return the version of the jar that a class is from: by its manifest, else by its name, else ""."""
        package = self._load(name).getPackage()
        if package is not None and (said := package.getImplementationVersion()):
            return str(said)
        in_name = re.search(r"-(\d[\w.+-]*)\.jar$", self.jar(name))
        return in_name[1] if in_name else ""

    def jar(self, name: str) -> str:
        """Return where a class is from, "" where Java does not say."""
        source = self._load(name).getProtectionDomain().getCodeSource()
        return "" if source is None else str(source.getLocation().getPath())

    def checkpoint_format(self) -> str:
        """Return the first line of what Spark writes down of a micro-batch that it has planned."""
        log = java("org.apache.spark.sql.execution.streaming.checkpointing.OffsetSeqLog$")
        return f"v{getattr(log, 'MODULE$').VERSION()}"

    def _load(self, name: str) -> Any:
        try:
            return self._loader.loadClass(name)
        except JavaError as problem:
            raise LookupError(_reason(problem)) from problem


def read_members(text: str) -> list[str]:
    """Return the members in a list of Java's own, as ``Array(public abstract int a.B.c(long,int) throws d.E)``.

    >>> read_members("Array(public abstract int a.B.c(long,int) throws d.E, public static final int a.B.D)")
    ['c/2', 'D']
    """
    found = _MEMBER.finditer(text)
    return [each[1] if each[2] is None else f"{each[1]}/{len(each[2].split(',')) if each[2] else 0}" for each in found]


def _reason(problem: JavaError) -> str:
    return str(problem.java_exception.toString())
