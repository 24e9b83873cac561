"""Silence and wrong names between us and brokers: who waits for them, and who does not.

X produces, Y and Z hold copies, and the jobs reach each through a proxy.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import pytest

from broker.committed_offsets import commit, committed
from broker.crafted_logs import copied_log, create_topics, native_log, write_log
from broker.installation import Installation, install, until
from broker.job import ThreadJob
from broker.proxied_cluster import ProxiedCluster, proxied_clusters
from offset_sync.config import Config, load_config
from offset_sync.jobs.check import find_all
from offset_sync.kafka import client_callbacks
from offset_sync.kafka.cluster_admin import ClusterAdmin
from offset_sync.model.errors import ClusterError, ConfigError, OtherClusterError
from offset_sync.model.finding import Level
from offset_sync.model.values import OffsetWrite
from offset_sync.state.cluster_ids import ids_file, with_known_ids
from offset_sync.tables.files import files_of

pytestmark = [pytest.mark.in_order, pytest.mark.timeout(600)]
RECORDS, PARTITIONS, SHIFT = 40, 6, 2
ANOTHER_DIRECTION_S = 3.0
"""Less than any deadline of the jobs."""
SERIES, ANSWERS = 3, 4
Clusters = dict[str, ProxiedCluster]


@pytest.fixture(scope="module")
def networks(broker_parts: None, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Clusters]:
    """At Y and Z records have offsets higher by two."""
    with proxied_clusters(("X", "Y", "Z"), tmp_path_factory.mktemp("networks")) as clusters:
        for alias, each in clusters.items():
            create_topics(each.direct, {"orders": PARTITIONS})
            copies = [*[None] * SHIFT, *copied_log("X", range(RECORDS), first=SHIFT)]
            entries = native_log("X", RECORDS) if alias == "X" else copies
            write_log(each.direct, {("orders", number): entries for number in range(PARTITIONS)})
        yield clusters


@pytest.fixture(scope="module")
def site(networks: Clusters, spark_environment: None, tmp_path_factory: pytest.TempPathFactory) -> Installation:
    servers = {alias: each.bootstrap_servers for alias, each in networks.items()}
    intervals = {"reconcile_interval": "2s", "trigger_interval": "500ms"}
    made = install(tmp_path_factory.mktemp("site"), servers, ["orders"], groups={"include": ["g-.*"]}, sync=intervals)
    assert made.index() == []
    return made


@pytest.fixture(scope="module")
def job(site: Installation) -> Iterator[ThreadJob]:
    """sync_offsets, which runs through all that follows."""
    with site.here("sync_offsets") as running:
        yield running


def offsets(cluster: ProxiedCluster, group: str) -> dict[int, int]:
    """Return the offsets there, by partition, past the broken network."""
    return {partition: each.offset for (_, partition), each in committed(cluster.direct, [group])[group].items()}


def is_everywhere(cluster: ProxiedCluster, group: str, offset: int) -> bool:
    return offsets(cluster, group) == dict.fromkeys(range(PARTITIONS), offset + SHIFT)


def commit_all(cluster: ProxiedCluster, group: str, offset: int) -> None:
    commit(cluster.direct, {group: {("orders", number): offset for number in range(PARTITIONS)}})


@contextmanager
def led_astray(networks: Clusters) -> Iterator[None]:
    """Let the addresses of X lead to Z for a while, as a name does that fails over."""
    proxy = networks["X"].proxy
    before = proxy.lead_to(networks["Z"].proxy.target_port)
    try:
        yield
    finally:
        proxy.lead_to(before)


def failed_checks(config: Config) -> dict[tuple[str, str], str]:
    return {(each.place, each.check): each.text for each in find_all(config) if each.level is Level.FAIL}


def is_refused(lines: Sequence[str]) -> bool:
    return all(line.startswith("clusters.X: its id is ") and "and was " in line for line in lines) and bool(lines)


def test_while_a_name_leads_to_another_cluster_no_job_reads_or_writes_there(
    networks: Clusters, site: Installation, group_name: str
) -> None:
    commit_all(networks["X"], group_name, 5)
    assert site.sync() == []
    assert is_everywhere(networks["Z"], group_name, 5)
    runs = site.rows("record_runs")
    with led_astray(networks):
        said = [site.index(), site.sync(), site.report()]
        config = load_config(site.config_file)
        known, unknown = failed_checks(with_known_ids(config, files_of(config))), failed_checks(config)
        Path(ids_file(config)).unlink()
        with pytest.raises(ConfigError, match=r"^clusters\.Z: is the same cluster as clusters\.X, with the id "):
            site.report()
    assert is_everywhere(networks["Z"], group_name, 5)
    assert (is_refused(said[0]), is_refused(said[1]), "TOPIC_RECREATED" in str(said[2])) == (True, True, False)
    assert "its id is " in known["clusters.X", "connection"]
    assert unknown["clusters.Z", "cluster id"].startswith("is the same cluster as clusters.X, with the id ")
    assert site.rows("record_runs") == runs


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

    wanted = OffsetWrite(group_name, "orders", 0, 7, None, None)
    proxy.hold()
    writing = threading.Thread(target=write)
    writing.start()
    assert is_sent.wait(60)
    with led_astray(networks):
        proxy.heal()
        writing.join()
        until(lambda: not isinstance(asked(admin, known), dict))
        assert offsets(networks["Z"], group_name) == {}
    until(lambda: asked(admin, group_name) == {})


def test_a_silent_cluster_delays_no_direction_between_others_and_catches_up(
    networks: Clusters, job: ThreadJob, group_name: str
) -> None:
    def delay(offset: int) -> float:
        commit_all(networks["X"], group_name, offset)
        began = time.monotonic()
        until(lambda: is_everywhere(networks["Z"], group_name, offset), job=job)
        return time.monotonic() - began

    usual = max(delay(offset) for offset in range(1, 4))
    commit_all(networks["Y"], f"{group_name}-of-y", 5 + SHIFT)
    networks["Y"].direct.pause()
    try:
        # Who waits for the silent cluster does so in each series; what else the machine is busy with passes.
        for first in range(4, 4 + SERIES * ANSWERS, ANSWERS):
            last = first + ANSWERS - 1
            slowest = max(delay(offset) for offset in range(first, last + 1))
            if slowest <= usual + ANOTHER_DIRECTION_S:
                break
    finally:
        networks["Y"].direct.resume()
    until(lambda: is_everywhere(networks["Y"], group_name, last), job=job)
    assert slowest <= usual + ANOTHER_DIRECTION_S, "more than the machine itself takes, in each series"


def test_a_running_job_goes_on_once_the_name_leads_back(networks: Clusters, job: ThreadJob, group_name: str) -> None:
    target = networks["Z"]
    commit_all(networks["X"], group_name, 9)
    until(lambda: is_everywhere(target, group_name, 9), job=job)
    with led_astray(networks):
        until(lambda: "clusters.X: its id is " in job.output(), job=job)
        commit_all(target, f"{group_name}-of-z", 9)  # for the log that is not X's to grow
        until(lambda: job.output().count("clusters.X: its id is ") > 2, job=job)
        assert is_everywhere(target, group_name, 9)
    commit_all(networks["X"], group_name, 11)
    until(lambda: is_everywhere(target, group_name, 11), job=job)
