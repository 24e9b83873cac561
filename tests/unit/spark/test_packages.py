"""How the wheel starts Spark: with jars that Spark fetches, and the user's options after ours."""

from __future__ import annotations

import os
import shlex
import sys
import xml.etree.ElementTree as ET
from pathlib import Path

import pytest

from offset_sync.model.errors import ConfigError
from offset_sync.spark import packages
from offset_sync.spark.packages import SPARK_OPTIONS, packages_for, prepare_spark, spark_environment
from offset_sync.spark.versions import SPARK

REPO = Path(__file__).parents[3]


def test_the_packages_are_those_of_the_jars_that_are_tested() -> None:
    found = ET.parse(REPO / "conf" / "jars" / "ivy.xml").iter("dependency")
    pinned = {f"{each.attrib['org']}:{each.attrib['name']}:{each.attrib['rev']}" for each in found}
    assert {*packages_for(SPARK)} <= pinned


def test_a_driver_gets_its_jars_and_the_options_of_the_user_come_last() -> None:
    found = spark_environment(
        "index_records", {SPARK_OPTIONS: "--conf 'spark.driver.memory=8 g' --master local[3]"}, SPARK
    )
    words = shlex.split(found["PYSPARK_SUBMIT_ARGS"])
    assert words[:2] == ["--name", "offset-sync-index-records"]
    assert words[-5:] == ["--conf", "spark.driver.memory=8 g", "--master", "local[3]", "pyspark-shell"]
    assert f"spark.jars.packages={','.join(packages_for(SPARK))}" in words
    assert "spark.driver.extraJavaOptions=-XX:+UseParallelGC" in words
    assert found["PYSPARK_PYTHON"] == sys.executable
    assert spark_environment("sync_offsets", {"PYSPARK_PYTHON": "/my/python"}, SPARK)["PYSPARK_PYTHON"] == "/my/python"


@pytest.mark.parametrize("name", ["PYSPARK_SUBMIT_ARGS", "PYSPARK_GATEWAY_PORT"])
def test_what_spark_submit_has_set_stays(monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    for each in ("PYSPARK_SUBMIT_ARGS", "PYSPARK_GATEWAY_PORT", "PYSPARK_PYTHON"):
        monkeypatch.delenv(each, raising=False)
    monkeypatch.setenv(name, "theirs")
    prepare_spark("sync_offsets")
    assert (os.environ[name], os.environ.get("PYSPARK_PYTHON")) == ("theirs", None)


def test_without_spark_it_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(packages.importlib.util, "find_spec", lambda name: None)
    with pytest.raises(ConfigError, match=r"sync_offsets runs on Spark: pip install 'offset-sync\[spark\]'"):
        prepare_spark("sync_offsets")
