"""A third cluster: what is so at one cluster is not written over from another.

All clusters hold the same records at the same offsets, so an offset means the same at each. Only ``--once``.
"""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from broker.crafted_logs import Clusters
from broker.installation import Installation, install
from broker.performer import Performer, fill_topic

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


def test_a_group_that_goes_from_one_cluster_to_the_next_is_followed_by_all(
    three_clusters: Clusters, spark_environment: None, tmp_path: Path, topic_name: str
) -> None:
    case = opened(three_clusters, tmp_path, topic_name)
    case.commit("dc1", 60)
    settle(case)
    assert case.offsets() == {"dc1": 60, "dc2": 60, "dc3": 60}
    time.sleep(SILENCE_S + 1)
    case.commit("dc3", 20)
    settle(case)
    assert case.offsets() == {"dc1": 20, "dc2": 20, "dc3": 20}
    time.sleep(SILENCE_S + 1)
    case.commit("dc2", 50)
    settle(case)
    assert case.offsets() == {"dc1": 50, "dc2": 50, "dc3": 50}


def test_two_readers_at_two_of_three_clusters_leave_the_third_as_it_is(
    three_clusters: Clusters, spark_environment: None, tmp_path: Path, topic_name: str
) -> None:
    case = opened(three_clusters, tmp_path, topic_name)
    case.commit("dc1", 30)
    settle(case)
    assert case.offsets() == {"dc1": 30, "dc2": 30, "dc3": 30}
    time.sleep(SILENCE_S + 1)
    readers = [case.keep_committing("dc2", 40), case.keep_committing("dc3", 70)]
    try:
        settle(case)
        time.sleep(SILENCE_S + 1)
        settle(case)
        assert case.offsets() == {"dc1": 30, "dc2": 40, "dc3": 70}, case.said()
        assert "COMMITTED_AT_BOTH" in case.states()
        rows = [(row["status"], row["state"], row["reason"]) for row in case.report()]
        assert {row[:2] for row in rows} == {("Withheld", "COMMITTED_AT_BOTH")}, rows
        assert all("dc2" in reason and "dc3" in reason for _, _, reason in rows), rows
    finally:
        case.close()
    assert [reader.problems for reader in readers] == [[], []]
