"""What a job says on a Spark, or with jars, that it was not built with; and how the wheel starts Spark."""

from __future__ import annotations

import importlib.util
import os
import shlex
import sys

import pytest

from offset_sync.model.errors import ConfigError, PlatformError
from offset_sync.spark import SPARK, SPARK_OPTIONS, packages_for, prepare_spark, spark_environment
from offset_sync.spark.platform import JARS, PACKAGES, REMEDY, Jar, check


def said(**versions: str) -> list[str]:
    """Return what is said where some jars and packages have other *versions*."""
    name_of = {jar.a_class: jar.name for jar in JARS}
    found = PACKAGES | {jar.name: jar.version for jar in JARS} | versions

    def jar(a_class: str) -> str:
        name = name_of[a_class]
        return path(name, found[name])

    return check(lambda package: versions.get(f"python {package}", PACKAGES[package]), jar)


def path(name: str, version: str) -> str:
    return f"/jars/{name}-{version}.jar"


def refusal(**versions: str) -> str:
    with pytest.raises(PlatformError) as refused:
        said(**versions)
    text, remedy = str(refused.value).rsplit(REMEDY, 1)
    assert (remedy, "\n" in text) == ("", False)
    return text.removesuffix("; ")


@pytest.mark.parametrize("jar", JARS, ids=lambda jar: str(jar.name))
def test_every_jar_of_another_minor_version_is_refused(jar: Jar) -> None:
    assert said() == []
    assert (
        refusal(**{jar.name: "1.9.9"}) == f"expected {jar.name} {jar.version}, found 1.9.9 in {path(jar.name, '1.9.9')}"
    )


def test_another_spark_is_taken_and_told_where_it_was_tried_and_all_of_it_is_of_that_version() -> None:
    parts = ["python pyspark", "spark-core", "spark-sql", "spark-sql-kafka-0-10"]
    told = said(**dict.fromkeys(parts, "4.1.1"))
    assert [each.split(" in ")[0] for each in told] == [
        "expected the Python package pyspark 4.2.0, found 4.1.1",
        *(f"expected {jar} 4.2.0, found 4.1.1" for jar in parts[1:]),
    ]
    text = f"found the Python package pyspark 4.2.0 and {parts[-1]} 4.1.1 in {path(parts[-1], '4.1.1')}"
    assert refusal(**{parts[-1]: "4.1.1"}) == f"expected all of Spark in one version, {text}"


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
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    with pytest.raises(ConfigError, match=r"sync_offsets runs on Spark: pip install 'offset-sync\[spark\]'"):
        prepare_spark("sync_offsets")
