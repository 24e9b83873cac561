"""The report in the terminal: the verdict, every pair, then the groups, worst first. Plain text when piped."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import timedelta, timezone

import pyarrow as pa
import pyarrow.compute as pc
from rich import box
from rich.console import Console
from rich.table import Table
from rich.text import Text

from offset_sync.model.text import to_count, to_duration, to_range, visible
from offset_sync.model.values import Status
from offset_sync.status.assessment import STALLED_AFTER
from offset_sync.status.health import summarize
from offset_sync.status.report import (
    AT_COST,
    GROUP,
    NO,
    NOW,
    Report,
    Row,
)

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
repeats  records it would read again if moved now; +: at least that
lost     unread records it would never see if moved now and the source is gone
move     yes: InSync throughout, nothing repeated or lost; at cost: as shown
         no: withheld, active at the target, or the cost is not known
drift    change of (source offsets - target offsets) over the window"""


@dataclass(frozen=True)
class Column:
    """A column of a table: *cell* renders a row. Columns with a *ratio* are folded to fit, others are not."""

    title: str
    cell: Callable[[Row], Text]
    is_number: bool = False
    is_only_wide: bool = False
    ratio: int | None = None


def render_table(
    report: Report,
    console: Console,
    *,
    stalled_after: timedelta = STALLED_AFTER,
    most: int = 20,
    details: bool = False,
) -> None:
    """Print the report, at most *most* groups; with *details* also the partitions of each of these.

    Fits 80 columns and shows more in a wider terminal; in a narrow one the reasons are printed below each table. Names
    are folded, never cut, and cannot inject markup or control characters. Only a terminal *console* gets colours.
    """
    summary = summarize(report, stalled_after)
    verdict = Text(summary.verdict, "bold red" if summary.problems else "bold green")
    at = report.reported_at.astimezone(timezone.utc)
    say(console, Text.assemble(verdict, f", reported at {at:%Y-%m-%d %H:%M:%S} UTC"))
    for text in summary.lines:
        say(console, Text(f"  {text}"))
    if summary.groups:
        print_table(console, "Pairs of clusters", _PAIR_COLUMNS, summary.pairs)
        shown, more = summary.groups[:most], len(summary.groups) - most
        columns = _GROUP_COLUMNS if len(summary.pairs) == 1 else _GROUP_AND_PAIR_COLUMNS
        print_table(console, "Groups, worst first", columns, shown)
        _say_why(console, shown, lambda row: f"{visible(row['group_id'])}, {pair_of(row)}")
        if more > 0:
            say(console, Text(f"… and {more:,} more groups", "dim"))
        if details:
            _print_details(console, summary.partitions, shown)
        say(console, Text(f"\n{_CAPTION}", "dim"))


def _print_details(console: Console, ranked: pa.Table, groups: Sequence[Row]) -> None:
    for group in groups:
        mine = ranked
        for name in GROUP:
            mine = mine.filter(pc.equal(mine[name], group[name]))
        title, rows = f"{visible(group['group_id'])}, {pair_of(group)}", mine.to_pylist()
        print_table(console, title, _PARTITION_COLUMNS, rows)
        _say_why(console, rows, lambda row: f"{visible(row['topic'])}-{row['partition']}")


def _say_why(console: Console, rows: Sequence[Row], name: Callable[[Row], str]) -> None:
    """Print the reason of each row that has one, where the terminal is too narrow for the column."""
    if console.width < WIDE:
        for row in rows:
            if row["reason"]:
                say(console, Text(f"{name(row)}: {visible(row['reason'])}"))


def print_table(console: Console, title: str, columns: Sequence[Column], rows: Sequence[Row]) -> None:
    """Print *rows* below a title; names are folded, never cut."""
    used = [column for column in columns if console.width >= WIDE or not column.is_only_wide]
    table = Table(box=box.SIMPLE_HEAD, padding=(0, 1, 0, 0), pad_edge=False, show_edge=False)
    for column in used:
        justify = "right" if column.is_number else "left"
        is_name = column.ratio is not None
        table.add_column(column.title, justify=justify, no_wrap=not is_name, overflow="fold", ratio=column.ratio)  # type: ignore[arg-type]
    for row in rows:
        table.add_row(*(column.cell(row) for column in used))
    say(console, Text(f"\n{title}", "bold"))
    console.print(table)


def say(console: Console, text: Text) -> None:
    """Print a line, folded at the width of the terminal."""
    console.print(text, soft_wrap=False, overflow="fold")


def pair_of(row: Row) -> str:
    """Return ``source → target``, with control characters made visible."""
    return f"{visible(row['source_cluster'])} → {visible(row['target_cluster'])}"


def name_column(title: str, name: str) -> Column:
    """Return a column of names, which are folded to fit."""
    return Column(title, lambda row: Text(visible(row[name])), ratio=3)


def text_column(name: str, *, is_number: bool = False) -> Column:
    """Return a column of texts, with their name as the title."""
    return Column(name, lambda row: Text(row[name]), is_number)


def pair_name(row: Row) -> Text:
    """Return :func:`pair_of` as a cell."""
    return Text(pair_of(row))


def count_column(title: str, name: str) -> Column:
    """Return a column of numbers in short form."""
    return Column(title, lambda row: Text(to_count(row[name])), is_number=True)


def offset_column(title: str, name: str, *, is_only_wide: bool = False) -> Column:
    """Return a column of offsets, written out; null is "none"."""
    return Column(
        title,
        lambda row: Text("none" if row[name] is None else f"{row[name]:,}"),
        is_number=True,
        is_only_wide=is_only_wide,
    )


def _status(row: Row) -> Text:
    status = Status.of(row["status"])
    symbol, style = _SYMBOLS[status]
    return Text(f"{symbol} {status.word}", style)


def _topic(row: Row) -> Text:
    """Return a topic's name at the source, and at the target if it differs."""
    here, there = visible(row["topic"]), row["target_topic"]
    return Text(here if there in (None, row["topic"]) else f"{here} → {visible(there)}")


def _lost(row: Row) -> Text:
    return Text(to_count(row["lost"]), "bold red" if row["skipped"] else "yellow" if row["lost"] else "")


def _repeats(row: Row) -> Text:
    is_unknown = row.get("unknown", 0) > 0
    if is_unknown and not row["duplicates_at_most"]:
        return Text("?")
    listed = f" ({row['listed']:,} listed)" if row.get("listed") else ""
    return Text(to_range(row["duplicates"], row["duplicates_at_most"]) + ("+" if is_unknown else "") + listed)


def _stale(row: Row) -> Text:
    return Text(to_duration(row["staleness_ms"]) if row["staleness_ms"] else "")


def _reason(row: Row) -> Text:
    return Text(visible(row["reason"]) if row["reason"] else "")


def _in_sync(row: Row) -> Text:
    return Text(f"{row[Status.IN_SYNC.word]:,} of {row['partitions']:,}")


def _move(row: Row) -> Text:
    return _MOVES[row["move"]]


def _drift(row: Row) -> Text:
    drift = row["drift"]
    if drift is None or drift["windowed_change"] is None:
        return Text("?")
    return Text(f"{drift['windowed_change']:+,}", "green" if drift["is_converged"] else "bold red")


_STATUS_COLUMN = Column("status", _status)
_COSTS = (Column("repeats", _repeats, is_number=True), Column("lost", _lost, is_number=True))
_LAG_AND_COSTS = (count_column("lag", "source_lag"), *_COSTS)
_LATE = (
    Column("stale", _stale, is_number=True, is_only_wide=True),
    Column("why", _reason, is_only_wide=True, ratio=2),
)
_GROUP_LEFT = (_STATUS_COLUMN, name_column("group", "group_id"))
_GROUP_RIGHT = (
    Column("in sync", _in_sync, is_number=True, is_only_wide=True),
    *_LAG_AND_COSTS,
    Column("move", _move),
    *_LATE,
)
_GROUP_COLUMNS = (*_GROUP_LEFT, *_GROUP_RIGHT)
_GROUP_AND_PAIR_COLUMNS = (*_GROUP_LEFT, Column("from → to", pair_name), *_GROUP_RIGHT)
_PARTITION_COLUMNS = (
    _STATUS_COLUMN,
    Column("topic", _topic, ratio=3),
    count_column("part", "partition"),
    offset_column("source", "source_offset", is_only_wide=True),
    offset_column("target", "target_offset"),
    offset_column("wanted", "wanted_offset", is_only_wide=True),
    *_LAG_AND_COSTS,
    *_LATE,
)
_PAIR_COLUMNS = (
    Column("from → to", pair_name, ratio=1),
    Column("worst", _status),
    count_column("groups", "groups"),
    Column("in sync", _in_sync, is_number=True),
    *_COSTS,
    Column("drift", _drift, is_number=True),
)
