"""One Spark session for all tests here, as a job opens it; tables are copied from a template, which costs nothing."""

from __future__ import annotations

import os
import shlex
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from offset_sync.jobs.spark_session import open_session

REPO = Path(__file__).resolve().parents[2]
JARS_VARIABLE = "OFFSET_SYNC_SPARK_JARS"
USER_SETTINGS = {
    "spark.sql.shuffle.partitions": "2",
    "spark.ui.enabled": "false",
    "spark.driver.memory": "1g",
    # Queries over a few rows: to compile each takes longer than to interpret it.
    "spark.sql.codegen.wholeStage": "false",
    "spark.sql.codegen.factoryMode": "NO_CODEGEN",
}


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if "spark" in getattr(item, "fixturenames", ()):
            item.add_marker(pytest.mark.xdist_group("spark"))  # one session for all of them


@pytest.fixture(scope="session")
def spark(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SparkSession]:
    """The session that ``open_session`` makes where the user gave ``--master``, ``--jars`` and a few ``--conf``."""
    jars = sorted(Path(os.environ.get(JARS_VARIABLE) or REPO / "jars" / "spark").glob("*.jar"))
    if not jars:
        pytest.fail(f"no Spark jars; run 'make install' or set {JARS_VARIABLE}")
    scratch = tmp_path_factory.mktemp("spark")
    settings = {**USER_SETTINGS, "spark.sql.warehouse.dir": str(scratch), "spark.local.dir": str(scratch)}
    words = [word for key, value in settings.items() for word in ("--conf", f"{key}={value}")]
    # Tests run everything a few times only: what the second compiler of the JVM would gain, it costs twice.
    flags = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC -XX:ReservedCodeCacheSize=240m"
    verify_nothing = "-XX:+UnlockDiagnosticVMOptions -XX:-BytecodeVerificationRemote"
    quick = ["--driver-java-options", f"{flags} {verify_nothing}"]
    submit = ["--master", "local[2]", "--jars", ",".join(map(str, jars)), *quick, *words, "pyspark-shell"]
    environment = {
        "PYSPARK_SUBMIT_ARGS": shlex.join(submit),
        "PYSPARK_PYTHON": sys.executable,
        # As conf/spark-env.sh has it.
        "SPARK_CONF_DIR": f"{REPO}/conf/none",
        "SPARK_SUBMIT_OPTS": f"-XX:SharedArchiveFile={REPO}/jars/spark/classes.jsa -Xlog:cds*=off",
        "PYTHONPATH": os.pathsep.join([f"{REPO}/lib", *filter(None, [os.environ.get("PYTHONPATH")])]),
    }
    with pytest.MonkeyPatch.context() as patch:
        for name, value in environment.items():
            patch.setenv(name, value)
        session = open_session("tests", reads_internal_topics=True)
        yield session
        session.stop()
