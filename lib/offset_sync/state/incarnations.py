"""Lives of logs, kept up with ``log_incarnations``; what rows of the index are worth in the light of them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from offset_sync.model.values import CONSUMER_OFFSETS, ClusterPartition, TopicPartition
from offset_sync.tables.catalog import ARRIVED, LOG_INCARNATIONS, RECREATED, TRUNCATED
from offset_sync.tables.store import TableStore
from offset_sync.translate.index.incarnations import Incarnation, kept_lengths, lost_copies, tell_lives_apart
from offset_sync.translate.index.origin_positions import NO_LIMIT
from offset_sync.translate.index.runs import Int64s, Runs


class KnownIncarnations:
    """Every life of every log after the first; *code* gives codes to origins.

    A log that never was cut, of a topic that never was made anew, costs no more than its leader epoch.
    """

    def __init__(self, tables: TableStore, code: Callable[[str], int]) -> None:
        self._tables, self._code = tables, code
        self._arrived: dict[ClusterPartition, list[tuple[int, int]]] = {}
        self._lives: dict[ClusterPartition, list[Incarnation]] = {}
        self._epochs: dict[ClusterPartition, tuple[datetime, str, int]] = {}
        self._version: int | None = None

    def of(self, log: ClusterPartition) -> Sequence[Incarnation]:
        """Return the lives of *log* after its first, as they were noticed."""
        return self._lives.get(log, ())

    def refresh(self) -> set[TopicPartition]:
        """Catch up with the table; return the partitions of which some log has begun a life not known before."""
        version = self._tables.version(LOG_INCARNATIONS, self._version)
        if version == self._version:
            return set()
        rows = self._tables.rows_since(LOG_INCARNATIONS, self._version, version)
        self._version = version
        for row in rows.filter(pc.equal(rows.column("reason"), ARRIVED)).to_pylist():
            arrived = self._arrived.setdefault(_log_of(row), [])
            arrived.append((epoch_ms(row["noticed_at"]), row["begins_at"]))
            arrived.sort()
        for row in rows.filter(pc.is_valid(rows.column("leader_epoch"))).to_pylist():
            log, told = _log_of(row), (row["noticed_at"], row["topic_id"], row["leader_epoch"])
            self._epochs[log] = max(told, self._epochs.get(log, told))
        return {log.topic_partition for log, life in lives_of(rows) if self._add(log, life)}

    def leader_epochs(self) -> dict[ClusterPartition, tuple[str, int]]:
        """Return topic id and leader epoch under which each log was last looked at."""
        return {log: (topic_id, epoch) for log, (_, topic_id, epoch) in self._epochs.items()}

    def overtaken(self, rows: pa.Table) -> set[TopicPartition]:
        """Return the partitions of which *rows* has some of an earlier life, which were on their way to the table."""
        found = set()
        for log in self._lives:
            latest = self._lives[log][-1].noticed_ms
            for cluster, topic, partition, indexed_at in _places(rows, log.topic):
                if (cluster, topic, partition) == log and indexed_at <= latest:
                    found.add(log.topic_partition)
        return found

    def live(self, log: ClusterPartition, rows: Runs) -> tuple[Int64s, Runs]:
        """Return how much of each of a log's *rows* is still true (-1: nothing), and that, its origins told apart."""
        lives = self._lives.get(log)
        kept = rows.length
        if lives is not None:
            kept = kept_lengths(rows.start, rows.length, rows.indexed_at_ms, lives)
            rows = replace(rows, length=kept).take(kept >= 0)
        return kept, self._by_life(log, rows)

    def lost(self, log: ClusterPartition, rows: Runs) -> Runs:
        """Return what of a log's *rows* it has lost by being cut, but for its own records."""
        lost = lost_copies(rows, self._lives.get(log, ()))
        return self._by_life(log, lost.take(lost.origin != self._code(log.cluster)))

    def _by_life(self, log: ClusterPartition, rows: Runs) -> Runs:
        for origin in [each for each in self._lives if each.topic_partition == log.topic_partition]:
            is_native = rows.origin_start == rows.start if origin == log else np.zeros(len(rows), np.bool_)
            is_copy = (rows.origin == self._code(origin.cluster)) & (rows.length > 0) & ~is_native
            if is_copy.any():
                told_apart = rows.take(~is_copy).followed_by(self._told_apart(log, rows.take(is_copy), origin))
                rows = told_apart.take(np.lexsort((told_apart.length, told_apart.start)))
        return rows

    def _told_apart(self, log: ClusterPartition, copies: Runs, origin: ClusterPartition) -> Runs:
        lives, arrived = self._lives[origin], self._arrived.get(log, [])
        # A row is written only when a while has gone by since the last life was noticed, so any later one will do.
        settled_from = [next((end for at_ms, end in arrived if at_ms > life.noticed_ms), NO_LIMIT) for life in lives]
        copies, former = tell_lives_apart(copies, lives, settled_from)
        codes = copies.origin.copy()
        for number in np.unique(former[former < 0]).tolist():
            codes[former == number] = self._former_code(origin, -1 - number)
        return replace(copies, origin=codes)

    def _former_code(self, origin: ClusterPartition, ended_by: int) -> int:
        return self._code("\0".join(("", *map(str, origin), str(ended_by))))  # no alias has a NUL

    def _add(self, log: ClusterPartition, life: Incarnation) -> bool:
        known = self._lives.setdefault(log, [])
        if life in known:
            return False
        known.append(life)
        known.sort(key=lambda each: each.noticed_ms)
        return True


def lives_of(rows: pa.Table, *, of_commits: bool = False) -> list[tuple[ClusterPartition, Incarnation]]:
    """Return the lives that begin in rows of ``log_incarnations``: of topics, or *of_commits*."""
    return [
        (
            _log_of(row),
            Incarnation(row["begins_at"], epoch_ms(row["noticed_at"]), row["topic_id"], row["reason"] == RECREATED),
        )
        for row in rows.to_pylist()
        if row["reason"] in (RECREATED, TRUNCATED) and (row["topic"] == CONSUMER_OFFSETS) == of_commits
    ]


def _log_of(row: Mapping[str, Any]) -> ClusterPartition:
    return ClusterPartition(row["cluster"], row["topic"], row["partition"])


def epoch_ms(at: datetime) -> int:
    """Return a time in milliseconds since the epoch."""
    return round(at.timestamp() * 1000)


def _places(rows: pa.Table, topic: str) -> list[tuple[str, str, int, int]]:
    mine = rows.filter(pc.equal(rows.column("topic"), topic))
    indexed_at_ms = (mine.column("indexed_at").cast(pa.int64()).to_numpy() // 1000).tolist()
    names = ("cluster", "topic", "partition")
    return list(zip(*(mine.column(name).to_pylist() for name in names), indexed_at_ms, strict=True))
