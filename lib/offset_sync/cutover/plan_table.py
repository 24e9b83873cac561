"""What a move would come to, as a table in the terminal."""

from __future__ import annotations

from collections.abc import Sequence

from rich.console import Console
from rich.table import Table
from rich.text import Text

from offset_sync.cutover.plan import Activity, Direction, GroupPlan
from offset_sync.model.text import visible


def print_plan(plans: Sequence[GroupPlan], direction: Direction, console: Console) -> None:
    """Print one line per group, and below them why some may not be moved."""
    title = f"{visible(direction.source)} → {visible(direction.target)}"
    table = Table(box=None, pad_edge=False, title=title, title_justify="left")
    for name in ("group", "members at", "partitions", "repeats", "lost", "move"):
        table.add_column(name, justify="right" if name in ("partitions", "repeats", "lost") else "left")
    for plan in plans:
        table.add_row(
            Text(visible(plan.group_id), overflow="fold"),
            _members_at(plan, direction),
            f"{len(plan.partitions):,}",
            f"{plan.duplicates:,}",
            f"{plan.lost:,}",
            Text("no", "red") if plan.blocking else Text("at cost" if plan.duplicates or plan.lost else "yes", "green"),
        )
    console.print(table)
    for plan in plans:
        for reason in plan.blocking:
            console.print(Text(f"{visible(plan.group_id)}: {visible(reason)}"), soft_wrap=True)
    console.print(
        Text("\nrepeats: records it would read again; lost: unread ones that are not at the target (yet)", "dim")
    )


def _members_at(plan: GroupPlan, direction: Direction) -> str:
    """Return the clusters where the group has members, with a question mark where it may have some."""
    suffix = {Activity.ACTIVE: "", Activity.UNKNOWN: "?"}
    known = zip(direction, (plan.at_source, plan.at_target), strict=True)
    clusters = [f"{visible(alias)}{suffix[activity]}" for alias, activity in known if activity in suffix]
    return ", ".join(clusters) or "nowhere"
