"""docs/benchmarks.md, its pictures and the table in README.md, from the results that the benchmarks have saved.

.venv/bin/python benchmarks/report.py
"""

from __future__ import annotations

import textwrap
from collections.abc import Mapping, Sequence
from typing import Any

from pictures import draw_accuracy
from pictures_mirrormaker import draw_mirrormaker
from pictures_scale import draw_scale
from report_mirrormaker import MIRRORMAKER_TEXT, NAMES_TEXT, mirrormaker_tables
from report_readme import README, with_comparison
from report_scale import SCALE_TEXT, scale_table
from report_speed import SECTIONS, SPEED_TEXT, speed_table
from results import RESULTS, load

DOCS = RESULTS.parent.parent / "docs"
COLUMNS = 100
"""So wide are the lines of all documents, tables and links aside."""
_HEAD = """# Benchmarks

Every table here is written by `make bench` (`benchmarks/report.py`) from the JSON files in
`benchmarks/results`. Times depend on the machine and on what else it does; ratios between figures
of one run hold.
"""
_ACCURACY = """
## Accuracy: what each strategy answers, loses and repeats

Random histories of one partition (`benchmarks/workloads.py`). Some commits of each are translated
by every strategy, and every answer is judged record by record. *answered*: share of the commits
with an answer. *with loss*: share of the answers that skip a record the group has not read.
*repeats none*: share without a repeated record.

`timestamp` and `header` are ours, as the product gives them: it refuses a topic on which they could
lose records. "If obeyed" is the same rule without that. *fingerprint* is `exact` with no headers:
of logs with one origin, whose records have one of five values beside the time, contents tell what a
copy is. MirrorMaker 2 and Replicator are their published rules (`benchmarks/comparators.py`), also
on topics for which they were never meant: it is what would happen. Where no strategy repeats
nothing the logs cross: what lies between in another order has to be read again, or something is
lost. *late within the grace* and *a third origin made anew* show what safety costs: what may still
come, or be of either life, counts as unread. *Late beyond the grace* is not promised: there a
record has passed for one that the mirror dropped. *Headers handed on*: every twentieth record
bears those of a copy of another topic. Without a place header nobody can tell, which repeats much,
and may lose.

![Records lost and repeated by strategy and workload](benchmarks-accuracy.svg)
"""


def main() -> None:
    parts = [_HEAD]
    if accuracy := load("accuracy"):
        draw_accuracy(accuracy["rows"], DOCS / "benchmarks-accuracy.svg")
        parts += [_ACCURACY, provenance(accuracy), accuracy_table(accuracy["rows"])]
    if live := load("mirrormaker"):
        draw_mirrormaker(live["rows"], DOCS / "benchmarks-mirrormaker.svg")
        parts += [MIRRORMAKER_TEXT, provenance(live), mirrormaker_tables(live["rows"])]
    if named := load("mirrormaker_names"):
        parts += [NAMES_TEXT, provenance(named), mirrormaker_tables(named["rows"])]
    parts.append(SPEED_TEXT)
    for name, text in SECTIONS.items():
        if found := load(name):
            parts += [text, provenance(found), speed_table(found["rows"])]
    if scale := load("scale"):
        draw_scale(scale["rows"], DOCS / "benchmarks-scale.svg")
        parts += [SCALE_TEXT, provenance(scale), scale_table(scale["rows"])]
    parts.append((RESULTS.parent / "tried.md").read_text())
    (DOCS / "benchmarks.md").write_text("\n".join(parts))
    if accuracy and live:
        README.write_text(with_comparison(README.read_text(), accuracy["rows"], live["rows"]))


def provenance(found: Mapping[str, Any]) -> str:
    """Return what it takes to repeat a benchmark."""
    settings = ", ".join(f"{name} {value}" for name, value in found["settings"].items())
    versions = ", ".join(f"{name} {value}" for name, value in found["versions"].items())
    text = (
        f"`{found['command']}` on {found['measured_at'][:10]}: {settings}; peak memory {found['peak_memory_mib']} MiB; "
        f"{found['machine']}; {versions}."
    )
    return textwrap.fill(text, COLUMNS, break_long_words=False, break_on_hyphens=False) + "\n"


def accuracy_table(rows: Sequence[Mapping[str, Any]]) -> str:
    """Return one table per workload, as Markdown."""
    parts = []
    for workload in dict.fromkeys(row["workload"] for row in rows):
        mine = [row for row in rows if row["workload"] == workload]
        parts.append(f"### {workload}\n")
        head = ["strategy", "answered", "with loss", "records lost", "repeats none", "repeats, mean", "repeats, worst"]
        parts.append(table(head, [accuracy_cells(row) for row in mine]))
    return "\n".join(parts)


def accuracy_cells(row: Mapping[str, Any]) -> list[str]:
    """Return the cells of a row; without an answer there is nothing to say of it."""
    name = f"**{row['strategy']}**" if row["strategy"] == "exact" else row["strategy"]
    if not row["answered"]:
        return [name, "0 %", *["–"] * 5]
    shares = [f"{100 * row[key]:.3g} %" for key in ("answered", "with_loss")]
    lost, repeats = f"{row['lost']:,}", [f"{row['repeats_mean']:,.1f}", f"{row['repeats_worst']:,}"]
    return [name, *shares, lost, f"{100 * row['without_repeat']:.3g} %", *repeats]


def table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Return a Markdown table, numbers to the right."""
    lines = [head, ["---", *["---:"] * (len(head) - 1)], *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines) + "\n"


if __name__ == "__main__":
    main()
