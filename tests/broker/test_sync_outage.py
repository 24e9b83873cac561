"""A broker that goes away and comes back: earlier clients get answers again, without a restart."""

from __future__ import annotations

import time

import pytest

from broker.committed_offsets import admin_for
from broker.crafted_logs import Clusters, create_topics
from offset_sync.kafka.requests import Committed
from offset_sync.model.values import OffsetWrite, Outcome, Rule, TopicPartition
from offset_sync.state.lease import OpenFence
from offset_sync.sync.offset_writer import write_offsets

pytestmark = [pytest.mark.broker, pytest.mark.timeout(600)]

GROUPS = 8


def test_groups_known_before_a_restart_of_their_broker_are_read_and_written_after_it(
    clusters: Clusters, topic_name: str, group_name: str
) -> None:
    cluster, place = clusters["dc2"], TopicPartition(topic_name, 0)
    create_topics(cluster, {topic_name: 1})
    groups = [f"{group_name}-{number}" for number in range(GROUPS)]
    writes = [OffsetWrite(group, topic_name, 0, 7, None, Rule.SET, None) for group in groups]
    kafka = admin_for(cluster)
    assert {each.outcome for each in write_offsets(writes, kafka, fence=OpenFence(), dry_run=False, deadline=120)} == {
        Outcome.COMMITTED
    }
    cluster.kill()
    cluster.start()
    time.sleep(2)  # so long the client needs to see the cluster without its broker, and then with it
    found = kafka.committed_offsets(groups, deadline=120)
    assert found == {group: {place: Committed(7, "")} for group in groups}
    writes = [OffsetWrite(group, topic_name, 0, 8, None, Rule.SET, 7) for group in groups]
    assert {each.outcome for each in write_offsets(writes, kafka, fence=OpenFence(), dry_run=False, deadline=120)} == {
        Outcome.COMMITTED
    }
