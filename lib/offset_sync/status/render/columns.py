"""Tables in the terminal: their columns, and how they are printed."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from rich import box
from rich.console import Console
from rich.table import Table
from rich.text import Text

from offset_sync.model.text import visible
from offset_sync.status.format import to_count

WIDE = 120
"""From this width on, tables have all their columns."""
Row = Mapping[str, Any]


@dataclass(frozen=True)
class Column:
    """A column of a table: *cell* has what it says of a row. Those with a *ratio* are folded to fit, others are not."""

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
    """Print a line, folded where it is longer than the terminal is wide."""
    console.print(text, soft_wrap=False, overflow="fold")


def pair_of(row: Row) -> str:
    """Return from where to where, with control characters made visible."""
    return f"{visible(row['source_cluster'])} → {visible(row['target_cluster'])}"


def name_column(title: str, name: str) -> Column:
    """Return a column of names, which are folded to fit."""
    return Column(title, lambda row: Text(visible(row[name])), ratio=3)


def pair_name(row: Row) -> Text:
    """Return :func:`pair_of` as a cell."""
    return Text(pair_of(row))


def count_column(title: str, name: str) -> Column:
    """Return a column of numbers in short form."""
    return Column(title, lambda row: Text(to_count(row[name])), is_number=True)


def offset_column(title: str, name: str, *, is_only_wide: bool = False) -> Column:
    """Return a column of offsets, written out; null is "none"."""

    def cell(row: Row) -> Text:
        return Text("none" if row[name] is None else f"{row[name]:,}")

    return Column(title, cell, is_number=True, is_only_wide=is_only_wide)
