"""What this is built with passes its own test, and what a JVM has is told as the test reads it."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest
from pyspark.sql import SparkSession

from offset_sync.config import HIDDEN_NAMES
from offset_sync.jobs.spark_session import check_places, open_session, with_slots
from offset_sync.model.errors import ConfigError, PlatformError
from offset_sync.spark import platform
from offset_sync.spark.jvm import default_file_system, jar_of, java

STORE = "io.delta.storage.LocalLogStore"


def test_the_pinned_platform_passes_and_another_one_is_refused(
    spark: SparkSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert platform.check_platform() == []
    other = [each._replace(version="9.9.9") if each.name == "delta-storage" else each for each in platform.JARS]
    monkeypatch.setattr(platform, "JARS", (*other, platform.Jar("chair", "1.0", "io.delta.Chair")))
    lacking = r"expected chair 1\.0, found none: java\.lang\.ClassNotFoundException: io\.delta\.Chair"
    of_another = r"expected delta-storage 9\.9\.9, found 4\.4\.0 in /.*; run 'make"
    with pytest.raises(PlatformError, match=f"{lacking}; {of_another}"):
        open_session("another")


def test_a_class_is_in_a_jar_and_one_that_is_missing_is_named(spark: SparkSession) -> None:
    assert jar_of(STORE).rpartition("/")[2] == "delta-storage-4.4.0.jar"
    assert jar_of("java.lang.String") == ""
    with pytest.raises(PlatformError, match=r"^io\.delta\.Chair: not on Spark's class path; run 'make install'$"):
        java("io.delta.Chair")


def test_defaults_hold_where_the_user_said_nothing_and_what_is_hidden_spark_does_not_show(spark: SparkSession) -> None:
    jvm: Any = spark._jvm
    conf = spark.sparkContext._jsc.sc().getConf()
    wanted = {
        "spark.sql.extensions": "io.delta.sql.DeltaSparkSessionExtension",
        "spark.sql.session.timeZone": "UTC",
        "spark.sql.execution.arrow.maxRecordsPerBatch": "50000",
        "spark.sql.shuffle.partitions": "2",  # the user's, as the master
        "spark.master": "local[2]",
        "spark.scheduler.mode": "FAIR",
        "spark.kafka.consumer.cache.capacity": "4096",
        "spark.sql.redaction.options.regex": HIDDEN_NAMES,
    }
    assert {name: conf.get(name) for name in wanted} == wanted
    for name in ("kafka.sasl.jaas.config", "kafka.ssl.key.password", "kafka.sasl.username", "SSL.KEYSTORE.PASSWORD"):
        pairs = jvm.scala.collection.immutable.List.newBuilder()
        shown = jvm.org.apache.spark.util.Utils.redact(conf, pairs.addOne(jvm.scala.Tuple2(name, "s3cret")).result())
        assert "s3cret" not in str(shown), name


def test_a_place_without_a_scheme_is_refused_where_hadoop_would_put_it_elsewhere(spark: SparkSession) -> None:
    config: Any = SimpleNamespace(tables=SimpleNamespace(root="hdfs://name/t", checkpoints="data/checkpoints"))
    check_places(config, default_file_system(spark))
    refused = r"tables\.checkpoints: data/checkpoints has no scheme, and fs\.defaultFS is hdfs://name: write it with"
    with pytest.raises(ConfigError, match=refused):
        check_places(config, "hdfs://name")


@pytest.mark.parametrize("variable", ["SPARK_REMOTE", "SPARK_CONNECT_MODE_ENABLED"])
def test_spark_connect_is_refused_with_the_remedy(variable: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(variable, "sc://localhost")
    with pytest.raises(ConfigError, match="unset it and use spark-submit"):
        open_session("connect")


@pytest.mark.parametrize(("cores", "clusters", "slots"), [(2, 3, 6), (16, 10, 32), (64, 2, 64)])
def test_each_cluster_gets_a_slot_per_core_up_to_a_bound(cores: int, clusters: int, slots: int) -> None:
    assert with_slots("local[*]", cores, clusters) == f"local[{slots}]"
    for master in ("local[2]", "local[*,3]", "yarn", "k8s://https://h:6443"):  # counted by the user
        assert with_slots(master, cores, clusters) == master
