"""The report in the terminal: is it healthy, every pair, then the groups, worst first. Plain text where piped."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import timezone
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
from rich import box
from rich.console import Console
from rich.table import Table
from rich.text import Text

from offset_sync.model.text import visible
from offset_sync.model.values import Status
from offset_sync.status.format import to_count, to_duration, to_range
from offset_sync.status.health import DEFAULT_LIMITS, Limits, find_problems
from offset_sync.status.report import Report
from offset_sync.status.rollup import AT_COST, GROUP, NO, NOW, PAIR, newest_drift, rank_statuses, roll_up

WIDE = 120
"""From this width on, tables have all their columns."""
_SYMBOLS = {
    Status.WITHHELD: ("⊘", "magenta"),
    Status.STALLED: ("✖", "red"),
    Status.BEHIND: ("▲", "yellow"),
    Status.TARGET_ACTIVE: ("◆", "blue"),
    Status.MIRRORING: ("⇄", ""),
    Status.IN_SYNC: ("✔", "green"),
}
"""Symbol and style of each status."""
_MOVES = {NOW: Text("yes", "green"), AT_COST: Text("at cost", "yellow"), NO: Text("no", "red")}
_CAPTION = """\
lag      records from the group's commit to the end of the source's log
repeats  records it would read again if moved now; +: and more, nobody can tell
lost     unread records it would never see if moved now and the source is gone
move     yes: InSync throughout, nothing repeated or lost; at cost: as shown
         no: withheld, active at the target, or the cost is not known
drift    change of (source offsets - target offsets) over the window"""

Row = Mapping[str, Any]


@dataclass(frozen=True)
class _Column:
    """A column of a table: *cell* has what it says of a row. Those with a *ratio* are folded to fit, others are not."""

    title: str
    cell: Callable[[Row], Text]
    is_number: bool = False
    is_only_wide: bool = False
    ratio: int | None = None


def render_table(
    report: Report, console: Console, *, limits: Limits = DEFAULT_LIMITS, most: int = 20, details: bool = False
) -> None:
    """Print the report, at most *most* groups; with *details* also the partitions of each of these.

    Fits 80 columns and shows more in a wider terminal; why a row is not in sync stands below its table in a narrow one.
    Names are folded, never cut, and cannot bring markup or control characters. What is printed is not coloured unless
    *console* is a terminal.
    """
    status = report.status
    problems = find_problems(status, report.drift, limits)
    verdict = Text("✖ Not healthy", "bold red") if problems else Text("✔ Healthy", "bold green")
    at = report.reported_at.astimezone(timezone.utc)
    _say(console, Text.assemble(verdict, f", reported at {at:%Y-%m-%d %H:%M:%S} UTC"))
    for problem in problems:
        _say(console, Text(f"  {problem.text}"))
    if status.num_rows:
        pairs, groups = _with_drift(roll_up(status, PAIR), report.drift), roll_up(status, GROUP)
        _print(console, "Pairs of clusters", _PAIR_COLUMNS, pairs)
        shown = groups.slice(0, most).to_pylist()
        _print(console, "Groups, worst first", _GROUP_COLUMNS if len(pairs) == 1 else _GROUP_AND_PAIR_COLUMNS, shown)
        _say_why(console, shown, lambda row: f"{visible(row['group_id'])}, {_pair(row)}")
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
        partitions = ranked.filter(is_here).to_pylist()
        _print(console, title, _PARTITION_COLUMNS, partitions)
        _say_why(console, partitions, lambda row: f"{visible(row['topic'])}-{row['partition']}")


def _say_why(console: Console, rows: Sequence[Row], name: Callable[[Row], str]) -> None:
    """Print the reason of each row that has one, where the terminal is too narrow for the column."""
    if console.width < WIDE:
        for row in rows:
            if row["reason"]:
                _say(console, Text(f"{name(row)}: {visible(row['reason'])}"))


def _print(console: Console, title: str, columns: Sequence[_Column], rows: Sequence[Row]) -> None:
    used = [column for column in columns if console.width >= WIDE or not column.is_only_wide]
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


def _with_drift(pairs: pa.Table, drift: pa.Table) -> list[Row]:
    """Return the rows of *pairs* with the drift of the newest report, where there is one."""
    newest = newest_drift(drift)
    newest = newest.filter(pc.is_null(newest["group_id"]))
    found = {tuple(row[name] for name in PAIR): row for row in newest.to_pylist()}
    return [{**row, "drift": found.get(tuple(row[name] for name in PAIR))} for row in pairs.to_pylist()]


def _status(row: Row) -> Text:
    status = Status.of(row["status"])
    symbol, style = _SYMBOLS[status]
    return Text(f"{symbol} {status.word}", style)


def _pair(row: Row) -> str:
    return f"{visible(row['source_cluster'])} → {visible(row['target_cluster'])}"


def _name_column(title: str, name: str) -> _Column:
    return _Column(title, lambda row: Text(visible(row[name])), ratio=3)


def _topic(row: Row) -> Text:
    """Return what a topic is called at the source, and at the target where that is another name."""
    here, there = visible(row["topic"]), row["target_topic"]
    return Text(here if there in (None, row["topic"]) else f"{here} → {visible(there)}")


def _count_column(title: str, name: str) -> _Column:
    return _Column(title, lambda row: Text(to_count(row[name])), is_number=True)


def _offset_column(title: str, name: str, *, is_only_wide: bool = False) -> _Column:
    def cell(row: Row) -> Text:
        return Text("none" if row[name] is None else f"{row[name]:,}")

    return _Column(title, cell, is_number=True, is_only_wide=is_only_wide)


def _lost(row: Row) -> Text:
    return Text(to_count(row["lost"]), "bold red" if row["skipped"] else "yellow" if row["lost"] else "")


def _repeats(row: Row) -> Text:
    is_unknown = row.get("unknown", 0) > 0
    if is_unknown and not row["duplicates_at_most"]:
        return Text("?")
    return Text(to_range(row["duplicates"], row["duplicates_at_most"]) + ("+" if is_unknown else ""))


def _stale(row: Row) -> Text:
    return Text(to_duration(row["staleness_ms"]) if row["staleness_ms"] else "")


def _reason(row: Row) -> Text:
    return Text(visible(row["reason"]) if row["reason"] else "")


def _in_sync(row: Row) -> Text:
    return Text(f"{row[Status.IN_SYNC.word]:,} of {row['partitions']:,}")


def _move(row: Row) -> Text:
    return _MOVES[row["move"]]


def _pair_name(row: Row) -> Text:
    return Text(_pair(row))


def _drift(row: Row) -> Text:
    drift = row["drift"]
    if drift is None or drift["windowed_change"] is None:
        return Text("?")
    return Text(f"{drift['windowed_change']:+,}", "green" if drift["is_converged"] else "bold red")


_STATUS_COLUMN = _Column("status", _status)
_COSTS = (_Column("repeats", _repeats, is_number=True), _Column("lost", _lost, is_number=True))
_LAG_AND_COSTS = (_count_column("lag", "source_lag"), *_COSTS)
_LATE = (
    _Column("stale", _stale, is_number=True, is_only_wide=True),
    _Column("why", _reason, is_only_wide=True, ratio=2),
)
_GROUP_LEFT = (_STATUS_COLUMN, _name_column("group", "group_id"))
_GROUP_RIGHT = (
    _Column("in sync", _in_sync, is_number=True, is_only_wide=True),
    *_LAG_AND_COSTS,
    _Column("move", _move),
    *_LATE,
)
_GROUP_COLUMNS = (*_GROUP_LEFT, *_GROUP_RIGHT)
_GROUP_AND_PAIR_COLUMNS = (*_GROUP_LEFT, _Column("from → to", _pair_name), *_GROUP_RIGHT)
_PARTITION_COLUMNS = (
    _STATUS_COLUMN,
    _Column("topic", _topic, ratio=3),
    _count_column("part", "partition"),
    _offset_column("source", "source_offset", is_only_wide=True),
    _offset_column("target", "target_offset"),
    _offset_column("wanted", "wanted_offset", is_only_wide=True),
    *_LAG_AND_COSTS,
    *_LATE,
)
_PAIR_COLUMNS = (
    _Column("from → to", _pair_name, ratio=1),
    _Column("worst", _status),
    _count_column("groups", "groups"),
    _Column("in sync", _in_sync, is_number=True),
    *_COSTS,
    _Column("drift", _drift, is_number=True),
)
