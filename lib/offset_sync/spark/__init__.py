"""What a job needs of Spark beyond its public interface: versions, jars, and access to the driver's JVM.

``jvm`` and ``platform`` load pyspark; this file does not. It starts Spark for the wheel, which has no jars: Spark
fetches them from a Maven repository, once. ``spark-submit.sh`` gives Spark the jars of ``jars/spark`` instead.
"""

from __future__ import annotations

import importlib.util
import os
import shlex
import sys
from collections.abc import Mapping

from offset_sync.model.errors import ConfigError
from offset_sync.model.versions import minor_of

SPARK, DELTA, KAFKA_CLIENTS = "4.2.0", "4.4.0", "3.9.2"
"""The versions in setup.cfg and conf/jars/ivy.xml; a test compares them."""
OTHER_SPARKS = ("4.1",)
"""Minor versions of Spark with which tests/spark passed too, by the same Delta."""
JAVA_OPTIONS = {"index_records": "-XX:+UseParallelGC"}
"""By job. Millions of records that live for a moment: G1 spends twice the processor time on them."""
CHECKPOINT_FORMAT = "v1"
"""The first line of a file in a query's checkpoint; ``ingest/checkpoint.py`` reads only this format."""
SPARK_OPTIONS = "OFFSET_SYNC_SPARK_OPTIONS"
"""Environment variable: options for Spark, quoted as for a shell. They win over the defaults here."""
SUBMIT_ARGUMENTS = "PYSPARK_SUBMIT_ARGS"
_STARTED = (SUBMIT_ARGUMENTS, "PYSPARK_GATEWAY_PORT")
_DEFAULTS = {
    "spark.driver.memory": "2g",
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
}


def packages_for(spark: str) -> tuple[str, ...]:
    """Return what is fetched for this version of Spark."""
    return (
        f"org.apache.spark:spark-sql-kafka-0-10_2.13:{spark}",
        f"io.delta:delta-spark_{minor_of(spark)}_2.13:{DELTA}",
    )


def prepare_spark(job: str) -> None:
    """Set the environment in which pyspark starts the driver of *job*; one that is set already stays.

    Raises ConfigError where pyspark is not installed.
    """
    if importlib.util.find_spec("pyspark") is None:
        raise ConfigError([f"{job} runs on Spark: pip install 'offset-sync[spark]'"])
    if not any(name in os.environ for name in _STARTED):
        os.environ.update(spark_environment(job, os.environ, _installed_spark()))


def spark_environment(job: str, environ: Mapping[str, str], spark: str) -> dict[str, str]:
    """Return what is to be added to *environ* with this version of Spark."""
    settings = {**_DEFAULTS, "spark.jars.packages": ",".join(packages_for(spark))}
    settings |= {"spark.driver.extraJavaOptions": JAVA_OPTIONS[job]} if job in JAVA_OPTIONS else {}
    words = ["--name", f"offset-sync-{job.replace('_', '-')}"]
    words += [word for key, value in settings.items() for word in ("--conf", f"{key}={value}")]
    words += [*shlex.split(environ.get(SPARK_OPTIONS, "")), "pyspark-shell"]
    python = environ.get("PYSPARK_PYTHON", sys.executable)
    return {SUBMIT_ARGUMENTS: shlex.join(words), "PYSPARK_PYTHON": python, "PYTHONHASHSEED": "0"}


def _installed_spark() -> str:
    from importlib.metadata import PackageNotFoundError, version  # here: no command needs it, and it takes a while

    try:
        return version("pyspark")
    except PackageNotFoundError:  # not installed by pip; the job checks the version when it starts
        return SPARK
