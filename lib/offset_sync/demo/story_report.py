"""The demo's tables and its progress: live on a terminal, plain lines elsewhere."""

from __future__ import annotations

import time
from collections.abc import Sequence

from rich.console import Console
from rich.markup import escape
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn
from rich.table import Table

from offset_sync.demo.story import GroupResult

STEPS = 12
"""How often each whole demo says what it does."""


class Narrator:
    """Says what happens: a progress bar on a terminal, a line with the time elsewhere."""

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
    """Print one table; return whether everything in it is as promised."""
    table = Table(title=title, title_justify="left", caption_justify="left", caption=_CAPTION)
    for name in ("group", "topic", "shape"):
        table.add_column(name, no_wrap=True)
    for name in ("to read", "stale s", "predicted", "repeated", "+ after commit", "lost"):
        table.add_column(name, justify="right", no_wrap=True)
    table.add_column("", no_wrap=True)
    for result in results:
        table.add_row(*_cells(result))
    console.print(table)
    return all(result.is_as_promised for result in results)


_CAPTION = (
    "to read: records at or after the group's translated position. stale: how long commits had been made that were no "
    "longer captured. predicted: repeats known beforehand. repeated: of these, measured. + after commit: repeats of "
    "what was read after the last captured commit."
)


def _cells(result: GroupResult) -> list[str]:
    bounds = {result.predicted, result.predicted_at_most}
    measured = result.measured
    return [
        result.group_id,
        result.topic,
        result.shape,
        f"{result.behind:,}",
        f"{result.staleness:.1f}",
        " to ".join(f"{bound:,}" for bound in sorted(bounds)),
        f"{measured.duplicates_of_commit:,}",
        f"{measured.past_commit:,}",
        f"{measured.lost:,}",
        "[green]as promised[/]" if result.is_as_promised else f"[red]BROKEN[/] {measured.lost_ids or ''}",
    ]
