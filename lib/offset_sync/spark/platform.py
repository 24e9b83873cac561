"""Checks that the platform is the one that this was built with, when a job starts, before there is a session.

Jars of another version come from SPARK_HOME, ``--jars`` or ``--packages``. The rule for versions is that of
``model/versions.py``, for each jar by itself. Executors are not checked: spark-submit gives them the same jars.
"""

from __future__ import annotations

import importlib.metadata
import re
from collections.abc import Callable
from typing import NamedTuple

import pyspark

from offset_sync.model.errors import PlatformError
from offset_sync.model.versions import Match, match_version, minor_of
from offset_sync.spark import DELTA, KAFKA_CLIENTS, OTHER_SPARKS, SPARK
from offset_sync.spark.jvm import jar_of

REMEDY = (
    "run 'make install' and start the job by spark-submit.sh, which gives Spark the jars of jars/spark; "
    "remove jars of other versions that come from SPARK_HOME, --jars or --packages"
)


class Jar(NamedTuple):
    """A jar on Spark's class path: its *version*, by its name, and a class of it."""

    name: str
    version: str
    a_class: str


PACKAGES = {"pyspark": SPARK, "delta-spark": DELTA}
"""The Python side of both."""
JARS = (
    Jar("spark-core", SPARK, "org.apache.spark.rdd.RDD"),
    Jar("spark-sql", SPARK, "org.apache.spark.sql.classic.Dataset"),
    Jar("spark-sql-kafka-0-10", SPARK, "org.apache.spark.sql.kafka010.KafkaSourceProvider"),
    Jar("kafka-clients", KAFKA_CLIENTS, "org.apache.kafka.clients.consumer.KafkaConsumer"),
    Jar("delta-spark", DELTA, "io.delta.sql.DeltaSparkSessionExtension"),
    Jar("delta-storage", DELTA, "io.delta.storage.LogStore"),
)


def check_platform() -> list[str]:
    """Return warnings for the log; raises PlatformError, in one line, where the job cannot work."""
    return check(package_version, jar_of)


def check(package: Callable[[str], str], jar: Callable[[str], str]) -> list[str]:
    """Do the same, where *package* returns the version of a Python package, *jar* the path of the jar of a class.

    *jar* raises LookupError where the class is missing.
    """
    problems, remarks, sparks = list[str](), list[str](), dict[str | None, str]()
    found = [(f"the Python package {name}", version, package(name), "") for name, version in PACKAGES.items()]
    for name, version, a_class in JARS:
        try:
            path = jar(a_class)
        except LookupError as problem:
            problems.append(f"expected {name} {version}, found none: {problem.args[0]}")
        else:
            in_name = re.search(r"-(\d+\.\d[\w.+-]*)\.jar$", path)
            found.append((name, version, in_name[1] if in_name else "", f" in {path}"))
    for name, wanted, version, place in found:
        match = match_version(wanted, version, OTHER_SPARKS if wanted == SPARK else ())
        if match is not Match.SAME:
            text = f"expected {name} {wanted}, found {version or 'one of no known version'}{place}"
            (problems if match is Match.OTHER else remarks).append(text)
        if wanted == SPARK and version:
            sparks.setdefault(minor_of(version), f"{name} {version}{place}")
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
