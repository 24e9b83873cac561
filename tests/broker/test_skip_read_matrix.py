"""Consumers of all versions with the interceptor of `consumer/`: protocols, ways to commit, and what happens midway."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from consumer.consumer_host import Hosts, consumer_hosts
from consumer.crossing import Crossing, values, write_crossing
from consumer.scenarios import SCENARIOS, Group
from offset_sync_demo.kafka.brokers import running_clusters

pytestmark = pytest.mark.timeout(900)
QUICK = {"heartbeat.interval.ms": "200", "session.timeout.ms": "6000"}
CONSUMER = {"group.protocol": "consumer"}
VERSIONS = ["2.1.1", "2.8.2", "3.6.2", "3.9.2", "4.0.1", "4.3.0", "4.4.0"]
FIRST_STATIC = (2, 3)
FIRST_THAT_COMMITS = (2, 5)


@pytest.fixture(scope="module")
def hosts(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Hosts]:
    """A JVM for each version of kafka-clients, started with the first test that asks for it."""
    with consumer_hosts(tmp_path_factory) as started:
        yield started


@pytest.fixture(scope="module")
def crossing(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Crossing]:
    """A topic that many groups cross, each with lists of its own."""
    with running_clusters(["dc1"], tmp_path_factory.mktemp("brokers")) as started:
        yield write_crossing(started["dc1"], "skip-read")


@pytest.mark.parametrize("scenario", SCENARIOS)
@pytest.mark.parametrize("commits", ["auto", "batch", "record"])
@pytest.mark.parametrize("protocol", ["classic", "consumer"])
@pytest.mark.parametrize("version", VERSIONS)
def test_what_is_due_is_delivered_once_and_nothing_else(
    hosts: Hosts, crossing: Crossing, version: str, protocol: str, commits: str, scenario: str
) -> None:
    number = tuple(map(int, version.split(".")))
    if protocol == "consumer" and number < (4,):
        pytest.skip("these clients only have the classic protocol, or the other one to be tried")
    if scenario == "is static" and number < FIRST_STATIC:
        pytest.skip("these clients have no static members")
    settings = QUICK if protocol == "classic" else CONSUMER
    group = f"{version}-{protocol}-{commits}-{scenario.replace(' ', '-')}"
    crossing.give(group, deflates=commits == "record")
    readers = SCENARIOS[scenario](Group(hosts(version), crossing, group, settings, commits=commits))
    assert values(*readers) == crossing.due(skips=number >= FIRST_THAT_COMMITS)
