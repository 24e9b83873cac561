"""A week of micro-batches in record_runs, with and without maintain_tables: what a start and a micro-batch take then.

A day is --versions appends here, about as many as come between two runs of maintenance; their files and entries are
written as the jobs write them, but without the jobs. Kafka keeps the records of --kept days. After every third
day, in seconds: a job's start (reading the index), an append, and the refresh of a running job that follows.

    .venv/bin/python benchmarks/maintenance.py [--days 7] [--versions 300] [--kept 2]
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import tempfile
import time
import uuid
from datetime import datetime, timedelta, timezone
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from deltalake import DeltaTable
from results import save

from offset_sync.state.record_index import RecordIndex
from offset_sync.state.seal import cut, seal
from offset_sync.tables.catalog import RECORD_RUNS
from offset_sync.tables.maintenance import BEGINS_SCHEMA, Maintainer
from offset_sync.tables.segments import PREFIX
from offset_sync.tables.store import TableStore
from offset_sync.tables.transaction_log import statistics_of

PARTITIONS, RUNS, RECORDS = 8, 4, 10
_PROBES = 10


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--days", type=int, default=7)
    parser.add_argument("--versions", type=int, default=300)
    parser.add_argument("--kept", type=int, default=2)
    options = parser.parse_args()
    results = []
    with tempfile.TemporaryDirectory(prefix="offset-sync-maintenance-") as folder:
        warm_up = Week(TableStore(f"{folder}/warm-up"), 100, 1)
        warm_up.pass_day(maintains=False)
        warm_up.measure()
        for maintains in (False, True):
            week = Week(TableStore(f"{folder}/{maintains}"), options.versions, options.kept)
            for day in range(1, options.days + 1):
                seconds = week.pass_day(maintains=maintains)
                if day % 3 == 1:
                    results.append({"maintained": maintains, "day": day, "maintenance_s": seconds, **week.measure()})
    save("maintenance", vars(options), results)


class Week:
    """One table, day by day."""

    def __init__(self, tables: TableStore, versions: int, kept: int) -> None:
        tables.create()
        self.tables, self.path = tables, Path(tables.path(RECORD_RUNS))
        self.versions, self.kept = versions, kept
        self.batches = 0
        self.running: RecordIndex | None = None

    def pass_day(self, *, maintains: bool) -> float:
        """Let a day pass; return how many seconds maintenance took."""
        version = self.tables.version(RECORD_RUNS)
        for number in range(version + 1, version + 1 + self.versions):
            self._write(number)
        DeltaTable(self.path).create_checkpoint()
        return self._maintain() if maintains else 0.0

    def measure(self) -> dict[str, Any]:
        """Return what starts and micro-batches take now."""
        began = time.monotonic()
        self.running = RecordIndex(self.tables)
        self.running.refresh()
        start = time.monotonic() - began
        appends, refreshes = zip(*(self._probe() for _ in range(_PROBES)), strict=True)
        return {
            "files": len(list(self.path.glob("*.parquet"))),
            "log_entries": len(list((self.path / "_delta_log").glob("0*.json"))),
            "start_s": round(start, 2),
            "append_s": round(statistics.median(appends), 3),
            "append_worst_s": round(max(appends), 3),
            "refresh_s": round(statistics.median(refreshes), 3),
        }

    def _maintain(self) -> float:
        for entry in (self.path / "_delta_log").glob("0*"):
            os.utime(entry, (time.time() - 86_400, time.time() - 86_400))
        began = time.monotonic()
        maintainer = Maintainer(self.tables, timedelta(seconds=1))
        if self.batches == self.versions:  # the first day
            maintainer.prepare(RECORD_RUNS)
        begin = max(0, self.batches - self.kept * self.versions) * RUNS * RECORDS
        places = [
            {"cluster": "dc1", "topic": "orders", "partition": p, "begin": begin} for p in range(PARTITIONS) if begin
        ]
        cut(self.tables, pa.Table.from_pylist(places, BEGINS_SCHEMA), timedelta(seconds=1))
        seal(self.tables, self.tables.segments(RECORD_RUNS), timedelta(seconds=1))
        maintainer.compact(RECORD_RUNS, but=PREFIX)
        time.sleep(1.1)  # what was removed may be deleted after a second here
        maintainer.clean_up(RECORD_RUNS)
        return round(time.monotonic() - began, 1)

    def _probe(self) -> tuple[float, float]:
        """Append a micro-batch, and let a running job take it in; return what each took."""
        rows, began = self._rows(), time.monotonic()
        self.tables.append(RECORD_RUNS, rows, ("query", self.batches - 1))
        appended = time.monotonic()
        assert self.running is not None
        self.running.refresh()
        return appended - began, time.monotonic() - appended

    def _rows(self) -> pa.Table:
        """Return the next micro-batch: every partition goes on, with runs of two origins."""
        self.batches += 1
        count = PARTITIONS * RUNS
        run = np.tile(np.arange(RUNS), PARTITIONS)
        start = ((self.batches - 1) * RUNS + run) * RECORDS
        now = pa.repeat(pa.scalar(datetime.now(timezone.utc), pa.timestamp("us", tz="UTC")), count)
        columns = [
            pa.repeat("dc1", count),
            pa.repeat("orders", count),
            np.repeat(np.arange(PARTITIONS), RUNS),
            start,
            np.full(count, RECORDS),
            pa.array(["dc1", "dc2"] * (count // 2)),
            start + 7 * run,
            now,
            now,
            now,
            pa.nulls(count),
            pa.nulls(count),
        ]
        return pa.table(dict(zip(RECORD_RUNS.names, columns, strict=True))).cast(RECORD_RUNS.arrow_schema)

    def _write(self, version: int) -> None:
        """Write a version as an append does; it is of yesterday."""
        rows, name = self._rows(), f"part-00000-{uuid.uuid4()}-c000.snappy.parquet"
        pq.write_table(rows, self.path / name, compression="snappy")
        added = {
            "path": name,
            "partitionValues": {},
            "size": (self.path / name).stat().st_size,
            "dataChange": True,
            "modificationTime": int(time.time() * 1000),
            "stats": json.dumps(statistics_of(pq.read_metadata(self.path / name))),
        }
        transaction = {"appId": "query", "version": self.batches - 1, "lastUpdated": int(time.time() * 1000)}
        commit = {
            "timestamp": int(time.time() * 1000),
            "engineInfo": "benchmark",
            "operation": "WRITE",
            "operationParameters": {},
            "isBlindAppend": False,
            "txnId": str(uuid.uuid4()),
            "operationMetrics": {},
        }
        actions = [{"commitInfo": commit}, {"txn": transaction}, {"add": added}]
        entry = self.path / "_delta_log" / f"{version:020d}.json"
        entry.write_text("".join(json.dumps(action) + "\n" for action in actions))
        yesterday = time.time() - 86_400
        os.utime(entry, (yesterday, yesterday))
        os.utime(self.path / name, (yesterday, yesterday))


if __name__ == "__main__":
    main()
