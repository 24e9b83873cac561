"""Before a query is started, a new client has to get to the cluster that it was at before: Spark's would not notice."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from fakes.reconciler_site import config_of
from offset_sync.config import Config
from offset_sync.ingest.checkpoint import Checkpoint
from offset_sync.ingest.index_parts import IndexParts
from offset_sync.jobs.sync_offsets import SyncJob
from offset_sync.kafka.librdkafka import refuse_other
from offset_sync.model.errors import OtherClusterError
from offset_sync.state import cluster_ids
from offset_sync.tables.files import Files


@pytest.fixture
def config(monkeypatch: pytest.MonkeyPatch) -> Config:
    """X was the cluster id-1, and its addresses lead to id-2."""
    ids = {"X": "id-1"}
    monkeypatch.setattr(
        cluster_ids, "ask_by_new_client", lambda _config, alias, _s: refuse_other(alias, ids[alias], "id-2")
    )
    return config_of(["X", "Y"]).with_ids(ids)


def test_a_query_of_the_index_does_not_start_at_another_cluster(config: Config) -> None:
    parts: Any = SimpleNamespace(tables=SimpleNamespace(files=Files()))
    with pytest.raises(OtherClusterError):
        IndexParts.checkpoint(parts, config, "X")


def test_a_query_of_commits_does_not_start_at_another_cluster(config: Config, tmp_path: Any) -> None:
    job: Any = SimpleNamespace(
        _config=config,
        _lease=SimpleNamespace(renew=lambda: None),
        _run=SimpleNamespace(is_dry=True),
        _checkpoint=lambda _alias: Checkpoint(Files(), str(tmp_path)),
        _log=lambda _alias: None,
        _gone=set(),
    )
    with pytest.raises(OtherClusterError):
        SyncJob.start_query(job, "X")
    assert job._gone == {"X"}, "its commits are not waited for"
