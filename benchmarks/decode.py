"""How fast commit records are decoded, read from Parquet: a plain scan beside scan and decode, one process per core.

    .venv/bin/python benchmarks/decode.py [--records N] [--processes N] [--batch ROWS]

The records are what a cluster on Kafka 4.x holds: mostly values v4 with a topic id, some v3 and v1, some tombstones,
2,000 groups, 60 topics. One block of them is made and written over and over, which is the same work for the decoder.
"""

from __future__ import annotations

import argparse
import multiprocessing
import sys
import tempfile
import time
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
from results import save

from builders.offset_records import commit_key, commit_value
from offset_sync.decode.consumer_offsets import decode_records

BLOCK = 100_000
COLUMNS = ["key", "value"]


def main() -> None:
    options = _options()
    with tempfile.TemporaryDirectory() as folder:
        path = str(Path(folder) / "commits.parquet")
        records = write_commits(path, options.records)
        size = Path(path).stat().st_size
        with ProcessPoolExecutor(options.processes, multiprocessing.get_context("spawn")) as pool:
            scan_s, scan_cpu_s, _ = measure(pool, path, options.processes, options.batch, is_decoded=False)
            decode_s, decode_cpu_s, commits = measure(pool, path, options.processes, options.batch, is_decoded=True)
    if commits != records:
        sys.exit(f"{records} commits written, but {commits} decoded")
    rows = [
        # By processor time too: the speed of a core without other load.
        {
            "what": what,
            "records_per_s": round(records / wall_s),
            "records_per_cpu_s": round(records / cpu_s),
            "of_the_limit": round(scan_s / wall_s, 2),
        }
        for what, wall_s, cpu_s in (("scan", scan_s, scan_cpu_s), ("scan and decode", decode_s, decode_cpu_s))
    ]
    save("decode", vars(options) | {"file MiB": round(size / 2**20, 1)}, rows)


def write_commits(path: str, records: int) -> int:
    """Write about as many commit records, in row groups of one block each; returns how many."""
    keys, values = zip(*(commit(number) for number in range(min(BLOCK, records))), strict=True)
    block = pa.table({"key": pa.array(keys, pa.binary()), "value": pa.array(values, pa.binary())})
    blocks = max(1, round(records / BLOCK))
    # Without dictionaries: from those a scan hands out the same few values over and over, which is no reading at all.
    with pq.ParquetWriter(path, block.schema, use_dictionary=False) as writer:
        for _ in range(blocks):
            writer.write_table(block, row_group_size=BLOCK)
    return blocks * len(keys)


def commit(number: int) -> tuple[bytes, bytes | None]:
    """Return one record; 70 % v4 with topic id, 15 % v4 without, 10 % v3, 3 % v1, 2 % tombstones."""
    topic = number % 60
    key = commit_key(f"service-{number % 2000}-consumers", f"orders-of-region-{topic}", number % 32)
    kind, time_ms = number % 100, 1_700_000_000_000 + number
    if kind < 85:
        tags = [(0, topic.to_bytes(16, "little"))] if kind < 70 else []
        metadata = "ours" if kind % 2 else ""
        return key, commit_value(number * 37, epoch=number % 5, metadata=metadata, committed_at_ms=time_ms, tags=tags)
    if kind < 95:
        return key, commit_value(number * 37, version=3, epoch=3, committed_at_ms=time_ms)
    if kind < 98:
        return key, commit_value(number, version=1, committed_at_ms=time_ms, expires_at_ms=time_ms + 1)
    return key, None


def measure(
    pool: ProcessPoolExecutor, path: str, processes: int, batch: int, *, is_decoded: bool
) -> tuple[float, float, int]:
    """Return the best of three times (wall clock, processor seconds), and the commits found; the first one warms up."""
    times, found = [], 0
    for _ in range(4):
        begin = time.perf_counter()
        parts = [pool.submit(read_share, path, part, processes, batch, is_decoded) for part in range(processes)]
        shares = [part.result() for part in parts]
        times.append((time.perf_counter() - begin, sum(cpu_s for cpu_s, _ in shares)))
        found = sum(count for _, count in shares)
    wall_s, cpu_s = zip(*times[1:], strict=True)
    return min(wall_s), min(cpu_s), found


def read_share(path: str, part: int, parts: int, batch: int, is_decoded: bool) -> tuple[float, int]:
    """Read every *parts*-th row group on one core; returns processor seconds and the commits (or just rows) found."""
    begin = time.process_time()
    pa.set_cpu_count(1)
    pa.set_io_thread_count(1)
    file = pq.ParquetFile(path)
    groups = list(range(part, file.num_row_groups, parts))
    found = 0
    for rows in file.iter_batches(batch, row_groups=groups, columns=COLUMNS, use_threads=False):
        if not is_decoded:
            found += rows.num_rows
            continue
        kinds = decode_records(rows.column("key"), rows.column("value")).column("kind").value_counts().to_pylist()
        found += sum(entry["counts"] for entry in kinds if entry["values"] == "commit")
    return time.process_time() - begin, found


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--records", type=int, default=2_000_000)
    parser.add_argument("--processes", type=int, default=2)
    parser.add_argument("--batch", type=int, default=65_536, help="rows per Arrow batch")
    return parser.parse_args()


if __name__ == "__main__":
    main()
