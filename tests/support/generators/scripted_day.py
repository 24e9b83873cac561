"""A made-up day of two clusters and six groups, as the jobs would have recorded it: what went wrong is known.

```
 orders    50:50, every step 30 records at each side; the other side's come right behind one's own, so the logs cross
     dc1   a a a … A A A …      a: produced at dc1 [60k, 60k + 30), A: at dc2, from its offset 60k on
     dc2   A A A … a a a …
 payments, ledger, archive     produced at dc1 only: the same offset at both sides
```
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from datetime import datetime, timedelta, timezone
from typing import Any

import pyarrow as pa

from generators.scripted_day_rows import commit_row, run_row, status_row, translation_row
from offset_sync.tables.catalog import OFFSET_COMMITS, OFFSET_TRANSLATIONS, RECORD_RUNS, SYNC_DRIFT, SYNC_STATUS
from offset_sync.tables.definition import Table

PARTITIONS = 2
STEP = timedelta(minutes=5)
BATCH = 30
"""Records that each producing side adds to a partition in a step."""
BEGINS = datetime(2026, 11, 20, 6, tzinfo=timezone.utc)
Rows = list[dict[str, Any]]


@dataclass(frozen=True)
class Group:
    """A group: how far it has read by the step k (None: it commits nothing then), and what goes wrong from when on."""

    group_id: str
    topic: str
    position: Callable[[int, int], int | None]
    trouble: str = ""
    from_step: int = 0


def groups(steps: int) -> tuple[Group, ...]:
    """Return the groups of a day of so many *steps*."""
    silent, withheld, active = steps - 36, steps - 24, steps - 18
    return (
        Group("billing", "orders", lambda k, p: 60 * k + (7 * k + 13 * p) % 60),
        Group(
            "reports", "orders", lambda k, p: None if k >= silent else max(0, 60 * (k - 10) + k % 60), "silent", silent
        ),
        Group("shipping", "orders", lambda k, p: 60 * k + (11 * k + 5 * p) % 60, "TARGET_ACTIVE", active),
        Group("fraud", "payments", lambda k, p: BATCH * k + (3 * k + p) % BATCH),
        Group("audit", "ledger", lambda k, p: BATCH * k + (5 * k + p) % BATCH, "TOPIC_RECREATED", withheld),
        Group("search", "archive", lambda k, p: 300 if k == 0 else None),
    )


@dataclass
class Day:
    """The rows of the tables after so many *steps*; the mirror of payments has copied nothing since *mirror_stops*."""

    steps: int = 288
    begins_at: datetime = BEGINS
    rows: dict[Table, Rows] = field(default_factory=dict)
    _standing: dict[tuple[str, int], tuple[int, int, datetime]] = field(default_factory=dict)
    _committed: dict[tuple[str, int], tuple[int, datetime]] = field(default_factory=dict)
    _log_offset: int = 0

    def __post_init__(self) -> None:
        for step in range(self.steps):
            self._add(RECORD_RUNS, self._runs(step))
            for group in groups(self.steps):
                for partition in range(PARTITIONS):
                    self._commit(group, partition, step)
            self._add(SYNC_DRIFT, self._drift(step))
        self._add(SYNC_STATUS, self.report())

    @property
    def mirror_stops(self) -> int:
        """The first step whose records of payments were not mirrored."""
        return self.steps - 9

    @property
    def ends_at(self) -> datetime:
        """When the last report was made."""
        return self.at(self.steps)

    def at(self, step: float, seconds: float = 0) -> datetime:
        """Return a moment of the day."""
        return self.begins_at + step * STEP + timedelta(seconds=seconds)

    def arrow(self, table: Table) -> pa.Table:
        """Return the rows of *table*."""
        return pa.Table.from_pylist(self.rows.get(table, []), table.arrow_schema)

    def ends(self, topic: str, step: int) -> tuple[int, int]:
        """Return the log ends at dc1 and at dc2 when the records of *step* are there."""
        if topic == "archive":
            return 300, 300
        end = (60 if topic == "orders" else BATCH) * (step + 1)
        return end, min(end, BATCH * self.mirror_stops) if topic == "payments" else end

    def translated(self, topic: str, offset: int, step: int) -> tuple[int, str, int]:
        """Return where a commit of dc1 belongs at dc2 once *step* is mirrored, its state and its duplicates."""
        end = self.ends(topic, step)[1]
        if topic != "orders":
            return min(offset, end), "EXACT" if offset < end else "AT_FRONTIER", 0
        whole, rest = divmod(offset, 60)
        wanted = 60 * whole + max(0, rest - BATCH)
        return wanted, "EXACT" if wanted < end else "AT_FRONTIER", min(rest, BATCH)

    def report(self) -> Rows:
        """Return what report_status says when the day ends."""
        return [self._status(group, partition) for group in groups(self.steps) for partition in range(PARTITIONS)]

    def _add(self, table: Table, rows: Iterator[dict[str, Any]] | Rows) -> None:
        self.rows.setdefault(table, []).extend(rows)

    def _runs(self, step: int) -> Iterator[dict[str, Any]]:
        at = self.at(step)
        for partition in range(PARTITIONS):
            for here, there in (("dc1", "dc2"), ("dc2", "dc1")):
                place = (here, "orders", partition)
                yield run_row(place, 60 * step, BATCH, here, 60 * step, at, 2)
                yield run_row(place, 60 * step + BATCH, BATCH, there, 60 * step, at, 4)
            for topic in ("payments", "ledger"):
                yield run_row(("dc1", topic, partition), BATCH * step, BATCH, "dc1", BATCH * step, at, 2)
                if topic == "ledger" or step < self.mirror_stops:
                    yield run_row(("dc2", topic, partition), BATCH * step, BATCH, "dc1", BATCH * step, at, 4)
            if step == 0:
                yield run_row(("dc1", "archive", partition), 0, 300, "dc1", 0, at, 2)
                yield run_row(("dc2", "archive", partition), 0, 300, "dc1", 0, at, 4)

    def _commit(self, group: Group, partition: int, step: int) -> None:
        offset, key = group.position(step, partition), (group.group_id, partition)
        if offset is None:
            return
        at = self.at(step, 60 + 10 * partition)
        self._committed[key] = (offset, at)
        self._add(OFFSET_COMMITS, [self._record("dc1", group, partition, offset, at)])
        wanted, state, duplicates = self.translated(group.topic, offset, step)
        before = self._standing.get(key)
        outcome = "UNCHANGED" if before is not None and before[0] == wanted else "COMMITTED"
        if group.trouble.isupper() and step >= group.from_step:
            outcome = "TARGET_ACTIVE" if group.trouble == "TARGET_ACTIVE" else "WITHHELD"
        state = group.trouble if outcome == "WITHHELD" else state
        latency_ms = 1000 + (37 * step + 11 * partition) % 900
        row = translation_row(group.group_id, group.topic, partition, offset, at, latency_ms)
        row |= {"state": state, "outcome": outcome, "batch_id": step, "previous_target_offset": before and before[0]}
        if outcome != "WITHHELD":
            row |= {"target_offset": wanted, "duplicates": duplicates, "duplicates_at_most": duplicates, "lost": 0}
        if outcome == "COMMITTED":
            row["committed_at"] = row["translated_at"] + timedelta(milliseconds=200)
            self._add(OFFSET_COMMITS, [self._record("dc2", group, partition, wanted, row["committed_at"])])
        if outcome in ("COMMITTED", "UNCHANGED"):
            self._standing[key] = (wanted, duplicates, at)
        self._add(OFFSET_TRANSLATIONS, [row])

    def _record(self, cluster: str, group: Group, partition: int, offset: int, at: datetime) -> dict[str, Any]:
        self._log_offset += 1
        return commit_row(cluster, group.group_id, group.topic, partition, offset, at, self._log_offset)

    def _drift(self, step: int) -> Iterator[dict[str, Any]]:
        for group in groups(self.steps):
            f = sum(self._committed[group.group_id, partition][0] for partition in range(PARTITIONS))
            g = sum(self._standing[group.group_id, partition][0] for partition in range(PARTITIONS))
            yield {
                "at": self.at(step, 120),
                "source_cluster": "dc1",
                "target_cluster": "dc2",
                "group_id": group.group_id,
                "partitions": PARTITIONS,
                "source_offsets": f,
                "target_offsets": g,
                "drift": f - g,
                "change": 0,
                "windowed_change": 0,
                "is_converged": True,
            }

    def _status(self, group: Group, partition: int) -> dict[str, Any]:
        key, last = (group.group_id, partition), self.steps - 1
        (offset, at), (standing, duplicates, answered_at) = self._committed[key], self._standing[key]
        source_end, target_end = self.ends(group.topic, last)
        not_mirrored = max(0, source_end - max(offset, target_end))
        row = status_row(group.group_id, group.topic, partition, self.ends_at) | {
            "source_offset": offset,
            "source_committed_at": at,
            "target_offset": standing,
            "wanted_offset": self.translated(group.topic, offset, last)[0],
            "mirror_lag": source_end - target_end,
            "source_end": source_end,
            "target_end": target_end,
            "mirror_lag_ms": 0,
            "source_lag": source_end - offset,
            "target_lag": target_end - standing,
            "not_mirrored": not_mirrored,
            "duplicates": duplicates,
            "duplicates_at_most": duplicates,
            "lost": not_mirrored,
        }
        if source_end > target_end:
            row |= {"status": "Mirroring", "reason": "the mirror is behind", "state": "AT_FRONTIER"}
            row["mirror_lag_ms"] = _millis(self.ends_at - self.at(self.mirror_stops))
        if group.trouble == "TARGET_ACTIVE":
            row |= {"status": "TargetActive", "reason": "the group has members at the target", "is_target_active": True}
        if group.trouble == "TOPIC_RECREATED":
            row |= {"status": "Withheld", "reason": group.trouble, "state": group.trouble}
            row |= dict.fromkeys(("wanted_offset", "duplicates", "duplicates_at_most", "lost"))
        return row | ({"staleness_ms": _millis(self.ends_at - answered_at)} if group.trouble.isupper() else {})


def _millis(duration: timedelta) -> int:
    return int(duration / timedelta(milliseconds=1))
