"""A job of the wheel starts Spark with jars that Spark itself fetches from a Maven repository, here a folder."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import xml.etree.ElementTree as ET
from pathlib import Path

import pytest
import yaml

from offset_sync.spark import SPARK

REPO = Path(__file__).parents[2]
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
    pinned = [each.attrib for each in ET.parse(REPO / "conf" / "jars" / "ivy.xml").iter("dependency")]
    jars = [(each["org"], each["name"], each["rev"]) for each in pinned if each["conf"].startswith("spark->")]
    for organisation, name, version in jars:
        place = folder / organisation.replace(".", "/") / name / version
        place.mkdir(parents=True)
        shutil.copy(REPO / "jars" / "spark" / f"{name}-{version}.jar", place)
        others = [each for each in jars if each[1] != name] if name.startswith("spark-sql") else []
        needed = "".join(NEEDS.format(*each) for each in others)
        (place / f"{name}-{version}.pom").write_text(POM.format(organisation, name, version, needed))
    settings = folder / "ivysettings.xml"
    settings.write_text(IVY.format(folder=folder))
    return settings


@pytest.mark.timeout(900)
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
