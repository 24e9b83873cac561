"""The command check on real brokers: plain ones, and secured ones with exactly the rights that are needed."""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path

import pytest
from confluent_kafka.admin import AclBinding, AclOperation, ResourcePatternType, ResourceType

from broker.committed_offsets import commit
from broker.crafted_logs import Clusters, copied_log, create_topics, native_log, write_log
from broker.installation import Installation, install
from broker.rights import minimal_rights, right, set_rights
from broker.secured_clusters import SecuredClusters
from offset_sync.config import load_config
from offset_sync.jobs.check import find_all
from offset_sync.jobs.checks.facts import METADATA
from offset_sync.kafka.own_rights import OwnRights
from offset_sync.model.finding import Finding

pytestmark = [pytest.mark.broker, pytest.mark.versions, pytest.mark.in_order, pytest.mark.timeout(600)]

TOPIC, PLACE = "checked", ("checked", 0)
READ, DESCRIBE = AclOperation.READ, AclOperation.DESCRIBE
ON_TOPIC = right(ResourceType.TOPIC, TOPIC, READ)
ON_COMMITS = right(ResourceType.TOPIC, "__consumer_offsets", READ)
ON_GROUP = right(ResourceType.GROUP, "checked-group", READ)
ON_LISTS = right(ResourceType.GROUP, "__offset-sync.read.", READ, ResourcePatternType.PREFIXED)
ON_LISTS_DESCRIBE = right(ResourceType.GROUP, "__offset-sync.read.", DESCRIBE, ResourcePatternType.PREFIXED)
ON_MARKS = right(ResourceType.GROUP, "__offset-sync.seen.", DESCRIBE, ResourcePatternType.PREFIXED)
ON_OWN_GROUPS = right(ResourceType.GROUP, "offset-sync", DESCRIBE, ResourcePatternType.PREFIXED)


def prepare(brokers: Clusters) -> None:
    for cluster in brokers.values():
        create_topics(cluster, {TOPIC: 1})
    write_log(brokers["dc1"], {PLACE: native_log("dc1", 20)})
    write_log(brokers["dc2"], {PLACE: copied_log("dc1", range(20))})
    for cluster in brokers.values():
        commit(cluster, {"checked-group": {PLACE: 3}})


def told(findings: Iterable[Finding], alias: str) -> dict[str, str]:
    """Return the level of each check of a cluster."""
    return {each.check: each.level.value for each in findings if each.place == f"clusters.{alias}"}


def test_plain_brokers_pass_and_are_said_to_guard_nothing(
    clusters: Clusters, spark_environment: None, tmp_path: Path
) -> None:
    used = {alias: clusters[alias] for alias in ("dc1", "dc2")}
    prepare(used)
    servers = {alias: cluster.bootstrap_servers for alias, cluster in used.items()}
    installation = install(tmp_path, servers, [TOPIC], groups={"include": ["checked-.*"]})
    ended = installation.run("check", "--json")
    assert ended.exit_code == 0, ended.output()
    (line,) = [line for line in ended.output().splitlines() if line.startswith('{"ok"')]
    found = [Finding(**each) for each in json.loads(line)["findings"]]
    levels = {each.check: each.level for each in found if each.place == "clusters.dc2"}
    assert levels == {
        **dict.fromkeys(["connection", "clock", "topics", "commits", "own groups", "groups"], "OK"),
        "no other right": "WARN",
        **dict.fromkeys(["mirror headers", "broker settings"], "OK"),
        "copies": "WARN",
    }
    texts = {each.check: each.text for each in found if each.place == "clusters.dc2"}
    assert "no authorizer" in texts["no other right"]
    assert "have another timestamp than their originals" in texts["copies"]  # they were written for this test
    assert "Java" not in ended.output()
    told_by_broker = OwnRights("dc2", {"bootstrap.servers": servers["dc2"]})
    settings = told_by_broker.settings(told_by_broker.brokers()[0])
    assert not isinstance(settings, str)
    assert settings[METADATA] == "4096"


def granted() -> set[AclBinding]:
    others = {acl for acl in minimal_rights() if acl.name not in ("orders", "*")}
    return others | {ON_TOPIC, ON_GROUP}


@pytest.fixture(scope="module")
def installation(secured: SecuredClusters, tmp_path_factory: pytest.TempPathFactory) -> Installation:
    prepare(secured.brokers)
    for cluster in secured.brokers.values():
        set_rights(cluster, granted())
    lists = {"read_lists": {"groups": ["checked-.*", "other"]}}
    sections = {"clusters": secured.sections(), "groups": {"include": ["checked-.*"]}, "sync": lists}
    return install(tmp_path_factory.mktemp("check"), secured.addresses, [TOPIC], **sections)


def test_the_minimal_rights_pass_over_tls(installation: Installation) -> None:
    findings = find_all(load_config(installation.config_file))
    names = ["connection", "clock", "topics", "commits", "own groups", "read lists", "marks", "groups"]
    expected = dict.fromkeys([*names, "no other right"], "OK")
    assert told(findings, "dc2") == {
        **expected,
        "mirror headers": "OK",
        "copies": "WARN",  # their times are those of this test
        "broker settings": "SKIP",
        "__consumer_offsets": "SKIP",
    }
    # What dc1 produces carries no headers, and its copies at dc2 do.
    unknown = dict.fromkeys(["broker settings", "__consumer_offsets"], "SKIP")
    assert told(findings, "dc1") == {**expected, **unknown, "mirror headers": "OK"}
    assert [each.text.split(", ")[-1] for each in findings if each.check == "connection"] == ["SASL_SSL", "SSL"]
    of_lists = [each.text for each in findings if each.check == "read lists"]
    assert of_lists == ["Read on groups with the prefix __offset-sync.read."] * 2


@pytest.mark.parametrize(
    ("lacking", "instead", "check", "words"),
    [
        (ON_TOPIC, None, "topics", ["topic checked", "Describe", "grant Read"]),
        (ON_TOPIC, right(ResourceType.TOPIC, TOPIC, DESCRIBE), "topics", ["checked: the operation Read", "grant Read"]),
        (ON_COMMITS, None, "commits", ["topic __consumer_offsets", "grant Read"]),
        (ON_OWN_GROUPS, None, "own groups", ["prefix offset-sync", "grant Describe"]),
        (ON_LISTS, None, "read lists", ["prefix __offset-sync.read.", "grant Read"]),
        (ON_LISTS, ON_LISTS_DESCRIBE, "read lists", ["prefix __offset-sync.read.: the operation Read", "grant Read"]),
        (ON_MARKS, None, "marks", ["prefix __offset-sync.seen.", "grant Describe"]),
        (ON_GROUP, None, "groups", ["checked-group", "grant Read"]),
        (ON_GROUP, right(ResourceType.GROUP, "checked-group", DESCRIBE), "groups", ["checked-group", "grant Read"]),
    ],
)
def test_each_right_that_is_missing_is_one_line(
    secured: SecuredClusters,
    installation: Installation,
    lacking: AclBinding,
    instead: AclBinding | None,
    check: str,
    words: list[str],
) -> None:
    set_rights(secured.brokers["dc2"], granted() - {lacking} | ({instead} if instead else set()))
    findings = find_all(load_config(installation.config_file))
    failed = [each for each in findings if each.level.value == "FAIL"]
    assert [(each.place, each.check) for each in failed] == [("clusters.dc2", check)]
    assert [word for word in [*words, "Minimal ACLs"] if word not in failed[0].text] == [], failed


def test_unneeded_rights_are_warnings(secured: SecuredClusters, installation: Installation) -> None:
    alter = right(ResourceType.BROKER, "kafka-cluster", AclOperation.ALTER)
    writing = right(ResourceType.TOPIC, TOPIC, AclOperation.WRITE)
    set_rights(secured.brokers["dc2"], granted() | {alter, writing})
    findings = find_all(load_config(installation.config_file))
    warned = {each.text for each in findings if each.check == "no other right" and each.level.value == "WARN"}
    assert warned == {
        "Alter on the cluster is never needed; revoke it",
        "Write on checked is never needed; revoke it",
    }
    assert not [each for each in findings if each.level.value == "FAIL"]


def test_a_wrong_password_is_named_without_it_and_the_other_cluster_is_checked(
    secured: SecuredClusters, tmp_path: Path
) -> None:
    sections = secured.sections()
    sections["dc1"]["security"]["password"] = "c4n4ry-wrong"
    findings = find_all(load_config(install(tmp_path, secured.addresses, [TOPIC], clusters=sections).config_file))
    (failed,) = [each for each in findings if each.place == "clusters.dc1"]
    assert (failed.level.value, failed.check) == ("FAIL", "connection")
    assert "authentication" in failed.text.lower()
    assert "c4n4ry" not in failed.text
    assert told(findings, "dc2")["connection"] == "OK"
