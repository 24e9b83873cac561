"""The status page: one HTML file with all its data and scripts, which loads nothing and blocks all else.

Its data is plain JSON: a table is its columns by name, each a list. Everything is rolled up here, not in the page.
"""

from __future__ import annotations

import base64
import hashlib
import json
import re
from collections.abc import Collection, Iterable, Mapping
from datetime import timedelta, timezone
from functools import cache
from html import escape
from importlib.resources import files
from itertools import groupby
from operator import itemgetter
from typing import Any

import pyarrow.compute as pc

from offset_sync.config.duration import to_ms
from offset_sync.model.text import visible
from offset_sync.state.cluster_clock import epoch_ms
from offset_sync.status.assessment import STATUS_WORDS, Row
from offset_sync.status.report import GROUP, PAIR, TOPIC, Report
from offset_sync.status.terminal import verdict_of

SCRIPTS = ("show", "places", "overview", "rows", "details", "curves", "start")
"""The page's own scripts, in the order in which they are put into one function."""
STALE_AFTER = timedelta(minutes=2)
_COSTS = ("lost", "skipped", "not_mirrored", "duplicates", "duplicates_at_most", "listed", "source_lag")
_MIRROR = ("mirror_lag", "staleness_ms", "mirror_lag_ms")
_ROLLED = ("status", "reason", "move", *STATUS_WORDS, "partitions", "unknown", *_COSTS, *_MIRROR)
_DRIFT = ("windowed_change", "is_converged")
_TABLES = {
    "pairs": (*PAIR, *_ROLLED, "topics", "groups", *_DRIFT),
    "groups": (*GROUP, *_ROLLED, "topics", *_DRIFT),
    "topics": (*TOPIC, *_ROLLED, "origins", "target_topic"),
}
_OFFSETS = ("source_offset", "target_offset", "wanted_offset", "source_lag")
_PARTITION_COSTS = ("duplicates", "duplicates_at_most", "listed", "lost", "staleness_ms")
_PARTITION = ("topic", "target_topic", "partition", "status", "reason", "state", *_OFFSETS, *_PARTITION_COSTS)
_CURVES = ("change", "windowed_change")
_COMMITTED_AT = itemgetter("source_committed_at")
_TINY_SHARE = 0.0005
_PLACEHOLDER = re.compile(r"@@([a-z_]+)@@")


def render_page(report: Report, reload_every: timedelta = timedelta()) -> str:
    """Return the page, in UTF-8 without a carriage return.

    A Content-Security-Policy allows only its own scripts, by their hashes, and no connection. Every *reload_every*,
    unless it is 0, the page loads a newer one by itself and keeps its view.
    """
    found = report.document
    lines = [*(problem["text"] for problem in found["problems"]), *found["notes"]]
    script, plotly = _script(), _file("plotly-basic.min.js")
    parts = {
        "policy": f"default-src 'none'; base-uri 'none'; form-action 'none'; img-src data:; "
        f"style-src 'unsafe-inline'; script-src {_source(script)} {_source(plotly)}",
        "style": _file("page.css"),
        "health": "good" if found["healthy"] else "bad",
        "verdict": verdict_of(report),
        "reported_at": f"{report.reported_at.astimezone(timezone.utc):%Y-%m-%d %H:%M:%S} UTC",
        "problems": "".join(f"<li>{escape(each)}</li>" for each in lines),
        "content": to_script_json(page_content(report, reload_every)),
        "script": script,
        "plotly": plotly,
    }
    # Inserted text is not searched again.
    return _PLACEHOLDER.sub(lambda found: parts[found[1]], _file("page.html"))


def page_content(report: Report, reload_every: timedelta) -> dict[str, Any]:
    """Return the document of *report* as ``page_files/*.js`` read it: tables as columns, text made :func:`visible`.

    The column ``group`` of ``partitions`` is the row of their group in ``groups``; those of a group are in order of
    topic and partition. ``problems`` has the status of each problem, null for none.
    """
    found = report.document
    numbers = {tuple(row[name] for name in GROUP): number for number, row in enumerate(found["groups"])}
    partitions = sorted(found["partitions"], key=itemgetter("topic", "partition"))
    tables = {name: to_columns(map(_flat, found[name]), columns) for name, columns in _TABLES.items()}
    tables["partitions"] = to_columns(partitions, _PARTITION) | {
        "group": [numbers[tuple(row[name] for name in GROUP)] for row in partitions],
        "age_ms": [at and epoch_ms(report.reported_at) - epoch_ms(at) for at in map(_COMMITTED_AT, partitions)],
    }
    return {
        "reported_at": epoch_ms(report.reported_at),
        "stale_after_ms": to_ms(STALE_AFTER),
        "reload_ms": to_ms(reload_every),
        "problems": [each["status"] for each in found["problems"]],
        **tables,
        "drift": drift_curves(report),
    }


def _flat(row: Row) -> Row:
    drift = row.get("drift") or dict.fromkeys(_DRIFT)
    return {**drift, **row, **row["statuses"], "origins": _shares_text(row.get("origin_share") or {})}


def to_columns(rows: Iterable[Row], names: Collection[str]) -> dict[str, list[Any]]:
    """Return the columns *names* of *rows*; text is made :func:`visible`."""
    found = list(rows)
    return {name: [_shown(row[name]) for row in found] for name in names}


def _shown(value: Any) -> Any:
    return visible(value) if isinstance(value, str) else value


def _shares_text(shares: Mapping[str, float]) -> str | None:
    largest = sorted(shares.items(), key=lambda item: (-item[1], item[0]))
    return ", ".join(f"{name} {100 * share:.1f} %" for name, share in largest if share > _TINY_SHARE) or None


def drift_curves(report: Report) -> list[dict[str, Any]]:
    """Return one series per pair: source, target, and lists ``at`` (ms), ``change`` and ``windowed_change``."""
    of_pairs = report.drift.filter(pc.is_null(report.drift["group_id"]))
    rows = of_pairs.sort_by([(name, "ascending") for name in (*PAIR, "at")]).to_pylist()
    curves = []
    for (source, target), some in groupby(rows, itemgetter(*PAIR)):
        columns = to_columns(some, ("at", *_CURVES))
        columns["at"] = [*map(epoch_ms, columns["at"])]
        curves.append({"source": source, "target": target, **columns})
    return curves


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
