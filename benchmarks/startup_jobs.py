"""How long the jobs take from their start to their first result, with small tables."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from confluent_kafka import Producer
from latency import Scenario, batch_of, commit_all
from latency_logs import STEADY
from latency_tables import Place

from offset_sync.kafka.cluster_admin import ClusterAdmin
from offset_sync.model.errors import ClusterError
from offset_sync.model.values import TopicPartition
from offset_sync.tables.catalog import RECORD_RUNS
from offset_sync.tables.store import TableStore
from offset_sync_demo.kafka.brokers import EmbeddedCluster
from offset_sync_demo.story.jobs import RunningJob

_PATIENCE_S = 120.0


def measure_jobs(
    clusters: Mapping[str, EmbeddedCluster], config: Path, place: Place, scenario: Scenario, offset: int, times: int
) -> list[dict[str, Any]]:
    """Return the best of so many *times* of each job; groups have committed *offset*, and there is something above."""
    here, there = (ClusterAdmin(a, {"bootstrap.servers": clusters[a].bootstrap_servers}) for a in ("dc1", "dc2"))
    tables = TableStore(place.seen_at)
    until = partial(_until, config, place.options)
    producer = Producer({"bootstrap.servers": clusters["dc1"].bootstrap_servers, "log_level": 0})
    first_commit, first_row = list[float](), list[float]()
    stays = scenario.groups - 1  # no cutover has moved it: dc1 is its home
    for number in range(1, times + 1):
        wanted = offset + 2 * number
        commit_all(here, batch_of([stays], scenario, wanted))
        first_commit.append(until("sync_offsets", partial(_stands, there, f"group-{stays}", wanted)))
        producer.produce(STEADY, b"record", partition=0)
        producer.flush()
        first_row.append(until("index_records", partial(_has_grown, tables, tables.version(RECORD_RUNS))))
    return [
        {"command": "sync_offsets, to its first commit", "first_s": round(min(first_commit), 2)},
        {"command": "index_records, to its first row", "first_s": round(min(first_row), 2)},
    ]


def _stands(there: ClusterAdmin, group_id: str, wanted: int) -> bool:
    found = there.committed_offsets([group_id])[group_id]
    return not isinstance(found, ClusterError) and found[TopicPartition(STEADY, 0)].offset >= wanted


def _has_grown(tables: TableStore, before: int) -> bool:
    return tables.version(RECORD_RUNS) > before


def _until(config: Path, java: Sequence[str], name: str, is_done: Callable[[], bool]) -> float:
    """Start a job as it is delivered, and stop it; return after how many seconds something *is_done*."""
    began = time.monotonic()
    job = RunningJob(name, config, config.parent, java)
    try:
        while time.monotonic() < began + _PATIENCE_S:
            if is_done():
                return time.monotonic() - began
            job.check()
            time.sleep(0.05)
    finally:
        job.stop()
    raise SystemExit(f"{name} has done nothing within {_PATIENCE_S:.0f} s; see {job.log}")
