"""A target's log that an unclean election has cut: consumers go on from the cut, without any job of ours.

The commit carries the leader epoch under which the log had reached it, and Java consumers validate it (KIP-320)::

    leader 2   |0 ......... 150 ......... 200|                  killed
    leader 3   |0 ......... 150|                                elected uncleanly, then grown
                            150 .................. 260|
    commit                               200
"""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from dataclasses import dataclass

import pytest
from confluent_kafka import Producer

from broker.committed_offsets import admin_for
from broker.crafted_logs import wait_for_ends
from broker.replicated_cluster import ReplicatedCluster, replicated_cluster
from offset_sync.model.values import OffsetWrite, Rule, TopicPartition
from offset_sync_demo.kafka.broker_files import java_command
from offset_sync_demo.kafka.clients import client_options

pytestmark = [pytest.mark.broker, pytest.mark.timeout(600)]

PLACE = TopicPartition("orders", 0)
CUT, COMMITTED, END = 150, 200, 260
PROTOCOLS = ("classic", "consumer")


@dataclass(frozen=True)
class Elected:
    """The cluster after the election; *epoch* is that of the leader under which the log had reached the commits."""

    cluster: ReplicatedCluster
    epoch: int

    def reads(self, group: str, protocol: str, count: int) -> list[str]:
        """Return what Kafka's console consumer reads as a member of *group*, up to *count* records."""
        first = self.cluster.first
        options = [
            *("--bootstrap-server", first.bootstrap_servers, "--topic", PLACE.topic, "--group", group),
            *("--max-messages", str(count), "--timeout-ms", "60000"),
            *("--command-property", "auto.offset.reset=earliest"),
            *("--command-property", f"group.protocol={protocol}"),
        ]
        command = java_command(first.directory, "org.apache.kafka.tools.consumer.ConsoleConsumer", *options)
        found = subprocess.run(command, capture_output=True, text=True, timeout=120)
        assert found.returncode == 0, found.stderr
        return found.stdout.split()


def produce(cluster: ReplicatedCluster, name: str, first: int, end: int) -> None:
    producer = Producer(client_options(cluster.first.bootstrap_servers, acks="all"))
    for number in range(first, end):
        producer.produce(PLACE.topic, f"{name}-{number}", partition=0)
    assert producer.flush(120) == 0
    wait_for_ends(cluster.first, {(PLACE.topic, 0): end})


@pytest.fixture(scope="module")
def elected(broker_parts: None, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Elected]:
    with replicated_cluster("dc2", tmp_path_factory.mktemp("replicated")) as cluster:
        cluster.create_topic(PLACE.topic)
        produce(cluster, "first", 0, CUT)
        cluster.nodes[3].kill()
        cluster.wait_for(PLACE.topic, leader=2, in_sync={2})
        produce(cluster, "lost", CUT, COMMITTED)
        admin = admin_for(cluster.first)
        epoch = admin.ends([PLACE])[PLACE].leader_epoch
        assert epoch is not None
        writes = {
            f"{name}-{protocol}": [OffsetWrite(f"{name}-{protocol}", *PLACE, COMMITTED, its_epoch, Rule.SET, None)]
            for name, its_epoch in (("validates", epoch), ("trusts", None))
            for protocol in PROTOCOLS
        }
        assert admin.write_offsets(writes) == {group: {PLACE: None} for group in writes}
        cluster.nodes[2].kill()
        cluster.nodes[3].start()
        cluster.wait_for(PLACE.topic, leader=3, in_sync={3})
        produce(cluster, "grown", CUT, END)
        yield Elected(cluster, epoch)


def test_the_election_was_unclean_and_the_log_is_longer_than_before(elected: Elected) -> None:
    found = admin_for(elected.cluster.first).ends([PLACE])[PLACE]
    assert found.log_end == END
    assert found.leader_epoch is not None
    assert found.leader_epoch > elected.epoch


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_a_consumer_of_a_commit_with_its_leader_epoch_reads_from_the_cut(elected: Elected, protocol: str) -> None:
    read = elected.reads(f"validates-{protocol}", protocol, END - CUT)
    assert read == [f"grown-{number}" for number in range(CUT, END)]


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_a_consumer_of_a_commit_without_leader_epoch_skips_what_came_after_the_cut(
    elected: Elected, protocol: str
) -> None:
    read = elected.reads(f"trusts-{protocol}", protocol, END - COMMITTED)
    assert read == [f"grown-{number}" for number in range(COMMITTED, END)]
