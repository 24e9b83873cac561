"""All jobs with tables and checkpoints on HDFS, the driver on this machine, as the life of one installation."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from broker.crafted_logs import Clusters
from broker.installation import Installation, install
from cluster.hadoop import Hadoop
from cluster.on_s3 import read_sealed
from cluster.story import Story, run

pytestmark = [pytest.mark.in_order, pytest.mark.timeout(1200)]

GROUPS = {"on-hdfs-1": 17, "on-hdfs-2": 100}


@pytest.fixture(scope="module")
def story(clusters: Clusters) -> Story:
    return Story(clusters, "on-hdfs").begin()


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("on-hdfs")


@pytest.fixture(scope="module")
def installation(story: Story, hdfs: Hadoop, folder: Path) -> Installation:
    places = {
        key: f"{hdfs.file_system}/offset-sync/{name}" for key, name in (("root", "tables"), ("checkpoints", "cp"))
    }
    return install(folder, story.servers, [story.topic], tables=places)


def test_check_says_that_both_places_can_be_written_to(installation: Installation, story: Story) -> None:
    story.write(150)
    for group, offset in GROUPS.items():
        story.commit(group, offset)
    (said,) = [line for line in run(installation, "check", "--json").output().splitlines() if line.startswith("{")]
    places = [each for each in json.loads(said)["findings"] if each["place"] == "tables"]
    assert [(each["check"], each["level"]) for each in places] == [("root", "OK"), ("checkpoints", "OK")]
    assert all(each["text"].startswith("hdfs://") for each in places)


def test_what_is_on_the_brokers_is_indexed_and_synced(
    installation: Installation, story: Story, hdfs: Hadoop, folder: Path
) -> None:
    run(installation, "index_records", "--once")
    story.check_index(hdfs.rows("/offset-sync/tables/record_runs", folder))
    run(installation, "sync_offsets", "--once")
    for group, offset in GROUPS.items():
        story.arrives(group, offset)


def test_a_later_run_goes_on_from_tables_and_checkpoints_that_were_compacted(
    installation: Installation, story: Story, hdfs: Hadoop, folder: Path
) -> None:
    run(installation, "maintain_tables", "--once")
    story.write(50)
    story.commit("on-hdfs-1", 190)
    run(installation, "index_records", "--once")
    story.check_index(hdfs.rows("/offset-sync/tables/record_runs", folder))
    run(installation, "sync_offsets", "--once")
    story.arrives("on-hdfs-1", 190)
    commits = hdfs.rows("/offset-sync/tables/offset_commits", folder)
    own = [(each["group_id"], each["committed_offset"]) for each in commits if each["cluster"] == "dc1"]
    assert sorted(each for each in own if each[0] in GROUPS) == [
        ("on-hdfs-1", 17),
        ("on-hdfs-1", 190),
        ("on-hdfs-2", 100),
    ]


def test_the_report_finds_every_group_in_sync(installation: Installation) -> None:
    run(installation, "sync_offsets", "--once")  # reads back what the run before has written: the report shows that
    report = run(installation, "report_status", "--once", "--format", "json").output()
    (line,) = [each for each in report.splitlines() if each.startswith("{") and '"groups"' in each]
    assert {each["status"] for each in json.loads(line)["groups"] if each["group_id"] in GROUPS} == {"InSync"}


def test_pages_are_read_from_sealed_files_until_the_process_ends(hdfs: Hadoop, folder: Path) -> None:
    job = read_sealed(f"{hdfs.file_system}/offset-sync/sealed", {}, folder)
    job.wait()
    assert (job.exit_code, job.output().splitlines()[-1]) == (0, "ends"), job.output()[-3000:]
    assert job.output().count("160 rows sealed, 10 pages, 40 runs in memory") == 2, job.output()[-3000:]
