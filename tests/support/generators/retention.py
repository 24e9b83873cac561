"""A partition on all clusters as rows of ``record_runs``, and what is left of it when rows are cut."""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pyarrow as pa

from builders.index_rows import LogKey, begin, edge, run
from fakes.sealed_tables import SealedInMemory
from generators.mirrored_logs import increments, observe, random_world, write_logs
from offset_sync.model.values import State
from offset_sync.state.record_index import RecordIndex
from offset_sync.tables.catalog import RECORD_RUNS
from offset_sync.translate.exact import Bounds
from offset_sync.translate.index.origin_positions import NO_LIMIT
from offset_sync.translate.index_retention import IndexedLog, begins
from offset_sync.translate.partition import Translations, translate_partition
from offset_sync.translate.partition_log import PartitionLog, PartitionMetadata
from oracles.translation import Answer, Case, Log

Row = dict[str, Any]


def place_of(cluster: str) -> LogKey:
    return (cluster, "orders", 0)


def rows_of(log: Log, rng: random.Random, splits: int = 6) -> list[Row]:
    """Return *log* as the indexer might have written it: in batches, with runs cut needlessly."""
    place = place_of(log.cluster)
    rows = [begin(0, place=place)]
    for batch in increments(log, rng, batches=8, splits=splits):
        rows += [
            run(each.start, each.length, each.origin, each.origin_start, place=place, seen_ms=each.indexed_at_ms)
            for each in batch.runs
        ]
        rows.append(edge(batch.frontier, place=place))
    return rows


@dataclass(frozen=True)
class Indexes:
    """The index of one partition on every cluster, read from *rows*; *commits* are what groups hold at each."""

    logs: Mapping[str, Log]
    rows: Mapping[str, Sequence[Row]]
    commits: Mapping[str, Sequence[int]]
    now_ms: int
    grace_ms: int

    def cache(self, sealed: float = 0.0, page_rows: int = 4) -> RecordIndex:
        """Return the rows as a job that starts now would hold them, the oldest part of each log *sealed*."""
        tables = SealedInMemory(group_rows=page_rows)
        for is_sealed in (True, False):
            rows = [row for of_log in self.rows.values() for row in _share(of_log, sealed, is_first=is_sealed)]
            if rows:
                tables.append(RECORD_RUNS, pa.Table.from_pylist(rows, RECORD_RUNS.arrow_schema))
            if is_sealed and rows:
                tables.seal(1)
        cache = RecordIndex(tables)  # type: ignore[arg-type]
        cache.refresh()
        return cache

    def reorders(self, cluster: str) -> bool:
        """Whether records of *cluster* came late, or again."""
        index = self.cache().log(*place_of(cluster))
        return bool(index and index.reorders)

    def lowest_live(self, cluster: str) -> int:
        """Return the lowest commit that can come from *cluster*: one that is there, or one at its log start."""
        return min([self.logs[cluster].log_start, *self.commits[cluster]])

    def begins(self, old_before_ms: int, sealed: float, page_rows: int = 4) -> dict[str, int]:
        """Return where each index may begin, where the oldest part of each log is *sealed* into pages."""
        cache = self.cache(sealed, page_rows)
        logs = [self._indexed(cache, cluster) for cluster in self.logs]
        return dict(zip(self.logs, begins(logs, old_before_ms=old_before_ms), strict=True))

    def _indexed(self, cache: RecordIndex, cluster: str) -> IndexedLog:
        index = cache.log(*place_of(cluster))
        assert index is not None
        lowest = min(self.commits[cluster], default=int(NO_LIMIT))
        log = self.logs[cluster]
        return IndexedLog(index, cache.code(cluster), log.log_start, lowest)

    def halfway(self, rng: random.Random) -> tuple[Indexes, Indexes]:
        """Return the rows that were written up to some moment, and those that came later."""
        at = {name: rng.randint(1, len(rows)) for name, rows in self.rows.items()}
        sooner = {name: rows[: at[name]] for name, rows in self.rows.items()}
        later = {name: rows[at[name] :] for name, rows in self.rows.items()}
        return replace(self, rows=sooner), replace(self, rows=later)

    def with_rows(self, more: Indexes) -> Indexes:
        return replace(self, rows={name: [*rows, *more.rows[name]] for name, rows in self.rows.items()})

    def cut(self, at: Mapping[str, int]) -> Indexes:
        """Return what is left when rows that begin below the cut and end at or below it are gone."""
        rows = {
            cluster: [
                r for r in mine if r["start_offset"] >= at[cluster] or r["start_offset"] + r["length"] > at[cluster]
            ]
            for cluster, mine in self.rows.items()
        }
        return replace(self, rows=rows)

    def translate(self, source: str, target: str, commits: Sequence[int]) -> Translations:
        cache = self.cache()
        logs = [
            PartitionLog.of(
                cache.log(*place_of(log.cluster)),
                cache.code(log.cluster),
                PartitionMetadata("id", log.log_start, log.log_end, {"id"}),
            )
            for log in (self.logs[source], self.logs[target])
        ]
        bounds = Bounds(self.now_ms - self.grace_ms)
        return translate_partition(np.array(commits, np.int64), [None] * len(commits), *logs, bounds)

    def case(self, source: str, target: str) -> Case:
        """Return the same question for brute force, which knows of no rows."""
        return Case(source, self.logs[source], self.logs[target], self.now_ms, self.grace_ms)


def _share(rows: Sequence[Row], share: float, *, is_first: bool) -> Sequence[Row]:
    count = int(len(rows) * share)
    return rows[:count] if is_first else rows[count:]


def answers_of(found: Translations) -> list[Answer]:
    """Return answers in the oracle's words; withheld ones have no offset."""
    names = ("offset", "wanted", "duplicates", "duplicates_at_most", "lost")
    numbers = zip(*(getattr(found, name).tolist() for name in names), strict=True)
    states = [State(code) for code in found.state.tolist()]
    return [Answer(o, w, state, d, m, lost) for state, (o, w, d, m, lost) in zip(states, numbers, strict=True)]


def random_indexes(seed: int, *, now_ms: int = 40) -> Indexes:
    """Return a random history as rows: much of it deleted at the clusters, a few groups at random places."""
    rng = random.Random(seed)
    world = replace(random_world(rng, steps=rng.choice((10, 30, 60))), expired=0.0)
    logs = {name: observe(name, log, world, rng, now_ms=now_ms) for name, log in write_logs(world, rng).items()}
    logs = {name: replace(log, log_start=rng.randint(0, log.log_end)) for name, log in logs.items()}
    commits = {
        name: [rng.randint(rng.choice((0, log.log_start)), log.log_end) for _ in range(rng.randint(0, 2))]
        for name, log in logs.items()
    }
    rows = {name: rows_of(log, rng) for name, log in logs.items()}
    return Indexes(logs, rows, commits, now_ms, rng.randint(0, 5))
