"""Share groups and Streams groups: what is so at one cluster is not written over from another. Only ``--once``.

Both clusters hold the same records at the same offsets, so an offset means the same at each.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from broker.committed_offsets import commit, committed
from broker.crafted_logs import Clusters
from broker.installation import Installation, install, until
from broker.performer import Performer, fill_topic
from leaving.other_groups import share_consumer, streams_application
from offset_sync.kafka.cluster_admin import ClusterAdmin

pytestmark = [pytest.mark.broker, pytest.mark.long, pytest.mark.timeout(1200)]

SILENCE_S = 4.0


def opened(clusters: Clusters, folder: Path, topic: str, records: int = 100, silence_s: float = SILENCE_S) -> Performer:
    """Return a case over *clusters* with a group and a topic of its own."""
    servers = {alias: each.bootstrap_servers for alias, each in clusters.items()}
    page = {"page": str(folder / "status.html")}
    installation = install(folder, servers, [topic], sync={"home_silence": f"{silence_s:g}s"}, status=page)
    fill_topic(clusters, topic, 1, records)
    return Performer(clusters, installation, "once", topic)


def settle(case: Performer) -> None:
    installation: Installation = case.installation
    assert (installation.index(), installation.sync()) == ([], [])


def test_a_share_group_is_named_by_report_and_plan(
    clusters: Clusters, spark_environment: None, tmp_path: Path, topic_name: str
) -> None:
    case = opened(clusters, tmp_path / "jobs", topic_name)
    shared = f"{topic_name}-shared"
    case.commit("dc1", 60)
    with share_consumer(clusters["dc1"], shared, topic_name, tmp_path / "share"):
        settle(case)
        until(lambda: is_named(case.report_again(), shared), 60)
        for action in ("plan", "verify", "rehearse"):
            said = case.cutover(action, "dc1", "dc2", group=shared)
            assert any(is_named(each, shared) for each in str(said).splitlines()), f"{action}: {said}"
    assert case.offset("dc2") == 60


def test_a_group_whose_id_is_a_share_group_at_the_target_is_withheld_with_that_reason(
    clusters: Clusters, spark_environment: None, tmp_path: Path, topic_name: str
) -> None:
    case = opened(clusters, tmp_path / "jobs", topic_name, silence_s=300)
    case.commit("dc1", 60)
    case.commit_for("other", "dc1", 70)
    with share_consumer(clusters["dc2"], case.group, topic_name, tmp_path / "share"):
        admin = ClusterAdmin("dc2", {"bootstrap.servers": clusters["dc2"].bootstrap_servers})
        until(lambda: case.group in admin.groups_of_all_types(), 120)
        settle(case)
        assert [(row[3], row[4]) for row in case.said()] == [("SHARE_GROUP", "WITHHELD")]
        assert case.offset("dc2", group=case.named("other")) == 70
        (row,) = case.report()
        assert (row["source_cluster"], row["status"], row["reason"]) == ("dc1", "Withheld", "SHARE_GROUP")
        for action in ("plan", "apply", "verify", "rehearse"):
            options = ["--planned"] if action == "apply" else []
            said = case.cutover(action, "dc1", "dc2", *options)
            assert any("share group at dc2" in each or "SHARE_GROUP" in each for each in str(said).splitlines()), action
            assert said.failures != []


def is_named(printed: str, group: str) -> bool:
    """True where a line, or the one that wraps it, names the group and says that it is a share group."""
    return group in printed and "share" in printed.replace(group, "")


def test_a_running_streams_group_has_members_at_both_sides(
    clusters: Clusters, spark_environment: None, tmp_path: Path, topic_name: str
) -> None:
    case = opened(clusters, tmp_path / "jobs", topic_name, records=40, silence_s=300)
    at_target = f"{topic_name}-at-target"
    commit(clusters["dc1"], {at_target: {(topic_name, 0): 10}})
    with (
        streams_application(clusters["dc1"], case.group, topic_name, tmp_path / "streams"),
        streams_application(clusters["dc2"], at_target, topic_name, tmp_path / "target"),
    ):
        until(lambda: committed(clusters["dc1"], [case.group])[case.group], 120)
        until(lambda: committed(clusters["dc2"], [at_target])[at_target], 120)
        settle(case)
        said = case.cutover("apply", "dc1", "dc2", "--planned")
        assert len(said.failures) == 1
        assert "members at dc1" in said.failures[0]
        rows = case.report_rows_of(at_target)
        assert {row["status"] for row in rows} <= {"TargetActive", "Withheld"}, rows
        assert {row["is_target_active"] for row in rows if row["target_cluster"] == "dc2"} <= {True}
