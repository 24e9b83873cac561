"""What this is built with passes its own test, and what a JVM has is told as the test reads it."""

from __future__ import annotations

import pytest
from pyspark.sql import SparkSession

from offset_sync.model.errors import PlatformError
from offset_sync.tables.delta.jvm import DriverClasses, java
from offset_sync.tables.delta.requirements import REQUIRED, Part
from offset_sync.tables.delta.self_test import check, check_maintenance, check_platform

TABLE = "io.delta.kernel.Table"


@pytest.fixture
def classes(spark: SparkSession) -> DriverClasses:
    return DriverClasses()


def test_the_pinned_platform_passes_without_a_word(spark: SparkSession) -> None:
    assert check_platform() == []
    check_maintenance()


def test_methods_are_told_with_their_arguments_and_constructors_and_fields_by_name(classes: DriverClasses) -> None:
    assert classes.missing(TABLE, ["forPath/2", "forPath/1", "getPath/1", "PATH"]) == ["PATH", "forPath/1"]
    assert classes.missing("java.util.ArrayList", ["ArrayList/0", "ArrayList/1", "ArrayList/3"]) == ["ArrayList/3"]
    assert classes.missing("java.lang.Integer", ["MAX_VALUE", "MODULE$", "parseInt/2"]) == ["MODULE$"]
    assert classes.missing("org.apache.spark.sql.execution.streaming.checkpointing.OffsetSeqLog$", ["MODULE$"]) == []


def test_the_version_is_that_of_the_manifest_or_else_of_the_jars_name(classes: DriverClasses) -> None:
    assert classes.version(TABLE) == "4.4.0"
    assert classes.jar(TABLE).endswith("/delta-kernel-api-4.4.0.jar")
    assert classes.version("org.apache.kafka.clients.consumer.KafkaConsumer") == "3.9.2"
    assert classes.version("java.lang.String") == classes.jar("java.lang.String") == ""


def test_what_is_not_there_is_refused_with_the_words_of_java(classes: DriverClasses) -> None:
    with pytest.raises(LookupError, match=r"ClassNotFoundException: io\.delta\.kernel\.Chair"):
        classes.missing("io.delta.kernel.Chair")
    with pytest.raises(
        PlatformError, match=r"^io\.delta\.kernel\.Chair: not on Spark's class path; run 'make install'$"
    ):
        java("io.delta.kernel.Chair")
    part = Part("delta-kernel-api", "4.4.0", {TABLE: "forPath/2 forPath/7"})
    with pytest.raises(PlatformError, match=rf"delta-kernel-api-4\.4\.0\.jar: {TABLE} has no forPath/7; run 'make"):
        check(classes, [part])


def test_the_version_found_is_the_one_that_counts(classes: DriverClasses) -> None:
    (kernel,) = (part for part in REQUIRED if part.jar == "delta-kernel-api")
    with pytest.raises(PlatformError, match=r"^expected delta-kernel-api 9\.9\.0, found 4\.4\.0 in /"):
        check(classes, [Part(kernel.jar, "9.9.0", kernel.classes)])
    assert check(classes, [Part(kernel.jar, "4.4.9", kernel.classes)]) != []
