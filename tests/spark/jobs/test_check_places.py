"""Places that only Hadoop's own settings decide on: a disk of this machine, after all."""

from __future__ import annotations

from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from offset_sync.config import parse_config
from offset_sync.jobs import spark_session
from offset_sync.jobs.checks.finding import Level
from offset_sync.jobs.checks.places import check_places


def test_a_place_that_hadoop_finds_on_this_disk_and_cannot_be_written_to_is_a_finding(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(spark_session, "open_session", lambda _name: spark)
    monkeypatch.setattr(spark, "stop", lambda: None)  # it is everybody's here
    (tmp_path / "file").write_text("in the way")
    ends = {f"dc{n}": {"kafka": {"bootstrap.servers": f"127.0.0.1:{n}"}} for n in (1, 2)}
    places = {"root": f"{tmp_path}/file/tables", "checkpoints": f"{tmp_path}/checkpoints"}
    config = parse_config({"clusters": ends, "topics": {"include": ["a"]}, "tables": places}, {})
    root, checkpoints = check_places(config, {"HADOOP_CONF_DIR": str(tmp_path)})
    assert (root.level, checkpoints.level) == (Level.FAIL, Level.OK)
    assert f"{tmp_path}/file/tables cannot be written to" in root.text
    assert "Not a directory" in root.text
