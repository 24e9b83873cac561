"""Clients whose cluster is gone: they wait, and use nothing meanwhile."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from broker.busy_threads import busy_threads, threads
from broker.committed_offsets import committed
from broker.crafted_logs import create_topics
from offset_sync.kafka.cluster_admin import ClusterAdmin
from offset_sync.model.errors import ClusterError
from offset_sync.model.values import TopicPartition
from offset_sync_demo.kafka.brokers import running_clusters

pytestmark = [pytest.mark.broker, pytest.mark.timeout(180)]


def test_a_client_that_has_lost_all_brokers_waits_for_them_and_does_not_go_round_in_circles(
    broker_parts: None, tmp_path: Path
) -> None:
    others = threads()
    with running_clusters(["lost"], tmp_path) as clusters:
        cluster = clusters["lost"]
        create_topics(cluster, {"orders": 1})
        committed(cluster, ["anybody"])  # until the coordinator is there
        admin = ClusterAdmin("lost", {"bootstrap.servers": cluster.bootstrap_servers})
        assert admin.committed_offsets(["anybody"]) == {"anybody": {}}
        assert admin.ends([TopicPartition("orders", 0)])
        cluster.kill()
        time.sleep(2.0)  # until each client has noticed
        assert busy_threads(others) == []
        with pytest.raises(ClusterError):
            admin.committed_offsets(["anybody"], deadline=1.0)
        with pytest.raises(ClusterError):
            admin.ends([TopicPartition("orders", 0)], deadline=1.0)
        # Both requests go on waiting for a broker, for an hour.
        assert busy_threads(others) == []
        cluster.start()
        assert admin.committed_offsets(["anybody"]) == {"anybody": {}}
