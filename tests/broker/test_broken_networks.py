"""Silence, one-way loss, lost answers and wrong names between us and brokers: who waits for them, and who does not.

The silences are as long as it takes to run into each deadline; the deadlines are shorter than those of the jobs.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

import pytest

from broker.committed_offsets import commit, committed
from broker.crafted_logs import copied_log, create_topics, native_log, write_log
from broker.installation import install
from broker.installation import until as until_job
from broker.live_directions import SHIFT, LiveDirections, until
from broker.proxied_cluster import ProxiedCluster, proxied_clusters
from broker.proxy import TO_BROKER, TO_CLIENT
from offset_sync.config import Config, load_config
from offset_sync.jobs.check import find_all
from offset_sync.kafka import client_callbacks
from offset_sync.kafka.cluster_admin import ClusterAdmin
from offset_sync.model.errors import ClusterError, ConfigError, OtherClusterError
from offset_sync.model.finding import Level
from offset_sync.model.values import GroupPartition, OffsetWrite, Rule
from offset_sync.state.cluster_ids import ids_file, with_known_ids
from offset_sync.tables.files import files_of
from offset_sync_demo.kafka.brokers import EmbeddedCluster

pytestmark = [pytest.mark.broker, pytest.mark.timeout(300)]
RECORDS, PARTITIONS = 40, 6
ANOTHER_DIRECTION_S = 1.0
SERIES, ANSWERS = 3, 7
COMMIT_KEY = 8
Clusters = dict[str, ProxiedCluster]


@pytest.fixture(scope="module")
def networks(broker_parts: None, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Clusters]:
    """X, where records are produced, Y and Z, where they are copied to."""
    with proxied_clusters(("X", "Y", "Z"), tmp_path_factory.mktemp("networks")) as clusters:
        for alias, each in clusters.items():
            create_topics(each.direct, {"orders": PARTITIONS})
            entries = native_log("X", RECORDS) if alias == "X" else [*copied_log("X", range(RECORDS), first=SHIFT)]
            padding = [] if alias == "X" else [None] * SHIFT
            write_log(each.direct, {("orders", number): [*padding, *entries] for number in range(PARTITIONS)})
            committed(each.direct, ["anybody"])  # until the coordinators are there
        yield clusters


@pytest.fixture
def live(networks: Clusters) -> Iterator[LiveDirections]:
    made = LiveDirections({alias: each.bootstrap_servers for alias, each in networks.items()}, PARTITIONS, RECORDS)
    yield made
    for each in networks.values():
        each.heal()
    made.reconciler.close()


@contextmanager
def broken(cluster: ProxiedCluster, breaks: Callable[[ProxiedCluster], None]) -> Iterator[None]:
    breaks(cluster)
    try:
        yield
    finally:
        cluster.heal()


def offsets(cluster: EmbeddedCluster, group: str) -> dict[int, int]:
    """Return the offsets there, by partition, past the broken network."""
    return {partition: value.offset for (_, partition), value in committed(cluster, [group])[group].items()}


def of_all(group: str, offset: int) -> Mapping[GroupPartition, int]:
    return {GroupPartition(group, "orders", number): offset for number in range(PARTITIONS)}


def is_everywhere(cluster: ProxiedCluster, group: str, offset: int) -> bool:
    return offsets(cluster.direct, group) == dict.fromkeys(range(PARTITIONS), offset + SHIFT)


BREAKS: dict[str, Callable[[ProxiedCluster], None]] = {
    "only answers are lost": lambda cluster: cluster.proxy.hold(TO_CLIENT),
    "its broker is frozen": lambda cluster: cluster.direct.pause(),
}


@pytest.mark.parametrize("breaks", BREAKS.values(), ids=BREAKS)
def test_a_silent_cluster_delays_no_direction_between_others_and_catches_up(
    networks: Clusters, live: LiveDirections, group_name: str, breaks: Callable[[ProxiedCluster], None]
) -> None:
    def delay(offset: int) -> float:
        began = time.monotonic()
        live.batch("X", of_all(group_name, offset), offset)
        live.until(lambda: is_everywhere(networks["Z"], group_name, offset))
        return time.monotonic() - began

    def repair() -> None:
        while not stop.wait(0.2):
            live.reconciler.reconcile_all()

    own = dict.fromkeys(of_all(f"{group_name}-of-y", 5), 5 + SHIFT)
    stop, repairing = threading.Event(), threading.Thread(target=repair)
    usual = [delay(offset) for offset in range(1, 5)]
    with broken(networks["Y"], breaks):
        live.committed("Y", own)
        repairing.start()  # which asks the silent cluster, as source and as target
        # Who waits for the silent cluster does so in each series; what else the machine is busy with passes.
        for first in range(5, 5 + SERIES * ANSWERS, ANSWERS):
            delays = []
            for last in range(first, first + ANSWERS):
                delays.append(delay(last))
                time.sleep(0.4)
            if max(delays) <= max(usual) + ANOTHER_DIRECTION_S:
                break
    took = until(lambda: is_everywhere(networks["Y"], group_name, last))
    stop.set()
    repairing.join()
    assert max(delays) <= max(usual) + ANOTHER_DIRECTION_S, "more than the machine itself takes, in each series"
    assert took < 30


def test_answers_that_are_lost_after_the_commit_change_no_offset_there(
    networks: Clusters, live: LiveDirections, group_name: str
) -> None:
    live.batch("X", of_all(group_name, 1))
    live.until(lambda: is_everywhere(networks["Z"], group_name, 1))
    proxy = networks["Z"].proxy
    proxy.swallow_answers(COMMIT_KEY)
    live.batch("X", of_all(group_name, 7))
    until(lambda: proxy.has_swallowed)
    until(lambda: is_everywhere(networks["Z"], group_name, 7))
    live.batch("X", of_all(group_name, 4))  # set back, while the offset there is unknown
    proxy.heal()
    until(lambda: not live.reconciler.reconcile_all() and is_everywhere(networks["Z"], group_name, 4))


@contextmanager
def led_astray(networks: Clusters) -> Iterator[None]:
    """Let the addresses of X lead to Z for a while, as a name does that fails over."""
    proxy = networks["X"].proxy
    before = proxy.lead_to(networks["Z"].proxy.target_port)
    try:
        yield
    finally:
        proxy.lead_to(before)


def commit_all(cluster: ProxiedCluster, group: str, offset: int) -> None:
    commit(cluster.direct, {group: {("orders", number): offset for number in range(PARTITIONS)}})


def failed_checks(config: Config) -> dict[tuple[str, str], str]:
    return {(each.place, each.check): each.text for each in find_all(config) if each.level is Level.FAIL}


def is_refused(lines: Sequence[str]) -> bool:
    return all(line.startswith("clusters.X: its id is ") and "and was " in line for line in lines) and bool(lines)


def test_a_name_that_leads_to_another_cluster_for_a_while_changes_nothing_there(
    networks: Clusters, spark_environment: None, tmp_path: Path, group_name: str
) -> None:
    """Neither while each job runs once, nor while one goes on."""
    servers, target = {alias: networks[alias].bootstrap_servers for alias in ("X", "Z")}, networks["Z"]
    intervals = {"reconcile_interval": "5s", "trigger_interval": "1s"}
    site = install(tmp_path, servers, ["orders"], groups={"include": [f"{group_name}.*"]}, sync=intervals)
    commit_all(networks["X"], group_name, 5)
    assert (site.index(), site.sync()) == ([], [])
    assert is_everywhere(target, group_name, 5)
    runs = site.rows("record_runs")
    with led_astray(networks):
        said = [site.index(), site.sync(), site.report()]
        config = load_config(site.config_file)
        known, unknown = failed_checks(with_known_ids(config, files_of(config))), failed_checks(config)
        Path(ids_file(config)).unlink()
        with pytest.raises(ConfigError, match=r"^clusters\.Z: is the same cluster as clusters\.X, with the id "):
            site.report()
    assert is_everywhere(target, group_name, 5)
    assert (is_refused(said[0]), is_refused(said[1]), "TOPIC_RECREATED" in str(said[2])) == (True, True, False)
    assert "its id is " in known["clusters.X", "connection"]
    assert unknown["clusters.Z", "cluster id"].startswith("is the same cluster as clusters.X, with the id ")
    assert site.rows("record_runs") == runs
    commit_all(networks["X"], group_name, 9)
    with site.here("sync_offsets") as sync:
        until_job(lambda: is_everywhere(target, group_name, 9), job=sync)
        with led_astray(networks):
            until_job(lambda: "clusters.X: its id is " in sync.output(), job=sync)
            commit_all(target, f"{group_name}-of-z", 9)  # for the log that is not X's to grow
            until_job(lambda: sync.output().count("clusters.X: its id is ") > 2, job=sync)
            assert is_everywhere(target, group_name, 9)
        commit_all(networks["X"], group_name, 11)
        until_job(lambda: is_everywhere(target, group_name, 11), job=sync)


def asked(admin: ClusterAdmin, group: str) -> object:
    try:
        return admin.committed_offsets([group], 5.0)[group]
    except ClusterError as problem:
        return problem


@pytest.mark.parametrize("is_known", [False, True], ids=["coordinator unknown", "coordinator known"])
def test_a_write_in_flight_does_not_go_where_the_name_leads_next(
    networks: Clusters, group_name: str, is_known: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    cluster, proxy = networks["X"], networks["X"].proxy
    admin = ClusterAdmin("X", {"bootstrap.servers": cluster.bootstrap_servers})
    known = group_name if is_known else f"{group_name}-other"
    assert admin.committed_offsets([known]) == {known: {}}
    monkeypatch.setattr(client_callbacks, "OPENING_S", 0.0)
    is_sent, refused = threading.Event(), list[OtherClusterError]()

    def write() -> None:
        try:
            admin.write_offsets({group_name: [wanted]}, 5.0, lambda: is_sent.set() or True)  # type: ignore[func-returns-value]
        except OtherClusterError as problem:
            refused.append(problem)

    wanted = OffsetWrite(group_name, "orders", 0, 7, None, Rule.SET, None)
    proxy.hold(TO_BROKER)
    writing = threading.Thread(target=write)
    writing.start()
    assert is_sent.wait(60)
    with led_astray(networks):
        cluster.heal()
        writing.join()
        until(lambda: not isinstance(asked(admin, known), dict))
        assert offsets(networks["Z"].direct, group_name) == {}
    until(lambda: asked(admin, group_name) == {})
