"""Times that no calendar has, on real brokers: the records count like any other, and nothing stops for them."""

from __future__ import annotations

import logging
from dataclasses import dataclass

import deltalake
import pytest

from broker.committed_offsets import Partition, commit, committed
from broker.crafted_logs import Clusters, create_topics
from broker.installation import Installation, install
from broker.raw_records import RawRecord, allow_any_time, write_raw
from builders.offset_records import commit_key, commit_value
from offset_sync_demo.kafka.brokers import EmbeddedCluster

pytestmark = [pytest.mark.broker, pytest.mark.timeout(1200)]

CLUSTERS = ("dc1", "dc2")
LAST_MS = (2**63 - 1) // 1000
TIMES = [None, LAST_MS, -1, LAST_MS + 1, None, 2**63 - 1, 1_700_000_000_000_000_000, 1, None, None]
FAR, NEAR = "far-future", "far-near"
OFFSETS = "__consumer_offsets"
CRAFTED = "far-crafted"


@dataclass(frozen=True)
class Far:
    """dc2 has ten records, of which seven are at dc1 with the same times; in ``far-near`` the times are ordinary."""

    clusters: Clusters
    installation: Installation
    log: str
    crafted_at: int

    def offset(self, group: str, place: Partition) -> int | None:
        value = committed(self.clusters["dc2"], [group])[group].get(place)
        return None if value is None else value.offset


def copies(count: int, times: list[int | None]) -> list[RawRecord]:
    return [RawRecord(times[n], [("IDC", b"dc2"), ("Offset", b"%d" % n)]) for n in range(count)]


def write_topics(clusters: Clusters) -> None:
    for alias in CLUSTERS:
        create_topics(clusters[alias], {FAR: 1, NEAR: 1})
        allow_any_time(clusters[alias], [FAR])
    for topic, times in ((FAR, TIMES), (NEAR, [None] * 10)):
        write_raw(clusters["dc2"], (topic, 0), [RawRecord(time) for time in times])
        write_raw(clusters["dc1"], (topic, 0), copies(7, times))


def write_crafted_commit(cluster: EmbeddedCluster) -> int:
    allow_any_time(cluster, [OFFSETS])
    record = RawRecord(2**63 - 1, key=commit_key(CRAFTED, FAR, 0), value=commit_value(6))
    return write_raw(cluster, (OFFSETS, 0), [record])[0]


@pytest.fixture(scope="module")
def far(soiled_clusters: Clusters, spark_environment: None, tmp_path_factory: pytest.TempPathFactory) -> Far:
    clusters = soiled_clusters
    write_topics(clusters)
    servers = {alias: clusters[alias].bootstrap_servers for alias in CLUSTERS}
    installation = install(tmp_path_factory.mktemp("far"), servers, ["far-.*"])
    commit(clusters["dc1"], {topic: {(topic, 0): 5} for topic in (FAR, NEAR)})
    crafted_at = write_crafted_commit(clusters["dc1"])
    lines: list[str] = []
    heard = logging.Handler()
    heard.emit = lambda record: lines.append(record.getMessage())  # type: ignore[method-assign]
    logging.getLogger("offset_sync").addHandler(heard)
    try:
        assert (installation.index(), installation.sync()) == ([], [])
        # The queries go on afterwards, with what comes then.
        write_raw(clusters["dc2"], (FAR, 0), [RawRecord(2**63 - 1), RawRecord()])
        write_raw(clusters["dc1"], (FAR, 0), copies(12, [*TIMES, 2**63 - 1, None])[7:])
        commit(clusters["dc1"], {"far-later": {(FAR, 0): 11}})
        assert (installation.index(), installation.sync()) == ([], [])
    finally:
        logging.getLogger("offset_sync").removeHandler(heard)
    return Far(clusters, installation, "\n".join(lines), crafted_at)


@pytest.mark.parametrize("topic", [FAR, NEAR])
def test_every_record_counts_whatever_its_time(far: Far, topic: str) -> None:
    assert far.offset(topic, (topic, 0)) == 5


def test_the_queries_go_on_with_what_comes_later(far: Far) -> None:
    assert far.offset("far-later", (FAR, 0)) == 11


def test_a_commit_that_was_written_at_such_a_time_is_a_commit(far: Far) -> None:
    assert far.offset(CRAFTED, (FAR, 0)) == 6


def test_the_index_has_every_record_once(far: Far) -> None:
    path = far.installation.folder / "tables" / "record_runs"
    # Without the times: Python has none for them.
    runs = deltalake.DeltaTable(path).to_pyarrow_table(columns=["cluster", "topic", "length"]).to_pylist()
    counts = {alias: sum(r["length"] for r in runs if (r["cluster"], r["topic"]) == (alias, FAR)) for alias in CLUSTERS}
    assert counts == {"dc1": 12, "dc2": 12}
    assert far.installation.rows("quarantine") == []


@pytest.mark.parametrize("cluster", CLUSTERS)
def test_one_line_names_the_record(far: Far, cluster: str) -> None:
    named = [line for line in far.log.splitlines() if "far-future-0" in line and f"clusters.{cluster}:" in line]
    assert named
    assert "offset 3 has the time 9223372036854776 ms" in named[0]


def test_the_line_for_a_commit_names_its_place_too(far: Far) -> None:
    assert f"{OFFSETS}-0 offset {far.crafted_at} has the time {2**63 - 1} ms" in far.log
