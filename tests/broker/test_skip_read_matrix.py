"""Consumers of all versions with the interceptor of `consumer/`: protocols, ways to commit, and what happens midway."""

from __future__ import annotations

import pytest

from consumer.consumer_host import Hosts
from consumer.crossing import Crossing, values
from consumer.scenarios import SCENARIOS, Group

pytestmark = [pytest.mark.slow, pytest.mark.timeout(900)]
QUICK = {"heartbeat.interval.ms": "200", "session.timeout.ms": "6000"}
VERSIONS = ["2.1.1", "2.8.2", "3.6.2", "3.9.2", "4.0.1", "4.3.0", "4.4.0"]


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
    if scenario == "is static" and number < (2, 3):
        pytest.skip("these clients have no static members")
    settings = QUICK if protocol == "classic" else {"group.protocol": protocol}
    group = f"{version}-{protocol}-{commits}-{scenario.replace(' ', '-')}"
    crossing.give(group, deflates=commits == "record")
    found = values(*SCENARIOS[scenario](Group(hosts(version), crossing, group, settings, commits=commits)))
    assert found == crossing.due(skips=number >= (2, 5))
