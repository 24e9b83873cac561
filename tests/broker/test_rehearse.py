"""A rehearsal with real brokers: what contents say of a move agrees with what was predicted of it."""

from __future__ import annotations

from pathlib import Path

import pytest

from broker.committed_offsets import commit, committed
from broker.crafted_logs import Clusters, crafted_logs, create_topics, write_log
from broker.installation import Installation, install
from consumer.moving import cutover
from generators.mirrored_logs import World

pytestmark = [pytest.mark.broker, pytest.mark.timeout(300)]
ALIASES = ("dc1", "dc2")
WORLD = World(ALIASES, ALIASES, (ALIASES, ALIASES[::-1]), 200)
COMMITS = {f"rehearsed-{number}": number for number in (0, 40, 90, 130)}


@pytest.fixture
def installation(clusters: Clusters, spark_environment: None, topic_name: str, tmp_path: Path) -> Installation:
    """The logs of both clusters cross; groups have committed at dc1, and all is synced."""
    logs = [crafted_logs(WORLD, 500 + number) for number in range(2)]
    for alias in ALIASES:
        create_topics(clusters[alias], {topic_name: 2})
        write_log(clusters[alias], {(topic_name, number): each[alias] for number, each in enumerate(logs)})
    found = install(tmp_path, {alias: clusters[alias].bootstrap_servers for alias in ALIASES}, [topic_name])
    commit(clusters["dc1"], {group: {(topic_name, n): at for n in range(2)} for group, at in COMMITS.items()})
    assert found.index() == []
    assert found.sync() == []
    return found


def test_what_contents_say_is_what_was_predicted_and_nothing_is_moved(
    clusters: Clusters, installation: Installation, capsys: pytest.CaptureFixture[str]
) -> None:
    before = {alias: committed(clusters[alias], [*COMMITS]) for alias in ALIASES}
    words = ("dc1", "dc2", "--groups", "rehearsed-.*", "--records", "1000")
    assert cutover(installation, "rehearse", *words) == []
    rows = installation.rows("cutovers", step="rehearse")
    assert {(row["group_id"], row["partition"]) for row in rows} == {(group, n) for group in COMMITS for n in range(2)}
    assert [row["result"] for row in rows] == ["done"] * len(rows)
    assert sum(row["lost"] for row in rows) == 0
    predicted = {
        (row["group_id"], row["partition"]): row["duplicates"]
        for row in installation.translations(source_cluster="dc1", target_cluster="dc2")
    }
    assert {(row["group_id"], row["partition"]): row["duplicates"] for row in rows} == predicted
    assert sum(predicted.values()) > 0, "the logs cross"
    assert {alias: committed(clusters[alias], [*COMMITS]) for alias in ALIASES} == before
    assert "rehearsed-90" in capsys.readouterr().out
