"""The status page: one HTML file with all its data and scripts, which loads nothing and blocks all else.

Its data is plain JSON: a table is its columns by name, each a list. Everything is rolled up here, not in the page.
"""

from __future__ import annotations

import base64
import hashlib
import json
import os
import re
import tempfile
from collections import Counter, defaultdict
from collections.abc import Collection, Mapping, Sequence
from datetime import datetime, timedelta, timezone
from functools import cache
from html import escape
from importlib.resources import files
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from offset_sync.config.duration import to_ms as duration_ms
from offset_sync.model.text import visible
from offset_sync.status.assessment import STALLED_AFTER, STATUS_WORDS
from offset_sync.status.health import Summary, summarize
from offset_sync.status.report import (
    GROUP,
    PAIR,
    TOPIC,
    Report,
    Row,
    newest_drift,
    roll_up,
)

SCRIPTS = ("show", "places", "overview", "rows", "details", "curves", "start")
"""The page's own scripts, in the order in which they are put into one function."""
STALE_AFTER = timedelta(minutes=2)
CURVES_OF_GROUPS = 24
"""How many groups have a curve: those whose offsets drift most."""
_COSTS = ("lost", "skipped", "not_mirrored", "duplicates", "duplicates_at_most", "listed", "source_lag")
_MIRROR = ("mirror_lag", "staleness_ms", "mirror_lag_ms")
_ROLLED = ("status", "reason", "move", *STATUS_WORDS, "partitions", "unknown", *_COSTS, *_MIRROR)
_DRIFT = ("windowed_change", "is_converged")
_OFFSETS = ("source_offset", "target_offset", "wanted_offset", "source_lag")
_PARTITION_COSTS = ("duplicates", "duplicates_at_most", "listed", "lost", "staleness_ms", "age_ms")
_PARTITION = ("group", "topic", "target_topic", "partition", "status", "reason", "state", *_OFFSETS, *_PARTITION_COSTS)
_SHAPE = ("origins", "target_topic")
_TINY_SHARE = 0.0005
_PLACEHOLDER = re.compile(r"@@([a-z_]+)@@")
_EPOCH = datetime(1970, 1, 1, tzinfo=timezone.utc)


def render_page(report: Report, stalled_after: timedelta = STALLED_AFTER, reload_every: timedelta = timedelta()) -> str:
    """Return the page, in UTF-8 without a carriage return.

    A Content-Security-Policy allows only its own scripts, by their hashes, and no connection. Every *reload_every*,
    unless it is 0, the page loads a newer one by itself and keeps its view.
    """
    summary = summarize(report, stalled_after)
    script, plotly = _script(), _file("plotly-basic.min.js")
    parts = {
        "policy": f"default-src 'none'; base-uri 'none'; form-action 'none'; img-src data:; "
        f"style-src 'unsafe-inline'; script-src {_source(script)} {_source(plotly)}",
        "style": _file("page.css"),
        "health": "bad" if summary.problems else "good",
        "verdict": summary.verdict,
        "reported_at": f"{report.reported_at.astimezone(timezone.utc):%Y-%m-%d %H:%M:%S} UTC",
        "problems": "".join(f"<li>{escape(each)}</li>" for each in summary.lines),
        "content": to_script_json(page_content(summary, reload_every)),
        "script": script,
        "plotly": plotly,
    }
    # Inserted text is not searched again.
    return _PLACEHOLDER.sub(lambda found: parts[found[1]], _file("page.html"))


def write_page(path: str | Path, html: str) -> None:
    """Put *html* at the local *path* in one step: a reader gets the old page or the new one, never a part.

    Its folder is created if needed. Raise OSError if it cannot be written; then the old page is kept.
    """
    target = Path(path)
    target.parent.mkdir(parents=True, exist_ok=True)
    handle, unfinished = tempfile.mkstemp(dir=target.parent, prefix=f".{target.name}.", suffix=".unfinished")
    try:
        with os.fdopen(handle, "w", encoding="utf-8", newline="\n") as stream:
            stream.write(html)
            stream.flush()
            os.fsync(stream.fileno())
        os.chmod(unfinished, 0o644)
        os.replace(unfinished, target)
    except BaseException:
        os.unlink(unfinished)
        raise


def page_content(summary: Summary, reload_every: timedelta) -> dict[str, Any]:
    """Return the document that ``page_files/*.js`` read.

    The column ``group`` of ``partitions`` is the row of their group in ``groups``; those of a group are in order of
    topic and partition. ``problems`` has the status of each problem, null for none.
    """
    report, status = summary.report, summary.report.status
    return {
        "reported_at": to_ms(report.reported_at),
        "stale_after_ms": duration_ms(STALE_AFTER),
        "reload_ms": duration_ms(reload_every),
        "problems": [each.status for each in summary.problems],
        "pairs": to_columns(_with_drift(summary.pairs), (*PAIR, *_ROLLED, "topics", "groups", *_DRIFT)),
        "groups": to_columns(_with_drift(summary.groups), (*GROUP, *_ROLLED, "topics", *_DRIFT)),
        "topics": to_columns(with_shapes(roll_up(status, TOPIC), status), (*TOPIC, *_ROLLED, *_SHAPE)),
        "partitions": _partitions(status, summary.groups, report.reported_at),
        "drift": drift_curves(report.drift),
    }


def _with_drift(rows: Sequence[Row]) -> list[Row]:
    return [{**row, **{name: row["drift"] and row["drift"][name] for name in _DRIFT}} for row in rows]


def to_columns(rows: Sequence[Row], names: Collection[str]) -> dict[str, list[Any]]:
    """Return the columns *names* of *rows*; text is made :func:`visible`."""
    return {name: [_shown(row[name]) for row in rows] for name in names}


def _shown(value: Any) -> Any:
    return visible(value) if isinstance(value, str) else value


def _partitions(status: pa.Table, groups: Sequence[Row], reported_at: datetime) -> dict[str, list[Any]]:
    """Return columns of *status*, with the number of each row's ``group`` and the ``age_ms`` of its commit."""
    committed = pc.cast(pc.cast(status["source_committed_at"], pa.timestamp("ms", "UTC"), safe=False), pa.int64())
    rows = status.append_column("age_ms", pc.subtract(to_ms(reported_at), committed))
    rows = rows.select([*GROUP, *(name for name in _PARTITION if name not in (*GROUP, "group"))])
    columns = rows.sort_by([("topic", "ascending"), ("partition", "ascending")]).to_pydict()
    numbers = {tuple(row[name] for name in GROUP): number for number, row in enumerate(groups)}
    columns["group"] = [numbers[key] for key in zip(*(columns[name] for name in GROUP), strict=True)]
    return {name: list(map(_shown, columns[name])) for name in _PARTITION}


def with_shapes(topics: pa.Table, status: pa.Table) -> list[Row]:
    """Return the rows of *topics*, rolled up by TOPIC from *status*, with two columns of text for people.

    ``origins``: the mean share of each origin over the partitions that report it, ``dc1 52.0 %, dc2 48.0 %``.
    ``target_topic``: its name at the target. Each is null if empty.
    """
    firsts = [(name, "first") for name in ("origin_share", "target_topic")]
    logs: dict[tuple[str, ...], list[Row]] = defaultdict(list)
    for row in status.group_by([*TOPIC, "partition"], use_threads=False).aggregate(firsts).to_pylist():
        logs[tuple(row[name] for name in TOPIC)].append(row)
    rows: list[Row] = topics.to_pylist()
    for row in rows:
        mine = logs[tuple(row[name] for name in TOPIC)]
        row["target_topic"] = mine[0]["target_topic_first"]
        row["origins"] = _shares_text([json.loads(text) for each in mine if (text := each["origin_share_first"])])
    return rows


def _shares_text(shares: Sequence[Mapping[str, float]]) -> str | None:
    totals: Counter[str] = Counter()
    for share in shares:
        totals.update(share)
    means = {name: total / len(shares) for name, total in totals.items()}
    largest = sorted(means.items(), key=lambda item: (-item[1], item[0]))
    return ", ".join(f"{name} {100 * mean:.1f} %" for name, mean in largest if mean > _TINY_SHARE) or None


def drift_curves(drift: pa.Table) -> list[dict[str, Any]]:
    """Return one series per pair (``group`` null), and one for each of the groups that drift most.

    A series is ``{source, target, group, at, change, windowed}``, named as in the tables; the last three are lists,
    times in ms.
    """
    newest = newest_drift(drift)
    newest = newest.filter(pc.is_valid(newest["group_id"])).to_pylist()
    newest.sort(key=lambda row: (bool(row["is_converged"]), -abs(row["windowed_change"] or 0)))
    shown = [tuple(row[name] for name in GROUP) for row in newest[:CURVES_OF_GROUPS]]
    series: dict[tuple[Any, ...], list[Row]] = {}
    for row in drift.sort_by("at").to_pylist():
        series.setdefault(tuple(row[name] for name in GROUP), []).append(row)
    pairs = sorted(key for key in series if key[-1] is None)
    return [_curve(key, series[key]) for key in (*pairs, *shown)]


def _curve(key: tuple[Any, ...], rows: Sequence[Row]) -> dict[str, Any]:
    source, target, group = map(_shown, key)
    return {
        "source": source,
        "target": target,
        "group": group,
        "at": [to_ms(row["at"]) for row in rows],
        "change": [row["change"] for row in rows],
        "windowed": [row["windowed_change"] for row in rows],
    }


def to_ms(at: datetime) -> int:
    """Return *at*, which is zone-aware, as milliseconds since 1970."""
    return (at - _EPOCH) // timedelta(milliseconds=1)


def to_script_json(value: Any) -> str:
    """Return *value* as JSON that is safe inside a script element, whatever its strings: ASCII without < > &."""
    text = json.dumps(value, separators=(",", ":"), ensure_ascii=True, allow_nan=False)
    return text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")


@cache
def _file(name: str) -> str:
    return (files("offset_sync.status") / "page_files" / name).read_text(encoding="utf-8")


@cache
def _script() -> str:
    parts = "\n".join(_file(f"{name}.js") for name in SCRIPTS)
    return f'"use strict";\n(() => {{\n{parts}\n}})();\n'


def _source(script: str) -> str:
    return f"'sha256-{base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()}'"
