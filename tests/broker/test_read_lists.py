"""Read lists while everything runs, and Java consumers that go by them.

Producers write at both clusters and mirrors copy both ways; groups move; then a cluster dies.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping
from contextlib import ExitStack
from dataclasses import dataclass

import pytest

from broker.committed_offsets import Partition
from broker.crafted_logs import Clusters, create_topics
from broker.installation import Installation, install, until
from consumer.consumer_host import NEWEST, ConsumerHost, Hosts
from consumer.moving import MovingGroups, cutover, move
from offset_sync_demo.kafka.clients import stable_ends
from offset_sync_demo.load.mirror import Mirror
from offset_sync_demo.load.producer import TopicLoad
from offset_sync_demo.load.workload import Producers

pytestmark = [pytest.mark.slow, pytest.mark.timeout(900)]
TOPIC, PARTITIONS = "moving", 2
GROUPS = {"mover-classic": "classic", "mover-consumer": "consumer"}
PATTERN = "mover-.*"


@pytest.fixture(scope="module")
def host(hosts: Hosts) -> ConsumerHost:
    return hosts(NEWEST)


@dataclass
class Site:
    """Everything runs; *mirrors*, by source, may be stopped."""

    installation: Installation
    groups: MovingGroups
    producers: Producers
    mirrors: Mapping[str, Mirror]

    def read_without_the_mirror(self, source: str) -> None:
        """Stop to copy from where the groups read, and return once some of what they have read is not copied."""
        self.mirrors[source].stop()
        ends = stable_ends(self.groups.clusters[source], [(TOPIC, number) for number in range(PARTITIONS)])
        # More than a few, to be sure that there are some.
        until(lambda: all(self._captured(source, group, place) > end + 20 for group, place, end in self._each(ends)))

    def _each(self, ends: Mapping[Partition, int]) -> Iterator[tuple[str, Partition, int]]:
        return ((group, place, end) for group in GROUPS for place, end in ends.items())

    def _captured(self, alias: str, group: str, place: Partition) -> int:
        rows = self.installation.rows("offset_commits", cluster=alias, group_id=group, partition=place[1])
        return max((row["committed_offset"] or 0 for row in rows), default=0)


@pytest.fixture
def site(
    clusters: Clusters, host: ConsumerHost, spark_environment: None, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Site]:
    """Both groups read at dc1, and both jobs run."""
    pair = {alias: clusters[alias] for alias in ("dc1", "dc2")}
    for cluster in pair.values():
        create_topics(cluster, {TOPIC: PARTITIONS})
    producers = Producers(pair, [TopicLoad(TOPIC, PARTITIONS, 100.0)], {})
    # A micro-batch takes the same work however little there is for it, and something there is always.
    sync = {"read_lists": {"groups": [PATTERN]}, "trigger_interval": "2s", "reconcile_interval": "1s"}
    folder, index = tmp_path_factory.mktemp(TOPIC), {"trigger_interval": "1s"}
    installation = install(folder, clusters, [TOPIC], sync=sync, index=index)
    mirrors = {one: Mirror(pair[one], pair[other], [TOPIC]) for one, other in itertools.permutations(pair)}
    # One member each: one that hands its partition on midway leaves no mark of the list that it has used.
    groups = MovingGroups(pair, host, TOPIC, PARTITIONS, GROUPS, members=1)
    with ExitStack() as exits:
        exits.callback(pair["dc1"].start)  # which the disaster kills
        for each in mirrors.values():
            each.start()
            exits.callback(each.kill)
        producers.start()
        exits.callback(producers.stop, 2.0)
        for job in ("index_records", "sync_offsets"):
            exits.enter_context(installation.here(job))
        groups.start("dc1")
        wanted = {(group, number) for group in GROUPS for number in range(PARTITIONS)}
        until(
            lambda: {(r["group_id"], r["partition"]) for r in installation.translations(outcome="COMMITTED")} >= wanted
        )
        yield Site(installation, groups, producers, mirrors)


def test_groups_move_there_and_back_and_what_they_have_read_is_neither_repeated_nor_lost(site: Site) -> None:
    move(site.installation, site.groups, "dc2", PATTERN)
    site.groups.wait_until_read()
    site.groups.stop()
    # The marks of the consumers are proof once they are captured.
    until(lambda: cutover(site.installation, "verify", "dc1", "dc2", "--groups", PATTERN, "--skip-read") == [])
    site.groups.start("dc2")
    does_not_move_while_what_it_has_read_is_not_at_the_target(site)
    site.groups.wait_until_read()
    judged = site.groups.judge(site.producers, site.installation)
    assert [found.repeated for found in judged.values()] == [[]] * len(GROUPS)
    assert sum(row["skipped"] or 0 for row in site.installation.rows("cutovers", step="commit")) > 0
    most = repeats_in_a_disaster_only_what_it_has_read_since_its_last_commit(site)
    repeats_what_comes_late_once_the_source_is_back_and_loses_nothing(site, most)


def does_not_move_while_what_it_has_read_is_not_at_the_target(site: Site) -> None:
    site.read_without_the_mirror("dc2")
    site.groups.stop()
    words = ("dc2", "dc1", "--planned", "--timeout", "5s", "--groups", PATTERN, "--skip-read")

    def is_refused_for_that() -> bool:
        # At first it may wait for the jobs, which have not read all yet.
        failures = cutover(site.installation, "apply", *words)
        assert len(failures) == len(GROUPS)
        return all("has read and that are not at dc1" in each for each in failures)

    until(is_refused_for_that)
    site.mirrors["dc2"].start()
    assert cutover(site.installation, "apply", *words[:4], "300s", *words[5:]) == []
    site.groups.start("dc1")


def repeats_in_a_disaster_only_what_it_has_read_since_its_last_commit(site: Site) -> dict[str, int]:
    """Return by group how many it repeats at most once dc1 is back."""
    site.read_without_the_mirror("dc1")
    site.groups.clusters["dc1"].kill()
    site.groups.stop()
    assert cutover(site.installation, "apply", "dc1", "dc2", "--groups", PATTERN, "--disaster") == []
    rows = site.installation.rows("cutovers", mode="disaster", step="check")
    most = {row["group_id"]: row["duplicates"] for row in rows}
    site.groups.start("dc2")
    site.groups.wait_until_read()
    for group, found in site.groups.judge(site.producers, site.installation).items():
        assert len(found.repeated) <= most[group], (group, found.repeated, most)
    return most


def repeats_what_comes_late_once_the_source_is_back_and_loses_nothing(site: Site, most: dict[str, int]) -> None:
    site.groups.clusters["dc1"].start()
    site.mirrors["dc1"].start()
    site.producers.stop()
    for each in site.mirrors.values():
        each.drain(300)
    site.groups.wait_until_read(300)
    site.groups.stop()
    for group, found in site.groups.judge(site.producers, site.installation).items():
        assert (0 < len(found.repeated) <= most[group], found.lost) == (True, []), (group, found.repeated, most)
        assert found.delivered > 500
