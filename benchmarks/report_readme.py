"""The table in README.md against MirrorMaker 2 and Replicator, from the results of two benchmarks."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Any

from report_tables import Row, span, table
from results import RESULTS

README = RESULTS.parent.parent / "README.md"
_RULES = ("exact", "MM2, offset.lag.max 100", "Replicator")
_ONE_SIDE = ("100:0, increasing timestamps", "100:0, equal timestamps", "100:0, disordered timestamps")
_BOTH_SIDES = (
    "50:50, light crossing",
    "50:50, heavy crossing",
    "50:50, bursts",
    "50:50, lagging by 10",
    "50:50, lagging by 1,000",
    "mesh of three",
)
_FAR_BEHIND = ("100:0, lagging by 100,000",)


def with_comparison(page: str, accuracy: Sequence[Row], live: Sequence[Row]) -> str:
    """Return *page* with the table between its two marks."""
    return with_part(page, "comparison", comparison_table(accuracy, live))


def with_part(page: str, name: str, text: str) -> str:
    """Return *page* with *text* between the two marks of *name*; ValueError if they are missing."""
    part = re.compile(f"(<!-- begin {name}:[^>]*-->\n).*?(<!-- end {name} -->)", re.DOTALL)
    page, count = part.subn(lambda found: f"{found[1]}{text}{found[2]}", page)
    if count != 1:
        raise ValueError(f"{count} parts between the marks of {name!r}")
    return page


def comparison_table(accuracy: Sequence[Row], live: Sequence[Row]) -> str:
    """Return the table as Markdown; a range is from the least to the greatest row."""
    lines = [
        ("**lost**: moves that skip a record, one side writes", *_by_rule(accuracy, _ONE_SIDE, "with_loss", _shares)),
        ("**lost**: the same, both sides write", *_by_rule(accuracy, _BOTH_SIDES, "with_loss", _shares)),
        ("**repeated**, mean: one side writes", *_by_rule(accuracy, _ONE_SIDE, "repeats_mean", _means)),
        ("**repeated**, mean: both sides write", *_by_rule(accuracy, _BOTH_SIDES, "repeats_mean", _means)),
        ("**repeated**, mean: group far behind", *_by_rule(accuracy, _FAR_BEHIND, "repeats_mean", _means)),
        ("**repeated**, live: group at the tail", *_live(live, "tail", "read_again", _counts)),
        ("**repeated**, live: group in the middle", *_live(live, "middle", "read_again", _counts)),
        ("**repeated**, live: lagging group", *_live(live, "lagging", "read_again", _counts)),
        ("**stale**, live: group at the tail", *_live(live, "tail", "stale_s", _seconds)),
        ("**stale**, live: lagging group", *_live(live, "lagging", "stale_s", _seconds)),
    ]
    return table(("", "Offset Sync", "MirrorMaker 2", "Replicator"), lines)


def _by_rule(rows: Sequence[Row], workloads: Sequence[str], column: str, text: Callable[[list[Any]], str]) -> list[str]:
    """Return the text of a column for each rule, over the *workloads*."""
    found = {(row["workload"], row["strategy"]): row[column] for row in rows}
    return [text([found[workload, rule] for workload in workloads]) for rule in _RULES]


def _live(rows: Sequence[Row], group: str, column: str, text: Callable[[list[Any]], str]) -> list[str]:
    """Return the text of a column for ours and MirrorMaker 2, under load; Replicator was not run."""
    mine = [row for row in rows if row["run"] == "default" and row["group"] == group and row["instant"] <= 0]
    return [*(text([row[column] for row in mine if row["way"] == way]) for way in ("exact", "MirrorMaker 2")), "–"]


def _shares(values: list[float]) -> str:
    return f"{span(values, lambda share: f'{100 * share:.3g}')} %" if any(values) else "none"


def _means(values: list[float]) -> str:
    return span(values, lambda mean: f"{mean:,.1f}") if any(values) else "0"


def _counts(values: list[int]) -> str:
    return span(values, lambda count: f"{count:,}")


def _seconds(values: list[float]) -> str:
    return f"{span(values, lambda seconds: f'{seconds:,.1f}')} s"
