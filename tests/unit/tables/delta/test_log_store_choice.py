"""Which log store Delta's writers get on S3, and where none is asked for."""

from __future__ import annotations

from typing import Any, cast

import pytest

from offset_sync.model.errors import PlatformError
from offset_sync.tables.delta import log_store
from offset_sync.tables.delta.log_store import check_log_store, log_store_settings

OURS, DYNAMO = "offsetsync.S3LogStore", "io.delta.storage.S3DynamoDBLogStore"
OF_SPARK, OF_KERNEL = "spark.delta.logStore.s3a.impl", "io.delta.kernel.logStore.s3a.impl"


class Settings:
    """What a session has been given."""

    def __init__(self, **settings: str) -> None:
        self._settings = settings
        self.conf = self

    def get(self, key: str, default: str | None = None) -> str | None:
        return self._settings.get(key, default)


def check(monkeypatch: pytest.MonkeyPatch, root: str, spark: Settings, hadoop: Settings) -> None:
    monkeypatch.setattr(log_store, "hadoop_configuration", lambda _spark: hadoop)
    monkeypatch.setattr(log_store, "java", lambda _name: pytest.fail("a file system was asked"))
    check_log_store(cast(Any, spark), root)


def test_both_writers_get_ours_on_every_name_of_s3() -> None:
    settings = log_store_settings({}.get)
    assert settings[OF_SPARK] == settings[f"spark.hadoop.{OF_KERNEL}"] == OURS
    assert len(settings) == 6


@pytest.mark.parametrize("key", [OF_SPARK, f"spark.hadoop.{OF_KERNEL}"])
def test_who_has_set_one_for_either_writer_gets_none_of_ours_there(key: str) -> None:
    assert not {OF_SPARK, f"spark.hadoop.{OF_KERNEL}"} & log_store_settings({key: DYNAMO}.get).keys()


def test_a_log_store_for_everything_is_left_alone() -> None:
    assert log_store_settings({"spark.delta.logStore.class": DYNAMO}.get) == {}


@pytest.mark.parametrize("root", ["hdfs://h/tables", "abfss://c@h/tables", "/data/tables", "./data/tables", "gs://b/t"])
def test_elsewhere_nothing_is_asked(monkeypatch: pytest.MonkeyPatch, root: str) -> None:
    check(monkeypatch, root, Settings(), Settings())


def test_the_same_log_store_of_ones_own_is_trusted(monkeypatch: pytest.MonkeyPatch) -> None:
    check(monkeypatch, "s3a://lake/tables", Settings(**{OF_SPARK: DYNAMO}), Settings(**{OF_KERNEL: DYNAMO}))


@pytest.mark.parametrize(("by_spark", "by_kernel"), [({}, {OF_KERNEL: DYNAMO}), ({OF_SPARK: DYNAMO}, {}), ({}, {})])
def test_two_log_stores_for_one_table_are_refused(
    monkeypatch: pytest.MonkeyPatch, by_spark: dict[str, str], by_kernel: dict[str, str]
) -> None:
    with pytest.raises(PlatformError, match="Delta's two writers need the same log store"):
        check(monkeypatch, "s3a://lake/tables", Settings(**by_spark), Settings(**by_kernel))
