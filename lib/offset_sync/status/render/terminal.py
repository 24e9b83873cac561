"""The report in the terminal: is it healthy, every pair, then the groups, worst first. Plain text where piped."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import timezone

import pyarrow as pa
import pyarrow.compute as pc
from rich.console import Console
from rich.text import Text

from offset_sync.model.text import visible
from offset_sync.model.values import Status
from offset_sync.status.format import to_count, to_duration, to_range
from offset_sync.status.health import find_notes, find_problems
from offset_sync.status.render.columns import (
    WIDE,
    Column,
    Row,
    count_column,
    name_column,
    offset_column,
    pair_name,
    pair_of,
    print_table,
    say,
)
from offset_sync.status.render.mirror_maker import print_mirror_maker
from offset_sync.status.report import Report
from offset_sync.status.rollup import AT_COST, GROUP, NO, NOW, PAIR, newest_drift, rank_statuses, roll_up
from offset_sync.status.verdict import DEFAULT_LIMITS, Limits

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
    say(console, Text.assemble(verdict, f", reported at {at:%Y-%m-%d %H:%M:%S} UTC"))
    for text in [*(problem.text for problem in problems), *find_notes(status, limits), *report.notes]:
        say(console, Text(f"  {text}"))
    if status.num_rows:
        pairs, groups = _with_drift(roll_up(status, PAIR), report.drift), roll_up(status, GROUP)
        print_table(console, "Pairs of clusters", _PAIR_COLUMNS, pairs)
        shown = groups.slice(0, most).to_pylist()
        columns = _GROUP_COLUMNS if len(pairs) == 1 else _GROUP_AND_PAIR_COLUMNS
        print_table(console, "Groups, worst first", columns, shown)
        _say_why(console, shown, lambda row: f"{visible(row['group_id'])}, {pair_of(row)}")
        if groups.num_rows > most:
            say(console, Text(f"… and {groups.num_rows - most:,} more groups", "dim"))
        if details:
            _print_details(console, rank_statuses(status), shown)
        say(console, Text(f"\n{_CAPTION}", "dim"))
        print_mirror_maker(console, status, most)


def _print_details(console: Console, ranked: pa.Table, groups: Sequence[Row]) -> None:
    for group in groups:
        is_here = pc.and_kleene(pa.scalar(True), pc.equal(ranked["group_id"], group["group_id"]))
        for name in PAIR:
            is_here = pc.and_(is_here, pc.equal(ranked[name], group[name]))
        title = f"{visible(group['group_id'])}, {pair_of(group)}"
        rows = ranked.filter(is_here).to_pylist()
        is_said = any(row["mirror_maker_offset"] is not None for row in rows)
        print_table(console, title, _PARTITION_COLUMNS + (_MIRROR_MAKER if is_said else ()), rows)
        _say_why(console, rows, lambda row: f"{visible(row['topic'])}-{row['partition']}")


def _say_why(console: Console, rows: Sequence[Row], name: Callable[[Row], str]) -> None:
    """Print the reason of each row that has one, where the terminal is too narrow for the column."""
    if console.width < WIDE:
        for row in rows:
            if row["reason"]:
                say(console, Text(f"{name(row)}: {visible(row['reason'])}"))


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


def _topic(row: Row) -> Text:
    """Return what a topic is called at the source, and at the target where that is another name."""
    here, there = visible(row["topic"]), row["target_topic"]
    return Text(here if there in (None, row["topic"]) else f"{here} → {visible(there)}")


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
_MIRROR_MAKER = (offset_column("MirrorMaker's", "mirror_maker_offset", is_only_wide=True),)
_PAIR_COLUMNS = (
    Column("from → to", pair_name, ratio=1),
    Column("worst", _status),
    count_column("groups", "groups"),
    Column("in sync", _in_sync, is_number=True),
    *_COSTS,
    Column("drift", _drift, is_number=True),
)
