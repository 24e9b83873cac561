"""Random small histories of few keys in which everything occurs that the tables allow, likely or not."""

from __future__ import annotations

import itertools
import random
from collections.abc import Callable
from datetime import datetime, timedelta, timezone
from typing import Any

import pyarrow as pa

from offset_sync.model.values import Outcome, State
from offset_sync.tables.catalog import LOG_INCARNATIONS, OFFSET_COMMITS, OFFSET_TRANSLATIONS, RECORD_RUNS, SYNC_STATUS
from offset_sync.tables.definition import Table

CLUSTERS = ("dc1", "dc2", "dc3")
GROUPS = ("g", "grün'", 'x"y')
BEGINS = datetime(2026, 11, 20, 22, tzinfo=timezone.utc)
LASTS = timedelta(hours=4)
Rows = list[dict[str, Any]]


def random_history(seed: int, size: int = 120) -> dict[Table, pa.Table]:
    """Return about *size* rows of each table; no two rows have a time in common, so no order is left to chance."""
    source = random.Random(seed)
    moments = source.sample(range(int(LASTS / timedelta(milliseconds=1))), 12 * size)
    next_time = iter(BEGINS + timedelta(milliseconds=ms) for ms in moments).__next__
    made = {
        OFFSET_COMMITS: _commits(source, next_time, size),
        OFFSET_TRANSLATIONS: [_translation(source, next_time) for _ in range(size)],
        RECORD_RUNS: [_run(source, next_time) for _ in range(size)],
        LOG_INCARNATIONS: [_life(source, next_time, size) for _ in range(size // 6)],
        SYNC_STATUS: [_status(source, next_time) for _ in range(size // 4)],
    }
    for row in itertools.chain(*made.values()):  # dc2 calls each of the two streams as the others call the other one
        here, there = row.get("cluster", row.get("source_cluster")), row.get("target_cluster")
        row |= {"topic": _called(here, row["topic"]), "target_topic": _called(there, row["topic"])}
    return {table: pa.Table.from_pylist(rows, table.arrow_schema) for table, rows in made.items()}


def _called(cluster: str | None, stream: str) -> str:
    return {"t": "u", "u": "t"}.get(stream, stream) if cluster == "dc2" else stream


def _key(source: random.Random) -> dict[str, Any]:
    return {"group_id": source.choice(GROUPS), "topic": source.choice(("t", "u")), "partition": source.randrange(2)}


def _pair(source: random.Random) -> dict[str, Any]:
    return dict(zip(("source_cluster", "target_cluster"), source.sample(CLUSTERS, 2), strict=True))


def _or_none(source: random.Random, value: Any, chance: float = 0.2) -> Any:
    return None if source.random() < chance else value


def _commits(source: random.Random, next_time: Callable[[], datetime], size: int) -> Rows:
    """Commits whose clocks may go back, some of them captured twice and judged otherwise the second time."""
    rows: Rows = []
    for log_offset in range(size):
        is_tombstone, key = source.random() < 0.15, _key(source)
        offset = None if is_tombstone else source.randrange(-2, 40)
        row = key | {
            "cluster": source.choice(CLUSTERS),
            "committed_offset": offset,
            "metadata": "",
            "committed_at": next_time(),
            "is_tombstone": is_tombstone,
            "is_own": source.random() < 0.3,
            "log_partition": GROUPS.index(key["group_id"]),
            "log_offset": log_offset,
            "captured_at": next_time(),
        }
        rows.append(row)
        if source.random() < 0.2:
            rows.append(row | {"captured_at": next_time(), "is_own": not row["is_own"]})
    source.shuffle(rows)
    return rows


def _translation(source: random.Random, next_time: Callable[[], datetime]) -> dict[str, Any]:
    """An answer that any state and outcome may have, and that may be written long after the commit."""
    outcome = source.choice(list(Outcome))
    state = source.choice([state for state in State if state.is_withheld == (outcome is Outcome.WITHHELD)])
    is_withheld, translated_at = outcome is Outcome.WITHHELD, next_time()
    duplicates = None if is_withheld else source.randrange(30)
    row = _key(source) | _pair(source)
    return row | {
        "stream": row["topic"],
        # Few commits, so that some have several answers.
        "source_offset": source.randrange(40),
        "source_committed_at": BEGINS + timedelta(minutes=source.randrange(5)),
        "target_offset": None if is_withheld else source.randrange(6),
        "previous_target_offset": _or_none(source, source.randrange(6)),
        "strategy": source.choice(("exact", "header")),
        "state": state.name,
        "duplicates": duplicates,
        "duplicates_at_most": None if duplicates is None else duplicates + source.randrange(3),
        "lost": None if is_withheld else source.randrange(3),
        "timestamp_disordered": False,
        "outcome": outcome.name,
        "error": "no\nanswer" if outcome is Outcome.FAILED and source.random() < 0.5 else None,
        "batch_id": _or_none(source, source.randrange(9)),
        "translated_at": translated_at,
        "committed_at": next_time() if outcome is Outcome.COMMITTED else None,
    }


def _run(source: random.Random, next_time: Callable[[], datetime]) -> dict[str, Any]:
    """A run, or a row of length 0 that says only how far was read."""
    length, start, at = source.choice((0, 1, 5)), source.randrange(50), next_time()
    row: dict[str, Any] = {"cluster": source.choice(CLUSTERS), "topic": source.choice(("t", "u"))}
    row |= {"partition": source.randrange(2), "start_offset": start, "origin": source.choice((*CLUSTERS, ""))}
    row |= dict.fromkeys(("min_timestamp", "max_timestamp", "indexed_at"), at)
    return row | {"length": length, "origin_start": start if length else -1}


def _life(source: random.Random, next_time: Callable[[], datetime], size: int) -> dict[str, Any]:
    """A log of commits, or another, goes on, begins another life, or was read again since."""
    return {
        "cluster": source.choice(CLUSTERS),
        "topic": source.choice(("t", "__consumer_offsets", "__consumer_offsets")),
        "partition": source.randrange(len(GROUPS)),
        "topic_id": "id",
        "leader_epoch": source.randrange(9),
        "begins_at": source.randrange(size),
        "reason": source.choice(("TOPIC_RECREATED", "LOG_TRUNCATED", "LOG_TRUNCATED", "READ_AGAIN", None)),
        "noticed_at": next_time(),
    }


def _status(source: random.Random, next_time: Callable[[], datetime]) -> dict[str, Any]:
    status = source.choice(("InSync", "Mirroring", "Behind", "Stalled", "Withheld", "TargetActive"))
    numbers = [column.name for column in SYNC_STATUS.columns if column.type == "bigint"]
    row = {name: _or_none(source, source.choice((0, 1, 50, 900_000))) for name in numbers}
    reason = source.choice([state.name for state in State if state.is_withheld]) if status == "Withheld" else None
    row |= _key(source) | _pair(source) | {"status": status, "reason": reason, "reported_at": BEGINS + LASTS}
    return row | {"stream": row["topic"], "source_committed_at": _or_none(source, next_time())}
