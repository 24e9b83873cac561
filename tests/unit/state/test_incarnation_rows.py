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

from fakes.tables import MemoryTables
from offset_sync.model.values import ClusterPartition
from offset_sync.state.incarnations import KEPT, KnownIncarnations, NamedEpochs, retired_elections
from offset_sync.tables.catalog import ARRIVED, ELECTED, LOG_INCARNATIONS, READ_AGAIN, RECREATED, TRUNCATED

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
        if reason in (TRUNCATED, RECREATED):  # the index is cut at once
            at = values[-1] + timedelta(seconds=1)
            rows.append(rows[-1] | {"reason": READ_AGAIN, "noticed_at": at})
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
    """Return what is known of all logs by the table, and which commits are lost."""
    tables: Any = MemoryTables()
    tables.append(LOG_INCARNATIONS, to_table(rows))
    known = KnownIncarnations().caught_up(tables)
    lost = [
        any(epoch < each.below and offset > each.end for each in known.epoch_ends(ClusterPartition(*log)))
        for *log, epoch, offset in commits
    ]
    return lost, {log: each._replace(all_ended=()) for log, each in known.logs.items()}, known.arrived
