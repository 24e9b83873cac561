"""From the source's commit to the target's: the brokers' own timestamps of both, in steady state, as things grow.

Two real brokers with logs in which native and mirrored records take turns, so every record is a run of the index.
Groups commit at dc1, once a second or in turns, over records that are mirrored and indexed; index_records and
sync_offsets run as in production, and another topic is produced and mirrored beside them. For every commit at dc1 the
latency is the time until the first commit at dc2 that is at least as far. Scenarios: ``base``, over the second;
``at_once``; ``alone``, a group by itself; then ten times the partitions, the groups, the index, with as many commits a
second; and ``many``, the groups of a large site. ``s3``, ``s3_whole`` and ``hdfs`` are ``base`` with the tables there
(``latency_tables``), and run only by name. At the end no client produces or commits, and ``idle`` says what the jobs
still use.

    PYTHONPATH=tests/support .venv/bin/python benchmarks/latency.py [--scenarios base s3 …] [--warm-up 20]
        [--seconds 30]
"""

from __future__ import annotations

import argparse
import tempfile
import time
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from deltalake import DeltaTable
from latency_logs import STEADY, write_crossed_logs
from latency_tables import Place, tables_on
from processes import Meter
from results import save

from offset_sync.decode.consumer_offsets import decode_records
from offset_sync.kafka.cluster_admin import ClusterAdmin
from offset_sync.model.errors import ClusterError
from offset_sync.model.values import OffsetWrite
from offset_sync_demo.kafka.brokers import EmbeddedCluster, running_clusters
from offset_sync_demo.kafka.clients import list_partitions, read_partition
from offset_sync_demo.kafka.topics import create_topic
from offset_sync_demo.load.mirror import Mirror
from offset_sync_demo.load.producer import TopicLoad
from offset_sync_demo.load.workload import Producers
from offset_sync_demo.story.jobs import SMALL, RunningJob, write_config

Commits = Mapping[tuple[str, int], tuple[np.ndarray, np.ndarray]]
"""Offsets and broker times of commits, each in log order, by (group, partition)."""

STEP = 3
"""Records that each group reads between two commits."""
IDLE_S = 30.0
SPREAD = 10
"""In so many parts the groups of a second commit: all at once they would keep their place in each interval."""


@dataclass(frozen=True)
class Scenario:
    """So many *groups* commit all *partitions* every *every_s* seconds; *runs* of the index, per cluster.

    The groups of a second commit in so many *parts* of it: in one they do all at once. *tables* is where these are.
    """

    groups: int
    partitions: int
    every_s: int
    runs: int
    parts: int = SPREAD
    tables: str = "disk"


SCENARIOS = {
    "base": Scenario(200, 8, 1, 200_000),
    "at_once": Scenario(200, 8, 1, 200_000, parts=1),
    "alone": Scenario(1, 8, 2, 200_000, parts=1),
    "partitions": Scenario(20, 80, 1, 200_000),
    "groups": Scenario(2_000, 8, 10, 200_000),
    "index": Scenario(200, 8, 1, 2_000_000),
    "many": Scenario(10_000, 8, 10, 200_000),
    **{name: Scenario(200, 8, 1, 200_000, tables=name) for name in ("s3", "s3_whole", "hdfs")},
}
ON_DISK = [name for name, each in SCENARIOS.items() if each.tables == "disk"]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--scenarios", nargs="+", choices=SCENARIOS, default=ON_DISK)
    parser.add_argument("--warm-up", type=int, default=20, help="seconds of commits that are not counted")
    parser.add_argument("--seconds", type=int, default=30)
    given = parser.parse_args()
    rows = []
    for name in given.scenarios:
        with (
            tempfile.TemporaryDirectory(prefix="offset-sync-latency-") as folder,
            running_clusters(["dc1", "dc2"], Path(folder) / "brokers") as clusters,
            tables_on((scenario := SCENARIOS[name]).tables, Path(folder)) as place,
        ):
            found = measure(clusters, Path(folder), place, scenario, given.warm_up, given.seconds)
            rows.append({"scenario": name, **vars(scenario)} | found)
        save("latency", {"warm-up s": given.warm_up, "seconds": given.seconds}, rows)


def measure(
    clusters: Mapping[str, EmbeddedCluster],
    directory: Path,
    place: Place,
    scenario: Scenario,
    warm_up: int,
    seconds: int,
) -> dict[str, Any]:
    """Return the percentiles of the latency in seconds, and what the jobs used."""
    rounds = (warm_up + seconds) // scenario.every_s + 2
    first = write_crossed_logs(clusters, scenario.partitions, scenario.runs, rounds * STEP)
    create_topic(clusters.values(), "flow", 8)
    config = directory / "latency.yaml"
    write_config(config, clusters, directory, place.sections)
    producers = Producers(clusters, [TopicLoad("flow", 8, 200.0)], {})
    mirrors = [Mirror(clusters[a], clusters[b], ["flow"]) for a, b in (("dc1", "dc2"), ("dc2", "dc1"))]
    java = (*SMALL, *place.options)
    jobs = [RunningJob(name, config, directory, java) for name in ("index_records", "sync_offsets")]
    try:
        wait_for_index(place, scenario.runs, jobs[0])
        for mirror in mirrors:
            mirror.start()
        producers.start()
        wait_for_sync(clusters, scenario, first, jobs[1])
        meter = Meter({job.name: job.pid for job in jobs})
        counted_from_ms = commit_steadily(clusters["dc1"], scenario, first, warm_up, seconds, meter)
        used = meter.read()
        for job in jobs:
            job.check()
        producers.stop(2.0)
        time.sleep(10.0 + 3 * scenario.every_s)
        meter.start()
        time.sleep(IDLE_S)
        idle = meter.read()
    finally:
        producers.stop(2.0)
        for mirror in mirrors:
            mirror.stop(1.0)
        for job in jobs:
            job.stop()
    waits, unanswered = latencies(read_commits(clusters["dc1"]), read_commits(clusters["dc2"]), counted_from_ms)
    p50, p99, most = (np.percentile(waits, [50, 99, 100]) / 1000).round(2).tolist()
    found: dict[str, Any] = {"commits": len(waits), "unanswered": unanswered, "p50_s": p50, "p99_s": p99, "max_s": most}
    for name, use in used.items():
        found |= {f"{name}_cores": use.cores, f"{name}_idle": idle[name].cores, f"{name}_mib": use.peak_mib}
    return found


def wait_for_index(place: Place, records: int, job: RunningJob) -> None:
    """Return when both clusters' logs are indexed: what is measured is a running sync, not its first minute."""
    until, table = time.monotonic() + 300.0, f"{place.seen_at}/record_runs"
    while time.monotonic() < until:
        job.check()
        if DeltaTable.is_deltatable(table):
            runs = DeltaTable(table).to_pyarrow_dataset().to_table(columns=["length", "topic"])
            indexed = pc.sum(runs.filter(pc.equal(runs["topic"], STEADY))["length"]).as_py() or 0
            if indexed >= 2 * records:
                return
        time.sleep(2.0)
    raise SystemExit(f"the index has not read {2 * records:,} records within 3 min")


def wait_for_sync(clusters: Mapping[str, EmbeddedCluster], scenario: Scenario, first: int, job: RunningJob) -> None:
    """Let every group commit once; return when all are at dc2: a driver that starts has all keys to translate."""
    here, there = (ClusterAdmin(a, {"bootstrap.servers": clusters[a].bootstrap_servers}) for a in ("dc1", "dc2"))
    commit_all(here, batch_of(range(scenario.groups), scenario, first))
    names, until = [f"group-{number}" for number in range(scenario.groups)], time.monotonic() + 300.0
    while time.monotonic() < until:
        job.check()
        held = there.committed_offsets(names)
        standing = sum(len(each) for each in held.values() if not isinstance(each, ClusterError))
        if standing == scenario.groups * scenario.partitions:
            return
        time.sleep(3.0)
    raise SystemExit(f"{standing} of {scenario.groups * scenario.partitions} commits are at dc2 after 3 min")


def commit_all(admin: ClusterAdmin, batch: dict[str, list[OffsetWrite]]) -> None:
    """Commit a *batch* whole: a broker that has just made ``__consumer_offsets`` refuses its first requests."""
    until = time.monotonic() + 60.0
    while batch and time.monotonic() < until:
        answers = admin.write_offsets(batch)
        refused = [name for name, each in answers.items() if isinstance(each, ClusterError) or any(each.values())]
        batch = {name: batch[name] for name in refused}
        time.sleep(0.5)
    if batch:
        raise SystemExit(f"{admin.alias} has refused the commits of {len(batch)} groups for a minute")


def batch_of(turn: Iterable[int], scenario: Scenario, offset: int) -> dict[str, list[OffsetWrite]]:
    """Return what the groups of these numbers commit: the same *offset* in every partition."""
    names = [f"group-{number}" for number in turn]
    places = range(scenario.partitions)
    return {name: [OffsetWrite(name, STEADY, p, offset, None, None) for p in places] for name in names}


def commit_steadily(
    cluster: EmbeddedCluster, scenario: Scenario, first: int, warm_up: int, seconds: int, meter: Meter
) -> int:
    """Commit over every second for the groups whose turn it is; return from when on it counts, in milliseconds."""
    admin = ClusterAdmin(cluster.alias, {"bootstrap.servers": cluster.bootstrap_servers})
    counted_from, started = 0, time.monotonic()
    for second in range(warm_up + seconds):
        if second == warm_up:
            counted_from = int(time.time() * 1000)
            meter.start()
        turn = range(second % scenario.every_s, scenario.groups, scenario.every_s)
        offset = first + (second // scenario.every_s + 1) * STEP
        for part in range(scenario.parts):
            if some := turn[part :: scenario.parts]:
                admin.write_offsets(batch_of(some, scenario, offset))
            time.sleep(max(0.0, started + second + (part + 1) / scenario.parts - time.monotonic()))
    return counted_from


def read_commits(cluster: EmbeddedCluster) -> Commits:
    """Return offsets and broker times of every commit on the topic, by (group, partition), in log order."""
    found: dict[tuple[str, int], list[tuple[int, int]]] = {}
    for place in list_partitions(cluster, ["__consumer_offsets"]):
        raw = [(record.key(), record.value()) for record in read_partition(cluster, place)]
        rows = decode_records(
            pa.array([key for key, _ in raw], pa.binary()), pa.array([v for _, v in raw], pa.binary())
        )
        for row in rows.to_pylist():
            if row["kind"] == "commit" and row["topic"] == STEADY and not row["is_tombstone"]:
                made = (row["committed_offset"], row["committed_at_ms"])
                found.setdefault((row["group_id"], row["partition"]), []).append(made)
    return {key: (np.array([o for o, _ in made]), np.array([t for _, t in made])) for key, made in found.items()}


def latencies(source: Commits, target: Commits, counted_from_ms: int) -> tuple[np.ndarray, int]:
    """Return how long the target took to be as far as each counted commit, and how many it never answered."""
    waits, unanswered = [], 0
    for key, (offsets, times) in source.items():
        there_offsets, there_times = target.get(key, (np.empty(0, np.int64),) * 2)
        reached = np.maximum.accumulate(there_offsets)
        counted = times >= counted_from_ms
        # Where records take turns the first unread one may be one before the commit: see latency_logs.
        first = np.searchsorted(reached, offsets[counted] - 1, "left")
        is_answered = first < len(reached)
        unanswered += int(np.count_nonzero(~is_answered))
        waits.append(there_times[first[is_answered]] - times[counted][is_answered])
    return np.concatenate(waits), unanswered


if __name__ == "__main__":
    main()
