"""What rows of ``log_incarnations`` say of logs of commits, and how far logs reach; and which may be removed.

Rows of elections are removed only if no query for a leader and no commit can need them.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from datetime import datetime, timedelta, timezone
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from builders.index_rows import add, begin, edge, life, run
from fakes.tables import MemoryTables
from generators.hypothesis_strategies import law
from offset_sync.ingest.incarnation_log import IncarnationLog
from offset_sync.model.values import ClusterPartition
from offset_sync.state.highest_indexed import highest_indexed
from offset_sync.state.incarnations import KEPT, KnownIncarnations, NamedEpochs, retired_elections
from offset_sync.tables.catalog import (
    ARRIVED,
    ELECTED,
    LOG_INCARNATIONS,
    READ_AGAIN,
    RECORD_RUNS,
    RECREATED,
    TRUNCATED,
)

NOW = datetime(2026, 11, 24, tzinfo=timezone.utc)


@pytest.mark.parametrize("seed", range(40))
def test_without_them_all_readers_know_the_same_of_every_log_and_every_commit(seed: int) -> None:
    rng = random.Random(seed)
    logs = [("X", "orders", 0), ("X", "orders", 1), ("Y", "orders", 0)]
    reasons = [ELECTED, ELECTED, ELECTED, ELECTED, None, TRUNCATED, READ_AGAIN, ARRIVED, RECREATED]
    rows = list[dict[str, Any]]()
    for days in sorted((rng.choice([rng.uniform(0, 7), rng.uniform(7, 30)]) for _ in range(14)), reverse=True):
        reason, log = rng.choice(reasons), rng.choice(logs)
        epoch = None if reason == ARRIVED or (reason != ELECTED and rng.random() < 0.1) else rng.randrange(8)
        end = rng.randrange(10) if reason not in (None, READ_AGAIN) else None
        values = (*log, rng.choice("ab"), epoch, end, reason, NOW - timedelta(days=days))
        rows.append(dict(zip(LOG_INCARNATIONS.names, values, strict=True)))
    commits = [(*rng.choice(logs), rng.randrange(8), rng.randrange(12)) for _ in range(rng.randrange(8))]
    columns = list(zip(*commits, strict=True)) or [[]] * len(NamedEpochs.schema)
    named = NamedEpochs(pa.table(columns, NamedEpochs.schema))
    retired = retired_elections(to_table(rows), named, NOW - KEPT, ["X", "Y"]).to_pylist()
    left = [each for each in rows if each not in retired]
    assert len(left) == len(rows) - len(retired)
    assert seen(left, commits) == seen(rows, commits)


def to_table(rows: Sequence[dict[str, Any]]) -> pa.Table:
    return pa.Table.from_pylist(list(rows), LOG_INCARNATIONS.arrow_schema)


def seen(rows: Sequence[dict[str, Any]], commits: Sequence[tuple[Any, ...]]) -> Any:
    """Return the leaders and lives of all logs as both jobs take them from the table, and which commits are lost."""
    tables: Any = MemoryTables()
    tables.append(LOG_INCARNATIONS, to_table(rows))
    known, _ = KnownIncarnations(lambda origin: hash(origin)).caught_up(tables)
    noted = IncarnationLog(tables, of_commits=False)
    logs = {ClusterPartition(*log) for *log, _, _ in commits} | {ClusterPartition("X", "orders", 0)}
    lost = [
        any(epoch < each.below and offset > each.end for each in known.epoch_ends(ClusterPartition(*log)))
        for *log, epoch, offset in commits
    ]
    last = {log: each._replace(ended=()) for log in logs if (each := noted.known(log)) is not None}
    by_log = {log: (last.get(log), list(known.of(log))) for log in logs}
    return lost, known.leader_epochs(), by_log, {alias: noted.unread(alias) for alias in "XY"}, noted.arrived_ms


@law(100)
@given(st.randoms(use_true_random=False))
def test_the_end_of_the_last_record_counts_that_was_indexed_in_the_last_life(rng: random.Random) -> None:
    tables: Any = MemoryTables(batch_rows=rng.randrange(1, 9))
    noticed = {cluster: rng.randrange(40) for cluster in rng.sample("XY", rng.randrange(3))}
    rows, wanted = [begin(5, place=("X", "orders", 0)), edge(70, place=("Y", "orders", 0))], {}
    for _ in range(rng.randrange(12)):
        origin, number, length, seen_ms = rng.choice(["X", "Y", ""]), *map(rng.randrange, (50, 4, 60))
        place = (rng.choice("XY"), rng.choice(["orders", "pay"]), rng.randrange(2))
        stands_at = number if origin == place[0] else rng.randrange(90)
        rows.append(run(stands_at, length + 1, origin, number, place=place, seen_ms=seen_ms))
        for cluster, start in ((origin, number), (place[0], stands_at)):
            is_earlier = place[1:] == ("orders", 0) and seen_ms <= noticed.get(cluster, -1)
            if cluster and not is_earlier:
                log = ClusterPartition(cluster, *place[1:])
                wanted[log] = max(start + length + 1, wanted.get(log, 0))
    add(tables, RECORD_RUNS, *rows)
    if noticed:
        begun = [life(cluster, 0, at_ms, rng.choice([TRUNCATED, RECREATED])) for cluster, at_ms in noticed.items()]
        add(tables, LOG_INCARNATIONS, *begun, life("X", 9, 99, ARRIVED))
    assert highest_indexed(tables) == wanted
