"""A job of the wheel starts Spark with jars that Spark itself fetches from a Maven repository, here a folder."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

from offset_sync.spark.versions import SPARK

REPO = Path(__file__).parents[2]
ORGANISATIONS = {
    "commons-pool2": "org.apache.commons",
    "delta-spark_4.2_2.13": "io.delta",
    "delta-storage": "io.delta",
    "kafka-clients": "org.apache.kafka",
    "lz4-java": "at.yawk.lz4",
    "scala-parallel-collections_2.13": "org.scala-lang.modules",
    "spark-sql-kafka-0-10_2.13": "org.apache.spark",
    "spark-token-provider-kafka-0-10_2.13": "org.apache.spark",
}
IVY = """<ivysettings>
  <settings defaultResolver="folder"/>
  <caches defaultCacheDir="{folder}/cache"/>
  <resolvers><filesystem name="folder" m2compatible="true">
    <ivy pattern="{folder}/[organisation]/[module]/[revision]/[module]-[revision].pom"/>
    <artifact pattern="{folder}/[organisation]/[module]/[revision]/[artifact]-[revision].[ext]"/>
  </filesystem></resolvers>
</ivysettings>
"""
POM = """<project><modelVersion>4.0.0</modelVersion><groupId>{0}</groupId><artifactId>{1}</artifactId>
<version>{2}</version><dependencies>{3}</dependencies></project>
"""
NEEDS = "<dependency><groupId>{0}</groupId><artifactId>{1}</artifactId><version>{2}</version></dependency>"


def repository(folder: Path) -> Path:
    """Make a Maven repository of the installed jars: Spark's Kafka source needs all others; return Ivy's settings."""
    found = dict[str, str]()
    for jar in (REPO / "jars" / "spark").glob("*.jar"):
        name, version = re.fullmatch(r"(.+?)-(\d+\.\d[\w.]*)", jar.stem).groups()  # type: ignore[union-attr]
        found[name] = version
        place = folder / ORGANISATIONS[name].replace(".", "/") / name / version
        place.mkdir(parents=True)
        shutil.copy(jar, place)
    assert found.keys() == ORGANISATIONS.keys()
    for name, version in found.items():
        others = {each: found[each] for each in found if each != name} if name.startswith("spark-sql") else {}
        needed = "".join(NEEDS.format(ORGANISATIONS[each], each, number) for each, number in others.items())
        place = folder / ORGANISATIONS[name].replace(".", "/") / name / version
        (place / f"{name}-{version}.pom").write_text(POM.format(ORGANISATIONS[name], name, version, needed))
    settings = folder / "ivysettings.xml"
    settings.write_text(IVY.format(folder=folder))
    return settings


@pytest.mark.timeout(240)
def test_a_job_of_the_wheel_starts_with_the_jars_that_spark_fetches(tmp_path: Path) -> None:
    config = {
        "clusters": {alias: {"kafka": {"bootstrap.servers": "127.0.0.1:9"}} for alias in ("dc1", "dc2")},
        "topics": {"include": ["orders"]},
        "tables": {"root": str(tmp_path / "tables"), "checkpoints": str(tmp_path / "checkpoints")},
    }
    (tmp_path / "my.yaml").write_text(yaml.safe_dump(config))
    options = f"--conf spark.jars.ivySettings={repository(tmp_path / 'maven')} --conf spark.jars.ivy={tmp_path}/ivy"
    theirs = ("PYSPARK_", "SPARK_", "OFFSET_SYNC_")
    environment = {name: value for name, value in os.environ.items() if not name.startswith(theirs)}
    command = [sys.executable, "-m", "offset_sync.jobs.console", "index_records", "--once", "--conf", "my.yaml"]
    done = subprocess.run(
        command,
        cwd=tmp_path,
        env=environment | {"OFFSET_SYNC_SPARK_OPTIONS": options, "PYTHONPATH": str(REPO / "lib")},
        capture_output=True,
        text=True,
        timeout=200,
        check=False,
    )
    assert f"Spark {SPARK} started" in done.stderr, done.stderr[-3000:]
    assert "clusters.dc1" in done.stderr
    assert done.returncode == 1, "no broker answers"
