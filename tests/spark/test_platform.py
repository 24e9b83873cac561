"""What this is built with passes its own test, and what a JVM has is told as the test reads it."""

from __future__ import annotations

import pytest
from pyspark.sql import SparkSession

from offset_sync.jobs.spark_session import open_session
from offset_sync.model.errors import PlatformError
from offset_sync.spark import platform
from offset_sync.spark.jvm import java, version_and_jar

CONSUMER, STORE = "org.apache.kafka.clients.consumer.KafkaConsumer", "io.delta.storage.LocalLogStore"


def test_the_pinned_platform_passes_and_another_one_is_refused(
    spark: SparkSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert platform.check_platform() == []
    other = [each._replace(version="9.9.9") if each.name == "delta-storage" else each for each in platform.JARS]
    monkeypatch.setattr(platform, "JARS", (*other, platform.Jar("chair", "1.0", "io.delta.Chair")))
    lacking = r"expected chair 1\.0, found none: java\.lang\.ClassNotFoundException: io\.delta\.Chair; run 'make"
    with pytest.raises(PlatformError, match=rf"expected delta-storage 9\.9\.9, found 4\.4\.0 in /.*; {lacking}"):
        open_session("another")


def test_the_version_is_that_of_the_manifest_or_else_of_the_jars_name(spark: SparkSession) -> None:
    assert version_and_jar(CONSUMER)[0] == "3.9.2"
    version, path = version_and_jar(STORE)
    assert (version, path.rpartition("/")[2]) == ("4.4.0", "delta-storage-4.4.0.jar")
    assert version_and_jar("java.lang.String") == ("", "")
    with pytest.raises(PlatformError, match=r"^io\.delta\.Chair: not on Spark's class path; run 'make install'$"):
        java("io.delta.Chair")
