"""A query starts only at the cluster that it was at before."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from fakes.reconciler_site import config_of
from offset_sync.config import Config
from offset_sync.ingest.checkpoint import Checkpoint
from offset_sync.ingest.index_parts import IndexParts
from offset_sync.jobs.commit_query import CommitQuery
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
    files = Files()
    query: Any = SimpleNamespace(
        _parts=SimpleNamespace(
            config=config, lease=SimpleNamespace(renew=lambda: None), tables=SimpleNamespace(files=files)
        ),
        _alias="X",
        _checkpoint=Checkpoint(files, str(tmp_path)),
        _is_polled=False,
        _records=lambda: None,
        is_gone=False,
    )
    with pytest.raises(OtherClusterError):
        CommitQuery.start(query)
    assert query.is_gone, "its commits are not waited for"
