"""The command check on real brokers with a topic of each kind, and what init writes of clusters that it looks at.

No mirror runs: copies are written as mirrors write them. What it says of rights is in `test_rights`.
"""

from __future__ import annotations

import base64
import json
import subprocess
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple

import pytest
from confluent_kafka import Producer

from broker.committed_offsets import commit
from broker.crafted_logs import Clusters, Headers, create_topics
from broker.installation import REPO, install
from offset_sync.config import load_config
from offset_sync.jobs.check import find_all
from offset_sync.model.finding import Finding
from offset_sync_demo.kafka.brokers import EmbeddedCluster
from offset_sync_demo.kafka.clients import client_options

pytestmark = [pytest.mark.broker, pytest.mark.versions, pytest.mark.timeout(300)]
COUNT, FIRST_MS = 120, int(time.time() * 1000) - 60_000
APPENDED = {"message.timestamp.type": "LogAppendTime"}


class Kind(NamedTuple):
    """A topic of which dc2 has copies: their headers, and how both clusters' topics are made."""

    headers: Callable[[int], Headers] = lambda _number: []
    settings: Mapping[str, str] = MappingProxyType({})


def by_stamp(origin: bytes = b"dc1", wrap: Callable[[bytes], bytes] = bytes) -> Callable[[int], Headers]:
    return lambda number: [("IDC", wrap(origin)), ("Offset", wrap(b"%d" % number))]


def by_migrator(provenance: str) -> Callable[[int], Headers]:
    header, number = "redpanda-migrator-provenance", "redpanda-migrator-offset"
    return lambda offset: [(number, offset.to_bytes(8, "big")), (header, provenance.encode())]


KINDS = {
    "stamped": Kind(by_stamp()),
    "bare": Kind(),
    "wrapped": Kind(by_stamp(wrap=base64.b64encode)),
    "unknown": Kind(by_stamp(b"dc9")),
    "migrator": Kind(by_migrator("id")),
    "appended": Kind(by_stamp(), settings=APPENDED),
}


def prepare(clusters: Clusters, kinds: dict[str, Kind]) -> None:
    for name, kind in kinds.items():
        create_topics(clusters["dc1"], {name: 1})
        create_topics(clusters["dc2"], {name: 1}, kind.settings)
    write(clusters["dc1"], {name: [(number, []) for number in range(COUNT)] for name in kinds})
    write(
        clusters["dc2"], {name: [(each, kind.headers(each)) for each in range(COUNT)] for name, kind in kinds.items()}
    )


def write(cluster: EmbeddedCluster, records: dict[str, list[tuple[int, Headers]]]) -> None:
    """Write records of these numbers, which have the same content and time wherever they are written."""
    producer = Producer(client_options(cluster.bootstrap_servers, enable_idempotence=True, linger_ms=5))
    for topic, numbered in records.items():
        for number, headers in numbered:
            content: dict[str, Any] = {"value": b"%d" % number, "timestamp": FIRST_MS + number, "headers": headers}
            producer.produce(topic, partition=0, **content)
    assert producer.flush(120) == 0


def test_plain_brokers_pass_and_are_said_to_guard_nothing(
    clusters: Clusters, spark_environment: None, tmp_path: Path
) -> None:
    prepare(clusters, {"checked": Kind(by_stamp())})
    for alias in ("dc1", "dc2"):  # whose clock is told by what it has just written
        commit(clusters[alias], {"checked-group": {("checked", 0): 3}})
    ended = install(tmp_path, clusters, ["checked"], groups={"include": ["checked-.*"]}).run("check", "--json")
    assert ended.exit_code == 0, ended.output()
    (line,) = [line for line in ended.output().splitlines() if line.startswith('{"ok"')]
    told = [Finding(**each) for each in json.loads(line)["findings"]]
    of_dc2 = {each.check: each for each in told if each.place == "clusters.dc2"}
    passed = ["connection", "topics", "commits", "own groups", "groups", "partitions"]
    passed += ["mirror headers", "broker settings", "copies"]
    assert {name: each.level for name, each in of_dc2.items()} == dict.fromkeys(passed, "OK")
    assert "Java" not in ended.output()


def test_each_kind_of_copies_is_told(clusters: Clusters, tmp_path: Path) -> None:
    prepare(clusters, KINDS)
    installation = install(tmp_path, clusters, [*KINDS])
    findings = find_all(load_config(installation.config_file))
    of_dc2 = [each for each in findings if each.place == "clusters.dc2"]
    dc2 = "\n".join(f"{each.level.value} {each.check}: {each.text}" for each in of_dc2)
    for expected in (
        "OK mirror headers: appended, stamped: stamped, from dc1; 100 of 100 records checked",
        "FAIL mirror headers: wrapped: IDC is ZGMx, in 50 of 50",
        "WARN mirror headers: unknown: no cluster has the origin dc9",
        "WARN mirror headers: migrator: 50 of 50 have the headers of mirror.preset redpanda-migrator",
        "OK copies: stamped: 1 of 1 have the timestamp, key and value of the records that their stamps name",
        "WARN copies: appended: 1 of 1 have another timestamp than their originals",
        "FAIL mirror headers: bare: the same records are at dc1, both without IDC",
    ):
        assert expected in dc2, dc2


def test_init_writes_what_the_clusters_show_and_checks_it(clusters: Clusters, topic_name: str, tmp_path: Path) -> None:
    """As it is typed."""
    prepare(clusters, {topic_name: Kind(by_stamp())})
    named = [word for alias, each in clusters.items() for word in ("--cluster", f"{alias}={each.bootstrap_servers}")]
    command = [str(REPO / "spark-submit.sh"), "init", "--conf", "my.yaml", *named, "--topics", topic_name]
    done = subprocess.run(command, cwd=tmp_path, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False)
    said = done.stderr + done.stdout
    assert done.returncode == 0, said
    assert "dc2: has copies of records of dc1" in said
    assert said.rstrip().endswith("next: ./spark-submit.sh run --conf my.yaml")
    config = load_config(tmp_path / "my.yaml")
    assert ([*config.clusters], config.topics.include) == ([*clusters], (topic_name,))
