"""Clusters with logins, TLS and exactly the rights of docs/operations.md: all works; one that is missing is one line.

The commands of the document are run by Kafka's own tool.
"""

from __future__ import annotations

import subprocess
from collections.abc import Callable, Iterator, Mapping, Set
from contextlib import contextmanager

import pytest
from confluent_kafka.admin import AclBinding, AclOperation, ResourcePatternType, ResourceType

from broker.canary import PROC, files_with, processes_with
from broker.committed_offsets import commit, committed
from broker.crafted_logs import copied_log, create_topics, native_log, write_log
from broker.installation import Installation, install, until
from broker.rights import documented, minimal_rights, right, rights, set_rights
from broker.secured_clusters import SecuredClusters
from offset_sync.config import load_config
from offset_sync.jobs.check import find_all
from offset_sync.model.finding import Finding, Level
from offset_sync_demo.kafka.broker_files import java_command

pytestmark = [pytest.mark.versions, pytest.mark.in_order, pytest.mark.timeout(900)]

PLACE, KEPT = ("secured", 0), ("kept", 0)
CANARY = "c4n4ry"  # every password here begins so
READ, DESCRIBE = AclOperation.READ, AclOperation.DESCRIBE


def on_topic(name: str, operation: AclOperation = READ) -> AclBinding:
    return right(ResourceType.TOPIC, name, operation)


def on_group(name: str, operation: AclOperation = READ) -> AclBinding:
    return right(ResourceType.GROUP, name, operation)


def on_groups(prefix: str, operation: AclOperation) -> AclBinding:
    return right(ResourceType.GROUP, prefix, operation, ResourcePatternType.PREFIXED)


TOPIC, COMMITS, GROUP = on_topic("secured"), on_topic("__consumer_offsets"), on_group("billing")
OWN_GROUPS = on_groups("offset-sync", DESCRIBE)
LISTS, MARKS = on_groups("__offset-sync.read.", READ), on_groups("__offset-sync.seen.", DESCRIBE)
# By name and not "*", which would bring Describe on our own groups along.
OF_THESE = {TOPIC, on_topic("kept"), GROUP, on_group("other")}
GRANTED = {acl for acl in minimal_rights() if acl.name not in ("orders", "*")} | OF_THESE


@contextmanager
def given(secured: SecuredClusters, wanted: Set[AclBinding], *aliases: str) -> Iterator[None]:
    """Let clusters, by default dc2, have other rights for a while."""
    for alias in aliases or ("dc2",):
        set_rights(secured.brokers[alias], {*wanted})
    try:
        yield
    finally:
        for alias in aliases or ("dc2",):
            set_rights(secured.brokers[alias], GRANTED)


@pytest.fixture(scope="module")
def installation(
    secured: SecuredClusters, spark_environment: None, tmp_path_factory: pytest.TempPathFactory
) -> Installation:
    dc1, dc2 = secured.brokers["dc1"], secured.brokers["dc2"]
    for cluster in (dc1, dc2):
        create_topics(cluster, {"secured": 1, "kept": 1})
        set_rights(cluster, GRANTED)
    write_log(dc1, {PLACE: native_log("dc1", 20), KEPT: native_log("dc1", 5)})
    write_log(dc2, {PLACE: [None, None, *copied_log("dc1", range(20), first=2)], KEPT: copied_log("dc1", range(5))})
    commit(dc1, {"billing": {PLACE: 7}})
    commit(dc2, {"other": {PLACE: 9}})
    sections = {"groups": {"include": ["billing", "other"]}, "sync": {"read_lists": {"groups": ["billing"]}}}
    folder = tmp_path_factory.mktemp("secured-jobs")
    return install(folder, secured.addresses, ["secured", "kept"], clusters=secured.sections(), **sections)


def found(installation: Installation) -> list[Finding]:
    return find_all(load_config(installation.config_file))


def failed(installation: Installation) -> list[tuple[str, str, str]]:
    return [(each.place, each.check, each.text) for each in found(installation) if each.level is Level.FAIL]


def test_the_documented_commands_grant_what_the_other_tests_take_for_granted(secured: SecuredClusters) -> None:
    """Reading and describing, and nothing else; of commands with the same options one is run."""
    cluster = secured.brokers["dc1"]
    words = [each[each.index("--operation") + 1] for each in documented()]
    assert (len(words), {*words}) == (8, {"Read", "Describe"})
    assert not [each for each in documented() if "--cluster" in each]
    admin = cluster.directory / "admin.properties"
    admin.write_text("")
    known = {"$BROKERS": cluster.bootstrap_servers, "admin.properties": str(admin)}
    set_rights(cluster, set())
    tools = []
    forms = {tuple(word for word in each if word.startswith("--")): each for each in documented()}
    for each in forms.values():
        words = [known.get(word, word) for word in each]
        command = java_command(cluster.directory, "org.apache.kafka.tools.AclCommand", *words)
        tools.append(subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True))
    for tool in tools:
        said, _ = tool.communicate(timeout=300)
        assert (tool.returncode, "Adding ACLs" in said) == (0, True), said
    until(lambda: rights(cluster) == minimal_rights(forms.values()), 120)


def test_the_documented_rights_are_enough_over_tls(secured: SecuredClusters, installation: Installation) -> None:
    set_rights(secured.brokers["dc1"], GRANTED)
    assert (installation.index(), installation.sync()) == ([], [])
    assert committed(secured.brokers["dc2"], ["billing"])["billing"][PLACE].offset == 9
    assert committed(secured.brokers["dc1"], ["other"])["other"][PLACE].offset == 7
    findings = found(installation)
    names = ["connection", "topics", "commits", "own groups", "groups", "partitions"]
    for alias in ("dc1", "dc2"):
        told = {each.check: each.level.value for each in findings if each.place == f"clusters.{alias}"}
        of_mirrors = {"mirror headers"}  # see test_check
        assert {name: level for name, level in told.items() if name not in of_mirrors} == {
            **dict.fromkeys(names, "OK"),
            "broker settings": "SKIP",
        }


INDEX, SYNC = Installation.index, Installation.sync
MISSING: Mapping[str, tuple[AclBinding, AclBinding | None, str, list[str], Callable[..., list[str]] | None]] = {
    "topic, read": (TOPIC, on_topic("secured", DESCRIBE), "topics", ["the operation Read", "grant Read"], INDEX),
    "commits": (COMMITS, None, "commits", ["topic __consumer_offsets", "grant Read"], SYNC),
    "own groups": (OWN_GROUPS, None, "own groups", ["offset-sync", "grant Describe"], SYNC),
    "lists": (LISTS, None, "read lists", ["prefix __offset-sync.read.", "grant Read"], None),
    "marks": (MARKS, None, "marks", ["prefix __offset-sync.seen.", "grant Describe"], None),
    "group": (GROUP, None, "groups", ["billing", "grant Read"], SYNC),
}


@pytest.mark.parametrize(("lacking", "instead", "check", "words", "job"), MISSING.values(), ids=MISSING)
def test_each_right_that_is_missing_is_one_line_of_check_and_of_the_job_that_needs_it(
    secured: SecuredClusters,
    installation: Installation,
    lacking: AclBinding,
    instead: AclBinding | None,
    check: str,
    words: list[str],
    job: Callable[..., list[str]] | None,
) -> None:
    with given(secured, GRANTED - {lacking} | ({instead} if instead else set())):
        lines = failed(installation)
        of_job = job(installation) if job else []
    assert [each[:2] for each in lines] == [("clusters.dc2", check)]
    assert (len(of_job), all("clusters.dc2: " in each for each in of_job)) == (1 if job else 0, True)
    for line in [lines[0][2], *of_job]:
        assert [part for part in [*words, "Minimal ACLs"] if part not in line] == [], line


def test_of_a_topic_that_may_not_be_read_any_more_others_are_indexed(
    secured: SecuredClusters, installation: Installation
) -> None:
    write_log(secured.brokers["dc1"], {KEPT: native_log("dc1", 8), PLACE: native_log("dc1", 24)})
    with given(secured, GRANTED - {on_topic("kept")} | {on_topic("kept", DESCRIBE)}, "dc1", "dc2"):
        failures = installation.index()
    begins = [f"clusters.{alias}: topic kept: TOPIC_AUTHORIZATION_FAILED: " for alias in ("dc1", "dc2")]
    assert [failure.startswith(begin) for failure, begin in zip(failures, begins, strict=True)] == [True, True]
    assert (indexed(installation, "secured"), indexed(installation, "kept")) == (24, 5)
    assert installation.index() == []
    assert indexed(installation, "kept") == 8


def indexed(installation: Installation, topic: str) -> int:
    """Return how many offsets of dc1's log are indexed, each counted once; they have to be without a gap."""
    rows = installation.rows("record_runs", cluster="dc1", topic=topic)
    offsets = {offset for row in rows for offset in range(row["start_offset"], row["start_offset"] + row["length"])}
    assert offsets == set(range(len(offsets)))
    return len(offsets)


@pytest.mark.skipif(not PROC.is_dir(), reason="only Linux tells so what other users see of a process")
def test_no_password_is_shown_by_a_job_that_runs_or_by_what_it_leaves(
    secured: SecuredClusters, installation: Installation
) -> None:
    (installation.folder / "events").mkdir()
    settings = {
        "spark.eventLog.enabled": "true",
        "spark.eventLog.compress": "false",
        "spark.eventLog.dir": (installation.folder / "events").as_uri(),
        "spark.local.dir": str(installation.folder / "scratch"),
    }
    words = [word for name, value in settings.items() for word in ("--conf", f"{name}={value}")]
    commit(secured.brokers["dc1"], {"billing": {PLACE: 15}})
    with installation.started("sync_offsets", *words) as job:
        until(lambda: committed(secured.brokers["dc2"], ["billing"])["billing"][PLACE].offset == 17, job=job)
        assert processes_with(CANARY, job.process.pid) == []
        # Where tasks put what they shuffle and spill, while there is some.
        assert files_with(CANARY, installation.folder, [installation.config_file]) == []
        # What is looked for would be found.
        assert processes_with("spark.eventLog.dir", job.process.pid)
        assert files_with(CANARY, installation.folder, []) == [str(installation.config_file)]
        job.terminate()
    assert files_with(CANARY, installation.folder, [installation.config_file]) == []
    assert any(each.stat().st_size for each in (installation.folder / "events").rglob("*"))
