"""What a move would come to, as a table in the terminal."""

from __future__ import annotations

from collections.abc import Sequence

from rich.console import Console
from rich.table import Table
from rich.text import Text

from offset_sync.config.stream_names import SAME_NAMES, Names
from offset_sync.cutover.plan import Activity, Direction, GroupPlan
from offset_sync.model.text import visible
from offset_sync.status.verdict import Verdict

_MOVES = {
    Verdict.BLOCKED: Text("no", "red"),
    Verdict.UNKNOWN: Text("by apply", "yellow"),
    Verdict.AT_COST: Text("at cost", "yellow"),
    Verdict.NOW: Text("yes", "green"),
}


def print_plan(plans: Sequence[GroupPlan], direction: Direction, console: Console, names: Names = SAME_NAMES) -> None:
    """Print one line per group, and below them why some may not be moved, and to what they subscribe at the target."""
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
            _MOVES[plan.verdict],
        )
    console.print(table)
    for plan in plans:
        for reason in [*plan.blocking, *plan.notes]:
            console.print(Text(f"{visible(plan.group_id)}: {visible(reason)}"), soft_wrap=True)
    if not names.is_same:
        _print_subscriptions(plans, direction.target, console, names)
    console.print(
        Text("\nrepeats: records it would read again; lost: unread ones that are not at the target (yet)", "dim")
    )
    console.print(Text("move: yes: as it is now; by apply: once apply has committed; at cost: as shown", "dim"))


def _print_subscriptions(plans: Sequence[GroupPlan], target: str, console: Console, names: Names) -> None:
    """Print under which names each group goes on, and which of them it has never had a commit of its own for."""
    for plan in plans:
        topics = plan.subscriptions(names, target)
        if not plan.partitions or not topics:  # nothing of it is to be moved
            continue
        subscribes = f"{visible(plan.group_id)} subscribes at {visible(target)} to: {', '.join(map(visible, topics))}"
        console.print(Text(subscribes), soft_wrap=True)
        if fresh := [visible(topic) for topic, is_known in topics.items() if not is_known]:
            text = f"  it has never committed {', '.join(fresh)} there itself: see that it subscribes"
            console.print(Text(text, "yellow"), soft_wrap=True)


def _members_at(plan: GroupPlan, direction: Direction) -> str:
    """Return the clusters where the group has members, with a question mark where it may have some."""
    suffix = {Activity.ACTIVE: "", Activity.UNKNOWN: "?"}
    known = zip(direction, (plan.at_source, plan.at_target), strict=True)
    clusters = [f"{visible(alias)}{suffix[activity]}" for alias, activity in known if activity in suffix]
    return ", ".join(clusters) or "nowhere"
