"""What this is built with passes its own test, and what a JVM has is told as the test reads it."""

from __future__ import annotations

import pytest
from pyspark.sql import SparkSession

from offset_sync.model.errors import PlatformError
from offset_sync.spark.jvm import java, version_and_jar
from offset_sync.spark.platform import check_platform

CONSUMER, STORE = "org.apache.kafka.clients.consumer.KafkaConsumer", "io.delta.storage.LocalLogStore"


def test_the_pinned_platform_passes_without_a_word(spark: SparkSession) -> None:
    assert check_platform() == []


def test_the_version_is_that_of_the_manifest_or_else_of_the_jars_name(spark: SparkSession) -> None:
    assert version_and_jar(CONSUMER)[0] == "3.9.2"
    version, path = version_and_jar(STORE)
    assert (version, path.rpartition("/")[2]) == ("4.4.0", "delta-storage-4.4.0.jar")
    assert version_and_jar("java.lang.String") == ("", "")


def test_what_is_not_there_is_refused_with_the_words_of_java(spark: SparkSession) -> None:
    with pytest.raises(LookupError, match=r"ClassNotFoundException: io\.delta\.Chair"):
        version_and_jar("io.delta.Chair")
    with pytest.raises(PlatformError, match=r"^io\.delta\.Chair: not on Spark's class path; run 'make install'$"):
        java("io.delta.Chair")
