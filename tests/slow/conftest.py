"""Real Kafka, MirrorMaker 2 and Spark for what takes too long to be run every time."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from broker.crafted_logs import Clusters
from broker.installation import prepare_environment, shared_session
from offset_sync_demo.kafka.brokers import running_clusters


@pytest.fixture(scope="session")
def three_clusters(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Clusters]:
    """Three clusters: dc1, dc2 and dc3."""
    with running_clusters(["dc1", "dc2", "dc3"], tmp_path_factory.mktemp("brokers")) as started:
        yield started


@pytest.fixture(scope="session")
def spark_environment() -> Iterator[None]:
    """What a job needs to run in this process."""
    prepare_environment()
    with shared_session():
        yield
