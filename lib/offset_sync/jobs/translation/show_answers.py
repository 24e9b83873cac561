"""Answers in the terminal: withheld ones first where there are many, and below the table why."""

from __future__ import annotations

import pyarrow as pa
import pyarrow.compute as pc
from rich import box
from rich.console import Console
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from offset_sync.jobs.translation.offset_table import ANSWER_COLUMNS, OPTIONAL, REQUIRED
from offset_sync.model.text import escaped, visible
from offset_sync.status.format import to_count, to_range

MOST = 50
"""So many answers are shown; a file may have a million."""
_NUMBERS = ("offset", "target", "repeats", "lost")


def show_answers(answers: pa.Table, direction: str, console: Console) -> None:
    """Print at most :data:`MOST` answers, and each reason once with where it holds. Fits 80 columns."""
    is_withheld = pc.is_null(answers.column("target_offset"))
    shown = answers
    if answers.num_rows > MOST:
        shown = pa.concat_tables([answers.filter(is_withheld), answers.filter(pc.invert(is_withheld))]).slice(0, MOST)
    own = [name for name in answers.column_names if name not in (*REQUIRED, *OPTIONAL, *ANSWER_COLUMNS)]
    table = Table(box=box.SIMPLE_HEAD, padding=(0, 1, 0, 0), pad_edge=False, show_edge=False)
    for name in (*map(visible, own), "partition", "offset", "target", "state", "repeats", "lost"):
        is_number = name in _NUMBERS
        is_name = not is_number and name != "state"
        table.add_column(Text(name), justify="right" if is_number else "left", no_wrap=not is_name, overflow="fold")
    for row in shown.to_pylist():
        table.add_row(*(Text(visible(str(row[name]))) for name in own), *_cells(row))
    console.print(Text(direction, "bold"))
    console.print(table)
    if answers.num_rows > MOST:
        more = f"… and {answers.num_rows - MOST:,} more; --format csv or json prints all"
        console.print(Text(more, "dim"))
    _show_reasons(answers.filter(is_withheld), console)
    if shown.num_rows:
        said = "\ntarget   the first record there that is not known to be read\nrepeats  records read again from there"
        console.print(Text(f"{said}\nlost     unread records that retention has deleted there", "dim"))


def _cells(row: dict[str, object]) -> list[Text]:
    is_withheld = row["target_offset"] is None
    state = Text(str(row["state"]), "red" if is_withheld else "green")
    # Offsets are copied from here into commands, so they have no commas.
    left = [Text(f"{visible(str(row['topic']))}-{row['partition']}"), Text(f"{row['offset']}")]
    if is_withheld:
        return [*left, Text("–"), state, Text(""), Text("")]
    lost, least, most = (int(str(row[name])) for name in ("lost", "duplicates", "duplicates_at_most"))
    repeats = Text(to_range(least, most))
    return [
        *left,
        Text(f"{row['target_offset']}"),
        state,
        repeats,
        Text(to_count(lost), "bold red" if lost else ""),
    ]


def _show_reasons(withheld: pa.Table, console: Console) -> None:
    by_reason: dict[str, list[str]] = {}
    distinct = withheld.select(["topic", "partition", "reason"]).group_by(
        ["topic", "partition", "reason"], use_threads=False
    )
    for row in distinct.aggregate([]).to_pylist():
        by_reason.setdefault(row["reason"], []).append(f"{visible(row['topic'])}-{row['partition']}")
    if by_reason:
        console.print(Text("\nWithheld", "bold"))
    for number, (reason, places) in enumerate(by_reason.items()):
        if number == MOST:
            console.print(Text(f"… and {len(by_reason) - MOST:,} more reasons", "dim"))
            return
        more = f" and {len(places) - 3:,} more" if len(places) > 3 else ""
        line = Text(f"{', '.join(places[:3])}{more}: {escaped(reason)}", overflow="fold")
        console.print(Padding(line, (0, 0, 0, 2)))
