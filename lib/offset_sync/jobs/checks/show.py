"""The findings in the terminal, or as JSON."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Sequence
from itertools import groupby
from typing import TextIO

from rich.console import Console
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from offset_sync.model.finding import Finding, Level
from offset_sync.model.text import escaped

_STYLES = {Level.OK: "green", Level.SKIP: "dim", Level.WARN: "yellow", Level.FAIL: "bold red"}


def show_findings(findings: Sequence[Finding], console: Console) -> None:
    """Print a line for each, place by place, and how many there are of each kind."""
    width = max((len(each.check) for each in findings), default=0)
    for place, found in groupby(findings, key=lambda each: each.place):
        table = Table(box=None, show_header=False, pad_edge=False, padding=(0, 2, 0, 0))
        table.add_column(width=4, no_wrap=True)
        table.add_column(width=width, no_wrap=True)
        table.add_column(ratio=1, overflow="fold")
        for each in found:
            level = Text(each.level.value, _STYLES[each.level])
            table.add_row(level, Text(each.check), Text(escaped(each.text)))
        console.print(Text(escaped(place), "bold"))
        console.print(Padding(table, (0, 0, 1, 2)))
    counts = Counter(each.level for each in findings)
    told = [Text(f"{counts[level]} {level.value}", _STYLES[level]) for level in Level if counts[level]]
    console.print(Text(", ").join(told))


def print_json(findings: Sequence[Finding], out: TextIO) -> None:
    """Print one JSON object: whether nothing fails, and all findings."""
    is_ok = not any(each.level is Level.FAIL for each in findings)
    print(json.dumps({"ok": is_ok, "findings": [each.to_json() for each in findings]}), file=out, flush=True)
