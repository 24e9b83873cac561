"""The ACLs of docs/operations.md, set with Kafka's own tool, are enough for the jobs; without them errors say so."""

from __future__ import annotations

import subprocess
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka.admin import AclOperation, ResourceType

from broker.committed_offsets import commit, committed
from broker.crafted_logs import Clusters, copied_log, create_topics, native_log, write_log
from broker.group_member import member
from broker.installation import Installation, install, until
from broker.rights import documented, minimal_rights, right, rights, set_rights
from offset_sync.config import load_config
from offset_sync.jobs.check import find_all
from offset_sync.jobs.cutover import cutover_arguments, cutover_groups
from offset_sync.jobs.runner import job_arguments
from offset_sync.kafka.cluster_admin import ClusterAdmin
from offset_sync.model.finding import Level
from offset_sync_demo.kafka import brokers
from offset_sync_demo.kafka.broker_files import free_ports, java_command, write_broker_files
from offset_sync_demo.kafka.brokers import EmbeddedCluster, kill_clusters

pytestmark = [
    pytest.mark.broker,
    pytest.mark.versions,
    pytest.mark.long,
    pytest.mark.in_order,
    pytest.mark.timeout(900),
]

PLACE = ("orders", 0)
UNSEEN = "unseen"
"""A group whose members we may not describe."""
USER = {"security.protocol": "SASL_PLAINTEXT", "sasl.mechanism": "PLAIN"}
LOGIN = "org.apache.kafka.common.security.plain.PlainLoginModule required "
JAAS = f'{LOGIN}username="offset-sync" password="p";'
GUARDED = {
    "listener.security.protocol.map": "PLAINTEXT:PLAINTEXT,GUARDED:SASL_PLAINTEXT,CONTROLLER:PLAINTEXT",
    "authorizer.class.name": "org.apache.kafka.metadata.authorizer.StandardAuthorizer",
    "super.users": "User:ANONYMOUS",  # the broker itself and the test, at the other listener
    "listener.name.guarded.sasl.enabled.mechanisms": "PLAIN",
    "listener.name.guarded.plain.sasl.jaas.config": f'{LOGIN}user_offset-sync="p";',
}


def started(alias: str, folder: Path) -> tuple[EmbeddedCluster, str]:
    """Start a broker with a second listener at which only what ACLs allow is done; return it and that address."""
    port, guarded, controller = free_ports(3)
    cluster = EmbeddedCluster(alias, folder / alias, port)
    addresses = f"PLAINTEXT://127.0.0.1:{port},GUARDED://127.0.0.1:{guarded}"
    places = {"listeners": f"{addresses},CONTROLLER://127.0.0.1:{controller}", "advertised.listeners": addresses}
    settings = {"offsets.topic.num.partitions": "2", **GUARDED, **places}
    write_broker_files(cluster.directory, port, controller, settings)
    brokers._format([cluster])
    cluster.launch()
    return cluster, f"127.0.0.1:{guarded}"


@pytest.fixture(scope="module")
def guarded(
    spark_environment: None, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[tuple[Clusters, dict[str, str]]]:
    folder = tmp_path_factory.mktemp("acls")
    found = {alias: started(alias, folder) for alias in ("dc1", "dc2")}
    clusters = {alias: cluster for alias, (cluster, _) in found.items()}
    try:
        for cluster in clusters.values():
            cluster.wait_until_ready()
            create_topics(cluster, {"orders": 1, "kept": 1})
        write_log(clusters["dc1"], {PLACE: native_log("dc1", 20), ("kept", 0): native_log("dc1", 5)})
        write_log(clusters["dc2"], {PLACE: [None, None, *copied_log("dc1", range(20), first=2)]})
        commit(clusters["dc1"], {"billing": {PLACE: 7}})
        commit(clusters["dc2"], {"other": {PLACE: 9}})
        yield clusters, {alias: address for alias, (_, address) in found.items()}
    finally:
        kill_clusters(clusters)


def grant(cluster: EmbeddedCluster, words: list[str]) -> None:
    admin = cluster.directory / "admin.properties"
    admin.write_text("")
    known = {"$BROKERS": cluster.bootstrap_servers, "admin.properties": str(admin)}
    command = java_command(cluster.directory, "org.apache.kafka.tools.AclCommand", *[known.get(w, w) for w in words])
    ended = subprocess.run(command, capture_output=True, text=True, check=False, timeout=300)
    assert ended.returncode == 0, ended.stdout + ended.stderr
    assert "Adding ACLs" in ended.stdout, ended.stdout + ended.stderr


@pytest.fixture(scope="module")
def installation(guarded: tuple[Clusters, dict[str, str]], tmp_path_factory: pytest.TempPathFactory) -> Installation:
    return installed(tmp_path_factory.mktemp("jobs"), guarded[1], ["orders", "pay-.*", "kep.*"])


def installed(folder: Path, addresses: dict[str, str], topics: list[str], **sections: Any) -> Installation:
    options = {
        alias: {
            "kafka": {"bootstrap.servers": address, **USER},
            "spark": {"sasl.jaas.config": JAAS},
            "admin": {"sasl.username": "offset-sync", "sasl.password": "p"},
        }
        for alias, address in addresses.items()
    }
    return install(folder, addresses, topics, clusters=options, **sections)


def granted(clusters: Clusters, *resources: str) -> None:
    """Grant what is documented for the topics or groups named: on dc1 by Kafka's own tool, and the same on the others.

    Each call of the tool is a JVM; that the commands do what they say is seen on one cluster.
    """
    wanted = [words for words in documented() if set(resources) & set(words)]
    assert {name for words in wanted for name in words}.issuperset(resources)
    before = len(rights(clusters["dc1"]))
    for words in wanted:
        grant(clusters["dc1"], words)
    until(lambda: len(rights(clusters["dc1"])) == before + len(wanted), 60)
    for cluster in clusters.values():
        set_rights(cluster, rights(clusters["dc1"]))


def allow(clusters: Clusters, topic: str, operation: AclOperation, *, take_back: bool = False) -> None:
    """Grant on every cluster an operation on a topic of which the documentation does not speak, or take it back."""
    acl = right(ResourceType.TOPIC, topic, operation)
    for cluster in clusters.values():
        set_rights(cluster, rights(cluster) - {acl} if take_back else rights(cluster) | {acl})


def test_a_topic_that_may_not_be_described_is_not_taken_for_one_that_is_not_there(
    guarded: tuple[Clusters, dict[str, str]], installation: Installation
) -> None:
    for job, topic in ((installation.index, "orders"), (installation.sync, "__consumer_offsets")):
        failures = job()
        begins = [f"clusters.{alias}: topic {topic}: TOPIC_AUTHORIZATION_FAILED: " for alias in ("dc1", "dc2")]
        assert [failure.startswith(begin) for failure, begin in zip(failures, begins, strict=True)] == [True, True]
        assert all("operation Describe" in failure and "grant Read" in failure for failure in failures)
    assert installation.rows("offset_commits") == []


def test_offsets_of_a_topic_that_may_not_be_described_are_failures_that_say_so(
    guarded: tuple[Clusters, dict[str, str]], installation: Installation
) -> None:
    granted(guarded[0], "__consumer_offsets", "offset-sync")
    failures = sorted(installation.sync())
    assert len(failures) == 2
    assert failures[0].startswith("dc1 to dc2: 1 offsets not committed, first billing/orders/0: clusters.dc")
    assert all("topic orders: TOPIC_AUTHORIZATION_FAILED: " in failure for failure in failures), failures
    said = {(row["topic"], row["state"], row["outcome"]) for row in installation.translations()}
    assert said == {("orders", "TOPIC_UNAUTHORIZED", "FAILED")}
    assert all("operation Describe" in row["error"] for row in installation.translations())


def test_a_topic_that_may_be_described_and_not_read_is_named_and_the_others_are_indexed(
    guarded: tuple[Clusters, dict[str, str]], installation: Installation
) -> None:
    granted(guarded[0], "orders", "pay-")
    allow(guarded[0], "kept", AclOperation.DESCRIBE)
    failures = installation.index()
    assert [failure.split(": ")[:3] for failure in failures] == [
        [f"clusters.{alias}", "topic kept", "TOPIC_AUTHORIZATION_FAILED"] for alias in ("dc1", "dc2")
    ]
    assert all("operation Read" in failure and "grant Read to" in failure for failure in failures)
    assert {row["topic"] for row in installation.rows("record_runs", cluster="dc1")} == {"orders"}
    allow(guarded[0], "kept", AclOperation.READ)
    assert installation.index() == []
    assert indexed(installation, "kept") == 5


def test_a_batch_that_fails_for_a_topic_is_repeated_without_it(
    guarded: tuple[Clusters, dict[str, str]], installation: Installation, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Read is revoked while the job runs: Spark has planned to read the topic before the refusal was known."""
    clusters = guarded[0]
    allow(clusters, "kept", AclOperation.READ, take_back=True)
    write_log(clusters["dc1"], {("kept", 0): native_log("dc1", 8), PLACE: native_log("dc1", 24)})
    with monkeypatch.context() as unaware:
        unaware.setattr(ClusterAdmin, "unreadable", lambda *_: {})
        (failure,) = installation.index()
        assert "kept" in failure
    failures = installation.index()
    assert ["topic kept: TOPIC_AUTHORIZATION_FAILED" in failure for failure in failures] == [True, True], failures
    assert indexed(installation, "orders") == 24
    allow(clusters, "kept", AclOperation.READ)
    assert installation.index() == []
    assert indexed(installation, "kept") == 8


def indexed(installation: Installation, topic: str) -> int:
    """Return how many offsets of dc1's log are indexed, each counted once; they have to be without a gap."""
    rows = installation.rows("record_runs", cluster="dc1", topic=topic)
    offsets = {offset for row in rows for offset in range(row["start_offset"], row["start_offset"] + row["length"])}
    assert offsets == set(range(len(offsets)))
    return len(offsets)


def test_a_right_that_is_missing_is_named(guarded: tuple[Clusters, dict[str, str]], installation: Installation) -> None:
    assert installation.index() == []
    failures = installation.sync()
    assert len(failures) == 2
    assert all("GROUP_AUTHORIZATION_FAILED" in failure for failure in failures), failures


def test_the_documented_rights_are_enough(guarded: tuple[Clusters, dict[str, str]], installation: Installation) -> None:
    clusters, _ = guarded
    granted(clusters, "*", "__offset-sync.read.", "__offset-sync.seen.")
    assert installation.sync() == []
    assert committed(clusters["dc2"], ["billing"])["billing"][PLACE].offset == 9
    assert committed(clusters["dc1"], ["other"])["other"][PLACE].offset == 7


def test_a_reader_that_may_not_be_described_is_not_taken_for_a_stopped_one(
    guarded: tuple[Clusters, dict[str, str]], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """dc1 is only a source: it has what the document grants at each cluster, at first without Describe on groups."""
    clusters, addresses = guarded
    directions = [["dc1", "dc2"]]
    one_way = installed(tmp_path / "one-way", addresses, ["orders"], directions=directions, sync={"home_silence": "1m"})
    every_group = {right(ResourceType.GROUP, "*", each) for each in (AclOperation.READ, AclOperation.DESCRIBE)}
    set_rights(clusters["dc1"], minimal_rights() - every_group)
    set_rights(clusters["dc2"], minimal_rights())
    assert one_way.index() == []
    commit(clusters["dc1"], {UNSEEN: {PLACE: 7}})
    with one_way.running():
        until(lambda: one_way.translations(group_id=UNSEEN))
        with member(clusters["dc1"], UNSEEN, "orders"):
            assert [each[:2] for each in failed(one_way)] == [("clusters.dc1", "groups")]
            for action in ("plan", "apply"):
                (line,) = moved(one_way, action)
                assert UNSEEN in line
                unknown = "dc1 does not list it: it is of another type, or Describe on it is missing"
                assert unknown in line + capsys.readouterr().out
            set_rights(clusters["dc1"], minimal_rights() - {right(ResourceType.GROUP, "*", AclOperation.READ)})
            assert failed(one_way) == []
            assert moved(one_way, "apply") == [f"{UNSEEN}: it has members at dc1; stop them there first"]
        assert one_way.rows("cutovers", step="home") == []
        commit(clusters["dc1"], {UNSEEN: {PLACE: 12}})
        until(lambda: committed(clusters["dc2"], [UNSEEN])[UNSEEN][PLACE].offset == 14)
    assert {row["state"] for row in one_way.translations(group_id=UNSEEN)} == {"EXACT"}


def failed(installation: Installation) -> list[tuple[str, str, str]]:
    found = find_all(load_config(installation.config_file))
    return [(each.place, each.check, each.text) for each in found if each.level is Level.FAIL]


def moved(installation: Installation, action: str) -> list[str]:
    words = [action, "--conf", "x", "--from", "dc1", "--to", "dc2", "--groups", UNSEEN, "--planned"]
    arguments = cutover_arguments(job_arguments("cutover")).parse_args(words)
    return list(cutover_groups(load_config(installation.config_file), arguments, threading.Event()))


def test_only_reading_and_describing_is_granted() -> None:
    operations = [words[words.index("--operation") + 1] for words in documented()]
    assert len(operations) == 8
    assert set(operations) == {"Read", "Describe"}
    assert not [words for words in documented() if "--cluster" in words]
