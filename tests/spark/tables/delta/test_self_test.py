"""What this is built with passes its own test, and what a JVM has is told as the test reads it."""

from __future__ import annotations

import pytest
from pyspark.sql import SparkSession

from offset_sync.model.errors import PlatformError
from offset_sync.tables.delta.jvm import DriverClasses, java
from offset_sync.tables.delta.requirements import REQUIRED, Part
from offset_sync.tables.delta.self_test import check, check_platform

CONSUMER, STORE = "org.apache.kafka.clients.consumer.KafkaConsumer", "io.delta.storage.LocalLogStore"


@pytest.fixture
def classes(spark: SparkSession) -> DriverClasses:
    return DriverClasses()


def test_the_pinned_platform_passes_without_a_word(spark: SparkSession) -> None:
    assert check_platform() == []


def test_methods_are_told_with_their_arguments_and_constructors_and_fields_by_name(classes: DriverClasses) -> None:
    assert classes.missing(CONSUMER, ["subscribe/1", "poll/1", "poll/9", "PATH"]) == ["PATH", "poll/9"]
    assert classes.missing("java.util.ArrayList", ["ArrayList/0", "ArrayList/1", "ArrayList/3"]) == ["ArrayList/3"]
    assert classes.missing("java.lang.Integer", ["MAX_VALUE", "MODULE$", "parseInt/2"]) == ["MODULE$"]
    assert classes.missing("org.apache.spark.sql.execution.streaming.checkpointing.OffsetSeqLog$", ["MODULE$"]) == []


def test_the_version_is_that_of_the_manifest_or_else_of_the_jars_name(classes: DriverClasses) -> None:
    assert (classes.version(CONSUMER), classes.version(STORE)) == ("3.9.2", "4.4.0")
    assert classes.jar(STORE).endswith("/delta-storage-4.4.0.jar")
    assert classes.version("java.lang.String") == classes.jar("java.lang.String") == ""


def test_what_is_not_there_is_refused_with_the_words_of_java(classes: DriverClasses) -> None:
    with pytest.raises(LookupError, match=r"ClassNotFoundException: io\.delta\.Chair"):
        classes.missing("io.delta.Chair")
    with pytest.raises(PlatformError, match=r"^io\.delta\.Chair: not on Spark's class path; run 'make install'$"):
        java("io.delta.Chair")
    part = Part("kafka-clients", "3.9.2", {CONSUMER: "poll/1 poll/9"})
    with pytest.raises(PlatformError, match=rf"kafka-clients-3\.9\.2\.jar: {CONSUMER} has no poll/9; run 'make"):
        check(classes, [part])


def test_the_version_found_is_the_one_that_counts(classes: DriverClasses) -> None:
    (storage,) = (part for part in REQUIRED if part.jar == "delta-storage")
    with pytest.raises(PlatformError, match=r"^expected delta-storage 9\.9\.0, found 4\.4\.0 in /"):
        check(classes, [Part(storage.jar, "9.9.0", storage.classes)])
    assert check(classes, [Part(storage.jar, "4.4.9", storage.classes)]) != []
