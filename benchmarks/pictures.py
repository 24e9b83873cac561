"""The pictures of docs/benchmarks.md."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import matplotlib as mpl
from matplotlib import pyplot as plt
from matplotlib.axes import Axes

mpl.use("svg")
mpl.rcParams.update(
    {"svg.hashsalt": "offset-sync", "font.size": 9, "axes.spines.top": False, "axes.spines.right": False}
)
_COLOURS = {
    "exact": "#0a7d33",
    "timestamp": "#8c6bb1",
    "header": "#4292c6",
    "timestamp, unchecked": "#c994c7",
    "MM2, offset.lag.max 100": "#e6550d",
    "Replicator": "#969696",
}


def draw_accuracy(rows: Sequence[Mapping[str, Any]], path: Path) -> None:
    """Draw, by workload, the share of answers that lose something, and the repeats per answer."""
    workloads = list(dict.fromkeys(row["workload"] for row in rows))
    found = {(row["workload"], row["strategy"]): row for row in rows}
    figure, (left, right) = plt.subplots(1, 2, figsize=(11, 0.62 * len(workloads) + 1.2), sharey=True)
    height = 0.8 / len(_COLOURS)
    for number, (strategy, colour) in enumerate(_COLOURS.items()):
        places = [place + (number - len(_COLOURS) / 2 + 0.5) * height for place in range(len(workloads))]
        mine = [found[workload, strategy] for workload in workloads]
        for place, row in zip(places, mine, strict=True):
            if not row["answered"]:
                for axes in (left, right):
                    axes.plot(_least(axes), place, marker="x", color=colour, markersize=4, clip_on=False)
        left.barh(places, [100 * row["with_loss"] for row in mine], height, color=colour, label=strategy)
        right.barh(places, [(row["repeats_mean"] or 0) + 0.1 for row in mine], height, color=colour)
    left.set(xlabel="answers that lose a record, %  (×: no answer)", xlim=(0, 100), yticks=range(len(workloads)))
    left.set_yticklabels(workloads)
    left.margins(y=0.01)
    left.invert_yaxis()
    right.set(xlabel="records repeated per answer, mean (no bar: none)", xscale="log", xlim=(0.1, None))
    figure.legend(loc="upper center", ncols=len(_COLOURS), frameon=False)
    figure.tight_layout(rect=(0, 0, 1, 0.96))
    figure.savefig(path, metadata={"Date": None})
    plt.close(figure)


def _least(axes: Axes) -> float:
    return 0.1 if axes.get_subplotspec().colspan.start else 0.0  # type: ignore[union-attr]
