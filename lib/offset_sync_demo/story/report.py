"""The demo's tables and its progress: live on a terminal, plain lines elsewhere."""

from __future__ import annotations

import time
from collections.abc import Sequence

from rich import box
from rich.console import Console
from rich.markup import escape
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn
from rich.table import Table

from offset_sync_demo.story.results import GroupResult

STEPS = 24
"""How many steps the whole demo prints."""


class Narrator:
    """Shows the steps: a progress bar on a terminal, a line with the time elsewhere."""

    def __init__(self, console: Console, steps: int = STEPS) -> None:
        self._console = console
        self._started = time.monotonic()
        self._progress = Progress(
            BarColumn(24), TimeElapsedColumn(), TextColumn("{task.description}"), console=console, transient=True
        )
        self._task = self._progress.add_task("", total=steps)
        self._is_live = console.is_terminal

    def __enter__(self) -> Narrator:
        if self._is_live:
            self._progress.start()
        return self

    def __exit__(self, *_: object) -> None:
        if self._is_live:
            self._progress.stop()

    def say(self, what: str) -> None:
        """Show the next step."""
        if self._is_live:
            self._progress.update(self._task, advance=1, description=escape(what))
        else:
            self._console.print(f"{time.monotonic() - self._started:4.0f} s  {what}", markup=False, highlight=False)


def show_results(console: Console, title: str, results: Sequence[GroupResult]) -> bool:
    """Print one table; return whether all its rows are as promised."""
    table = Table(title=title, title_justify="left", box=box.SIMPLE_HEAD, padding=(0, 1, 0, 0), pad_edge=False)
    hidden = set() if console.width >= _WIDE else {*_ONLY_WIDE}
    hidden |= set() if any(result.skipped for result in results) else {"skipped"}
    columns = [name for name in _COLUMNS if name not in hidden]
    for name in columns:
        table.add_column(name, justify="left" if name in ("group", "topic", "shape", "") else "right", no_wrap=True)
    for result in results:
        cells = dict(zip(_COLUMNS, _cells(result), strict=True))
        table.add_row(*(cells[name] for name in columns))
    console.print(table)
    lines = [line for line in _CAPTION.splitlines() if not line.startswith(tuple(hidden))]
    console.print("\n".join(lines), "", sep="\n", style="dim", highlight=False)
    return all(result.is_as_promised for result in results)


_COLUMNS = ("group", "topic", "shape", "to read", "stale s", "skipped", "predicted", "repeated", "+ later", "lost", "")
_ONLY_WIDE = ("shape", "to read")
_WIDE = 110
_CAPTION = """\
to read    records at or after the group's translated position
stale s    seconds from the first commit that was not captured to the kill
skipped    records on read lists: read at the other cluster, and skipped
predicted  records read again, known beforehand; two numbers are bounds
repeated   how many of these were really read again
+ later    repeats of records read after the last captured commit
lost       records that the group never reads: always 0
"""


def _cells(result: GroupResult) -> list[str]:
    bounds = {result.predicted, result.predicted_at_most}
    measured = result.measured
    return [
        result.group_id,
        result.topic,
        result.shape,
        f"{result.behind:,}",
        f"{result.staleness:.1f}",
        f"{result.skipped:,}",
        " to ".join(f"{bound:,}" for bound in sorted(bounds)),
        f"{measured.duplicates_of_commit:,}",
        f"{measured.past_commit:,}",
        f"{measured.lost:,}",
        "[green]as promised[/]" if result.is_as_promised else f"[red]BROKEN[/] {measured.lost_ids or ''}",
    ]
