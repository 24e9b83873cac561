"""Hadoop, S3 and Kafka as they are run elsewhere, each from its own jars: started once, when a test asks for them."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from broker.crafted_logs import Clusters
from cluster.hadoop import ARCHIVE, Hadoop, running_hadoop
from cluster.s3_server import JARS, S3Server, running_s3
from offset_sync_demo.kafka.brokers import running_clusters


@pytest.fixture(scope="session")
def cluster_parts() -> None:
    """The jars that `make test-cluster` brings, or the reason to skip."""
    _skip_without(JARS / "hadoop", JARS / "s3proxy", JARS / "s3a")


@pytest.fixture(scope="session")
def clusters(cluster_parts: None, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Clusters]:
    """Two clusters of Kafka, dc1 and dc2."""
    with running_clusters(["dc1", "dc2"], tmp_path_factory.mktemp("brokers")) as started:
        yield started


@pytest.fixture(scope="session")
def hdfs(cluster_parts: None, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Hadoop]:
    """HDFS, without nodes that run anything."""
    with running_hadoop(tmp_path_factory.mktemp("hadoop")) as hadoop:
        yield hadoop


@pytest.fixture(scope="module")
def yarn(hdfs: Hadoop) -> Hadoop:
    """HDFS and two nodes, each with room for everything that a test starts: one of them may go."""
    _skip_without(ARCHIVE)
    hdfs.start_nodes([6144, 6144])
    return hdfs


@pytest.fixture(scope="session")
def s3(cluster_parts: None, tmp_path_factory: pytest.TempPathFactory) -> Iterator[S3Server]:
    """A server with Amazon's protocol."""
    with running_s3(tmp_path_factory.mktemp("s3")) as server:
        yield server


def _skip_without(*paths: Path) -> None:
    if missing := [path for path in paths if not path.exists()]:
        pytest.skip(f"{missing[0]} is not there; make test-cluster brings it")
