"""The report as one JSON document, for scripts."""

from __future__ import annotations

import json
from collections.abc import Mapping
from datetime import datetime, timezone
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from offset_sync.status.health import Problem, find_notes, find_problems
from offset_sync.status.report import Report
from offset_sync.status.rollup import GROUP, PAIR, newest_drift, rank_statuses, roll_up
from offset_sync.status.verdict import DEFAULT_LIMITS, STATUS_WORDS, Limits

_DRIFT = ("partitions", "drift", "change", "windowed_change", "is_converged")
_INNER = ("rank", "is_skipping")


def to_json(report: Report, limits: Limits = DEFAULT_LIMITS) -> str:
    """Return ``{reported_at, healthy, problems, notes, pairs, groups, partitions}``, each list worst first.

    A partition has the columns of sync_status and ``skipped``; a group and a pair those of ``rollup.roll_up`` with
    the counts by word as ``statuses`` and the newest ``drift``, null where there is none. Times are ISO 8601 in UTC.
    Keys and their order are the same in every report; names are exactly Kafka's. ASCII, one line.
    """
    status, drift = report.status, report.drift
    problems = find_problems(status, drift, limits)
    drifts = {tuple(row[name] for name in GROUP): row for row in newest_drift(drift).to_pylist()}
    document = {
        "reported_at": _iso(report.reported_at),
        "healthy": not problems,
        "problems": [_problem(problem) for problem in problems],
        "notes": [*find_notes(status, limits), *report.notes],
        "pairs": [_rolled(row, drifts) for row in roll_up(status, PAIR).to_pylist()],
        "groups": [_rolled(row, drifts) for row in roll_up(status, GROUP).to_pylist()],
        "partitions": _partitions(rank_statuses(status)),
    }
    return json.dumps(document)


def _problem(problem: Problem) -> dict[str, str | None]:
    return {"status": problem.status.word if problem.status is not None else None, "text": problem.text}


def _rolled(row: Mapping[str, Any], drifts: Mapping[tuple[Any, ...], Mapping[str, Any]]) -> dict[str, Any]:
    found = drifts.get((row["source_cluster"], row["target_cluster"], row.get("group_id")))
    plain = {name: value for name, value in row.items() if name not in (*_INNER, *STATUS_WORDS)}
    drift = None if found is None else {name: found[name] for name in _DRIFT}
    return {**plain, "statuses": {word: row[word] for word in STATUS_WORDS}, "drift": drift}


def _partitions(ranked: pa.Table) -> list[dict[str, Any]]:
    for name in ("reported_at", "source_committed_at"):
        texts = pa.array([None if at is None else _iso(at) for at in ranked[name].to_pylist()], pa.string())
        ranked = ranked.set_column(ranked.schema.get_field_index(name), name, texts)
    rows: list[dict[str, Any]] = ranked.drop_columns(list(_INNER)).to_pylist()
    for name in ("mirror_lag_by_origin", "origin_share"):
        known = {text: json.loads(text) for text in pc.unique(ranked[name]).to_pylist() if text is not None}
        for row in rows:
            row[name] = known.get(row[name])
    return rows


def _iso(at: datetime) -> str:
    return at.astimezone(timezone.utc).isoformat(timespec="milliseconds")
