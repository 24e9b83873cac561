"""The convergence curves, thinned so that every peak stays and the page stays small."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta, timezone
from itertools import pairwise
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from offset_sync.model.text import visible
from offset_sync.status.render.page.column_encoding import exact
from offset_sync.status.rollup import GROUP, PAIR, newest_drift

POINTS = 600
"""At most this many points in the curve of a pair, and a quarter of it in that of a group."""
GROUPS = 24
"""This many groups have a curve: those whose offsets drift most."""
_EPOCH = datetime(1970, 1, 1, tzinfo=timezone.utc)


def pack_drift(drift: pa.Table, points: int = POINTS, groups: int = GROUPS) -> list[dict[str, Any]]:
    """Return one series per pair (``group`` null), and one for each of the *groups* that drift most.

    A series is ``{source, target, group, at, change, windowed}``, named as in the tables; the last three are lists,
    times in ms.
    """
    pairs = drift.filter(pc.is_null(drift["group_id"]))
    found = _series(pairs, points)
    newest = newest_drift(drift)
    newest = newest.filter(pc.is_valid(newest["group_id"])).to_pylist()
    newest.sort(key=lambda row: (bool(row["is_converged"]), -abs(row["windowed_change"] or 0)))
    for row in newest[:groups]:
        is_it = pc.equal(drift["group_id"], row["group_id"])
        for name in PAIR:
            is_it = pc.and_(is_it, pc.equal(drift[name], row[name]))
        found += _series(drift.filter(is_it), points // 4)
    return found


def _series(rows: pa.Table, points: int) -> list[dict[str, Any]]:
    by_key: dict[tuple[Any, ...], list[Mapping[str, Any]]] = {}
    for row in rows.sort_by("at").to_pylist():
        by_key.setdefault(tuple(row[name] for name in GROUP), []).append(row)
    return [_pack(key, thin(found, points)) for key, found in sorted(by_key.items(), key=str)]


def _pack(key: tuple[Any, ...], rows: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    source, target, group = (None if name is None else visible(name) for name in key)
    return {
        "source": source,
        "target": target,
        "group": group,
        "at": [to_ms(row["at"]) for row in rows],
        "change": [exact(row["change"]) for row in rows],
        "windowed": [exact(row["windowed_change"]) for row in rows],
    }


def thin(rows: Sequence[Mapping[str, Any]], points: int) -> Sequence[Mapping[str, Any]]:
    """Return at most *points* of *rows*, in order: of each stretch those with the greatest change and windowed sum.

    The last row is always kept: the page says it in words.
    """
    if len(rows) <= points:
        return rows
    size = {name: np.array([abs(row[name] or 0) for row in rows]) for name in ("change", "windowed_change")}
    borders = np.linspace(0, len(rows) - 1, max((points - 1) // 2, 1) + 1).astype(int)
    kept = {len(rows) - 1}
    for start, end in pairwise(borders):
        kept |= {int(start + np.argmax(values[start:end])) for values in size.values()}
    return [rows[row] for row in sorted(kept)]


def to_ms(at: datetime) -> int:
    """Return *at*, which is aware of its zone, as milliseconds since 1970."""
    return (at - _EPOCH) // timedelta(milliseconds=1)
