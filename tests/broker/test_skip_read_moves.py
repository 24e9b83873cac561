"""Groups move by their read lists, while producers write at both clusters and mirrors copy both ways; then one dies."""

from __future__ import annotations

import itertools
import re
import time
from collections.abc import Iterator, Mapping
from contextlib import ExitStack
from dataclasses import dataclass

import pytest

from broker.committed_offsets import Partition, committed
from broker.crafted_logs import Clusters, create_topics
from broker.installation import Installation, install, until
from consumer.consumer_host import NEWEST, ConsumerHost, consumer_hosts
from consumer.moving import MovingGroups, cutover, move
from offset_sync_demo.load.mirror import Mirror
from offset_sync_demo.load.producer import TopicLoad
from offset_sync_demo.load.workload import Producers

pytestmark = [pytest.mark.broker, pytest.mark.long, pytest.mark.timeout(900)]
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


def test_groups_move_there_and_back_and_what_they_have_read_is_neither_repeated_nor_lost(site: Site) -> None:
    for target in ("dc2", "dc1", "dc2"):
        move(site.installation, site.groups, target, PATTERN)
        site.groups.wait_until_read()
        time.sleep(3)
    site.groups.stop()
    # The marks of the consumers are proof once they are captured.
    until(lambda: cutover(site.installation, "verify", "dc1", "dc2", "--groups", PATTERN, "--skip-read") == [])
    site.groups.start("dc2")
    does_not_move_while_what_it_has_read_is_not_at_the_target(site)
    time.sleep(3)
    judged = site.groups.judge(site.producers, site.installation)
    assert [found.repeated for found in judged.values()] == [[]] * len(GROUPS)
    assert sum(row["skipped"] or 0 for row in site.installation.rows("cutovers", step="commit")) > 0
    most = repeats_in_a_disaster_only_what_it_has_read_since_its_last_commit(site)
    repeats_what_comes_late_once_the_source_is_back_and_loses_nothing(site, most)


def does_not_move_while_what_it_has_read_is_not_at_the_target(site: Site) -> None:
    back = next(each for each in site.mirrors if each.source.alias == "dc2")
    back.stop()
    time.sleep(2)
    site.groups.wait_until_read()
    site.groups.stop()
    words = ("dc2", "dc1", "--planned", "--timeout", "5s", "--groups", PATTERN, "--skip-read")
    failures = cutover(site.installation, "apply", *words)
    assert len(failures) == len(GROUPS)
    assert all("has read and that are not at dc1" in each and "of origin dc2, from" in each for each in failures)
    back.start()
    own = site.groups.committed_at("dc2")
    assert cutover(site.installation, "apply", *words[:4], "60s", *words[5:]) == []
    stays_where_it_was_moved_until_it_is_past_its_list(site, own)
    site.groups.start("dc1")


def stays_where_it_was_moved_until_it_is_past_its_list(site: Site, own: Mapping[str, Mapping[Partition, int]]) -> None:
    lists, places = (
        [f"__offset-sync.read.{group}" for group in GROUPS],
        [(TOPIC, number) for number in range(PARTITIONS)],
    )
    start, listed = site.groups.committed_at("dc1"), committed(site.groups.clusters["dc1"], lists)
    for _ in range(3):
        failures = cutover(
            site.installation, "apply", "dc1", "dc2", "--planned", "--timeout", "60s", "--groups", PATTERN
        )
        assert ["still skip up to" in each and "start them there" in each for each in failures] == [True] * len(GROUPS)
    assert (site.groups.committed_at("dc2"), site.groups.committed_at("dc1")) == (own, start)
    held = committed(site.groups.clusters["dc1"], lists)
    assert [held[group][place] for group in lists for place in places] == [
        listed[group][place] for group in lists for place in places
    ]


def repeats_in_a_disaster_only_what_it_has_read_since_its_last_commit(site: Site) -> dict[str, int]:
    """Return by group how many it repeats at most once dc1 is back."""
    there = next(each for each in site.mirrors if each.source.alias == "dc1")
    there.stop()
    time.sleep(3)  # what is produced at dc1 now is read there, and captured
    site.groups.clusters["dc1"].kill()
    site.groups.stop()
    assert cutover(site.installation, "apply", "dc1", "dc2", "--groups", PATTERN, "--disaster") == []
    rows = {step: site.installation.rows("cutovers", mode="disaster", step=step) for step in ("check", "verify")}
    repeats = {row["group_id"]: row["duplicates"] for row in rows["check"]}
    told = {row["group_id"]: re.findall(r"repeats up to ([\d,]+) more", row["detail"]) for row in rows["verify"]}
    most = {group: repeats[group] + int(told[group][0].replace(",", "")) for group in GROUPS}
    site.groups.start("dc2")
    site.groups.wait_until_read()
    for group, found in site.groups.judge(site.producers, site.installation).items():
        assert len(found.repeated) <= most[group], (group, found.repeated, most)
    return most


def repeats_what_comes_late_once_the_source_is_back_and_loses_nothing(site: Site, most: dict[str, int]) -> None:
    site.groups.clusters["dc1"].start()
    next(each for each in site.mirrors if each.source.alias == "dc1").start()
    site.producers.stop()
    for each in site.mirrors:
        each.drain(120)
    site.groups.wait_until_read()
    site.groups.stop()
    for group, found in site.groups.judge(site.producers, site.installation).items():
        assert (0 < len(found.repeated) <= most[group], found.lost) == (True, []), (group, found.repeated, most)
        assert found.delivered > 500
