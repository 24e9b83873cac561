"""The command check on real brokers that have copies, and what init writes of clusters that it looks at.

What it says of rights is in `test_rights`, and of other copies in `unit/check`.
"""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest

from broker.crafted_logs import Clusters
from broker.installation import REPO, install
from broker.story import Story
from offset_sync.config import load_config
from offset_sync.model.finding import Finding

pytestmark = [pytest.mark.versions, pytest.mark.timeout(300)]


def test_plain_brokers_pass_and_are_said_to_guard_nothing(
    clusters: Clusters, spark_environment: None, tmp_path: Path
) -> None:
    story = Story(clusters, "checked").begin()
    story.write(120)
    for alias in ("dc1", "dc2"):  # whose clock is told by what it has just written
        story.commit("checked-group", 3, alias)
    ended = install(tmp_path, clusters, ["checked"], groups={"include": ["checked-.*"]}).run("check", "--json")
    assert ended.exit_code == 0, ended.output()
    (line,) = [line for line in ended.output().splitlines() if line.startswith('{"ok"')]
    told = [Finding(**each) for each in json.loads(line)["findings"]]
    of_dc2 = {each.check: each for each in told if each.place == "clusters.dc2"}
    passed = ["connection", "topics", "commits", "own groups", "groups", "partitions"]
    passed += ["mirror headers", "broker settings"]
    assert {name: each.level for name, each in of_dc2.items()} == dict.fromkeys(passed, "OK")
    assert "Java" not in ended.output()


def test_init_writes_what_the_clusters_show_and_checks_it(clusters: Clusters, topic_name: str, tmp_path: Path) -> None:
    """As it is typed."""
    Story(clusters, topic_name).begin().write(120)
    named = [word for alias, each in clusters.items() for word in ("--cluster", f"{alias}={each.bootstrap_servers}")]
    command = [str(REPO / "spark-submit.sh"), "init", "--conf", "my.yaml", *named, "--topics", topic_name]
    done = subprocess.run(command, cwd=tmp_path, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False)
    said = done.stderr + done.stdout
    assert done.returncode == 0, said
    assert "stamped, from dc1" in said
    assert said.rstrip().endswith("next: ./spark-submit.sh run --conf my.yaml")
    config = load_config(tmp_path / "my.yaml")
    assert ([*config.clusters], config.topics.include) == ([*clusters], (topic_name,))
