"""The tables of docs/benchmarks.md as Markdown, from the rows of results."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any

Row = Mapping[str, Any]
Rows = Sequence[Row]
_OURS = ("exact", "fingerprint")
_SETUPS = {
    "default": "default intervals (60 s)",
    "fastest": "fastest intervals (1 s)",
    "names-jar": "default names, the jar",
    "names-contents": "default names, no headers",
}
_LIKE_ANOTHER = (
    *("MM2, offset.lag.max 0", "50:50, lagging by 10", "idle, 50:50"),
    "100:0, equal timestamps, late within the grace",
)
"""Rules and workloads whose rows say what others say."""
_BETWEEN = "middle"
"""A group whose costs are between those of the others."""
_UNITS = {"mib": "MiB", "cpu": "CPU"}


def table(head: Sequence[str], lines: Sequence[Sequence[str]]) -> str:
    """Return a Markdown table, all but the first column to the right."""
    rule = ["---", *["---:"] * (len(head) - 1)]
    return "\n".join(f"| {' | '.join(line)} |" for line in (head, rule, *lines)) + "\n"


def rows_table(rows: Rows) -> str:
    """Return the rows as they are but for exit codes, with the names of the columns as words."""
    names = [name for name in dict.fromkeys(name for row in rows for name in row) if name != "exit"]
    return table([_title(name) for name in names], [[_text(row.get(name)) for name in names] for row in rows])


def turned_table(rows: Rows) -> str:
    """Return a line for each column of *rows*, and a column for each row."""
    first, *names = dict.fromkeys(name for row in rows for name in row)
    head = [_title(first), *(_text(row[first]) for row in rows)]
    return table(head, [[_title(name), *(_text(row.get(name)) for row in rows)] for name in names])


def accuracy_table(rows: Rows) -> str:
    """Return by workload what the answers lose and repeat.

    A cell has the percentage of answers that skip an unread record, of commits that got an answer the percentage if it
    is not 100, and the records repeated per answer: mean (worst).
    """

    def cell(row: Row) -> str:
        answered = f"{100 * row['answered']:.3g}"
        lost = f"{100 * row['with_loss']:.3g}" + (f" of {answered}" if answered != "100" else "")
        repeated = f"{row['repeats_mean']:,.1f} ({row['repeats_worst']:,})" if row["repeats_worst"] else "0"
        return f"{lost}; {repeated}"

    return _by_workload(_shown(rows), cell)


def _shown(rows: Rows) -> Rows:
    """Return the rows of strategies that differ, without the rules that we do not use."""
    differing = [row for row in rows if not {row["strategy"], row["workload"]} & {*_LIKE_ANOTHER}]
    return [row for row in differing if "unchecked" not in row["strategy"]]


def _by_workload(rows: Rows, cell: Callable[[Row], str]) -> str:
    strategies = list(dict.fromkeys(row["strategy"] for row in rows))
    found = {(row["workload"], row["strategy"]): cell(row) if row["answered"] else "–" for row in rows}
    workloads = dict.fromkeys(row["workload"] for row in rows)
    lines = [[each, *(found.get((each, name), "") for name in strategies)] for each in workloads]
    return table(["workload", *(_name(each) for each in strategies)], lines)


def live_table(rows: Rows) -> str:
    """Return by setup and group what each way costs under load and after it, and below it what was lost."""
    ways = ("MirrorMaker 2", "ours")
    head = ["setup", "group", *(f"{way}: {what}" for way in ways for what in ("repeats", "stale s", "after"))]
    lines = []
    for run, group in dict.fromkeys((row["run"], row["group"]) for row in rows if row["group"] != _BETWEEN):
        mine = [row for row in rows if (row["run"], row["group"]) == (run, group)]
        cells = (_costs([row for row in mine if _way(row) == way]) for way in ways)
        lines.append([_SETUPS.get(run, run), group, *(each for way in cells for each in way)])
    return f"{table(head, lines)}\n{_lost(rows)}"


def _way(row: Row) -> str:
    return "ours" if row["way"] in _OURS else str(row["way"])


def _costs(rows: Rows) -> list[str]:
    """Return repeats and staleness under load, and the repeats after it; a group without a position has no repeats."""
    if not rows:
        return [""] * 3
    under = [row for row in rows if row["instant"] <= 0]
    none = ", no position" if any(row["answered"] < 1 for row in under) else ""
    repeats = span([row["read_again"] for row in under], lambda count: f"{count:,}")
    stale = span([row["stale_s"] for row in under], lambda seconds: f"{seconds:,.1f}")
    after = [f"{row['read_again']:,}" for row in rows if row["instant"] > 0]
    return [repeats + none, stale, after[-1] if after else ""]


def _lost(rows: Rows) -> str:
    ways = dict.fromkeys(row["way"] for row in rows)
    lost = (f"{_name(way)} {sum(row['lost'] for row in rows if row['way'] == way):,}" for way in ways)
    return f"Records lost, at all instants, by all groups:\n{', '.join(lost)}.\n"


def span(values: Sequence[Any], text: Callable[[Any], str]) -> str:
    """Return the least and the greatest of *values*."""
    low, high = text(min(values)), text(max(values))
    return low if low == high else f"{low} to {high}"


def _name(way: str) -> str:
    return f"**{way}**" if way in _OURS else way


def _title(name: str) -> str:
    words = name.replace("_per_", "/").replace("index_records_", "index ").replace("sync_offsets_", "sync ")
    return re.sub(r"[a-z]+", lambda word: _UNITS.get(word[0], word[0]), words.replace("_", " "))


def _text(value: object) -> str:
    return "" if value is None else f"{value:,}" if isinstance(value, (int, float)) else str(value)
