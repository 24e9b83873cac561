"""Write the tables of docs/benchmarks.md and README.md, and the pictures, from the results in benchmarks/results.

.venv/bin/python benchmarks/report.py
"""

from __future__ import annotations

import textwrap
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from statistics import mode
from typing import Any, NamedTuple

from pictures import draw_accuracy
from pictures_mirrormaker import draw_mirrormaker
from report_readme import README, with_comparison, with_part
from report_tables import Rows, accuracy_table, live_table, rows_table, turned_table
from results import RESULTS, load

DOCS = RESULTS.parent.parent / "docs"
PAGE = DOCS / "benchmarks.md"
COLUMNS = 100
"""The width of the lines of all documents, except tables and links."""
Found = Mapping[str, Any]


class Part(NamedTuple):
    """A table of the page: the *results* that it shows, what makes it from their rows, and columns *left out*."""

    results: Sequence[str]
    to_table: Callable[[Rows], str] = rows_table
    left_out: Sequence[str] = ()


_LATENCY_LEFT_OUT = (
    *("every_s", "commits", "unanswered", "max_s", "parts", "index_records_idle", "sync_offsets_idle"),
    "index_records_cores",
)
_SCALE_LEFT_OUT = (
    *("files", "table_mib", "written_s", "load", "deep_unanswered", "deep_max_s", "tail_unanswered", "tail_max_s"),
    *("peak_java_mib", "peak_python_mib", "positions"),
)
PARTS = {
    "accuracy": Part(["accuracy"], accuracy_table),
    "live": Part(["mirrormaker", "mirrormaker_names"], live_table),
    "latency": Part(["latency"], turned_table, _LATENCY_LEFT_OUT),
    "startup": Part(["startup"]),
    "scale": Part(["scale"], turned_table, _SCALE_LEFT_OUT),
    "indexing": Part(["indexing"], lambda rows: rows_table(rows[:2])),
    "indexing_contents": Part(["indexing_contents"]),
    "commit_rate": Part(["commit_rate"]),
}


def main() -> None:
    accuracy, live = load("accuracy"), load("mirrormaker")
    write(PAGE, with_tables(PAGE.read_text(), load))
    if accuracy and live:
        draw_accuracy(accuracy["rows"], DOCS / "benchmarks-accuracy.svg")
        draw_mirrormaker(live["rows"], DOCS / "benchmarks-mirrormaker.svg")
        write(README, with_comparison(README.read_text(), accuracy["rows"], live["rows"]))


def write(path: Path, text: str) -> None:
    if path.read_text() != text:
        path.write_text(text)


def with_tables(page: str, saved: Callable[[str], Found | None]) -> str:
    """Return *page* with the text of each of :data:`PARTS` between its marks; *saved* has the results by name."""
    machines = [found["machine"] for part in PARTS.values() for each in part.results if (found := saved(each))]
    usual = mode(machines) if machines else ""
    for name, part in PARTS.items():
        results = [result for each in part.results if (result := saved(each))]
        page = with_part(page, name, part_text(part, results, usual))
    return with_part(page, "machine", f"{usual}, where no other machine is named.\n")


def part_text(part: Part, found: Sequence[Found], usual: str) -> str:
    """Return the table of *found*, and how it was measured; the *usual* machine is named elsewhere."""
    if not found:
        return f"No result of the present code: `python benchmarks/{part.results[0]}.py` measures it.\n"
    rows = [{k: v for k, v in row.items() if k not in part.left_out} for each in found for row in each["rows"]]
    return "\n".join([part.to_table(rows), *(provenance(each, usual) for each in found)])


def provenance(found: Found, usual: str) -> str:
    """Return what is needed to repeat a benchmark; versions, and use of memory and cores, are in its file."""
    shown = {name: value for name, value in found["settings"].items() if not name.endswith(": use")}
    settings = ", ".join(f"{name} {value}" for name, value in shown.items())
    machine = "" if found["machine"] == usual else f", {found['machine']}"
    text = f"`{found['command']}`, {found['measured_at'][:10]}{machine}: {settings}. {found.get('note', '')}"
    return textwrap.fill(text, COLUMNS, break_long_words=False, break_on_hyphens=False) + "\n"


if __name__ == "__main__":
    main()
