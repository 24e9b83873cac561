"""A command that needs Spark uses the session that there is, and leaves it to whoever has opened it."""

from __future__ import annotations

from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from fakes.reconciler_site import config_of
from offset_sync.jobs.open_tables import open_tables
from offset_sync.tables.catalog import DRIVERS
from offset_sync.tables.store import TableStore


def test_a_session_that_was_there_before_is_used_and_goes_on(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HADOOP_CONF_DIR", str(tmp_path))  # so a path without a scheme may lie anywhere
    places = {"root": f"{tmp_path}/tables", "checkpoints": f"{tmp_path}/checkpoints"}
    with open_tables(config_of(["X", "Y"], tables=places), "name") as tables:
        assert isinstance(tables, TableStore)
        tables.create([DRIVERS])
        assert tables.all_rows(DRIVERS).num_rows == 0
        assert tables.spark.sparkContext.applicationId == spark.sparkContext.applicationId
    assert spark.range(3).count() == 3
