"""Groups of Kafka Streams and share groups at a real broker: who has members, and what may be committed for them."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import ExitStack
from pathlib import Path

import pytest

from broker.broker_versions import needs_streams_groups
from broker.committed_offsets import admin_for, commit, committed
from broker.crafted_logs import create_topics, native_log, write_log
from broker.group_member import member
from broker.installation import Installation, install, until
from leaving.other_groups import share_consumer, streams_application
from offset_sync.config import load_config
from offset_sync.ingest.checkpoint import Checkpoint
from offset_sync.ingest.group_activity import GroupActivity
from offset_sync.kafka.group_members import GroupStates
from offset_sync.kafka.internal_logs import CommitLogReader
from offset_sync.kafka.requests import ACTIVE_GROUP
from offset_sync.model.errors import ClusterError
from offset_sync.model.values import OffsetWrite, Rule, TopicPartition
from offset_sync.state.commit_log_incarnations import CommitLogIncarnations
from offset_sync.state.groups_by_log import GroupsByLog, Members, open_members
from offset_sync.tables.catalog import REPORT_TABLES, TABLES
from offset_sync.tables.store import TableStore
from offset_sync_demo.kafka.brokers import EmbeddedCluster

pytestmark = [pytest.mark.broker, pytest.mark.versions, needs_streams_groups, pytest.mark.timeout(900)]

RECORDS = 40
Clusters = Mapping[str, EmbeddedCluster]


@pytest.fixture
def cluster(clusters: Clusters, topic_name: str) -> EmbeddedCluster:
    create_topics(clusters["dc1"], {topic_name: 1})
    write_log(clusters["dc1"], {(topic_name, 0): native_log("dc1", RECORDS)})
    return clusters["dc1"]


@pytest.fixture
def installation(clusters: Clusters, cluster: EmbeddedCluster, topic_name: str, tmp_path: Path) -> Installation:
    servers = {alias: clusters[alias].bootstrap_servers for alias in ("dc1", "dc2")}
    return install(tmp_path / "installation", servers, [topic_name])


def opened(installation: Installation, clusters: Clusters) -> tuple[GroupActivity, Members]:
    """Return what a report asks and what sync_offsets asks about dc1, with the tables as they are."""
    config = load_config(installation.config_file, {})
    tables = TableStore(config.tables.root)
    tables.create((*TABLES, *REPORT_TABLES))
    admins = {alias: admin_for(clusters[alias]) for alias in config.clusters}
    options, lives = config.admin_options("dc1"), CommitLogIncarnations(tables)
    checkpoint = Checkpoint(tables.files, f"{config.tables.checkpoints}/sync_offsets/dc1")
    by_log, log = GroupsByLog(tables, lives, config.clusters), CommitLogReader(admins["dc1"], options)
    activity = GroupActivity("dc1", GroupStates("dc1", options), log, checkpoint, by_log)
    return activity, open_members(config, tables, lives)


def active(activity: GroupActivity, *groups: str) -> frozenset[str]:
    found = activity.active(groups or None)
    assert not isinstance(found, ClusterError), found
    return found


def error_of_commit(cluster: EmbeddedCluster, group_id: str, topic: str, offset: int) -> str | None:
    write = OffsetWrite(group_id, topic, 0, offset, None, Rule.SET, None)
    answer = admin_for(cluster).write_offsets({group_id: [write]})[group_id]
    assert not isinstance(answer, ClusterError), answer
    return answer[TopicPartition(topic, 0)]


def test_groups_of_other_types_are_told_from_classic_and_consumer_groups(
    cluster: EmbeddedCluster, topic_name: str, group_name: str, tmp_path: Path
) -> None:
    states = GroupStates("dc1", {"bootstrap.servers": cluster.bootstrap_servers})
    commit(cluster, {f"{group_name}-offsets-only": {(topic_name, 0): 3}})
    with ExitStack() as members:
        members.enter_context(member(cluster, f"{group_name}-classic", topic_name))
        members.enter_context(share_consumer(cluster, f"{group_name}-share", topic_name, tmp_path / "share"))
        members.enter_context(streams_application(cluster, f"{group_name}-streams", topic_name, tmp_path / "streams"))
        admin = admin_for(cluster)
        until(lambda: {f"{group_name}-{kind}" for kind in ("share", "streams")} <= {*admin.groups_of_all_types()}, 120)
        for kinds, found in ((["classic", "offsets-only"], states.listed()), (["classic"], states.active())):
            assert not isinstance(found, ClusterError), found
            mine = {each for each in found if each.startswith(group_name)}
            assert mine == {f"{group_name}-{kind}" for kind in kinds}


def test_a_streams_group_has_members_while_its_application_runs_and_takes_offsets_after_it(
    clusters: Clusters,
    installation: Installation,
    cluster: EmbeddedCluster,
    topic_name: str,
    group_name: str,
    tmp_path: Path,
) -> None:
    activity, _ = opened(installation, clusters)
    assert group_name not in active(activity) | active(activity, group_name)
    with streams_application(cluster, group_name, topic_name, tmp_path / "streams"):
        until(lambda: committed(cluster, [group_name])[group_name], 120)
        assert group_name in active(activity)
        assert group_name in active(opened(installation, clusters)[0], group_name)
        assert error_of_commit(cluster, group_name, topic_name, 7) in ACTIVE_GROUP
        assert committed(cluster, [group_name])[group_name][topic_name, 0].offset == RECORDS
    until(lambda: group_name not in active(activity), 120)
    assert group_name not in active(opened(installation, clusters)[0], group_name)
    assert error_of_commit(cluster, group_name, topic_name, 7) is None
    assert committed(cluster, [group_name])[group_name][topic_name, 0].offset == 7
    assert group_name not in activity.share_groups()


def test_a_share_group_is_named_and_takes_no_offsets_with_members_or_without(
    clusters: Clusters,
    installation: Installation,
    cluster: EmbeddedCluster,
    topic_name: str,
    group_name: str,
    tmp_path: Path,
) -> None:
    activity, _ = opened(installation, clusters)
    refusal = "GROUP_ID_NOT_FOUND: is a share group at dc1: offsets of share groups cannot be committed"
    with share_consumer(cluster, group_name, topic_name, tmp_path / "share"):
        until(lambda: group_name in active(activity), 120)
        assert group_name in active(activity, group_name) & activity.share_groups()
        assert error_of_commit(cluster, group_name, topic_name, 7) == refusal
    until(lambda: group_name not in active(activity), 120)
    assert group_name in activity.share_groups()
    assert error_of_commit(cluster, group_name, topic_name, 7) == refusal


@pytest.mark.usefixtures("spark_environment")
def test_what_sync_offsets_has_read_tells_who_has_members(
    clusters: Clusters,
    installation: Installation,
    cluster: EmbeddedCluster,
    topic_name: str,
    group_name: str,
    tmp_path: Path,
) -> None:
    activity, members = opened(installation, clusters)
    with streams_application(cluster, group_name, topic_name, tmp_path / "streams"):
        until(lambda: committed(cluster, [group_name])[group_name], 120)
        assert installation.sync() == []
    members.refresh()
    found = members.of("dc1")
    assert found is not None
    assert group_name in found, "the table is as of the run"
    until(lambda: group_name not in active(activity), 120)
    assert installation.sync() == []
    members.refresh()
    found = members.of("dc1")
    assert found is not None
    assert group_name not in found
