"""The picture of what grows with the index and what does not."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pictures  # noqa: F401  its settings hold for all pictures
from matplotlib import pyplot as plt
from matplotlib.axes import Axes

_SECONDS = {
    "sync_offsets: start to all answers of groups that lag": ("cpu_s", "#e6550d", "-"),
    "report_status --once": ("report_cpu_s", "#8c6bb1", "-"),
}
_MEMORY = {
    "sync_offsets: JVM": ("java_mib", "#fdae6b", "-"),
    "sync_offsets: Python": ("python_mib", "#e6550d", "-"),
    "report_status --once": ("report_mib", "#8c6bb1", "-"),
}


def draw_scale(rows: Sequence[Mapping[str, Any]], path: Path) -> None:
    """Draw processor seconds and memory over the size of the index, from *rows* of one benchmark run or several."""
    figure, (left, right) = plt.subplots(1, 2, figsize=(11, 4.6))
    _draw(left, rows, _SECONDS)
    left.set(ylabel="processor seconds", ylim=(0, 110))
    # Workers that have ended are not seen any more, so the start may have held more than is told at the end.
    held = [{name: max(row[name], row[f"peak_{name}"]) for name in ("java_mib", "python_mib")} for row in rows]
    sums = [max(row["java_mib"] + row["python_mib"], row["peak_java_mib"] + row["peak_python_mib"]) for row in rows]
    both = [{**row, **each, "both_mib": most} for row, each, most in zip(rows, held, sums, strict=True)]
    _draw(right, both, {**_MEMORY, "sync_offsets: both together": ("both_mib", "#636363", "-")})
    right.axhline(2048, color="#bdbdbd", linewidth=0.8, linestyle="--")
    right.set(ylabel="MiB held at most", ylim=(0, 2300))
    for axes in (left, right):
        axes.set(xlabel="runs in the index", xscale="log")
        axes.legend(frameon=False, loc="upper left", fontsize=8)
    figure.tight_layout()
    figure.savefig(path, metadata={"Date": None})
    plt.close(figure)


def _draw(axes: Axes, rows: Sequence[Mapping[str, Any]], lines: Mapping[str, tuple[str, str, str]]) -> None:
    for number in dict.fromkeys(row.get("run") for row in rows):
        mine = sorted((row for row in rows if row.get("run") == number), key=lambda row: int(row["runs"]))
        for label, (key, colour, style) in lines.items():
            name = label if mine[0].get("run") == rows[0].get("run") else None
            places, values = [row["runs"] for row in mine], [row[key] for row in mine]
            axes.plot(places, values, style, color=colour, marker="o", markersize=3, label=name)
