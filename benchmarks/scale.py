"""The jobs with an index of 1, 10 and 100 million runs: what stays the same, and what grows.

Two real brokers, one topic of 8 partitions that both clusters write half each, ``record_runs`` as a script has written
it (``scale_index``), log ends to it (``scale_logs``); what is above is indexed by ``index_records``. Then, with default
settings, each in a process of its own:

*index*: processor seconds of a start of the record index, and the row groups that it reads; *later_index*: the same
where the first row of each log was indexed later than all others. *start*: ``sync_offsets``, with 1,000 groups that
have committed at random depths before: until the first answer is at the target, until all do, and what Python and the
JVM held at most. *deep*: the same groups commit again, anywhere;
*tail*: 200 groups commit once a second at the end, while another topic is produced, mirrored and indexed. Latencies are
by the brokers' own timestamps. Last ``report_status --once``. All answers are compared with what is right.

    .venv/bin/python benchmarks/scale.py [--runs 0.1 1 10 100] [--groups 1000] [--seconds 30]
"""

from __future__ import annotations

import argparse
import os
import resource
import shutil
import subprocess
import tempfile
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any
from unittest import mock

import numpy as np
import yaml
from latency import STEP, Scenario, batch_of, commit_all, commit_steadily, latencies, read_commits
from latency_logs import STEADY
from processes import Meter, peak_memory_by_command, processor_s
from results import save
from scale_deep import DEEP, compare, deep_batch, deep_name, deep_offsets, deep_waits, reached_at
from scale_index import PARTITIONS, Blocks, Int64s, write_table
from scale_logs import write_long_logs
from startup import SUBMIT, run

from offset_sync.kafka.cluster_admin import ClusterAdmin
from offset_sync.model.values import CONSUMER_OFFSETS
from offset_sync.state.record_index import RecordIndex
from offset_sync.tables.segments import Segments
from offset_sync.tables.store import TableStore
from offset_sync_demo.kafka.brokers import EmbeddedCluster, running_clusters
from offset_sync_demo.kafka.topics import create_topic, partition_count
from offset_sync_demo.load.mirror import Mirror
from offset_sync_demo.load.producer import TopicLoad
from offset_sync_demo.load.workload import Producers
from offset_sync_demo.story.jobs import RunningJob, write_config

_MILLION = 1_000_000
_TAIL_GROUPS = 200
_WARM_UP_S = 20
_DEEP_S, _DEEP_GROUPS = 20, 10
"""So long, and so many groups a second, those that lag commit further on."""
_SETTLE_S = 10.0
_INDEX_STARTS_S = 20.0
_PATIENCE_S = 900.0
_INDEX_MEMORY = 512 << 20


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=float, nargs="+", default=[0.1, 1, 10, 100], help="of the index, in millions")
    parser.add_argument("--groups", type=int, default=1_000, help="that lag, each of all partitions")
    parser.add_argument("--seconds", type=int, default=30, help="of commits at the tail that are counted")
    parser.add_argument("--folder", type=Path, help="for tables and brokers: 2 GiB for 100 million runs")
    given = parser.parse_args()
    rows: list[dict[str, Any]] = []
    for millions in given.runs:
        with (
            tempfile.TemporaryDirectory(prefix="offset-sync-scale-", dir=given.folder) as folder,
            running_clusters(["dc1", "dc2"], Path(folder) / "brokers") as clusters,
        ):
            rows.append(measure(clusters, Path(folder), int(millions * _MILLION), given))
        settings = {"partitions": PARTITIONS, "groups that lag": given.groups, "groups at the tail": _TAIL_GROUPS}
        save("scale", {**settings, "seconds": given.seconds}, sorted(rows, key=lambda row: int(row["runs"])))


def measure(
    clusters: Mapping[str, EmbeddedCluster], directory: Path, runs: int, given: argparse.Namespace
) -> dict[str, Any]:
    """Return what was measured with an index of so many *runs*."""
    logs = [Blocks.of(partition, runs) for partition in range(PARTITIONS)]
    found: dict[str, Any] = {"runs": runs, **write_table(directory / "tables", STEADY, runs)}
    found |= measure_index(directory, runs)
    spare = 2 * (_WARM_UP_S + given.seconds + 10) * STEP
    write_long_logs(clusters, STEADY, logs, spare)
    create_topic(clusters.values(), "flow", 8)
    config = directory / "scale.yaml"
    write_config(config, clusters, directory)
    index_to_the_end(config, logs[0].end)
    here = ClusterAdmin("dc1", {"bootstrap.servers": clusters["dc1"].bootstrap_servers})
    first = deep_offsets(logs, given.groups)
    commit_all(here, deep_batch(range(given.groups), first))
    tail = Scenario(_TAIL_GROUPS, PARTITIONS, 1, runs)
    commit_all(here, batch_of(range(_TAIL_GROUPS), tail, logs[0].end + 1))
    began_ms = int(time.time() * 1000)
    sync = RunningJob("sync_offsets", config, directory, java=())
    try:
        found |= wait_for_answers(clusters["dc2"], logs, first, began_ms, sync)
        print(found, flush=True)
        found |= {"cpu_s": round(processor_s(sync.pid), 1), "load": round(os.getloadavg()[0], 1), **memory_of(sync)}
        found |= measure_deep(clusters, here, logs, first)
        print(found, flush=True)
        found |= measure_tail(clusters, config, tail, logs[0].end + 1, given.seconds)
        print(found, flush=True)
        found |= measure_report(config)
        sync.check()
        found |= {f"peak_{name}": mib for name, mib in memory_of(sync).items()}
        found |= judged(logs, clusters)
    finally:
        sync.stop()
    return found


def measure_index(directory: Path, runs: int) -> dict[str, Any]:
    """Return what a start of the index takes in processor time, and how many row groups it reads.

    The same for an index of which the first row of each log was indexed later than all others. The best of three, in
    turn.
    """
    write_table(directory / "later", STEADY, runs, is_later=True)
    found: dict[str, Any] = {}
    for name, folder in [("index", "tables"), ("later_index", "later")] * 3:
        cpu_s, groups = start_index(TableStore(str(directory / folder)))
        found[f"{name}_cpu_s"] = min(cpu_s, found.get(f"{name}_cpu_s", cpu_s))
        found[f"{name}_groups"] = groups
    shutil.rmtree(directory / "later")
    return found


def start_index(tables: TableStore) -> tuple[float, int]:
    """Return the processor seconds of a start of the index, and how many row groups it read."""
    tables.create()
    began_s = time.process_time()
    with mock.patch.object(Segments, "read", autospec=True, side_effect=Segments.read) as read:
        RecordIndex(tables, memory_bytes=_INDEX_MEMORY, keep=None).refresh()
    return round(time.process_time() - began_s, 2), read.call_count


def index_to_the_end(config: Path, gap: int) -> None:
    """Have ``index_records`` read the logs, and note its figures; the *gap* at one go."""
    log, settings = config.with_name("index_records_once.log"), yaml.safe_load(config.read_text())
    settings["index"]["max_offsets_per_trigger"] = 2 * PARTITIONS * (gap + _MILLION)
    once = config.with_name("once.yaml")
    once.write_text(yaml.safe_dump(settings))
    with log.open("wb") as output:
        words = [str(SUBMIT), "index_records", "--once", "--conf", str(once)]
        if subprocess.run(words, stdout=output, stderr=subprocess.STDOUT, check=False).returncode:
            raise SystemExit(f"index_records failed:\n{log.read_text()[-3000:]}")


def wait_for_answers(
    cluster: EmbeddedCluster, logs: Sequence[Blocks], deep: Int64s, began_ms: int, sync: RunningJob
) -> dict[str, Any]:
    """Return, in seconds from the start of the job on, when the first answer was there and when all of *deep* were."""
    until = time.monotonic() + _PATIENCE_S
    wanted = np.stack([blocks.target_of(deep[:, partition]) for partition, blocks in enumerate(logs)], 1)
    while time.monotonic() < until:
        time.sleep(2.0)
        sync.check()
        stands = read_commits(cluster) if partition_count(cluster, CONSUMER_OFFSETS) else {}
        of_deep = [reached_at(stands, deep_name(group), wanted[group]) for group in range(len(deep))]
        answered = [each for each in of_deep if each is not None]
        if len(answered) == len(of_deep):
            first = min(int(times[0]) for _, times in stands.values())
            return {"first_s": (first - began_ms) / 1000, "all_s": (max(answered) - began_ms) / 1000}
    raise SystemExit(f"not all that lag are answered after {_PATIENCE_S} s; see {sync.log}")


def memory_of(job: RunningJob) -> dict[str, Any]:
    """Return what a job's Python and its JVM have held at most until now, in MiB."""
    return {f"{name}_mib": mib for name, mib in peak_memory_by_command(job.pid).items()}


def measure_deep(
    clusters: Mapping[str, EmbeddedCluster], here: ClusterAdmin, logs: Sequence[Blocks], before: Int64s
) -> dict[str, Any]:
    """Let some groups that lag commit further on, a few a second; return how long their answers took, in seconds."""
    since_ms, further = int(time.time() * 1000), deep_offsets(logs, len(before), before)
    for second in range(_DEEP_S):
        began, some = time.monotonic(), range(second, min(len(before), _DEEP_S * _DEEP_GROUPS), _DEEP_S)
        here.write_offsets(deep_batch(some, further))
        time.sleep(max(0.0, began + 1.0 - time.monotonic()))
    waits, unanswered, until = np.empty(0, np.int64), 1, time.monotonic() + _PATIENCE_S
    while unanswered and time.monotonic() < until:
        time.sleep(_SETTLE_S)
        source, target = read_commits(clusters["dc1"]), read_commits(clusters["dc2"])
        waits, unanswered = deep_waits(logs, source, target, since_ms)
    return {"deep_unanswered": unanswered, **percentiles("deep", waits)}


def measure_tail(
    clusters: Mapping[str, EmbeddedCluster], config: Path, tail: Scenario, first: int, seconds: int
) -> dict[str, Any]:
    """Let groups commit at the end while the index grows; return how long their answers took, in seconds."""
    producers = Producers(clusters, [TopicLoad("flow", 8, 200.0)], {})
    mirrors = [Mirror(clusters[a], clusters[b], ["flow"]) for a, b in (("dc1", "dc2"), ("dc2", "dc1"))]
    index = RunningJob("index_records", config, config.parent, java=())
    try:
        for mirror in mirrors:
            mirror.start()
        producers.start()
        time.sleep(_INDEX_STARTS_S)
        since_ms = commit_steadily(clusters["dc1"], tail, first, _WARM_UP_S, seconds, Meter({}))
        index.check()
        time.sleep(3 * _SETTLE_S)
    finally:
        producers.stop(2.0)
        for mirror in mirrors:
            mirror.stop(1.0)
        index.stop()
    source, target = read_commits(clusters["dc1"]), read_commits(clusters["dc2"])
    at_tail = {key: each for key, each in source.items() if not key[0].startswith(DEEP)}
    waits, unanswered = latencies(at_tail, target, since_ms)
    return {"tail_unanswered": unanswered, **percentiles("tail", waits)}


def measure_report(config: Path) -> dict[str, Any]:
    """Return how long ``report_status --once`` takes and what it holds."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    found = run(["report_status", "--once", "--conf", str(config)], _PATIENCE_S)
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    cpu_s = used.ru_utime + used.ru_stime - before.ru_utime - before.ru_stime
    return {"report_s": found["whole_s"], "report_cpu_s": round(cpu_s, 1), "report_mib": found["mib"]}


def judged(logs: Sequence[Blocks], clusters: Mapping[str, EmbeddedCluster]) -> dict[str, Any]:
    """Return how many answers were compared with what is right; ends the run where one is ahead or behind."""
    source, target = read_commits(clusters["dc1"]), read_commits(clusters["dc2"])
    ahead, behind = compare(logs, source, target)
    if ahead or behind:
        raise SystemExit(f"of {len(source)} positions {ahead} are ahead of what is right and {behind} behind")
    return {"positions": len(source)}


def percentiles(name: str, waits_ms: np.ndarray) -> dict[str, Any]:
    """Return p50, p99 and the longest of *waits_ms*, in seconds."""
    if len(waits_ms) == 0:
        return {}
    p50, p99, most = (np.percentile(waits_ms, [50, 99, 100]) / 1000).round(2).tolist()
    return {f"{name}_p50_s": p50, f"{name}_p99_s": p99, f"{name}_max_s": most}


if __name__ == "__main__":
    main()
