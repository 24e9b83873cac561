"""Commands at real brokers: what is rehearsed, watched and maintained, and a cluster that does not answer."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest
from confluent_kafka import TopicPartition as ClientPartition

from broker.committed_offsets import commit, commits_recorded, committed
from broker.crafted_logs import Clusters, copied_log, crafted_logs, create_topics, native_log, write_log
from broker.installation import REPO, install
from generators.mirrored_logs import World
from offset_sync.config import load_config
from offset_sync_demo.kafka.clients import admin_of

pytestmark = [pytest.mark.broker, pytest.mark.long, pytest.mark.timeout(600)]

TOPIC, PLACE = "of.sync.command", ("of.sync.command", 0)  # in no name of a test, from which others name topics
GROUPS = [f"command-{number}" for number in range(20)]
UNREACHABLE = "127.0.0.1:1"
ALIASES = ("dc1", "dc2")
WORLD = World(ALIASES, ALIASES, (ALIASES, ALIASES[::-1]), 60)


@pytest.fixture(scope="module")
def pair(clusters: Clusters, spark_environment: None) -> Clusters:
    for alias in ALIASES:
        create_topics(clusters[alias], {TOPIC: 1})
    write_log(clusters["dc1"], {PLACE: native_log("dc1", 20)})
    write_log(clusters["dc2"], {PLACE: [None, None, *copied_log("dc1", range(20), first=2)]})
    commit(clusters["dc1"], {group: {PLACE: number} for number, group in enumerate(GROUPS)})
    return clusters


def test_what_may_not_write_touches_no_cluster_and_leaves_everything_to_the_run_after_it(
    pair: Clusters, tmp_path: Path
) -> None:
    """With ``--dry-run`` the plan is written down, with ``--no-writes`` all that was read and reported too.

    Then a cluster more is configured that does not answer: it fails alone, and the others are synced all the same.
    """
    plan = {group: number + 2 for number, group in enumerate(GROUPS)}
    installation = install(tmp_path, pair, [TOPIC])
    before = commits_recorded(pair["dc2"], TOPIC)
    assert (installation.index(), installation.sync(dry_run=True)) == ([], [])
    rows = installation.translations(topic=TOPIC)
    assert {(row["outcome"], row["state"], row["committed_at"]) for row in rows} == {("DRY_RUN", "EXACT", None)}
    assert {row["group_id"]: row["target_offset"] for row in rows} == plan
    assert installation.sync(no_writes=True) == []
    assert {row["group_id"] for row in installation.rows("offset_commits", topic=TOPIC)} == {*GROUPS}
    installation.report()
    assert {row["group_id"] for row in installation.rows("sync_status", topic=TOPIC)} == {*GROUPS}
    assert commits_recorded(pair["dc2"], TOPIC) == before
    assert {row["outcome"] for row in installation.translations(topic=TOPIC)} <= {"DRY_RUN", "UNCHANGED"}
    crippled = install(tmp_path, {**pair, "dc9": UNREACHABLE}, [TOPIC])
    (failure,) = crippled.index()
    assert failure.startswith("clusters.dc9: ")
    of_sync = crippled.sync()
    assert [line.split(":")[0] for line in of_sync] == ["clusters.dc9", "dc1 to dc9"]
    assert "20 offsets not committed" in of_sync[1]
    found = committed(pair["dc2"], GROUPS)
    assert {group: by[PLACE].offset for group, by in found.items()} == plan
    rows = crippled.translations(topic=TOPIC, target_cluster="dc9")
    assert {(row["state"], row["outcome"]) for row in rows} == {("CLUSTER_UNREACHABLE", "FAILED")}
    assert all("dc9" in row["error"] for row in rows)


def test_maintenance_cuts_what_is_deleted_and_read_by_all_and_the_next_answer_is_right(
    clusters: Clusters, spark_environment: None, topic_name: str, group_name: str, tmp_path: Path
) -> None:
    place = (topic_name, 0)
    installation = install(tmp_path, clusters, [topic_name], maintenance={"keep_runs": "0s"})

    def indexed() -> set[tuple[str, int, int]]:
        rows = installation.rows("record_runs", topic=topic_name)
        return {(row["cluster"], row["start_offset"], row["length"]) for row in rows if row["length"]}

    for alias in ALIASES:
        create_topics(clusters[alias], {topic_name: 1})
    for end in (60, 100):
        write_log(clusters["dc1"], {place: native_log("dc1", end)})
        write_log(clusters["dc2"], {place: copied_log("dc1", range(end))})
        assert installation.index() == []
    commit(clusters["dc1"], {group_name: {place: 70}})
    assert installation.sync() == []
    for alias in ALIASES:
        admin = admin_of(clusters[alias])  # it has to live until the answer is there
        (deleted,) = admin.delete_records([ClientPartition(*place, 60)]).values()
        deleted.result(120)
    assert {start for _, start, _ in indexed()} == {0, 60}
    assert installation.maintain() == []
    assert indexed() == {("dc1", 60, 40), ("dc2", 60, 40)}
    commit(clusters["dc1"], {group_name: {place: 85}})
    assert installation.sync() == []
    assert committed(clusters["dc2"], [group_name])[group_name][place].offset == 85
    last = installation.last_translation(group_name, target_cluster="dc2")
    assert (last["state"], last["duplicates"], last["lost"]) == ("EXACT", 0, 0)


def test_init_writes_what_the_clusters_show_and_checks_it(clusters: Clusters, topic_name: str, tmp_path: Path) -> None:
    """As it is typed."""
    logs = crafted_logs(WORLD, 11)
    for alias in ALIASES:
        create_topics(clusters[alias], {topic_name: 1})
        write_log(clusters[alias], {(topic_name, 0): logs[alias]})
    named = [word for alias in ALIASES for word in ("--cluster", f"{alias}={clusters[alias].bootstrap_servers}")]
    command = [str(REPO / "spark-submit.sh"), "init", "--conf", "my.yaml", *named, "--topics", topic_name]
    done = subprocess.run(command, cwd=tmp_path, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False)
    said = done.stderr + done.stdout
    assert done.returncode == 0, said
    assert "dc1: has copies of records of dc2" in said
    assert "dc2: has copies of records of dc1" in said
    assert said.rstrip().endswith("next: ./spark-submit.sh run --conf my.yaml")
    config = load_config(tmp_path / "my.yaml")
    assert [*config.clusters] == [*ALIASES]
    assert config.topics.include == (topic_name,)
