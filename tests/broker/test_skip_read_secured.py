"""The consumers of `consumer/` at a cluster with logins, TLS and ACLs: which rights they need, and without them."""

from __future__ import annotations

import math
import time
from collections.abc import Iterator

import pytest
from confluent_kafka.admin import AclBinding, AclOperation, ResourcePatternType, ResourceType

from broker.committed_offsets import committed
from broker.installation import until
from broker.rights import right, rights, set_rights
from broker.secured_clusters import PASSWORD, USER, SecuredClusters
from consumer.consumer_host import NEWEST, PYTHON, Hosts
from consumer.crossing import READ, SEEN, USED, Crossing, values, write_crossing
from consumer.scenarios import Group
from offset_sync_demo.kafka.brokers import EmbeddedCluster

pytestmark = pytest.mark.timeout(900)
TOPIC = "skip-read-secured"
LISTS = right(ResourceType.GROUP, READ, AclOperation.DESCRIBE, ResourcePatternType.PREFIXED)
USES = right(ResourceType.GROUP, USED, AclOperation.READ, ResourcePatternType.PREFIXED)
ASKED_USES = right(ResourceType.GROUP, USED, AclOperation.DESCRIBE, ResourcePatternType.PREFIXED)
MARKS = right(ResourceType.GROUP, SEEN, AclOperation.READ, ResourcePatternType.PREFIXED)
BOTH = pytest.mark.parametrize("version", [NEWEST, PYTHON], ids=["Java", "Python"])


@pytest.fixture(scope="module")
def crossing(secured: SecuredClusters) -> Crossing:
    """A topic that many groups cross, each with lists of its own."""
    return write_crossing(secured.brokers["dc1"], TOPIC, records=150)


@pytest.fixture
def cluster(secured: SecuredClusters) -> Iterator[EmbeddedCluster]:
    """The cluster, which gets its rights back."""
    cluster = secured.brokers["dc1"]
    before = rights(cluster)
    yield cluster
    set_rights(cluster, before)


def settings(secured: SecuredClusters, version: str) -> dict[str, str]:
    """Return how consumers log in."""
    common = {
        "bootstrap.servers": secured.addresses["dc1"],
        "security.protocol": "SASL_SSL",
        "sasl.mechanism": "SCRAM-SHA-512",
    }
    if version == PYTHON:
        return common | {
            "sasl.username": USER, "sasl.password": PASSWORD, "ssl.ca.location": str(secured.authority.ca)
        }  # fmt: skip
    password = PASSWORD.replace("\\", "\\\\").replace('"', '\\"')
    login = "org.apache.kafka.common.security.scram.ScramLoginModule"
    return common | {
        "sasl.jaas.config": f'{login} required username="{USER}" password="{password}";',
        "ssl.truststore.type": "PEM",
        "ssl.truststore.location": str(secured.authority.ca),
    }


@BOTH
@pytest.mark.parametrize(
    ("given", "skips"),
    [((LISTS, ASKED_USES), False), ((LISTS, USES), True), ((LISTS, USES, MARKS), True)],
    ids=["lists, and to see uses", "lists and uses", "marks too"],
)
def test_each_right_that_is_missing_is_told_and_costs_no_record(
    secured: SecuredClusters,
    cluster: EmbeddedCluster,
    crossing: Crossing,
    hosts: Hosts,
    group_name: str,
    version: str,
    given: tuple[AclBinding, ...],
    skips: bool,
) -> None:
    of_every_consumer = {
        right(ResourceType.TOPIC, TOPIC, AclOperation.READ),
        right(ResourceType.GROUP, group_name, AclOperation.READ),
    }
    set_rights(cluster, of_every_consumer | {*given})
    crossing.give(group_name)
    group, began_at = Group(hosts(version), crossing, group_name, settings(secured, version)), time.monotonic()
    reader = group.start("a", slowly=True)
    # A poll with records takes the answer in; as it closes the consumer waits for 2 s only.
    no_marks = [] if MARKS in given else until(lambda: hosts(version).logged("without marks", group_name))
    group.hurry("a")
    crossing.wait_until_read(reader)
    group.stop("a")
    pauses = math.log2(1 + 10 * (time.monotonic() - began_at))  # each is twice as long as the one before
    assert values(reader) == crossing.due(skips=skips)
    assert (reader.metrics["skipped-total"] > 0, reader.metrics["failed-total"] == 0) == (skips, skips)
    assert reader.metrics["asked-total"] <= len(crossing.logs) * (1 + pauses), (
        "a refusal is not asked for with each poll"
    )
    lines = [each for each in hosts(version).logged(" WARN ", group_name) if each not in no_marks]
    marks = committed(cluster, [SEEN + group_name])[SEEN + group_name]
    if MARKS in given:
        behind = {log.end - marks[TOPIC, number].offset for number, log in crossing.logs.items()}
        assert behind <= {0, 1}, "librdkafka does not tell of the marker of a transaction"
    else:
        (line,) = no_marks
        assert f"Group {group_name} skips without marks: its principal needs Read on group {SEEN}{group_name} (" in line
        assert marks == {}
    told = [each for each in lines if "cannot read its lists, so records are delivered without them" in each]
    # Partitions that come in another poll are asked for by themselves, and begin another series of failures.
    assert (len(told) == 0) if skips else (1 <= len(told) <= len(crossing.logs))
    for line in told:
        assert "GroupAuthorizationException" in line or "GROUP_AUTHORIZATION_FAILED" in line
    assert lines == told
