"""A command has its tables without Spark wherever they can be reached without it."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pytest

from offset_sync.config import Config, parse_config
from offset_sync.jobs.open_tables import is_within_reach, open_tables
from offset_sync.model.errors import PlatformError
from offset_sync.tables.local_store import LocalTables


def config(root: str, checkpoints: str) -> Config:
    ends = {f"dc{n}": {"kafka": {"bootstrap.servers": f"127.0.0.1:{n}"}} for n in (1, 2)}
    places = {"root": root, "checkpoints": checkpoints}
    return parse_config({"clusters": ends, "topics": {"include": ["a"]}, "tables": places}, {})


@pytest.mark.parametrize(
    ("root", "checkpoints", "environ", "is_near"),
    [
        ("/a", "/b", {}, True),
        ("file:/a", "file:///b", {"HADOOP_CONF_DIR": "/etc/hadoop"}, True),
        ("/a", "file:/b", {"HADOOP_CONF_DIR": "/etc/hadoop"}, False),
        ("s3a://bucket/a", "/b", {}, False),
        ("/a", "hdfs://name/b", {}, False),
        ("/a", "/b", {"PYSPARK_GATEWAY_PORT": "1"}, False),  # a driver that spark-submit has started
    ],
)
def test_both_places_decide(root: str, checkpoints: str, environ: dict[str, str], is_near: bool) -> None:
    assert is_within_reach(config(root, checkpoints), environ) == is_near


def test_tables_on_this_disk_are_opened_without_spark(tmp_path: Path) -> None:
    with open_tables(config(f"file:{tmp_path}/a", f"file:{tmp_path}/b"), "name") as tables:
        assert isinstance(tables, LocalTables)
        assert not (tmp_path / "a").exists()


def test_where_spark_is_needed_and_not_installed_it_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    """As in an environment with the base dependencies alone."""
    hidden: Any = None
    for name in [each for each in sys.modules if each.startswith(("offset_sync.jobs.spark_session", "pyspark"))]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "pyspark", hidden)
    told = pytest.raises(PlatformError, match=r"s3a://bucket/a .* pip install 'offset-sync\[spark\]'")
    with told, open_tables(config("s3a://bucket/a", "/b"), "name"):
        pass
