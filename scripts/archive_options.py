"""Where the archive of Spark's classes lies, and how a driver is told of it. Standard library only."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from spark_options import Options

ARCHIVE = Path("jars", "classes", "spark.jsa")
EMPTY_CONF = Path("jars", "classes", "conf")
CONF_VARIABLE = "OFFSET_SYNC_EMPTY_CONF"
"""Tells conf/spark-env.sh of :data:`EMPTY_CONF`, which stands for conf/ on the class path then."""


def class_archive(
    repo: Path, master: str, options: Options, settings: Mapping[str, str], environ: Mapping[str, str]
) -> list[str]:
    """Return the options with which a driver on this machine starts from the archive of classes, if it can.

    Its class path has to be the one that the archive was made for, so not where the user has one of his own, another
    Spark, or settings of Hadoop in conf/.
    """
    archive, conf = repo / ARCHIVE, repo / "conf"
    own = {"spark.driver.extraClassPath", "spark.driver.defaultJavaOptions"} & settings.keys()
    own |= environ.keys() & {"SPARK_HOME", "SPARK_CONF_DIR", "SPARK_CLASSPATH"}
    is_other = options.value("--driver-class-path") or options.value("--properties-file") or ":" in str(repo)
    if not master.startswith("local") or own or is_other or not archive.is_file() or any(conf.glob("*.xml")):
        return []
    return archive_options(repo, "SharedArchiveFile")


def archive_options(repo: Path, use: str) -> list[str]:
    """Return Spark's options for a JVM that reads or makes the archive: *use* is the name of Java's option for that."""
    jars = ":".join(str(jar) for jar in sorted((repo / "jars" / "spark").glob("*.jar")))
    return [
        *("--properties-file", str(repo / "conf" / "spark-defaults.conf")),
        *("--conf", f"spark.driver.extraClassPath={jars}"),
        # The default options stand in front of the user's. Where Java cannot use the archive it is to say nothing.
        *("--conf", f'spark.driver.defaultJavaOptions="-XX:{use}={repo / ARCHIVE}" -Xlog:cds*=off'),
    ]
