"""The picture of the live comparison with MirrorMaker 2."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pictures  # noqa: F401  for its settings of matplotlib
from matplotlib import pyplot as plt

_COLOURS = {"MirrorMaker 2": "#e6550d", "exact": "#0a7d33", "timestamp": "#8c6bb1"}
_TITLES = {"default": "default intervals", "fastest": "fastest intervals"}


def draw_mirrormaker(rows: Sequence[Mapping[str, Any]], path: Path) -> None:
    """Draw how many records per partition each group would read again, by instant, one row of panels per run."""
    runs, groups = (list(dict.fromkeys(row[name] for row in rows)) for name in ("run", "group"))
    size = (11, 2.6 * len(runs) + 0.5)
    figure, panels = plt.subplots(len(runs), len(groups), figsize=size, sharey=True, squeeze=False)
    for run, line in zip(runs, panels, strict=True):
        for group, axes in zip(groups, line, strict=True):
            mine = [row for row in rows if (row["run"], row["group"]) == (run, group)]
            instants = list(dict.fromkeys(row["instant"] for row in mine))
            for number, (way, colour) in enumerate(_COLOURS.items()):
                values = {row["instant"]: row["read_again"] for row in mine if row["way"] == way}
                places = [place + (number - 1) * 0.27 for place in range(len(instants))]
                bars = axes.bar(places, [values[each] for each in instants], 0.25, color=colour, label=way)
                axes.bar_label(bars, [f"{values[each]:,}" for each in instants], fontsize=5.5, rotation=90, padding=2)
            axes.set_yscale("symlog", linthresh=1)
            axes.set(xticks=range(len(instants)), title=f"{group}, {_TITLES.get(run, run)}")
            axes.set_xticklabels([f"{each:+d}" if each else "0" for each in instants])
            axes.margins(y=0.2)
        line[0].set_ylabel("records read again per partition")
    for axes in panels[-1]:
        axes.set_xlabel("seconds from the end of the load")
    handles, names = panels[0][0].get_legend_handles_labels()
    figure.legend(handles, names, loc="upper center", ncols=len(_COLOURS), frameon=False)
    figure.tight_layout(rect=(0, 0, 1, 0.95))
    figure.savefig(path, metadata={"Date": None})
    plt.close(figure)
