"""Random reports that look like real ones, with the names that an attacker would choose."""

from __future__ import annotations

import json
import random
from collections.abc import Sequence
from datetime import datetime, timedelta, timezone
from typing import Any

import pyarrow as pa

from offset_sync.tables.catalog import SYNC_DRIFT, SYNC_STATUS

REPORTED_AT = datetime(2026, 3, 1, 3, 12, 7, tzinfo=timezone.utc)
HOSTILE_NAMES = (
    "<script>document.title='pwned'</script>",
    "</script><script>document.title='pwned'</script>",
    "<img src=x onerror=\"document.title='pwned'\">",
    "\"'`><svg onload=document.title='pwned'>",
    "<!--<script>",
    "]]>",
    "&lt;b&gt;&amp;",
    "{{title}}@@data@@${x}",
    "right\u202eto-left",
    "line\u2028separator\u2029",
    "nul\x00bell\x07esc\x1b[31mred\x1b[0m",
    "a\nb\r\tc",
    "[red]markup[/red][link=http://x.invalid]x[/link]",
    "\U0001f525 emoji \U0001f469\u200d\U0001f4bb",
    "back\\slash",
    "",
    " ",
    "--",
    "javascript:document.title='pwned'",
    "x" * 249,
    "長い名前" * 60,
    "__proto__",
    "constructor",
)
WITHHELD = ("TOPIC_RECREATED", "NOT_INDEXED", "CLUSTER_UNREACHABLE")
_WEIGHTS = {"InSync": 70, "Mirroring": 14, "TargetActive": 3, "Behind": 8, "Stalled": 3, "Withheld": 2}


def random_status(
    chance: random.Random,
    groups: Sequence[str],
    topics: Sequence[str] = ("orders", "payments", "audit.log"),
    partitions: int = 4,
    pairs: Sequence[tuple[str, str]] = (("dc1", "dc2"),),
    weights: dict[str, int] | None = None,
) -> list[dict[str, Any]]:
    """Return a row per group, partition of one or two topics, and pair; a group mostly has one status throughout."""
    logs = {(topic, n): _log(chance) for topic in topics for n in range(partitions)}
    rows = []
    kinds = weights or _WEIGHTS
    for group in groups:
        kind = chance.choices(list(kinds), list(kinds.values()))[0]
        for topic in chance.sample(list(topics), min(len(topics), chance.randint(1, 2))):
            for source, target in pairs:
                for n in range(partitions):
                    is_possible = kind != "Mirroring" or logs[topic, n]["mirror_lag"] > 0
                    status = kind if is_possible and chance.random() < 0.7 else "InSync"
                    key = {"source_cluster": source, "target_cluster": target, "group_id": group, "topic": topic}
                    row = {**logs[topic, n], **key, "partition": n, **_row(chance, status, logs[topic, n])}
                    rows.append(dict.fromkeys(SYNC_STATUS.names) | row)
    return rows


def _log(chance: random.Random) -> dict[str, Any]:
    lag = chance.choice([0, 0, chance.randint(1, 900)])
    share = round(chance.choice([1.0, 0.5, 0.8, chance.random()]), 3)
    return {
        "reported_at": REPORTED_AT,
        "source_end": chance.randint(10_000, 10**9),
        "target_end": chance.randint(10_000, 10**9),
        "mirror_lag": lag,
        "mirror_lag_ms": chance.randint(50, 9_000) if lag else 0,
        "origin_share": json.dumps({"dc1": share, "dc2": round(1 - share, 3)}),
    }


def _row(chance: random.Random, status: str, log: dict[str, Any]) -> dict[str, Any]:
    lag = chance.choice([0, chance.randint(0, 5_000)])
    withheld, behind = status == "Withheld", status in ("Behind", "Stalled")
    wanted = max(log["target_end"] - lag, 0)
    missing = chance.randint(1, 800) if behind else 0
    not_mirrored = min(log["mirror_lag"], chance.randint(1, 60)) if status == "Mirroring" else 0
    stale = chance.randint(70_000, 4_000_000) if status == "Stalled" else chance.randint(300, 40_000) if behind else 0
    reason = chance.choice(WITHHELD) if withheld else None if status == "InSync" else _REASONS[status]
    return {
        "status": status,
        "reason": reason,
        "state": reason if withheld else chance.choice(["EXACT"] * 5 + ["AT_FRONTIER"]),
        "source_offset": log["source_end"] - min(lag, log["source_end"]),
        "source_committed_at": REPORTED_AT - timedelta(milliseconds=chance.randint(200, 90_000)),
        "wanted_offset": None if withheld else wanted,
        "target_offset": None if withheld and chance.random() < 0.5 else max(wanted - missing, 0),
        "source_lag": min(lag, log["source_end"]),
        "target_lag": lag + missing,
        "duplicates": None if withheld else missing,
        "duplicates_at_most": None if withheld else missing + (chance.randint(0, 9) if behind else 0),
        "lost": not_mirrored,
        "not_mirrored": not_mirrored,
        "staleness_ms": stale,
        "is_target_active": status == "TargetActive",
    }


_REASONS = {
    "Mirroring": "records at the source are not at the target yet",
    "Behind": "the target does not have the newest translation yet",
    "Stalled": "no translation for longer than status.stalled_after",
    "TargetActive": "the group has members at the target",
}


def random_drift(
    chance: random.Random,
    groups: Sequence[str],
    pairs: Sequence[tuple[str, str]] = (("dc1", "dc2"),),
    reports: int = 60,
    every: timedelta = timedelta(seconds=30),
    broken: Sequence[str | None] = (),
    window: int = 20,
) -> pa.Table:
    """Return a series per group and per pair (group null); those of *broken* grow apart in the last third."""
    rows = []
    for source, target in pairs:
        for group in (None, *groups):
            key: dict[str, Any] = dict(zip(("source_cluster", "target_cluster", "group_id"), (source, target, group)))
            drift, changes = 0, [0]
            f = chance.randint(10**6, 10**9)
            for report in range(reports):
                grows = group in broken and report > reports * 2 // 3
                now = chance.randint(-40, 40) + (600 * (report - reports * 2 // 3) if grows else 0)
                changes.append(now - drift if report else 0)
                drift, summed = now, sum(changes[-window:])
                f += chance.randint(0, 900)
                row = key | {"partitions": 8, "at": REPORTED_AT - every * (reports - 1 - report), "change": changes[-1]}
                row |= {"source_offsets": f, "target_offsets": f - drift, "drift": drift}
                rows.append(row | {"windowed_change": summed, "is_converged": abs(summed) <= 1_000})
    return pa.Table.from_pylist(rows, SYNC_DRIFT.arrow_schema)
