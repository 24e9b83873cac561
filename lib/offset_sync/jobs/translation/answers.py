"""Answers as an Arrow table, and their output for people and programs."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Sequence
from typing import Any, TextIO

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from rich import box
from rich.console import Console
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from offset_sync.jobs.translation.offsets import ANSWER_COLUMNS, REQUIRED, TAKEN_AT, OffsetTable
from offset_sync.model.text import escaped, to_count, to_range, visible
from offset_sync.model.values import State
from offset_sync.status.kept_offsets import KeptAnswers

MOST = 50
"""The most answers shown on a terminal; a file may have a million."""
_AT_ONCE = 50_000
_NEEDS_QUOTES = re.compile('[",\r\n]')
_NUMBERS = ("offset", "target", "repeats", "lost")


def to_answer_table(
    table: OffsetTable, answers: KeptAnswers, target_topics: Sequence[str | None] | None = None
) -> pa.Table:
    """Return the columns given with ``target_offset``, ``state``, ``duplicates``, … and ``reason``, a row per offset.

    ``topic`` is text, ``partition`` and ``offset`` are numbers, the others as given. Null: the offset and counts of a
    withheld answer, the reason of any other. With *target_topics*, one for each topic of *table*, also
    ``target_topic``, its name at the target.
    """
    offsets, is_withheld = table.offsets, answers.is_withheld
    numbers = {"partition": pa.array(offsets.partition, pa.int32()), "offset": pa.array(offsets.offset)}
    given = {name: numbers.get(name, table.given.column(name)) for name in table.given.column_names}
    states = pa.DictionaryArray.from_arrays(pa.array(answers.state, pa.int32()), [state.name for state in State])
    reason = pa.array(np.maximum(answers.reason, 0), pa.int32(), mask=answers.reason < 0)
    if target_topics is not None:
        given["target_topic"] = pa.array(target_topics, pa.string()).take(pa.array(offsets.topic))
    found = {
        "target_offset": pa.array(answers.target_offset, mask=is_withheld),
        "state": states.cast(pa.string()),
        "duplicates": pa.array(answers.duplicates, mask=is_withheld),
        "duplicates_at_most": pa.array(answers.duplicates_at_most, mask=is_withheld),
        "lost": pa.array(answers.lost, mask=is_withheld),
        "reason": pa.array(answers.reasons, pa.string()).take(reason),
    }
    return pa.table(given | found)


def summary(answers: pa.Table) -> list[str]:
    """Return one line with how many offsets have no answer, and why; nothing if all have one."""
    withheld = Counter(answers.filter(pc.is_null(answers.column("target_offset"))).column("state").to_pylist())
    if not withheld:
        return []
    told = ", ".join(f"{state} {withheld[state]:,}" for state in sorted(withheld, key=lambda name: State[name]))
    return [f"{withheld.total():,} of {answers.num_rows:,} offsets are withheld: {told}"]


def print_csv(answers: pa.Table, out: TextIO) -> None:
    """Print a header and a line per answer, with the columns in their order; null is empty."""
    out.write(_csv_line(answers.column_names))
    for batch in answers.to_batches(max_chunksize=_AT_ONCE):
        columns = [column.to_pylist() for column in batch.columns]
        out.writelines(map(_csv_line, zip(*columns, strict=True)))
    out.flush()


def _csv_line(values: Sequence[object]) -> str:
    return ",".join(_cell(str(each)) if each is not None else "" for each in values) + "\n"


def _cell(text: str) -> str:
    # csv.writer leaves a lone carriage return unquoted.
    return '"' + text.replace('"', '""') + '"' if _NEEDS_QUOTES.search(text) else text


def print_json(answers: pa.Table, out: TextIO) -> None:
    """Print a JSON object per line and answer (JSON Lines), in ASCII; numbers are numbers, the rest is text."""
    for batch in answers.to_batches(max_chunksize=_AT_ONCE):
        out.write("".join(f"{json.dumps(row)}\n" for row in batch.to_pylist()))
    out.flush()


def show_answers(answers: pa.Table, direction: str, console: Console) -> None:
    """Print at most :data:`MOST` answers, and each reason once with its partitions. Fits 80 columns."""
    is_withheld = pc.is_null(answers.column("target_offset"))
    shown = answers
    if answers.num_rows > MOST:
        shown = pa.concat_tables([answers.filter(is_withheld), answers.filter(pc.invert(is_withheld))]).slice(0, MOST)
    own = [name for name in answers.column_names if name not in (*REQUIRED, TAKEN_AT, *ANSWER_COLUMNS)]
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
        said = "\ntarget   the first record there not known to have been read\nrepeats  records read again from there"
        console.print(Text(f"{said}\nlost     unread records that retention has deleted there", "dim"))


def _cells(row: dict[str, Any]) -> list[Text]:
    is_withheld = row["target_offset"] is None
    state = Text(str(row["state"]), "red" if is_withheld else "green")
    # Offsets are copied from here into commands, so they have no commas.
    left = [Text(f"{visible(str(row['topic']))}-{row['partition']}"), Text(f"{row['offset']}")]
    if is_withheld:
        return [*left, Text("–"), state, Text(""), Text("")]
    repeats, lost = Text(to_range(row["duplicates"], row["duplicates_at_most"])), row["lost"]
    return [*left, Text(f"{row['target_offset']}"), state, repeats, Text(to_count(lost), "bold red" if lost else "")]


def _show_reasons(withheld: pa.Table, console: Console) -> None:
    by_reason: dict[str, list[str]] = {}
    names = ["topic", "partition", "reason"]
    for row in withheld.select(names).group_by(names, use_threads=False).aggregate([]).to_pylist():
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
