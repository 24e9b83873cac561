"""Checks that the platform is the one that this was built with, when a job starts, before there is a session.

Jars of another version come from SPARK_HOME, ``--jars`` or ``--packages``. The rule for versions is that of
``model/versions.py``, for each jar by itself. Executors are not checked: spark-submit gives them the same jars.
"""

from __future__ import annotations

import importlib.metadata
from collections.abc import Callable
from typing import NamedTuple

import pyspark

from offset_sync.model.errors import PlatformError
from offset_sync.model.versions import Match, match_version, minor_of
from offset_sync.spark import DELTA, KAFKA_CLIENTS, OTHER_SPARKS, SPARK
from offset_sync.spark.jvm import version_and_jar

REMEDY = (
    "run 'make install' and start the job by spark-submit.sh, which gives Spark the jars of jars/spark; "
    "remove jars of other versions that come from SPARK_HOME, --jars or --packages"
)


class Jar(NamedTuple):
    """A jar on Spark's class path: its *version*, "" for any, and a class of it."""

    name: str
    version: str
    a_class: str


PACKAGES = {"pyspark": SPARK, "delta-spark": DELTA}
"""The Python side of both."""
JARS = (
    Jar("spark-core", SPARK, "org.apache.spark.rdd.RDD"),
    Jar("spark-sql", SPARK, "org.apache.spark.sql.classic.Dataset"),
    Jar("spark-sql-kafka-0-10", SPARK, "org.apache.spark.sql.kafka010.KafkaSourceProvider"),
    Jar("spark-token-provider-kafka-0-10", "", "org.apache.spark.kafka010.KafkaTokenUtil"),
    Jar("kafka-clients", KAFKA_CLIENTS, "org.apache.kafka.clients.consumer.KafkaConsumer"),
    Jar("commons-pool2", "", "org.apache.commons.pool2.impl.GenericKeyedObjectPool"),
    Jar("lz4-java", "", "net.jpountz.lz4.LZ4Factory"),
    Jar("delta-spark", DELTA, "io.delta.sql.DeltaSparkSessionExtension"),
    Jar("delta-storage", DELTA, "io.delta.storage.LogStore"),
    Jar("scala-parallel-collections", "", "scala.collection.parallel.ForkJoinTaskSupport"),
)


def check_platform() -> list[str]:
    """Return warnings for the log; raises PlatformError, in one line, where the job cannot work."""
    return check(package_version, version_and_jar)


def check(package: Callable[[str], str], jar: Callable[[str], tuple[str, str]]) -> list[str]:
    """Do the same, where *package* returns the version of a Python package, *jar* version and path by a class.

    *jar* raises LookupError where the class is missing.
    """
    problems, remarks, sparks = list[str](), list[str](), dict[str, str]()

    def compare(wanted: str, version: str, found: str, place: str = "") -> None:
        text = f"expected {wanted} {version}, found {found or 'one of no known version'}{place}"
        match = match_version(version, found, OTHER_SPARKS if version == SPARK else ())
        if match is not Match.SAME:
            (problems if match is Match.OTHER else remarks).append(text)
        if version == SPARK and found:
            sparks.setdefault(minor_of(found) or found, f"{wanted} {found}{place}")

    for name, version in PACKAGES.items():
        compare(f"the Python package {name}", version, package(name))
    for each in JARS:
        try:
            found, path = jar(each.a_class)
        except LookupError as problem:
            problems.append(f"{f'expected {each.name} {each.version}'.rstrip()}, found none: {problem.args[0]}")
            continue
        if each.version:
            compare(each.name, each.version, found, f" in {path}")
    if len(sparks) > 1 and not problems:
        problems.append(f"expected all of Spark in one version, found {' and '.join(sparks.values())}")
    if problems:
        raise PlatformError("; ".join([*problems, REMEDY]))
    return remarks


def package_version(name: str) -> str:
    """Return the version of a Python package; "" where it was unpacked and not installed."""
    if name == "pyspark":
        return pyspark.__version__
    try:
        return importlib.metadata.version(name)
    except importlib.metadata.PackageNotFoundError:
        return ""
