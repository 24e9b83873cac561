"""Headers that name what was never written: no target offset passes what the contents say, and the others go on."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import pytest
from confluent_kafka import Producer

from broker.committed_offsets import Partition, commit, committed
from broker.crafted_logs import Clusters, copied_log, create_topics, native_log, write_log
from broker.installation import Installation, install
from offset_sync_demo.kafka.clients import client_options

pytestmark = [pytest.mark.broker, pytest.mark.timeout(1200)]

SPOOFED, HUGE, HONEST = "lying-spoofed", "lying-huge", "lying-honest"
TOPICS = (SPOOFED, HUGE, HONEST)
LIES = {SPOOFED: 1_000_000, HUGE: 2**63 - 1}


def at(topic: str) -> Partition:
    return topic, 0


@dataclass(frozen=True)
class Lying:
    """dc2 has ten records of its own, of which five are at dc1; there another record says that it is a copy too."""

    clusters: Clusters
    installation: Installation

    def offset(self, topic: str) -> int | None:
        value = committed(self.clusters["dc2"], [topic])[topic].get(at(topic))
        return None if value is None else value.offset


@pytest.fixture(scope="module")
def lying(clusters: Clusters, spark_environment: None, tmp_path_factory: pytest.TempPathFactory) -> Lying:
    for alias in ("dc1", "dc2"):
        create_topics(clusters[alias], dict.fromkeys(TOPICS, 1))
    for topic in TOPICS:
        write_log(clusters["dc2"], {at(topic): native_log("dc2", 10)})
        offsets = [*range(5), LIES[topic]] if topic in LIES else list(range(5))
        write_log(
            clusters["dc1"], {at(topic): [*copied_log("dc2", offsets), *native_log("dc1", 1, first=len(offsets))]}
        )
    servers = {alias: clusters[alias].bootstrap_servers for alias in ("dc1", "dc2")}
    installation = install(tmp_path_factory.mktemp("lying"), servers, ["lying-.*"])
    commit(clusters["dc1"], {topic: {at(topic): 6 if topic in LIES else 5} for topic in TOPICS})
    assert (installation.index(), installation.sync()) == ([], [])
    return Lying(clusters, installation)


@pytest.mark.parametrize("topic", TOPICS)
def test_what_was_not_mirrored_is_unread_whatever_a_header_says(lying: Lying, topic: str) -> None:
    assert lying.offset(topic) == 5


def test_the_false_headers_are_in_quarantine_with_the_reason(lying: Lying) -> None:
    found = {
        (row["cluster"], row["topic"], row["offset"]): row["error"] for row in lying.installation.rows("quarantine")
    }
    assert found == {
        ("dc1", SPOOFED, 5): "origin offset 1000000: not in the log of dc2, which ends at 10",
        ("dc1", HUGE, 5): "offset header exceeds 4611686018427387903",
    }


@pytest.mark.parametrize(("place_header", "offset"), [("Place", 5), ("", 9)])
def test_headers_that_an_application_hands_on_make_no_copy_where_the_mirror_stamps_the_place(
    clusters: Clusters, spark_environment: None, tmp_path: Path, place_header: str, offset: int
) -> None:
    """dc1 has five copies, and a record of its own with the headers of one of another topic. Else it is believed."""
    topic = f"leaking-{place_header or 'nothing'}".lower()
    for alias in ("dc1", "dc2"):
        create_topics(clusters[alias], {topic: 1})
    write_log(clusters["dc2"], {at(topic): native_log("dc2", 10)})
    producer = Producer(client_options(clusters["dc1"].bootstrap_servers))
    for number, place in [*((n, f"{topic}-0") for n in range(5)), (8, "payments-0")]:
        headers = {"IDC": b"dc2", "Offset": b"%d" % number, "Place": place.encode()}
        producer.produce(topic, b"v", headers=list(headers.items()), partition=0)
    assert producer.flush(60) == 0
    servers = {alias: clusters[alias].bootstrap_servers for alias in ("dc1", "dc2")}
    installation = install(tmp_path, servers, [topic], mirror={"place_header": place_header})
    commit(clusters["dc1"], {topic: {at(topic): 6}})
    assert (installation.index(), installation.sync()) == ([], [])
    found = committed(clusters["dc2"], [topic])[topic][at(topic)]
    assert found.offset == offset
    assert installation.rows("quarantine") == []
