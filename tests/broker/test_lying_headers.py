"""Headers that name what was never written: no target offset passes what the contents say, and the others go on."""

from __future__ import annotations

from dataclasses import dataclass

import pytest

from broker.committed_offsets import Partition, commit, committed
from broker.crafted_logs import Clusters, copied_log, create_topics, native_log, write_log
from broker.installation import Installation, install

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


def test_the_lies_are_in_quarantine_with_the_reason(lying: Lying) -> None:
    found = {
        (row["cluster"], row["topic"], row["offset"]): row["error"] for row in lying.installation.rows("quarantine")
    }
    assert found == {
        ("dc1", SPOOFED, 5): "origin offset 1000000: not in the log of dc2, which ends at 10",
        ("dc1", HUGE, 5): "offset header exceeds 4611686018427387903",
    }
