"""Rows of ``log_incarnations`` as lives of logs."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Any

import pyarrow as pa

from offset_sync.model.values import CONSUMER_OFFSETS, ClusterPartition, EpochEnd
from offset_sync.tables.catalog import RECREATED, TRUNCATED
from offset_sync.translate.index.incarnations import Incarnation

_BEGINNINGS = frozenset({RECREATED, TRUNCATED})


def lives_of(rows: pa.Table, *, of_commits: bool = False) -> list[tuple[ClusterPartition, Incarnation]]:
    """Return the lives that begin in rows of ``log_incarnations``: of topics, or *of_commits*."""
    if _BEGINNINGS.isdisjoint(rows.column("reason").to_pylist()):
        return []
    return [
        (
            log_of(row),
            Incarnation(row["begins_at"], epoch_ms(row["noticed_at"]), row["topic_id"], row["reason"] == RECREATED),
        )
        for row in rows.to_pylist()
        if row["reason"] in _BEGINNINGS and (row["topic"] == CONSUMER_OFFSETS) == of_commits
    ]


def log_of(row: Mapping[str, Any]) -> ClusterPartition:
    """Return the log that a *row* is of."""
    return ClusterPartition(row["cluster"], row["topic"], row["partition"])


def end_of_epoch(leader_epoch: int, begins_at: int, known: int | None) -> EpochEnd:
    """Return what a row says that names another leader, or a cut; *known* was the leader of the row before."""
    return EpochEnd(leader_epoch, begins_at, known if known is not None and known < leader_epoch else None)


def epoch_ms(at: datetime) -> int:
    """Return a time in milliseconds since the epoch."""
    return round(at.timestamp() * 1000)
