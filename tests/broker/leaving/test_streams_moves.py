"""An application of Kafka Streams with a store and a repartition topic is moved, and moved back; both protocols."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from confluent_kafka import Producer

from broker.committed_offsets import committed
from broker.crafted_logs import Clusters, create_topics
from broker.installation import install, until
from broker.performer import Performer, Said
from consumer.applications import Application
from consumer.skip_read_jar import jar_or_skip
from leaving.streams_counter import streams_counter
from offset_sync_demo.kafka.clients import client_options, read_partition
from offset_sync_demo.load.mirror import Mirror

pytestmark = [pytest.mark.broker, pytest.mark.long, pytest.mark.timeout(1200)]

PARTITIONS = 2


@dataclass
class Site:
    """The application *name*, which reads *topic*; every record has its identity as value."""

    clusters: Clusters
    case: Performer
    name: str
    topic: str
    folder: Path
    how: dict[str, str]
    produced: Counter[str] = field(default_factory=Counter)
    counted: Counter[str] = field(default_factory=Counter)
    starts: int = 0
    mirrored: dict[tuple[str, str, str], dict[tuple[str, int], int]] = field(default_factory=dict)

    @property
    def repartition(self) -> str:
        return f"{self.name}-by-letter-repartition"

    @property
    def changelog(self) -> str:
        return f"{self.name}-counts-changelog"

    def produce(self, alias: str, numbers: Iterable[int], topic: str = "") -> None:
        producer = Producer(client_options(self.clusters[alias].bootstrap_servers, linger_ms=1))
        for number in numbers:
            text = f"{'abc'[number % 3]}-{number}"
            self.produced[text] += 1
            partition = 0 if topic else number % PARTITIONS
            producer.produce(topic or self.topic, text.encode(), text[:1].encode(), partition=partition)
        assert producer.flush(60) == 0

    def run(self, alias: str) -> list[str]:
        """Run the application, without any local state, until it has counted all records; return those it counted."""
        self.starts += 1
        folder = self.folder / f"{alias}-{self.starts}"

        def counted(running: Application) -> Counter[str]:
            lines = (line.split(maxsplit=1) for line in running.values().elements())
            return Counter(value for word, value in lines if word == "counted")

        topics = (self.topic, f"{self.topic}-counts")
        with streams_counter(self.clusters[alias], self.name, topics, folder, **self.how) as running:
            until(lambda: running.process.poll() is not None or self.counted + counted(running) >= self.produced, 120)
        self.counted += (found := counted(running))
        assert self.counted == self.produced
        return sorted(found.elements())

    def mirror(self, source: str, target: str, topic: str) -> None:
        """Copy what is not copied yet."""
        done = self.mirrored.setdefault((source, target, topic), {})
        mirror = Mirror(self.clusters[source], self.clusters[target], [topic], position=done)
        mirror.start()
        mirror.drain(60)
        mirror.stop()
        done.update(mirror.position)

    def take_in(self) -> None:
        assert (self.case.installation.index(), self.case.installation.sync()) == ([], [])

    def cutover(self, action: str, source: str, target: str, *options: str) -> Said:
        planned = ["--planned"] if action == "apply" else []
        return self.case.cutover(action, source, target, *planned, *options, group=self.name)

    def store(self, alias: str) -> int:
        """Return the sum of all counts, as the changelog has them."""
        newest: dict[bytes | None, int] = {}
        for number in range(PARTITIONS):
            for record in read_partition(self.clusters[alias], (self.changelog, number)):
                newest[record.key()] = int(record.value() or b"0")
        return sum(newest.values())


@pytest.fixture(params=[("classic", "exactly_once_v2"), ("streams", "at_least_once")], ids=lambda each: each[0])
def site(
    request: pytest.FixtureRequest, clusters: Clusters, spark_environment: None, tmp_path: Path, topic_name: str
) -> Site:
    jar_or_skip(tmp_path / "dist")  # needs a compiler
    topic = topic_name.replace("[", "-").replace("]", "")
    servers = {alias: each.bootstrap_servers for alias, each in clusters.items()}
    for cluster in clusters.values():
        create_topics(cluster, {topic: PARTITIONS, f"{topic}-counts": PARTITIONS})
    installation = install(tmp_path / "jobs", servers, [topic], status={"page": str(tmp_path / "status.html")})
    protocol, guarantee = request.param
    how = {"protocol": protocol, "guarantee": guarantee}
    case = Performer(clusters, installation, "once", topic)
    return Site(clusters, case, f"{topic}-app", topic, tmp_path, how)


def test_an_application_goes_on_at_the_other_cluster_and_back_with_its_store(site: Site) -> None:
    site.produce("dc1", range(30))
    site.run("dc1")
    # As if the application had ended between its sub-topologies.
    site.produce("dc1", [999], site.repartition)
    site.take_in()
    for action in ("plan", "apply", "verify"):
        said = str(site.cutover(action, "dc1", "dc2"))
        assert f"{site.repartition} does not move: 1 record not processed would be lost" in said
    assert committed(site.clusters["dc2"], [site.name])[site.name].keys() <= {(site.topic, n) for n in (0, 1)}
    assert site.run("dc1") == ["a-999"]

    site.produce("dc1", range(30, 50))
    site.mirror("dc1", "dc2", site.topic)
    create_topics(site.clusters["dc2"], {site.changelog: PARTITIONS}, {"cleanup.policy": "compact"})
    site.take_in()
    not_there = f"{site.changelog} at dc2 does not end with the newest record of dc1"
    planned, applied = (site.cutover(action, "dc1", "dc2") for action in ("plan", "apply"))
    assert planned.failures == []
    assert not_there in planned.printed
    assert f"{site.repartition} does not move: it is processed to its end" in planned.printed
    assert len(applied.failures) == 1
    assert not_there in applied.failures[0]
    site.mirror("dc1", "dc2", site.changelog)
    assert site.cutover("verify", "dc1", "dc2").failures == []
    assert site.run("dc2") == sorted(f"{'abc'[number % 3]}-{number}" for number in range(30, 50))
    assert site.store("dc2") == 51

    site.produce("dc2", range(50, 60))
    site.run("dc2")
    site.mirror("dc2", "dc1", site.topic)
    site.mirror("dc2", "dc1", site.changelog)
    site.take_in()
    assert site.cutover("apply", "dc2", "dc1").failures == []
    site.produce("dc1", range(60, 65))
    assert site.run("dc1") == sorted(f"{'abc'[number % 3]}-{number}" for number in range(60, 65))
    assert site.store("dc1") == 66


@pytest.mark.parametrize("site", [("streams", "at_least_once")], indirect=True, ids=["streams"])
def test_where_commits_are_polled_an_application_moves_once_it_is_confirmed_to_be_stopped(site: Site) -> None:
    servers = {alias: each.bootstrap_servers for alias, each in site.clusters.items()}
    folder = site.folder / "polled"
    page = {"page": str(folder / "status.html")}
    site.case.installation = install(folder, servers, [site.topic], polled=["dc1", "dc2"], status=page)
    site.produce("dc1", range(30))
    site.run("dc1")
    site.produce("dc1", range(30, 40))
    site.mirror("dc1", "dc2", site.topic)
    site.take_in()
    refused = site.cutover("apply", "dc1", "dc2").failures
    assert len(refused) == 1
    assert "dc1 does not list it: it is of another type" in refused[0]
    assert site.cutover("apply", "dc1", "dc2", "--confirm-readers").failures == []
    assert site.run("dc2") == sorted(f"{'abc'[number % 3]}-{number}" for number in range(30, 40))


def test_stores_without_a_mirrored_changelog_are_told_to_begin_empty(site: Site) -> None:
    site.produce("dc1", range(30))
    site.run("dc1")
    site.mirror("dc1", "dc2", site.topic)
    site.take_in()
    said = site.cutover("apply", "dc1", "dc2")
    assert said.failures == []
    assert f"{site.changelog} is not at dc2: its store begins empty there" in said.printed
    site.produce("dc2", range(30, 33))
    assert site.run("dc2") == ["a-30", "b-31", "c-32"]
    assert site.store("dc2") == 3
