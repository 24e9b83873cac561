"""A command that spark-submit has started uses the session that there is, and leaves it to its owner."""

from __future__ import annotations

from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from fakes.reconciler_site import config_of
from offset_sync.jobs.open_tables import open_tables
from offset_sync.tables.catalog import DRIVERS


def test_a_session_that_was_there_before_is_used_and_goes_on(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PYSPARK_GATEWAY_PORT", "1")
    places = {"root": f"{tmp_path}/tables", "checkpoints": f"{tmp_path}/checkpoints"}
    with open_tables(config_of(["X", "Y"], tables=places), "name") as tables:
        tables.create([DRIVERS])
        assert spark.read.format("delta").load(tables.path(DRIVERS)).count() == 0
    assert spark.range(3).count() == 3
