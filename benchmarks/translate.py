"""One million commits against one million runs of one partition, on one core; and the same at the log's tail.

    .venv/bin/python benchmarks/translate.py [--runs 1000000] [--commits 1000000] [--seed 1]

Two clusters produce into the same topic; each log interleaves its own records with mirrored ones in its own order.
"""

from __future__ import annotations

import argparse
import time
from typing import Any

import numpy as np
from results import save

from offset_sync.translate.exact import Bounds, translate
from offset_sync.translate.index.log_index import LogIndex
from offset_sync.translate.index.runs import Runs
from offset_sync.translate.partition_log import PartitionLog

NEVER_YOUNG = 1 << 60


def interleaved(own: int, other: int, lengths: np.ndarray, other_at_origin: np.ndarray) -> Runs:
    """Return a log that takes turns between its own records and the *other*'s, in these stretches."""
    start = np.cumsum(lengths) - lengths
    is_own = np.arange(len(lengths)) % 2 == 0
    place = np.concatenate([np.arange(s, s + n) for s, n in zip(start[~is_own], lengths[~is_own], strict=True)])
    count = min(len(place), len(other_at_origin))
    place, identity = place[:count], other_at_origin[:count]
    cuts = np.flatnonzero(np.concatenate(([True], (np.diff(place) != 1) | (np.diff(identity) != 1))))
    size = np.diff(np.append(cuts, count))
    first = np.concatenate((start[is_own], place[cuts]))
    order = np.argsort(first)
    return Runs.of(
        first[order],
        np.concatenate((lengths[is_own], size))[order],
        np.concatenate((np.full(is_own.sum(), own), np.full(len(cuts), other)))[order],
        np.concatenate((start[is_own], identity[cuts]))[order],
        np.zeros(len(first)),
    )


def native_offsets(lengths: np.ndarray) -> np.ndarray:
    """Return the offsets at which a log of these stretches holds its own records."""
    start = np.cumsum(lengths) - lengths
    return np.concatenate([np.arange(s, s + n) for s, n in zip(start[::2], lengths[::2], strict=True)])


def index_of(runs: Runs) -> LogIndex:
    """Return the index that holds *runs*."""
    index = LogIndex()
    index.extend(runs, int(runs.end[-1]))
    return index


def timed(commits: np.ndarray, source: LogIndex, target: LogIndex, window_start: int = 0) -> float:
    """Return the seconds of processor time that translating *commits* takes."""
    started = time.process_time()
    translate(commits, PartitionLog(source, 0), PartitionLog(target, 1), Bounds(NEVER_YOUNG, window_start))
    return time.process_time() - started


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=1_000_000)
    parser.add_argument("--commits", type=int, default=1_000_000)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    random = np.random.default_rng(options.seed)
    # Crossing cuts stretches in two: about 0.7 of the wanted runs before.
    here, there = (random.integers(1, 20, int(options.runs * 0.7)) for _ in range(2))
    source = index_of(interleaved(0, 1, here, native_offsets(there)))
    target = index_of(interleaved(1, 0, there, native_offsets(here)))
    commits = random.integers(0, source.frontier, options.commits)
    rows: list[dict[str, Any]] = [
        {"what": f"{options.commits:,} commits anywhere, {when}", "seconds": timed(commits, source, target)}
        for when in ("the first time", "again")
    ]
    for row in rows:
        row["commits_per_s"] = options.commits / row["seconds"]
    for count in (1_000, 10_000, 100_000):
        # A group's commits at the tail are close together; earlier answers say where to begin.
        tail = source.frontier - 1 - random.integers(0, 10_000, count)
        answers = translate(tail.min()[None], PartitionLog(source, 0), PartitionLog(target, 1), Bounds(NEVER_YOUNG))
        seconds = min(timed(tail, source, target, int(answers.offset[0])) for _ in range(20))
        rows.append({"what": f"{count:,} commits at the tail", "seconds": seconds, "commits_per_s": count / seconds})
    rows = [row | {"seconds": round(row["seconds"], 5), "commits_per_s": round(row["commits_per_s"])} for row in rows]
    save("translate", vars(options) | {"runs of the target": len(target.runs)}, rows)


if __name__ == "__main__":
    main()
