"""What ``cutover`` says of each group: one structure, printed as a table or as the JSON of docs/cutover.schema.json."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from rich.console import Console
from rich.text import Text

from offset_sync.cutover.plan import Direction, GroupPlan, Mode, Problem, activity
from offset_sync.model.reasons import Said
from offset_sync.model.text import visible
from offset_sync.status.assessment import Verdict
from offset_sync.status.text_tables import group_column, offset_column, print_table, text_column

_MOVES = {Verdict.BLOCKED: "no", Verdict.UNKNOWN: "by apply", Verdict.AT_COST: "at cost", Verdict.NOW: "yes"}
_CAPTIONS = {
    "repeats": "repeats: records it would read again; skipped: those on its read lists",
    "lost": "lost: unread records that are not at the target (yet); undecided: by contents",
    "move": "move: yes: ready now; by apply: once apply has committed; at cost: with these repeats and losses",
}
"""What is said below a table of the columns of these names."""

Columns = Mapping[str, str | int | None]


class GroupResult(NamedTuple):
    """What is said of one group; *columns* are the same for all groups of an action. Without *problems* it is ok."""

    group_id: str
    columns: Columns
    problems: Sequence[Problem]
    notes: Sequence[Said] = ()

    @classmethod
    def of_plan(cls, plan: GroupPlan, problems: Sequence[Problem], **more: str) -> GroupResult:
        """Return the costs of a *plan*."""
        costs = {"repeats": plan.duplicates, "skipped": plan.skipped, "lost": plan.lost}
        return cls(plan.group_id, {"partitions": len(plan.partitions), **costs, **more}, problems, plan.notes)

    @classmethod
    def planned(cls, plan: GroupPlan) -> GroupResult:
        """Return what ``plan`` says."""
        here, there = activity(plan.here).value, activity(plan.there).value
        return cls.of_plan(plan, plan.blocking, at_source=here, at_target=there, move=_MOVES[plan.verdict])


@dataclass(frozen=True)
class MoveResult:
    """What one call says about moves in *direction*; *notes* are said first."""

    action: str
    direction: Direction
    mode: Mode
    groups: Sequence[GroupResult]
    notes: Sequence[Said] = ()

    @property
    def failures(self) -> list[str]:
        """A line for each problem."""
        return [str(problem) for group in self.groups for problem in group.problems]

    def to_json(self) -> str:
        """Return it as one line."""
        document = {
            "action": self.action,
            "from": self.direction.source,
            "to": self.direction.target,
            "mode": self.mode.value,
            "ok": not self.failures,
            "notes": [*map(_told, self.notes)],
            "groups": [
                {
                    "group": each.group_id,
                    "ok": not each.problems,
                    **each.columns,
                    "problems": [
                        {**_told(one.reason), "partition": one.partition, "remedy": one.remedy} for one in each.problems
                    ],
                    "notes": [*map(_told, each.notes)],
                }
                for each in self.groups
            ],
        }
        return json.dumps(document)

    def print(self, console: Console) -> None:
        """Print a line per group, then the notes; problems are lines of standard error."""
        for note in self.notes:
            console.print(Text(note), soft_wrap=True)
        rows = [
            {"group": each.group_id, **each.columns, "ok": "no" if each.problems else "yes"} for each in self.groups
        ]
        names = [name for name in (rows[0] if rows else ()) if any(row[name] is not None for row in rows)]
        hidden = {"group", "rehearsed", "ok" if "move" in names else ""}
        columns = [
            text_column(name) if isinstance(rows[0][name], str) else offset_column(name, name)
            for name in names
            if name not in hidden
        ]
        print_table(console, " → ".join(map(visible, self.direction)), [group_column("group"), *columns], rows)
        for group in self.groups:
            for note in group.notes:
                console.print(Text(f"{visible(group.group_id)}: {visible(note)}"), soft_wrap=True)
        if captions := [text for name, text in _CAPTIONS.items() if name in names]:
            console.print(Text("\n".join(["", *captions]), "dim"))


def _told(reason: Said) -> dict[str, str]:
    return {"reason": reason.word, "text": reason}
