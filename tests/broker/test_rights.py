"""Clusters with logins, TLS and exactly the rights of docs/operations.md: all works; one that is missing is one line.

The commands of the document are run by Kafka's own tool.
"""

from __future__ import annotations

import subprocess
from collections.abc import Callable, Iterator, Mapping, Set
from contextlib import contextmanager
from pathlib import Path

import pytest
from confluent_kafka.admin import AclBinding, AclOperation, ResourcePatternType, ResourceType

from broker.canary import PROC, files_with, pages_with, processes_with
from broker.committed_offsets import commit, committed
from broker.crafted_logs import copied_log, create_topics, native_log, write_log
from broker.group_member import member
from broker.installation import Installation, install, until
from broker.rights import documented, minimal_rights, right, rights, set_rights
from broker.secured_clusters import SecuredClusters
from consumer.moving import cutover
from offset_sync.config import load_config
from offset_sync.jobs.check import find_all
from offset_sync.model.finding import Finding, Level
from offset_sync.translate.read_list import decode_read_list
from offset_sync_demo.kafka.broker_files import free_ports, java_command

pytestmark = [
    pytest.mark.broker,
    pytest.mark.versions,
    pytest.mark.long,
    pytest.mark.in_order,
    pytest.mark.timeout(900),
]

PLACE, KEPT, LISTED = ("secured", 0), ("kept", 0), ("listed", 0)
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
OF_THESE = {TOPIC, on_topic("kept"), on_topic("listed"), GROUP, on_group("other"), on_group("crossing")}
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
        create_topics(cluster, {"secured": 1, "kept": 1, "listed": 1})
        set_rights(cluster, GRANTED)
    write_log(dc1, {PLACE: native_log("dc1", 20), KEPT: native_log("dc1", 5), LISTED: native_log("dc1", 4)})
    write_log(dc2, {PLACE: [None, None, *copied_log("dc1", range(20), first=2)], KEPT: copied_log("dc1", range(5))})
    write_log(dc2, {LISTED: [*native_log("dc2", 1), *copied_log("dc1", range(4), first=1)]})
    commit(dc1, {"billing": {PLACE: 7}})
    commit(dc2, {"other": {PLACE: 9}})
    sections = {
        "groups": {"include": ["billing", "other", "crossing"]}, "sync": {"read_lists": {"groups": ["crossing"]}}
    }  # fmt: skip
    topics = ["secured", "kept", "listed"]
    folder = tmp_path_factory.mktemp("secured-jobs")
    return install(folder, secured.addresses, topics, clusters=secured.sections(), **sections)


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
        of_mirrors = {"copies", "mirror headers"}  # see test_check
        assert {name: level for name, level in told.items() if name not in of_mirrors} == {
            **dict.fromkeys(names, "OK"),
            **dict.fromkeys(["broker settings", "__consumer_offsets"], "SKIP"),
        }
    assert [each.text.split(", ")[-1] for each in findings if each.check == "connection"] == ["SASL_SSL", "SSL"]


INDEX, SYNC = Installation.index, Installation.sync
MISSING: Mapping[str, tuple[AclBinding, AclBinding | None, str, list[str], Callable[..., list[str]] | None]] = {
    "topic": (TOPIC, None, "topics", ["topic secured", "Describe", "grant Read"], INDEX),
    "topic, read": (TOPIC, on_topic("secured", DESCRIBE), "topics", ["the operation Read", "grant Read"], INDEX),
    "commits": (COMMITS, None, "commits", ["topic __consumer_offsets", "grant Read"], SYNC),
    "own groups": (OWN_GROUPS, None, "own groups", ["offset-sync", "grant Describe"], SYNC),
    "lists": (LISTS, None, "read lists", ["prefix __offset-sync.read.", "grant Read"], None),
    "marks": (MARKS, None, "marks", ["prefix __offset-sync.seen.", "grant Describe"], None),
    "group": (GROUP, None, "groups", ["billing", "grant Read"], SYNC),
    "group, read": (GROUP, on_group("billing", DESCRIBE), "groups", ["billing", "grant Read"], None),
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


def test_while_a_log_of_commits_cannot_be_read_what_is_older_waits(
    secured: SecuredClusters, installation: Installation
) -> None:
    brokers = secured.brokers
    commit(brokers["dc1"], {"billing": {PLACE: 12}})
    with given(secured, GRANTED - {COMMITS}):
        installation.sync()
    assert committed(brokers["dc2"], ["billing"])["billing"][PLACE].offset == 9
    assert (12, "OWNER_UNKNOWN") in {(row["source_offset"], row["state"]) for row in installation.translations()}
    assert installation.sync() == []
    assert committed(brokers["dc2"], ["billing"])["billing"][PLACE].offset == 14


def test_without_a_right_on_the_log_of_commits_these_can_be_polled(
    secured: SecuredClusters, spark_environment: None, tmp_path: Path
) -> None:
    polled = {alias: {**each, "commits": "admin"} for alias, each in secured.sections().items()}
    groups = {"include": ["polled"]}
    installation = install(tmp_path, secured.addresses, ["secured"], clusters=polled, groups=groups)
    with given(secured, GRANTED - {COMMITS} | {on_group("polled")}, "dc1", "dc2"):
        commit(secured.brokers["dc1"], {"polled": {PLACE: 8}})
        assert (installation.index(), installation.sync()) == ([], [])
        findings = found(installation)
    assert committed(secured.brokers["dc2"], ["polled"])["polled"][PLACE].offset == 10
    assert [each for each in findings if each.level is Level.FAIL] == []
    assert sum("polled every 5 s" in each.text for each in findings) == 2


def test_without_the_right_to_write_read_lists_offsets_are_written_and_one_line_names_it(
    secured: SecuredClusters, installation: Installation, caplog: pytest.LogCaptureFixture
) -> None:
    group, listed, brokers = "crossing", "__offset-sync.read.crossing", secured.brokers
    commit(brokers["dc1"], {group: {LISTED: 4}})
    with given(secured, GRANTED - {LISTS}):
        assert installation.sync() == []
    stands = committed(brokers["dc2"], [group, listed])
    assert (stands[group][LISTED].offset, stands[listed]) == (0, {})
    (line,) = [each.getMessage() for each in caplog.records if "lists not written" in each.getMessage()]
    says = ["clusters.dc2: 1 read lists", f"'{listed}': GROUP_AUTHORIZATION_FAILED", "Minimal ACLs"]
    assert [part for part in says if part not in line] == [], line
    assert installation.sync() == []
    decoded = decode_read_list(committed(brokers["dc2"], [listed])[listed][LISTED].metadata)
    assert decoded is not None
    assert (decoded.read_list.ranges.start.tolist(), decoded.read_list.ranges.length.tolist()) == ([1], [4])


def test_a_reader_that_may_not_be_described_is_not_taken_for_a_stopped_one(
    secured: SecuredClusters, spark_environment: None, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """dc1 is only a source, and what the group may do there is little: at first it is not to be described."""
    dc1, dc2, unseen = *secured.brokers.values(), "unseen"
    sections = {"directions": [["dc1", "dc2"]], "sync": {"home_silence": "1m"}, "groups": {"include": [unseen]}}
    one_way = install(tmp_path, secured.addresses, ["secured"], clusters=secured.sections(), **sections)

    def moved(action: str) -> list[str]:
        return cutover(one_way, action, "dc1", "dc2", "--groups", unseen, "--planned")

    with given(secured, GRANTED | {on_group(unseen)}, "dc1", "dc2"):
        set_rights(dc1, GRANTED)
        commit(dc1, {unseen: {PLACE: 7}})
        assert (one_way.index(), one_way.sync()) == ([], [])
        with member(dc1, unseen, "secured"):
            assert [each[:2] for each in failed(one_way)] == [("clusters.dc1", "groups")]
            for action in ("plan", "apply"):
                (line,) = moved(action)
                assert unseen in line
                unknown = "dc1 does not list it: it is of another type, or Describe on it is missing"
                assert unknown in line + capsys.readouterr().out
            set_rights(dc1, GRANTED | {on_group(unseen, DESCRIBE)})
            assert failed(one_way) == []
            assert moved("apply") == [f"{unseen}: it has members at dc1; stop them there first"]
        assert one_way.rows("cutovers", step="home") == []
        commit(dc1, {unseen: {PLACE: 12}})
        assert one_way.sync() == []
        assert committed(dc2, [unseen])[unseen][PLACE].offset == 14


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
    commit(secured.brokers["dc1"], {"billing": {PLACE: 15}})
    with installation.started("sync_offsets", *words) as job:
        until(lambda: committed(secured.brokers["dc2"], ["billing"])["billing"][PLACE].offset == 17, job=job)
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


def test_a_wrong_password_is_one_line_that_does_not_quote_it(secured: SecuredClusters, tmp_path: Path) -> None:
    clusters = secured.sections()
    clusters["dc1"]["security"]["password"] = f"{CANARY}-wrong"
    wrong = install(tmp_path, secured.addresses, ["secured"], clusters=clusters, groups={"include": ["billing"]})
    ((place, check, text),) = failed(wrong)
    assert (place, check, "authentication" in text.lower()) == ("clusters.dc1", "connection", True)
    assert CANARY not in text
