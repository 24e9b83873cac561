"""The report in the terminal: is it healthy, every pair, then the groups, worst first. Plain text where piped."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timezone
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
from rich import box
from rich.console import Console
from rich.table import Table
from rich.text import Text

from offset_sync.status.format import to_count, to_duration, to_range, visible
from offset_sync.status.health import Limits, find_problems
from offset_sync.status.rollup import AT_COST, GROUP, NO, NOW, PAIR, newest_drift, rank_statuses, roll_up

WIDE = 120
"""From this width on, tables have all their columns."""
SYMBOLS = {"Withheld": "⊘", "Stalled": "✖", "Behind": "▲", "TargetActive": "◆", "Mirroring": "⇄", "InSync": "✔"}
_STYLES = {"Withheld": "magenta", "Stalled": "red", "Behind": "yellow", "TargetActive": "blue", "InSync": "green"}
_MOVES = {NOW: Text("yes", "green"), AT_COST: Text("at cost", "yellow"), NO: Text("no", "red")}
_CAPTION = """\
lag      records from the group's commit to the end of the source's log
repeats  records it would read again if moved now; +: and more, nobody can tell
lost     unread records it would never see if moved now and the source is gone
move     yes: InSync throughout, nothing repeated or lost; at cost: as shown
         no: withheld, active at the target, or the cost is not known
drift    change of (source offsets - target offsets) over the window"""

Row = Mapping[str, Any]
Cell = Callable[[Row], Text]


@dataclass(frozen=True)
class _Column:
    title: str
    cell: Cell
    is_number: bool = False
    is_spared: bool = False  # where the terminal is narrow
    ratio: int | None = None


def render_table(
    status: pa.Table,
    drift: pa.Table,
    console: Console,
    *,
    reported_at: datetime,
    limits: Limits | None = None,
    most: int = 20,
    details: bool = False,
) -> None:
    """Print the report, at most *most* groups; with *details* also the partitions of each of these.

    Fits 80 columns and shows more in a wider terminal. Names are folded, never cut, and cannot bring markup or
    control characters. What is printed is not coloured unless *console* is a terminal.
    """
    problems = find_problems(status, drift, limits)
    verdict = Text("✖ Not healthy", "bold red") if problems else Text("✔ Healthy", "bold green")
    at = reported_at.astimezone(timezone.utc)
    _say(console, Text.assemble(verdict, f", reported at {at:%Y-%m-%d %H:%M:%S} UTC"))
    for problem in problems:
        _say(console, Text(f"  {problem.text}"))
    if status.num_rows:
        pairs, groups = roll_up(status, PAIR).to_pylist(), roll_up(status, GROUP)
        _print(console, "Pairs of clusters", _pair_columns(_drifts(drift)), pairs)
        shown = groups.slice(0, most).to_pylist()
        _print(console, "Groups, worst first", _group_columns(has_pair=len(pairs) > 1), shown)
        if groups.num_rows > most:
            _say(console, Text(f"… and {groups.num_rows - most:,} more groups", "dim"))
        if details:
            _print_details(console, rank_statuses(status), shown)
        _say(console, Text(f"\n{_CAPTION}", "dim"))


def _print_details(console: Console, ranked: pa.Table, groups: Sequence[Row]) -> None:
    for group in groups:
        is_here = pc.and_kleene(pa.scalar(True), pc.equal(ranked["group_id"], group["group_id"]))
        for name in PAIR:
            is_here = pc.and_(is_here, pc.equal(ranked[name], group[name]))
        title = f"{visible(group['group_id'])}, {_pair(group)}"
        _print(console, title, _PARTITION_COLUMNS, ranked.filter(is_here).to_pylist())


def _print(console: Console, title: str, columns: Sequence[_Column], rows: Sequence[Row]) -> None:
    used = [column for column in columns if console.width >= WIDE or not column.is_spared]
    table = Table(box=box.SIMPLE_HEAD, padding=(0, 1, 0, 0), pad_edge=False, show_edge=False)
    for column in used:
        justify = "right" if column.is_number else "left"
        is_name = column.ratio is not None
        table.add_column(column.title, justify=justify, no_wrap=not is_name, overflow="fold", ratio=column.ratio)  # type: ignore[arg-type]
    for row in rows:
        table.add_row(*(column.cell(row) for column in used))
    _say(console, Text(f"\n{title}", "bold"))
    console.print(table)


def _say(console: Console, text: Text) -> None:
    console.print(text, soft_wrap=False, overflow="fold")


def _drifts(drift: pa.Table) -> dict[tuple[str, ...], Row]:
    rows = newest_drift(drift)
    rows = rows.filter(pc.is_null(rows["group_id"]))
    return {tuple(row[name] for name in PAIR): row for row in rows.to_pylist()}


def _status(row: Row) -> Text:
    word = row["status"]
    return Text(f"{SYMBOLS[word]} {word}", _STYLES.get(word, ""))


def _pair(row: Row) -> str:
    return f"{visible(row['source_cluster'])} → {visible(row['target_cluster'])}"


def _name(column: str) -> Cell:
    return lambda row: Text(visible(row[column]))


def _number(column: str) -> Cell:
    return lambda row: Text(to_count(row[column]))


def _lost(row: Row) -> Text:
    return Text(to_count(row["lost"]), "bold red" if row["skipped"] else "yellow" if row["lost"] else "")


def _repeats(row: Row) -> Text:
    is_unknown = row.get("unknown", 0) > 0
    if is_unknown and not row["duplicates_at_most"]:
        return Text("?")
    return Text(to_range(row["duplicates"], row["duplicates_at_most"]) + ("+" if is_unknown else ""))


def _stale(row: Row) -> Text:
    return Text(to_duration(row["staleness_ms"]) if row["staleness_ms"] else "")


_COSTS = (
    _Column("lag", _number("source_lag"), is_number=True),
    _Column("repeats", _repeats, is_number=True),
    _Column("lost", _lost, is_number=True),
)
_LATE = (
    _Column("stale", _stale, is_number=True, is_spared=True),
    _Column("why", lambda row: Text(visible(row["reason"]) if row["reason"] else ""), is_spared=True, ratio=2),
)
_PARTITION_COLUMNS = (
    _Column("status", _status),
    _Column("topic", _name("topic"), ratio=3),
    _Column("part", _number("partition"), is_number=True),
    _Column("source", lambda row: Text(f"{row['source_offset']:,}"), is_number=True, is_spared=True),
    _Column("target", lambda row: _offset(row["target_offset"]), is_number=True),
    _Column("wanted", lambda row: _offset(row["wanted_offset"]), is_number=True, is_spared=True),
    *_COSTS,
    *_LATE,
)


def _offset(offset: int | None) -> Text:
    return Text("none" if offset is None else f"{offset:,}")


def _in_sync(row: Row) -> Text:
    return Text(f"{row['InSync']:,} of {row['partitions']:,}")


def _group_columns(has_pair: bool) -> list[_Column]:
    pair = [_Column("from → to", lambda row: Text(_pair(row)))] if has_pair else []
    in_sync = _Column("in sync", _in_sync, is_number=True, is_spared=True)
    move = _Column("move", lambda row: _MOVES[row["move"]])
    return [
        _Column("status", _status),
        _Column("group", _name("group_id"), ratio=3),
        *pair,
        in_sync,
        *_COSTS,
        move,
        *_LATE,
    ]


def _pair_columns(drifts: Mapping[tuple[str, ...], Row]) -> list[_Column]:
    def drift(row: Row) -> Text:
        newest = drifts.get((row["source_cluster"], row["target_cluster"]))
        if newest is None or newest["windowed_change"] is None:
            return Text("?")
        return Text(f"{newest['windowed_change']:+,}", "green" if newest["is_converged"] else "bold red")

    return [
        _Column("from → to", lambda row: Text(_pair(row)), ratio=1),
        _Column("worst", _status),
        _Column("groups", _number("groups"), is_number=True),
        _Column("in sync", _in_sync, is_number=True),
        *_COSTS[1:],
        _Column("drift", drift, is_number=True),
    ]
