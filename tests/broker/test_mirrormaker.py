"""The three ways of docs/mirrors-steps.md, with the settings that its commands make and the real MirrorMaker 2.

Same names and default names by the transform's headers, default names without the transform by contents. Both clusters
produce; groups move to dc2 and back, by ``cutover``, to the offsets that the records' values demand. MirrorMaker is
killed under load, too: it sends again what it has not written down.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from confluent_kafka import Producer

from broker.committed_offsets import Partition, commit, committed
from broker.crafted_logs import Clusters, create_topics
from broker.installation import Installation, install, until
from consumer.moving import cutover
from offset_sync.model.errors import ClusterError
from offset_sync_demo.kafka.brokers import running_clusters
from offset_sync_demo.kafka.clients import client_options
from offset_sync_demo.kafka.connect_transform import compile_transform
from offset_sync_demo.kafka.log_dump import LogRecord, dump_log
from offset_sync_demo.kafka.mirror_maker import START_QUICKLY, MirrorMaker2
from tools.mirror_steps import configuration_tree, mirror_properties, read_properties, single_broker_lines

pytestmark = pytest.mark.timeout(1200)

ALIASES = ("dc1", "dc2")
OTHER = {"dc1": "dc2", "dc2": "dc1"}
TAIL, HALF = "billing", "reports"
Logs = dict[Partition, list[LogRecord]]


@dataclass
class Walk:
    """What runs in one of the ways."""

    way: str
    clusters: Clusters
    start_mirror: Callable[[str], MirrorMaker2]
    mirror: MirrorMaker2
    installation: Installation
    produced: dict[str, set[bytes]] = field(default_factory=lambda: {alias: set() for alias in ALIASES})

    @property
    def everything(self) -> set[bytes]:
        """Return the values of all records."""
        return self.produced["dc1"] | self.produced["dc2"]

    def places(self, alias: str) -> list[Partition]:
        """Return the partitions of what is produced at a cluster and of what it has copies of."""
        topics = ["orders"] if self.way == "A" else ["orders", f"{OTHER[alias]}.orders"]
        return [(topic, number) for topic in topics for number in range(2)]

    def produce(self, alias: str, count: int, *, kills_mirror: bool = False) -> None:
        """Write *count* records, each with a value of its own, and wait until they are at both clusters."""
        producer, before = Producer(client_options(self.clusters[alias].bootstrap_servers)), len(self.produced[alias])
        values = [f"{alias}-{number}".encode() for number in range(before, before + count)]
        if kills_mirror:  # it has not noted yet how far it was: these records come after all that it sends again
            self.mirror.kill()
        for number, value in enumerate(values):
            producer.produce("orders", value, partition=number % 2)
        assert producer.flush(60) == 0
        self.produced[alias] |= set(values)
        if kills_mirror:
            self.mirror = self.start_mirror(f"mirror-{before}")
        until(lambda: all(self.values(each) >= set(values) for each in ALIASES), 240.0)

    def logs(self, alias: str) -> Logs:
        """Return all records at a cluster; none of a topic that is not there yet."""
        self.mirror.check()
        try:
            return {place: dump_log(self.clusters[alias], *place) for place in self.places(alias)}
        except ClusterError:
            return {}

    def values(self, alias: str) -> set[bytes]:
        return {each.value or b"" for log in self.logs(alias).values() for each in log}

    def sync(self) -> None:
        """Run both jobs to the end of what is there; the second time they read what they have written themselves."""
        for _ in range(2):
            assert (self.installation.index(), self.installation.sync()) == ([], [])

    def move(self, source: str, target: str, group: str, mode: str) -> list[str]:
        """Apply a cutover; return what was not as it should be."""
        return cutover(self.installation, "apply", source, target, "--groups", group, mode)

    def held(self, alias: str, group: str) -> dict[Partition, int]:
        return {place: each.offset for place, each in committed(self.clusters[alias], [group])[group].items()}

    def right(self, read: set[bytes], alias: str) -> dict[Partition, int]:
        """Return, of each partition, the offset of the first record that is not *read*, or behind the last one."""
        return {place: _first_unread(log, read) for place, log in self.logs(alias).items()}


def _first_unread(log: list[LogRecord], read: set[bytes]) -> int:
    return next((each.offset for each in log if each.value not in read), log[-1].offset + 1)


@pytest.fixture(params=["A", *(pytest.param(way, marks=pytest.mark.slow) for way in "BC")])
def walk(
    request: pytest.FixtureRequest, spark_environment: None, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Walk]:
    folder = tmp_path_factory.mktemp(f"way-{request.param}")
    with running_clusters(ALIASES, folder / "brokers") as clusters:
        for alias in ALIASES:
            create_topics(clusters[alias], {"orders": 2})
        servers = {alias: clusters[alias].bootstrap_servers for alias in ALIASES}
        text, classes = _settings(request.param, folder, servers), compile_transform(folder / "transform")
        tree = configuration_tree(request.param)
        sections = {name: tree.get(name, {}) for name in ("mirror", "extensions")}
        installation = install(folder / "jobs", servers, tree["topics"]["include"], **sections)

        def start(name: str) -> MirrorMaker2:
            return MirrorMaker2(folder / name, text, classes)

        walk = Walk(request.param, clusters, start, start("mirror"), installation)
        try:
            yield walk
        finally:
            walk.mirror.stop()


def _settings(way: str, folder: Path, servers: dict[str, str]) -> str:
    """Return what the commands make, with addresses, for one broker each, and with the jar left to the class path."""
    (folder / "typed").mkdir()
    text = mirror_properties(way, folder / "typed")
    told = {key: value for key, value in read_properties(text).items() if not key.endswith(".plugin.path")}
    told |= {f"{alias}.bootstrap.servers": address for alias, address in servers.items()}
    told |= single_broker_lines(text) | START_QUICKLY | {"offset.flush.interval.ms": "600000"}
    return "".join(f"{name} = {value}\n" for name, value in told.items())


def test_groups_move_as_planned_and_when_a_cluster_is_lost_and_come_back_to_exact_offsets(walk: Walk) -> None:
    move_as_planned(walk)
    if walk.way != "C":  # by contents, what is sent again may be answered lower
        send_again(walk)
    lose_and_come_back(walk)


def move_as_planned(walk: Walk) -> None:
    for alias in ALIASES:
        walk.produce(alias, 300)
    logs = walk.logs("dc1")
    ends = {place: log[-1].offset + 1 for place, log in logs.items()}
    commit(walk.clusters["dc1"], {TAIL: ends, HALF: {place: end // 2 for place, end in ends.items()}})
    half = {each.value or b"" for place, log in logs.items() for each in log if each.offset < ends[place] // 2}
    walk.sync()
    assert walk.move("dc1", "dc2", f"{TAIL}|{HALF}", "--planned") == []  # both are verified, the one that lags too
    assert walk.held("dc2", TAIL) == walk.right(walk.everything, "dc2")
    assert walk.held("dc2", HALF) == walk.right(half, "dc2")
    assert {len(log) for log in walk.logs("dc2").values()} == {300 if walk.way == "A" else 150}


def send_again(walk: Walk) -> None:
    copies = list[bytes | None]()
    while len(copies) == len({*copies}):  # one that has just begun its tasks anew has noted how far it was
        walk.produce("dc1", 50, kills_mirror=True)
        copies = [each.value for log in walk.logs("dc2").values() for each in log]
    assert len({*copies}) == len(walk.everything)
    commit(walk.clusters["dc1"], {TAIL: {place: log[-1].offset + 1 for place, log in walk.logs("dc1").items()}})
    walk.sync()
    assert walk.held("dc2", TAIL) == walk.right(walk.everything, "dc2")


def lose_and_come_back(walk: Walk) -> None:
    walk.clusters["dc1"].kill()
    assert walk.move("dc1", "dc2", HALF, "--disaster") == []
    walk.clusters["dc1"].start()
    walk.produce("dc2", 50)  # when it is back it gets them
    commit(walk.clusters["dc2"], {HALF: {place: log[-1].offset + 1 for place, log in walk.logs("dc2").items()}})
    walk.sync()
    assert walk.move("dc2", "dc1", HALF, "--planned") == []
    assert walk.held("dc1", HALF) == walk.right(walk.everything, "dc1")
