"""From the source's commit to the target's: the brokers' own timestamps of both, in steady state.

Two real brokers; G groups of P partitions commit every second at dc1 over records that are mirrored and indexed;
index_records and sync_offsets run as in production, and another topic is produced and mirrored beside them. For every
commit at dc1 the latency is the time until the first commit at dc2 that is at least as far.

    .venv/bin/python benchmarks/latency.py [--groups 200] [--seconds 60] [--json]
"""

from __future__ import annotations

import argparse
import json
import tempfile
import time
from pathlib import Path

import numpy as np
import pyarrow as pa

from offset_sync.decode.consumer_offsets import decode_records
from offset_sync.demo.brokers import EmbeddedCluster, running_clusters
from offset_sync.demo.clients import list_partitions, read_partition
from offset_sync.demo.mirror import Mirror
from offset_sync.demo.producing import TopicLoad
from offset_sync.demo.story_jobs import RunningJob, write_config
from offset_sync.demo.topics import create_topic
from offset_sync.demo.workload import Producers
from offset_sync.kafka.admin import ClusterAdmin
from offset_sync.model import OffsetWrite, Rule

PARTITIONS = 8
STEP = 3
"""Records that each group reads between two commits."""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--groups", type=int, default=200)
    parser.add_argument("--seconds", type=int, default=60)
    parser.add_argument("--warm-up", type=int, default=60, help="seconds of commits that are not counted")
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="offset-sync-latency-") as name:
        directory = Path(name)
        with running_clusters(["dc1", "dc2"], directory / "brokers") as clusters:
            latencies_ms = measure(clusters, directory, options.groups, options.warm_up, options.seconds)
    p50, p99, most = np.percentile(latencies_ms, [50, 99, 100]) / 1000
    found = {"groups": options.groups, "partitions": PARTITIONS, "commits": len(latencies_ms)}
    found |= {"p50_s": round(p50, 2), "p99_s": round(p99, 2), "max_s": round(most, 2)}
    print(json.dumps(found) if options.json else "  ".join(f"{key} {value}" for key, value in found.items()))


def measure(
    clusters: dict[str, EmbeddedCluster], directory: Path, groups: int, warm_up: int, seconds: int
) -> np.ndarray:
    """Return the latency of every counted commit in milliseconds."""
    for topic in ("steady", "flow"):
        create_topic(clusters.values(), topic, PARTITIONS)
    records = STEP * (warm_up + seconds + 5)
    loads = [TopicLoad("steady", PARTITIONS, 4000.0), TopicLoad("flow", PARTITIONS, 200.0)]
    producers = Producers(clusters, loads, {"steady": {"dc1": 1.0}, "flow": {"dc1": 0.5, "dc2": 0.5}})
    mirrors = [Mirror(clusters[a], clusters[b], ["steady", "flow"]) for a, b in (("dc1", "dc2"), ("dc2", "dc1"))]
    for mirror in mirrors:
        mirror.start()
    producers.start()
    while producers.count() < records * PARTITIONS * 1.2:
        time.sleep(0.2)
    producers.set_share({}, ["steady"])
    config = directory / "latency.yaml"
    write_config(config, clusters, directory)
    jobs = [RunningJob(job, config, directory) for job in ("index_records", "sync_offsets")]
    try:
        counted_from_ms = commit_steadily(clusters["dc1"], groups, warm_up, seconds)
        time.sleep(10.0)
    finally:
        producers.stop(2.0)
        for mirror in mirrors:
            mirror.stop(1.0)
        for job in jobs:
            job.stop()
    return latencies(read_commits(clusters["dc1"]), read_commits(clusters["dc2"]), counted_from_ms)


def commit_steadily(cluster: EmbeddedCluster, groups: int, warm_up: int, seconds: int) -> int:
    """Commit once a second for every group; return from when on it counts, in milliseconds."""
    admin = ClusterAdmin(cluster.alias, {"bootstrap.servers": cluster.bootstrap_servers})
    counted_from, started = 0, time.monotonic()
    for second in range(warm_up + seconds):
        if second == warm_up:
            counted_from = int(time.time() * 1000)
        wave = {
            f"group-{number}": [
                OffsetWrite(f"group-{number}", "steady", p, (second + 1) * STEP, "", Rule.SET, None)
                for p in range(PARTITIONS)
            ]
            for number in range(groups)
        }
        admin.write_offsets(wave)
        time.sleep(max(0.0, started + second + 1 - time.monotonic()))
    return counted_from


def read_commits(cluster: EmbeddedCluster) -> dict[tuple[str, int], tuple[np.ndarray, np.ndarray]]:
    """Return offsets and broker times of every commit on the topic, by (group, partition), in log order."""
    found: dict[tuple[str, int], list[tuple[int, int]]] = {}
    for place in list_partitions(cluster, ["__consumer_offsets"]):
        raw = [(record.key(), record.value()) for record in read_partition(cluster, place)]
        rows = decode_records(
            pa.array([key for key, _ in raw], pa.binary()), pa.array([v for _, v in raw], pa.binary())
        )
        for row in rows.to_pylist():
            if row["kind"] == "commit" and row["topic"] == "steady" and not row["is_tombstone"]:
                made = (row["committed_offset"], row["committed_at_ms"])
                found.setdefault((row["group_id"], row["partition"]), []).append(made)
    return {key: (np.array([o for o, _ in made]), np.array([t for _, t in made])) for key, made in found.items()}


def latencies(source: dict, target: dict, counted_from_ms: int) -> np.ndarray:
    """Return, for every counted source commit, how long the target took to be at least as far (both in order)."""
    waits = []
    for key, (offsets, times) in source.items():
        there_offsets, there_times = target[key]
        reached = np.maximum.accumulate(there_offsets)
        counted = times >= counted_from_ms
        first = np.searchsorted(reached, offsets[counted], "left")
        if np.any(first == len(reached)):
            raise SystemExit(f"{key}: the target never got as far as the source's commits")
        waits.append(there_times[first] - times[counted])
    return np.concatenate(waits)


if __name__ == "__main__":
    main()
