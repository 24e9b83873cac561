"""The report in the terminal: the verdict, every pair, then the groups, worst first. Plain text when piped."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import timezone

from rich.console import Console
from rich.text import Text

from offset_sync.model.text import to_count, to_duration, to_range, visible
from offset_sync.model.values import Status
from offset_sync.status.report import GROUP, Report
from offset_sync.status.text_tables import (
    WIDE,
    Column,
    Row,
    count_column,
    group_column,
    offset_column,
    print_table,
    say,
)

_SYMBOLS = {
    Status.WITHHELD: ("⊘", "magenta"),
    Status.STALLED: ("✖", "red"),
    Status.BEHIND: ("▲", "yellow"),
    Status.TARGET_ACTIVE: ("◆", "blue"),
    Status.MIRRORING: ("⇄", ""),
    Status.IN_SYNC: ("✔", "green"),
}
"""Symbol and style of each status."""
_MOVES = {"now": Text("yes", "green"), "at_cost": Text("at cost", "yellow"), "no": Text("no", "red")}
_CAPTION = """\
lag      records from the group's commit to the end of the source's log
repeats  records it would read again if moved now; +: at least that
lost     unread records it would never see if moved now and the source is gone
move     yes: InSync throughout, nothing repeated or lost; at cost: as shown
         no: withheld, active at the target, or the cost is not known
drift    change of (source offsets - target offsets) over the window"""


def verdict_of(report: Report) -> str:
    """Return the verdict for people."""
    return "✔ Healthy" if report.document["healthy"] else "✖ Not healthy"


def render_table(report: Report, console: Console, *, most: int = 20, details: bool = False) -> None:
    """Print the report, at most *most* groups; with *details* also the partitions of each of these.

    Fits 80 columns and shows more in a wider terminal; in a narrow one the reasons are printed below each table. Only a
    terminal *console* gets colours.
    """
    found = report.document
    pairs, groups = found["pairs"], found["groups"]
    verdict = Text(verdict_of(report), "bold green" if found["healthy"] else "bold red")
    at = report.reported_at.astimezone(timezone.utc)
    say(console, Text.assemble(verdict, f", reported at {at:%Y-%m-%d %H:%M:%S} UTC"))
    for text in (*(problem["text"] for problem in found["problems"]), *found["notes"]):
        say(console, Text(f"  {text}"))
    if not groups:
        return
    print_table(console, "Pairs of clusters", _PAIR_COLUMNS, pairs)
    shown, more = groups[:most], len(groups) - most
    print_table(console, "Groups, worst first", _group_columns(len(pairs) > 1), shown)
    _say_why(console, shown, lambda row: f"{visible(row['group_id'])}, {_pair(row)}")
    if more > 0:
        say(console, Text(f"… and {more:,} more groups", "dim"))
    for group in shown if details else ():
        rows = [row for row in found["partitions"] if all(row[name] == group[name] for name in GROUP)]
        print_table(console, f"{visible(group['group_id'])}, {_pair(group)}", _PARTITION_COLUMNS, rows)
        _say_why(console, rows, lambda row: f"{visible(row['topic'])}-{row['partition']}")
    say(console, Text(f"\n{_CAPTION}", "dim"))


def _say_why(console: Console, rows: Sequence[Row], name: Callable[[Row], str]) -> None:
    """Print the reason of each row that has one, where the terminal is too narrow for the column."""
    if console.width < WIDE:
        for row in rows:
            if row["reason"]:
                say(console, Text(f"{name(row)}: {visible(row['reason'])}"))


def _pair(row: Row) -> str:
    return f"{visible(row['source_cluster'])} → {visible(row['target_cluster'])}"


def _status(row: Row) -> Text:
    symbol, style = _SYMBOLS[Status.of(row["status"])]
    return Text(f"{symbol} {row['status']}", style)


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


def _in_sync(row: Row) -> Text:
    return Text(f"{row['statuses'][Status.IN_SYNC.word]:,} of {row['partitions']:,}")


def _drift(row: Row) -> Text:
    drift = row["drift"]
    if drift is None:
        return Text("?")
    return Text(f"{drift['windowed_change']:+,}", "green" if drift["is_converged"] else "bold red")


_STATUS = Column("status", _status)
_FROM_TO = Column("from → to", lambda row: Text(_pair(row)))
_IN_SYNC = Column("in sync", _in_sync, is_number=True)
_COSTS = (Column("repeats", _repeats, is_number=True), Column("lost", _lost, is_number=True))
_LAG_AND_COSTS = (count_column("lag", "source_lag"), *_COSTS)
_LATE = (
    Column("stale", lambda row: Text(to_duration(row["staleness_ms"]) if row["staleness_ms"] else ""), True, True),
    Column("why", lambda row: Text(visible(row["reason"]) if row["reason"] else ""), is_only_wide=True, ratio=2),
)
_PARTITION_COLUMNS = (
    _STATUS,
    Column("topic", _topic, ratio=3),
    count_column("part", "partition"),
    offset_column("source", "source_offset", is_only_wide=True),
    offset_column("target", "target_offset"),
    offset_column("wanted", "wanted_offset", is_only_wide=True),
    *_LAG_AND_COSTS,
    *_LATE,
)
_PAIR_COLUMNS = (
    replace(_FROM_TO, ratio=1),
    replace(_STATUS, title="worst"),
    count_column("groups", "groups"),
    _IN_SYNC,
    *_COSTS,
    Column("drift", _drift, is_number=True),
)


def _group_columns(are_many_pairs: bool) -> Sequence[Column]:
    return (
        _STATUS,
        group_column("group_id"),
        *([_FROM_TO] if are_many_pairs else []),
        replace(_IN_SYNC, is_only_wide=True),
        *_LAG_AND_COSTS,
        Column("move", lambda row: _MOVES[row["move"]]),
        *_LATE,
    )
