"""Of many commits tasks of Spark read a share each: the rows are those that the driver reads where they are few."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from broker.committed_offsets import commit
from broker.crafted_logs import Clusters, create_topics, native_log, write_log
from broker.installation import install
from offset_sync.ingest import commit_ingester
from offset_sync.ingest.checkpoint import DRIVER_MAX_RECORDS
from offset_sync.ingest.kafka_source import read_by_tasks

pytestmark = pytest.mark.broker

TOPIC = "many"
NAMES = ("log_partition", "log_offset", "group_id", "topic", "partition", "committed_offset", "is_own", "committed_at")


def test_they_are_the_same_rows(
    clusters: Clusters, spark_environment: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for alias in ("dc1", "dc2"):
        create_topics(clusters[alias], {TOPIC: 3})
    write_log(clusters["dc1"], {(TOPIC, number): native_log("dc1", 20) for number in range(3)})
    commit(clusters["dc1"], {f"many-{n}": {(TOPIC, number): n % 20 for number in range(3)} for n in range(60)})
    servers = {alias: clusters[alias].bootstrap_servers for alias in ("dc1", "dc2")}
    by_tasks, rows = list[int](), dict[str, set[tuple[Any, ...]]]()
    monkeypatch.setattr(commit_ingester, "read_by_tasks", lambda *asked: by_tasks.append(1) or read_by_tasks(*asked))
    for name, few in (("few", DRIVER_MAX_RECORDS), ("many", 0)):
        monkeypatch.setattr("offset_sync.ingest.checkpoint.DRIVER_MAX_RECORDS", few)
        (tmp_path / name).mkdir()
        installation = install(tmp_path / name, servers, [TOPIC])
        assert installation.sync(no_writes=True) == []
        found = installation.rows("offset_commits", cluster="dc1", topic=TOPIC)
        rows[name] = {tuple(row[column] for column in NAMES) for row in found}
        assert bool(by_tasks) == (name == "many")
    assert rows["few"] == rows["many"]
    assert len(rows["few"]) == 180
