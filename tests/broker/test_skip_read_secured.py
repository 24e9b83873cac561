"""The consumers of `consumer/` at a cluster with logins, TLS and ACLs: which rights they need, and without them.

In Java and in Python.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from confluent_kafka.admin import AclBinding, AclOperation, ResourcePatternType, ResourceType

from broker.committed_offsets import committed
from broker.rights import right, rights, set_rights
from broker.secured_clusters import PASSWORD, USER, SecuredClusters
from consumer.consumer_host import NEWEST, ConsumerHost, Reader, consumer_hosts, python_consumer_host
from consumer.crossing import READ, SEEN, USED, Crossing, values, write_crossing
from consumer.scenarios import Group, reads_through

pytestmark = [pytest.mark.broker, pytest.mark.long]
PYTHON = "in Python"
TOPIC = "skip-read-secured"
LISTS = right(ResourceType.GROUP, READ, AclOperation.DESCRIBE, ResourcePatternType.PREFIXED)
USES = right(ResourceType.GROUP, USED, AclOperation.READ, ResourcePatternType.PREFIXED)
ASKED_USES = right(ResourceType.GROUP, USED, AclOperation.DESCRIBE, ResourcePatternType.PREFIXED)
MARKS = right(ResourceType.GROUP, SEEN, AclOperation.READ, ResourcePatternType.PREFIXED)


@pytest.fixture(scope="module")
def crossing(secured: SecuredClusters) -> Crossing:
    """A topic that many groups cross, each with lists of its own."""
    return write_crossing(secured.brokers["dc1"], TOPIC, records=150, seed=3)


@pytest.fixture(scope="module", params=[NEWEST, PYTHON])
def version(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture(scope="module")
def host(broker_parts: None, version: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[ConsumerHost]:
    """Consumers of the newest clients that there are."""
    if version == PYTHON:
        with python_consumer_host(tmp_path_factory.mktemp("host")) as started:
            yield started
    else:
        with consumer_hosts(tmp_path_factory) as hosts:
            yield hosts(version)


@pytest.fixture
def read_with(
    secured: SecuredClusters, crossing: Crossing, host: ConsumerHost, version: str, group_name: str
) -> Iterator[Callable[..., Reader]]:
    """Let a group with these rights, and those of every consumer, read the topic."""
    cluster = secured.brokers["dc1"]
    before = rights(cluster)

    def read(*more: AclBinding) -> Reader:
        of_every_consumer = {
            right(ResourceType.TOPIC, TOPIC, AclOperation.READ),
            right(ResourceType.GROUP, group_name, AclOperation.READ),
        }
        set_rights(cluster, of_every_consumer | {*more})
        crossing.give(group_name)
        (reader,) = reads_through(Group(host, crossing, group_name, settings(secured, version)))
        return reader

    yield read
    set_rights(cluster, before)


def settings(secured: SecuredClusters, version: str) -> dict[str, str]:
    if version == PYTHON:
        return {
            "bootstrap.servers": secured.addresses["dc1"],
            "security.protocol": "SASL_SSL",
            "sasl.mechanism": "SCRAM-SHA-512",
            "sasl.username": USER,
            "sasl.password": PASSWORD,
            "ssl.ca.location": str(secured.authority.ca),
        }
    password = PASSWORD.replace("\\", "\\\\").replace('"', '\\"')
    login = "org.apache.kafka.common.security.scram.ScramLoginModule"
    return {
        "bootstrap.servers": secured.addresses["dc1"],
        "security.protocol": "SASL_SSL",
        "sasl.mechanism": "SCRAM-SHA-512",
        "sasl.jaas.config": f'{login} required username="{USER}" password="{password}";',
        "ssl.truststore.type": "PEM",
        "ssl.truststore.location": str(Path(secured.authority.ca)),
    }


def warnings(host: ConsumerHost, group: str) -> list[str]:
    """Return the interceptor's warnings that name a group."""
    return host.logged(" WARN ", group)


@pytest.mark.parametrize("given", [(), (LISTS,), (USES,), (LISTS, ASKED_USES)], ids=["", "lists", "uses", "no write"])
def test_without_rights_of_its_own_everything_is_delivered_and_one_line_says_why(
    read_with: Callable[..., Reader],
    crossing: Crossing,
    host: ConsumerHost,
    group_name: str,
    given: tuple[AclBinding, ...],
) -> None:
    reader = read_with(*given)
    assert values(reader) == crossing.due(skips=False)
    line, _ = sorted(warnings(host, group_name), key=lambda line: "without marks" in line)
    assert f"SkipRead of group {group_name} cannot read its lists, so records are delivered without them" in line
    assert "GroupAuthorizationException" in line or "GROUP_AUTHORIZATION_FAILED" in line
    assert reader.metrics["skipped-total"] == 0
    assert reader.metrics["asked-total"] <= 7, "a refusal is not asked for with each poll"


def test_with_the_rights_to_see_and_use_lists_it_skips_without_marks(
    read_with: Callable[..., Reader], crossing: Crossing, host: ConsumerHost, group_name: str
) -> None:
    reader = read_with(LISTS, USES)
    assert values(reader) == crossing.due()
    assert reader.metrics["failed-total"] == 0
    (line,) = warnings(host, group_name)
    assert f"Group {group_name} skips without marks: its principal needs Read on group {SEEN}{group_name} (" in line
    assert committed(crossing.cluster, [SEEN + group_name])[SEEN + group_name] == {}


def test_with_the_right_to_write_marks_they_are_there(
    read_with: Callable[..., Reader], crossing: Crossing, host: ConsumerHost, group_name: str
) -> None:
    reader = read_with(LISTS, USES, MARKS)
    assert values(reader) == crossing.due()
    marks = committed(crossing.cluster, [SEEN + group_name])[SEEN + group_name]
    behind = {log.end - marks[TOPIC, number].offset for number, log in crossing.logs.items()}
    assert behind <= {0, 1}, "librdkafka does not tell of the marker of a transaction"
    assert warnings(host, group_name) == []
