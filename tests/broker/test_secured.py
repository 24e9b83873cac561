"""Clusters with logins, TLS and exactly the documented rights: all works; without one right one line names it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from confluent_kafka.admin import AclBinding, AclOperation, ResourcePatternType, ResourceType

from broker.canary import PROC, files_with, pages_with, processes_with
from broker.committed_offsets import commit, committed
from broker.crafted_logs import copied_log, create_topics, native_log, write_log
from broker.installation import Installation, install, until
from broker.rights import minimal_rights, right, set_rights
from broker.secured_clusters import SecuredClusters
from offset_sync.config import load_config
from offset_sync.kafka.cluster_admin import ClusterAdmin
from offset_sync.model.errors import ClusterError
from offset_sync.model.values import OffsetWrite, Rule, TopicPartition
from offset_sync.translate.read_list import decode_read_list
from offset_sync_demo.kafka.broker_files import free_ports

pytestmark = [
    pytest.mark.broker,
    pytest.mark.versions,
    pytest.mark.long,
    pytest.mark.in_order,
    pytest.mark.timeout(900),
]

PLACE = ("secured", 0)
CANARY = "c4n4ry"  # every password here begins so
READ, DESCRIBE = AclOperation.READ, AclOperation.DESCRIBE
# By name and not "*", which would bring Describe on our own groups along.
GROUPS, OTHER = (right(ResourceType.GROUP, name, READ) for name in ("billing", "other"))
OWN_GROUPS = right(ResourceType.GROUP, "offset-sync", DESCRIBE, ResourcePatternType.PREFIXED)
TOPIC = right(ResourceType.TOPIC, "secured", READ)
COMMITS = right(ResourceType.TOPIC, "__consumer_offsets", READ)
LISTS = right(ResourceType.GROUP, "__offset-sync.read.", READ, ResourcePatternType.PREFIXED)


def granted() -> set[AclBinding]:
    """Return the documented rights, with the topic and the groups of this file for those of the documents."""
    return {acl for acl in minimal_rights() if acl.name not in ("orders", "*")} | {TOPIC, GROUPS, OTHER}


@pytest.fixture(scope="module")
def installation(
    secured: SecuredClusters, spark_environment: None, tmp_path_factory: pytest.TempPathFactory
) -> Installation:
    brokers = secured.brokers
    for cluster in brokers.values():
        create_topics(cluster, {"secured": 1})
        set_rights(cluster, granted())
    write_log(brokers["dc1"], {PLACE: native_log("dc1", 20)})
    write_log(brokers["dc2"], {PLACE: [None, None, *copied_log("dc1", range(20), first=2)]})
    commit(brokers["dc1"], {"billing": {PLACE: 7}})
    commit(brokers["dc2"], {"other": {PLACE: 9}})
    return install(tmp_path_factory.mktemp("secured-jobs"), secured.addresses, ["secured"], clusters=secured.sections())


def test_the_documented_rights_are_enough_over_tls(secured: SecuredClusters, installation: Installation) -> None:
    assert (installation.index(), installation.sync()) == ([], [])
    assert committed(secured.brokers["dc2"], ["billing"])["billing"][PLACE].offset == 9
    assert committed(secured.brokers["dc1"], ["other"])["other"][PLACE].offset == 7


@pytest.mark.parametrize(
    ("lacking", "job", "named"),
    [
        (TOPIC, Installation.index, ["topic secured: TOPIC_AUTHORIZATION_FAILED", "Describe", "grant Read"]),
        (COMMITS, Installation.sync, ["topic __consumer_offsets: TOPIC_AUTHORIZATION", "Describe", "grant Read"]),
        (OWN_GROUPS, Installation.sync, ["group offset-sync-", "GROUP_AUTHORIZATION_FAILED", "grant Describe"]),
        (GROUPS, Installation.sync, ["group 'billing': GROUP_AUTHORIZATION_FAILED", "Describe", "grant Read"]),
    ],
    ids=["topic", "commits", "own groups", "groups"],
)
def test_each_right_that_is_missing_is_named_by_one_line(
    secured: SecuredClusters,
    installation: Installation,
    lacking: AclBinding,
    job: Callable[[Installation], list[str]],
    named: list[str],
) -> None:
    set_rights(secured.brokers["dc2"], granted() - {lacking})
    try:
        (line,) = job(installation)
    finally:
        set_rights(secured.brokers["dc2"], granted())
    assert "clusters.dc2: " in line
    assert [part for part in [*named, "docs/operations.md, Minimal ACLs"] if part not in line] == [], line


def test_while_a_log_of_commits_cannot_be_read_what_is_older_waits(
    secured: SecuredClusters, installation: Installation
) -> None:
    brokers = secured.brokers
    commit(brokers["dc1"], {"billing": {PLACE: 12}})
    set_rights(brokers["dc2"], granted() - {COMMITS})
    try:
        installation.sync()
    finally:
        set_rights(brokers["dc2"], granted())
    assert committed(brokers["dc2"], ["billing"])["billing"][PLACE].offset == 9
    assert (12, "OWNER_UNKNOWN") in {(row["source_offset"], row["state"]) for row in installation.translations()}
    assert installation.sync() == []
    assert committed(brokers["dc2"], ["billing"])["billing"][PLACE].offset == 14


def test_without_a_right_on_the_log_of_commits_these_can_be_polled(
    secured: SecuredClusters, tmp_path_factory: pytest.TempPathFactory
) -> None:
    polled = {alias: {**each, "commits": "admin"} for alias, each in secured.sections().items()}
    groups, rights = {"include": ["polled"]}, granted() - {COMMITS} | {right(ResourceType.GROUP, "polled", READ)}
    folder = tmp_path_factory.mktemp("polled-jobs")
    installation = install(folder, secured.addresses, ["secured"], clusters=polled, groups=groups)
    for cluster in secured.brokers.values():
        set_rights(cluster, rights)
    try:
        commit(secured.brokers["dc1"], {"polled": {PLACE: 8}})
        assert (installation.index(), installation.sync()) == ([], [])
        said = installation.run("check")
    finally:
        for cluster in secured.brokers.values():
            set_rights(cluster, granted())
    assert committed(secured.brokers["dc2"], ["polled"])["polled"][PLACE].offset == 10
    assert said.process.returncode == 0, said.output()
    assert said.output().count("polled from the coordinators every 5s") == 2


def test_offsets_that_may_be_seen_and_not_written_are_named(
    secured: SecuredClusters, installation: Installation
) -> None:
    options = load_config(installation.config_file).admin_options("dc2")
    set_rights(secured.brokers["dc2"], granted() - {GROUPS} | {right(ResourceType.GROUP, "billing", DESCRIBE)})
    admin = ClusterAdmin("dc2", options)
    try:
        answer = admin.write_offsets({"billing": [OffsetWrite("billing", *PLACE, 3, None, Rule.SET, None)]})["billing"]
    finally:
        set_rights(secured.brokers["dc2"], granted())
    assert not isinstance(answer, ClusterError)
    said = answer[TopicPartition(*PLACE)]
    assert said is not None
    assert said.startswith("GROUP_AUTHORIZATION_FAILED: clusters.dc2: the operation Read is not allowed; grant Read on")


def test_without_the_right_to_write_read_lists_offsets_are_written_and_one_line_names_it(
    secured: SecuredClusters, spark_environment: None, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    topic, group, brokers = "secured-lists", "crossing", secured.brokers
    place, list_group = (topic, 0), f"__offset-sync.read.{group}"
    of_these = {right(ResourceType.TOPIC, topic, READ), right(ResourceType.GROUP, group, READ)}
    for cluster in brokers.values():
        create_topics(cluster, {topic: 1})
        set_rights(cluster, granted() | of_these)
    write_log(brokers["dc1"], {place: native_log("dc1", 4)})
    write_log(brokers["dc2"], {place: [*native_log("dc2", 1), *copied_log("dc1", range(4), first=1)]})
    commit(brokers["dc1"], {group: {place: 4}})
    lists = {"groups": {"include": [group]}, "sync": {"read_lists": {"groups": [group]}}}
    installation = install(tmp_path, secured.addresses, [topic], clusters=secured.sections(), **lists)
    assert installation.index() == []
    set_rights(brokers["dc2"], (granted() | of_these) - {LISTS})
    try:
        assert installation.sync() == []
    finally:
        set_rights(brokers["dc2"], granted() | of_these)
    stands = committed(brokers["dc2"], [group, list_group])
    assert (stands[group][place].offset, stands[list_group]) == (0, {})
    (line,) = [each.getMessage() for each in caplog.records if "lists not written" in each.getMessage()]
    says = ["clusters.dc2: 1 read lists", f"'{list_group}': GROUP_AUTHORIZATION_FAILED", "Minimal ACLs"]
    assert [part for part in says if part not in line] == [], line
    assert installation.sync() == []
    found = decode_read_list(committed(brokers["dc2"], [list_group])[list_group][place].metadata)
    assert found is not None
    assert (found.read_list.ranges.start.tolist(), found.read_list.ranges.length.tolist()) == ([1], [4])


@pytest.mark.skipif(not PROC.is_dir(), reason="only Linux tells so what other users see of a process")
def test_no_password_is_shown_by_a_job_that_runs_or_by_what_it_leaves(
    secured: SecuredClusters, installation: Installation
) -> None:
    (port,) = free_ports(1)
    (installation.folder / "events").mkdir()
    settings = {
        "spark.ui.enabled": "true",
        "spark.ui.port": str(port),
        "spark.eventLog.enabled": "true",
        "spark.eventLog.compress": "false",
        "spark.eventLog.dir": (installation.folder / "events").as_uri(),
        "spark.local.dir": str(installation.folder / "scratch"),
    }
    words = [word for name, value in settings.items() for word in ("--conf", f"{name}={value}")]
    commit(secured.brokers["dc1"], {"billing": {PLACE: 11}})
    with installation.started("sync_offsets", *words) as job:
        until(lambda: committed(secured.brokers["dc2"], ["billing"])["billing"][PLACE].offset == 13, job=job)
        assert processes_with(CANARY, job.process.pid) == []
        assert pages_with(CANARY, f"http://127.0.0.1:{port}") == []
        # Where tasks put what they shuffle and spill, while there is some.
        assert files_with(CANARY, installation.folder, [installation.config_file]) == []
        # What is looked for would be found.
        assert processes_with("spark.eventLog.dir", job.process.pid)
        assert pages_with("sync_offsets", f"http://127.0.0.1:{port}")
        assert files_with(CANARY, installation.folder, []) == [str(installation.config_file)]
        job.terminate()
    assert files_with(CANARY, installation.folder, [installation.config_file]) == []
    assert any(each.stat().st_size for each in (installation.folder / "events").rglob("*"))


def test_a_wrong_password_is_one_line_that_does_not_quote_it(
    secured: SecuredClusters, tmp_path_factory: pytest.TempPathFactory
) -> None:
    clusters = secured.sections()
    clusters["dc1"]["security"]["password"] = "c4n4ry-wrong"
    folder = tmp_path_factory.mktemp("wrong-password")
    failures = install(folder, secured.addresses, ["secured"], clusters=clusters).index()
    assert len(failures) == 1
    assert failures[0].startswith("clusters.dc1: ")
    assert "authentication" in failures[0].lower()
    assert "c4n4ry" not in failures[0]
