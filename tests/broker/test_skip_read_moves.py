"""Groups move there and back by their read lists, while producers write at both clusters and mirrors copy both ways."""

from __future__ import annotations

import itertools
import time
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass

import pytest

from broker.crafted_logs import Clusters, create_topics
from broker.installation import Installation, install, until
from consumer.consumer_host import NEWEST, ConsumerHost, consumer_hosts
from consumer.moving import MovingGroups, cutover, move
from offset_sync_demo.load.mirror import Mirror
from offset_sync_demo.load.producer import TopicLoad
from offset_sync_demo.load.workload import Producers

pytestmark = [pytest.mark.broker, pytest.mark.long, pytest.mark.in_order, pytest.mark.timeout(900)]
TOPIC, PARTITIONS = "moving", 2
GROUPS = {"mover-classic": "classic", "mover-consumer": "consumer"}
PATTERN = "mover-.*"


@pytest.fixture(scope="module")
def host(broker_parts: None, tmp_path_factory: pytest.TempPathFactory) -> Iterator[ConsumerHost]:
    with consumer_hosts(tmp_path_factory) as hosts:
        yield hosts(NEWEST)


@dataclass
class Site:
    """Everything runs; *mirrors* may be stopped."""

    installation: Installation
    groups: MovingGroups
    producers: Producers
    mirrors: list[Mirror]


@pytest.fixture(scope="module")
def site(
    clusters: Clusters, host: ConsumerHost, spark_environment: None, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Site]:
    """Both groups read at dc1, and both jobs run."""
    pair = {alias: clusters[alias] for alias in ("dc1", "dc2")}
    for cluster in pair.values():
        create_topics(cluster, {TOPIC: PARTITIONS})
    producers = Producers(pair, [TopicLoad(TOPIC, PARTITIONS, 100.0)], {})
    sync = {"read_lists": {"groups": [PATTERN]}, "trigger_interval": "500ms", "reconcile_interval": "2s"}
    servers = {alias: cluster.bootstrap_servers for alias, cluster in pair.items()}
    installation = install(tmp_path_factory.mktemp(TOPIC), servers, [TOPIC], sync=sync)
    mirrors = [Mirror(pair[one], pair[other], [TOPIC]) for one, other in itertools.permutations(pair)]
    groups = MovingGroups(pair, host, TOPIC, PARTITIONS, GROUPS)
    with ExitStack() as exits:
        for each in mirrors:
            each.start()
            exits.callback(each.kill)
        producers.start()
        exits.callback(producers.stop, 2.0)
        for job in ("index_records", "sync_offsets"):
            exits.enter_context(installation.started(job))
        groups.start("dc1")
        wanted = {(group, number) for group in GROUPS for number in range(PARTITIONS)}
        until(
            lambda: {(r["group_id"], r["partition"]) for r in installation.translations(outcome="COMMITTED")} >= wanted
        )
        yield Site(installation, groups, producers, mirrors)


def test_a_move_there_and_one_back_repeat_nothing_and_lose_nothing(site: Site) -> None:
    for target in ("dc2", "dc1", "dc2"):
        move(site.installation, site.groups, target, PATTERN)
        site.groups.wait_until_read()
        time.sleep(3)


def test_after_the_start_it_is_verified_by_the_marks_of_the_consumers(site: Site) -> None:
    site.groups.stop()
    assert cutover(site.installation, "verify", "dc1", "dc2", "--groups", PATTERN, "--skip-read") == []
    site.groups.start("dc2")


def test_a_group_does_not_move_while_what_it_has_read_is_not_at_the_target(site: Site) -> None:
    back = next(each for each in site.mirrors if each.source.alias == "dc2")
    back.stop()
    time.sleep(2)
    site.groups.wait_until_read()
    site.groups.stop()
    words = ("dc2", "dc1", "--planned", "--timeout", "5s", "--groups", PATTERN, "--skip-read")
    failures = cutover(site.installation, "apply", *words)
    assert len(failures) == len(GROUPS)
    assert all("has read and dc1 lacks" in each and "of dc2 from" in each for each in failures)
    back.start()
    assert cutover(site.installation, "apply", *words[:4], "60s", *words[5:]) == []
    site.groups.start("dc1")


def test_nothing_was_repeated_and_nothing_lost(site: Site) -> None:
    site.producers.stop()
    for each in site.mirrors:
        each.drain()
    site.groups.wait_until_read()
    site.groups.stop()
    for group, found in site.groups.judge(site.producers, site.installation).items():
        assert (found.repeated, found.lost) == ([], []), group
        assert found.delivered > 500
    assert sum(row["skipped"] or 0 for row in site.installation.rows("cutovers", step="commit")) > 0
