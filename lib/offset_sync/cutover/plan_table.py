"""What a move would come to, as a table in the terminal."""

from __future__ import annotations

from collections.abc import Sequence

from rich.console import Console
from rich.table import Table
from rich.text import Text

from offset_sync.cutover.plan import GroupPlan
from offset_sync.status.format import visible


def print_plan(plans: Sequence[GroupPlan], source: str, target: str, console: Console) -> None:
    """Print one line per group, and below them why some may not be moved."""
    table = Table(box=None, pad_edge=False, title=f"{visible(source)} → {visible(target)}", title_justify="left")
    for title in ("group", "members at", "partitions", "repeats", "lost", "move"):
        table.add_column(title, justify="right" if title in ("partitions", "repeats", "lost") else "left")
    for plan in plans:
        table.add_row(
            Text(visible(plan.group_id), overflow="fold"),
            _active(plan, source, target),
            f"{len(plan.standing):,}",
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


def _active(plan: GroupPlan, source: str, target: str) -> str:
    known = ((source, plan.is_active_at_source), (target, plan.is_active_at_target))
    places = [f"{visible(alias)}{'' if is_active else '?'}" for alias, is_active in known if is_active is not False]
    return ", ".join(places) or "nowhere"
