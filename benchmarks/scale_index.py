"""The index of a topic that two clusters write half each, of any size: its Delta table, and what is right by it.

Both logs are made of blocks that begin at the same offsets. In each, either cluster has its own records first and then
the other's; lengths are 1 to 3, so there are two runs to a block::

    block     [ S .. S + a + b )      dc1: a of its own, then b of dc2's       own records are at S, the
                                      dc2: b of its own, then a of dc1's       other's have the numbers from S on

A group that has read dc1 below c has read all of the blocks before, and of c's block some of dc1's records and, when
these are all read, some of dc2's. So what it may be given at dc2 is known without any index.
"""

from __future__ import annotations

import json
import multiprocessing
import time
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from offset_sync.state.seal import sealed
from offset_sync.tables.catalog import BEGINS, RECORD_RUNS
from offset_sync.tables.files import Files
from offset_sync.tables.segments import PREFIX, write_sealed
from offset_sync.tables.store import TableStore

ALIASES = ("dc1", "dc2")
PARTITIONS = 8
FILE_RUNS = 1_000_000
"""Runs of a file: some minutes of micro-batches, as maintenance has put them together."""
_FILE_MS = 240_000
_LONGEST = 3
Int64s = NDArray[np.int64]


@dataclass(frozen=True)
class Blocks:
    """One partition: the blocks' first offsets and, last, where the log ends; how many records of each cluster's."""

    start: Int64s
    native: tuple[NDArray[np.uint8], NDArray[np.uint8]]

    @classmethod
    def of(cls, partition: int, runs: int) -> Blocks:
        """Return those of a *partition*, of an index of so many *runs* over both clusters.

        They are the same every time, and of all partitions others of the same length.
        """
        blocks = max(1, runs // (2 * len(ALIASES) * PARTITIONS))
        lengths = np.random.default_rng(1).integers(1, _LONGEST + 1, (blocks, 2), np.uint8)
        first, second = np.random.default_rng(partition).permutation(lengths).T.copy()
        return cls(np.concatenate(([0], np.cumsum(first + second, dtype=np.int64))), (first, second))

    def __len__(self) -> int:
        return len(self.start) - 1

    @property
    def end(self) -> int:
        """Where both logs end."""
        return int(self.start[-1])

    def last_copied(self, cluster: int) -> int:
        """Return the number, at its origin, of the last record of a cluster's log, which is a copy."""
        return int(self.start[-2]) + int(self.native[1 - cluster][-1]) - 1

    def target_of(self, committed: Int64s) -> Int64s:
        """Return the offsets at dc2 for those *committed* at dc1, shape (commits,).

        Above the blocks records take turns.
        """
        block = np.searchsorted(self.start, committed, "right") - 1
        block = np.minimum(block, len(self) - 1)
        into = committed - self.start[block]
        own, other = (each[block].astype(np.int64) for each in self.native)
        read = np.where(into >= own + other, into, np.maximum(into - own, 0))
        found: Int64s = np.where(committed > self.end, committed - (committed - self.end) % 2, self.start[block] + read)
        return found

    def rows(self, cluster: int, first: int, end: int) -> dict[str, Int64s]:
        """Return the runs of blocks ``[first, end)`` in the log of a cluster."""
        start = self.start[first:end]
        own, other = (self.native[which][first:end].astype(np.int64) for which in (cluster, 1 - cluster))
        pairs = {
            "start_offset": (start, start + own),
            "length": (own, other),
            "origin": (np.full(len(start), cluster), np.full(len(start), 1 - cluster)),
            "origin_start": (start, start),
        }
        return {name: np.stack(pair, 1).ravel() for name, pair in pairs.items()}

    def begin(self, cluster: int, first: int) -> dict[str, Int64s]:
        """Return the row that says from where on the blocks from *first* on were read."""
        row = {"start_offset": self.start[first], "length": 0, "origin": cluster, "origin_start": BEGINS}
        return {name: np.array([value], np.int64) for name, value in row.items()}


def write_table(root: Path, topic: str, runs: int, *, is_later: bool = False) -> dict[str, Any]:
    """Write ``record_runs`` of so many *runs* below *root*; return its files and MiB, and the seconds it took.

    *is_later*: the first row of each log was indexed later than all others, as by a clock that was set back.
    """
    began, folder = time.monotonic(), root / RECORD_RUNS.name
    TableStore(str(root)).create([RECORD_RUNS])
    ends_ms = int(time.time() * 1000) - 5 * _FILE_MS
    with multiprocessing.get_context("spawn").Pool(len(ALIASES)) as pool:
        given = [(folder, topic, runs, cluster, ends_ms, is_later) for cluster in range(len(ALIASES))]
        added = [each for written in pool.starmap(_write_files, given) for each in written]
    said = {"commitInfo": {"timestamp": ends_ms, "operation": "WRITE", "engineInfo": "offset-sync benchmark"}}
    entry = folder / "_delta_log" / f"{1:020d}.json"
    entry.write_text("".join(json.dumps(action) + "\n" for action in (said, *added)), encoding="utf-8")
    size = sum(action["add"]["size"] for action in added) >> 20
    return {"files": len(added), "table_mib": size, "written_s": round(time.monotonic() - began, 1)}


def _write_files(
    folder: Path, topic: str, runs: int, cluster: int, ends_ms: int, is_later: bool
) -> list[dict[str, Any]]:
    """Write the files of a cluster's logs; return their entries in the log of the table."""
    partitions = [Blocks.of(partition, runs) for partition in range(PARTITIONS)]
    files = max(1, -(-runs // (len(ALIASES) * FILE_RUNS)))
    borders = np.linspace(0, len(partitions[0]), files + 1).astype(np.int64).tolist()
    added = []
    for number, (first, end) in enumerate(pairwise(borders)):
        seen_ms = ends_ms - (files - 1 - number) * _FILE_MS
        # As index_records writes them: the runs by partition, then from where each was read.
        found = [(p, each.rows(cluster, first, end)) for p, each in enumerate(partitions)]
        found += [(p, each.begin(cluster, first)) for p, each in enumerate(partitions)]
        rows = pa.concat_tables([_table(cluster, topic, partition, each, seen_ms) for partition, each in found])
        if is_later and number == 0:
            is_first = pc.and_(pc.equal(rows.column("start_offset"), 0), pc.greater(rows.column("length"), 0))
            later = pa.scalar((ends_ms + _FILE_MS) * 1000).cast(rows.schema.field("indexed_at").type)
            at = pc.if_else(is_first, later, rows.column("indexed_at"))
            rows = rows.set_column(rows.schema.get_field_index("indexed_at"), "indexed_at", at)
        name = f"{PREFIX}{number:05d}-{ALIASES[cluster]}.snappy.parquet"
        rows, directory = sealed(rows)
        file = write_sealed(Files(), str(folder), rows, directory, name)
        about = {"path": name, "partitionValues": {}, "size": file.size, "dataChange": True}
        added.append({"add": {**about, "modificationTime": seen_ms, "stats": json.dumps({"numRecords": file.rows})}})
    return added


def _table(cluster: int, topic: str, partition: int, columns: dict[str, Int64s], seen_ms: int) -> pa.Table:
    """Return rows of one partition; their records were written within the minute before they were *seen_ms*."""
    count = len(columns["length"])
    at = pa.array((seen_ms - _FILE_MS + np.arange(count) * _FILE_MS // count) * 1000, pa.timestamp("us", "UTC"))
    seen = pa.scalar(seen_ms * 1000, pa.int64()).cast(pa.timestamp("us", "UTC"))
    complete = pa.array(np.where(columns["origin_start"] == BEGINS, seen_ms * 1000, 0), pa.timestamp("us", "UTC"))
    is_begin = pa.array(columns["origin_start"] == BEGINS)
    given = {
        "cluster": pa.repeat(ALIASES[cluster], count),
        "topic": pa.repeat(topic, count),
        "partition": pa.repeat(pa.scalar(partition, pa.int32()), count),
        "start_offset": pa.array(columns["start_offset"]),
        "length": pa.array(columns["length"]),
        "origin": pa.DictionaryArray.from_arrays(columns["origin"].astype(np.int32), list(ALIASES)).cast(pa.string()),
        "origin_start": pa.array(columns["origin_start"]),
        "min_timestamp": at,
        "max_timestamp": at,
        "indexed_at": pa.repeat(seen, count),
        "complete_until": pc.if_else(is_begin, complete, pa.scalar(None, complete.type)),
        "bound": pa.nulls(count),
    }
    return pa.table(given).select(RECORD_RUNS.names).cast(RECORD_RUNS.arrow_schema)
