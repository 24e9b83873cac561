"""A first configuration from real brokers, by the command as it is typed."""

from __future__ import annotations

import subprocess
import time
from pathlib import Path

import pytest

from broker.crafted_logs import Clusters, crafted_logs, create_topics, write_log
from broker.installation import REPO
from generators.mirrored_logs import World
from offset_sync.config import load_config

pytestmark = [pytest.mark.broker, pytest.mark.timeout(200)]
ALIASES = ("dc1", "dc2")
WORLD = World(ALIASES, ALIASES, (ALIASES, ALIASES[::-1]), 60)


def init(folder: Path, *words: str, **servers: str) -> tuple[int, str]:
    """Run the command as it is typed; return its exit code and what it has said."""
    named = [word for alias, each in servers.items() for word in ("--cluster", f"{alias}={each}")]
    command = [str(REPO / "spark-submit.sh"), "init", "--conf", "my.yaml", *named, *words]
    done = subprocess.run(command, cwd=folder, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False)
    return done.returncode, done.stderr + done.stdout


def servers_of(clusters: Clusters) -> dict[str, str]:
    return {alias: clusters[alias].bootstrap_servers for alias in ALIASES}


def test_it_writes_what_the_clusters_show_and_checks_it(clusters: Clusters, topic_name: str, tmp_path: Path) -> None:
    logs = crafted_logs(WORLD, 11)
    for alias in ALIASES:
        create_topics(clusters[alias], {topic_name: 1})
        write_log(clusters[alias], {(topic_name, 0): logs[alias]})
    code, said = init(tmp_path, "--topics", topic_name, **servers_of(clusters))
    assert code == 0, said
    assert "dc1: has copies of records of dc2" in said
    assert "dc2: has copies of records of dc1" in said
    assert said.rstrip().endswith("next: ./spark-submit.sh run --conf my.yaml")
    config = load_config(tmp_path / "my.yaml")
    assert [*config.clusters] == [*ALIASES]
    assert config.topics.include == (topic_name,)
    code, said = init(tmp_path, **servers_of(clusters))
    assert (code, said.strip().startswith("my.yaml: exists already")) == (2, True)


def test_names_of_mirror_maker_are_recognized(clusters: Clusters, topic_name: str, tmp_path: Path) -> None:
    create_topics(clusters["dc1"], {topic_name: 1})
    create_topics(clusters["dc2"], {f"dc1.{topic_name}": 1})
    _, said = init(tmp_path, "--topics", topic_name, **servers_of(clusters))
    assert "dc2: 1 topic named dc1.… exists at dc1 without the prefix, so mirror.names is mm2" in said
    assert load_config(tmp_path / "my.yaml").mirror.names == "mm2"


def test_a_cluster_that_does_not_answer_is_one_line_and_nothing_is_written(clusters: Clusters, tmp_path: Path) -> None:
    began = time.monotonic()
    code, said = init(tmp_path, dc1=clusters["dc1"].bootstrap_servers, dc2="127.0.0.1:1")
    first, line = said.strip().splitlines()
    assert (code, first) == (1, "querying dc1, dc2 …")
    assert line.startswith("clusters.dc2: ")
    assert time.monotonic() - began < 30
    assert [*tmp_path.iterdir()] == []
