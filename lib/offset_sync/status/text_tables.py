"""Tables in a terminal: names are folded, never cut, and cannot inject markup or control characters."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from rich import box
from rich.console import Console
from rich.table import Table
from rich.text import Text

from offset_sync.model.text import to_count, visible

Row = dict[str, Any]
WIDE = 120
"""From this width on, tables have all their columns."""


@dataclass(frozen=True)
class Column:
    """A column of a table: *cell* renders a row. Columns with a *ratio* are folded to fit, others are not."""

    title: str
    cell: Callable[[Row], Text]
    is_number: bool = False
    is_only_wide: bool = False
    ratio: int | None = None


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


def group_column(name: str) -> Column:
    """Return the column of the group ids that are in the rows as *name*; they are folded to fit."""
    return Column("group", lambda row: Text(visible(row[name])), ratio=3)


def text_column(name: str) -> Column:
    """Return a column of texts, with their name as the title."""
    return Column(name, lambda row: Text(row[name]))


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
