"""The two jobs as commands: exit codes, --dry-run, and a cluster that does not answer."""

from __future__ import annotations

import pytest

from broker.committed_offsets import commit, commits_recorded, committed
from broker.crafted_logs import Clusters, copied_log, create_topics, native_log, write_log
from broker.installation import Installation, Job, install

pytestmark = [pytest.mark.broker, pytest.mark.long, pytest.mark.in_order, pytest.mark.timeout(1200)]

TOPIC, PLACE = "of.sync.command", ("of.sync.command", 0)  # in no name of a test, from which others name topics
GROUPS = [f"command-{number}" for number in range(20)]
UNREACHABLE = "127.0.0.1:1"
OFFSETS = {group: {PLACE: number} for number, group in enumerate(GROUPS)}


@pytest.fixture(scope="module")
def servers(clusters: Clusters, spark_environment: None) -> dict[str, str]:
    for alias in ("dc1", "dc2"):
        create_topics(clusters[alias], {TOPIC: 1})
    write_log(clusters["dc1"], {PLACE: native_log("dc1", 20)})
    write_log(clusters["dc2"], {PLACE: [None, None, *copied_log("dc1", range(20), first=2)]})
    commit(clusters["dc1"], OFFSETS)
    return {alias: clusters[alias].bootstrap_servers for alias in ("dc1", "dc2")}


@pytest.fixture(scope="module")
def crippled(
    servers: dict[str, str], rehearsed: Installation, tmp_path_factory: pytest.TempPathFactory
) -> Installation:
    """An installation of which one cluster cannot be reached; *rehearsed* has to see the clusters before it."""
    folder = tmp_path_factory.mktemp("crippled")
    return install(folder, {**servers, "dc9": UNREACHABLE}, [TOPIC])


@pytest.fixture(scope="module")
def rehearsed(clusters: Clusters, servers: dict[str, str], tmp_path_factory: pytest.TempPathFactory) -> Installation:
    """An installation that has only rehearsed."""
    installation = install(tmp_path_factory.mktemp("rehearsed"), servers, [TOPIC])
    before = commits_recorded(clusters["dc2"], TOPIC)
    assert (installation.index(), installation.sync(dry_run=True), installation.sync(dry_run=True)) == ([], [], [])
    assert commits_recorded(clusters["dc2"], TOPIC) == before == 0
    return installation


def offsets(clusters: Clusters, alias: str) -> dict[str, int]:
    found = committed(clusters[alias], GROUPS)
    return {group: by[PLACE].offset for group, by in found.items() if by}


@pytest.mark.parametrize("job", ["index_records", "sync_offsets"])
def test_a_wrong_configuration_ends_with_2_and_names_every_mistake(
    servers: dict[str, str], tmp_path_factory: pytest.TempPathFactory, job: str
) -> None:
    wrong = install(tmp_path_factory.mktemp("wrong"), servers, ["("], sync={"hole_graze": "1s"})
    ended = wrong.run(job, "--once")
    assert ended.exit_code == 2
    assert "sync.hole_graze" in ended.output()
    assert "topics.include" in ended.output()


def test_an_unknown_option_ends_with_2(rehearsed: Installation) -> None:
    assert rehearsed.run("index_records", "--dry-run").exit_code == 2


def test_a_dry_run_writes_the_plan_and_touches_no_cluster(rehearsed: Installation) -> None:
    rows = rehearsed.translations(topic=TOPIC)
    assert {(row["outcome"], row["state"], row["committed_at"]) for row in rows} == {("DRY_RUN", "EXACT", None)}
    plan = {row["group_id"]: row["target_offset"] for row in rows}
    assert plan == {group: number + 2 for number, group in enumerate(GROUPS)}


def test_a_dry_run_leaves_everything_to_the_run_after_it(clusters: Clusters, rehearsed: Installation) -> None:
    assert rehearsed.sync() == []
    assert offsets(clusters, "dc2") == {group: number + 2 for number, group in enumerate(GROUPS)}
    rows = rehearsed.translations(topic=TOPIC, outcome="COMMITTED")
    assert sorted(row["group_id"] for row in rows) == sorted(GROUPS)


def test_without_writes_all_is_written_down_and_no_cluster_is_touched(
    clusters: Clusters, servers: dict[str, str], tmp_path_factory: pytest.TempPathFactory
) -> None:
    watching = install(tmp_path_factory.mktemp("watching"), servers, [TOPIC])
    before = commits_recorded(clusters["dc2"], TOPIC)
    assert (watching.index(), watching.sync(no_writes=True), watching.sync(no_writes=True)) == ([], [], [])
    assert commits_recorded(clusters["dc2"], TOPIC) == before
    assert {row["group_id"] for row in watching.rows("offset_commits", topic=TOPIC)} == {*GROUPS}
    assert {row["outcome"] for row in watching.translations(topic=TOPIC)} <= {"DRY_RUN", "UNCHANGED"}
    watching.report()
    assert {row["group_id"] for row in watching.rows("sync_status", topic=TOPIC)} == {*GROUPS}


def test_a_cluster_that_does_not_answer_fails_alone_while_indexing(crippled: Installation) -> None:
    (failure,) = crippled.index()
    assert failure.startswith("clusters.dc9: ")
    assert {row["cluster"] for row in crippled.rows("record_runs")} == {"dc1", "dc2"}


@pytest.fixture(scope="module")
def crippled_sync(crippled: Installation, clusters: Clusters) -> Job:
    commit(clusters["dc1"], {GROUPS[0]: {PLACE: 9}})
    return crippled.run("sync_offsets", "--once")


def test_a_cluster_that_does_not_answer_ends_with_1_and_a_line_per_failure(crippled_sync: Job) -> None:
    assert crippled_sync.exit_code == 1
    lines = [
        line for line in crippled_sync.output().splitlines() if line.startswith(("clusters.", "dc1 to ", "dc2 to "))
    ]
    assert [line.split(":")[0] for line in lines] == ["clusters.dc9", "dc1 to dc9"]
    assert "20 offsets not committed" in lines[1]


def test_the_other_clusters_are_synced_all_the_same(
    crippled_sync: Job, crippled: Installation, clusters: Clusters
) -> None:
    assert offsets(clusters, "dc2")[GROUPS[0]] == 11
    rows = crippled.translations(topic=TOPIC, target_cluster="dc9")
    assert {(row["state"], row["outcome"]) for row in rows} == {("CLUSTER_UNREACHABLE", "FAILED")}
    assert all("dc9" in row["error"] for row in rows)
