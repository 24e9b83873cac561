"""The part of docs/benchmarks.md about growth: the same jobs with an index of any size."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

SCALE_TEXT = """
## Scale: what stays the same as the index grows, and what does not

One topic of 8 partitions that two clusters write half each, so that their logs cross at every
record or two. `sync_offsets` and `report_status --once` run as they are delivered (2 GiB for the
JVM's heap, `sync.index_memory` 512 MiB; only `sync.reconcile_interval` is 2 s), each in processes
of its own, beside two real brokers.

`record_runs` is written by a script (`benchmarks/scale_index.py`), as `index_records` seals it. No
broker holds so many records here: of each log it has the first and the
last one, with a gap between as compaction leaves it (`benchmarks/scale_logs.py`), and some hundred
more above, which `index_records` reads. Nothing that is measured reads the records between. Every
answer is compared with what is right, which is known from how the logs are made: none may be ahead,
or behind in the end.

- *first*, *all*: seconds from the start of `sync_offsets` until the first answer stands at the
  target, and until those of all groups do, which have committed at random depths before. *CPU*:
  processor seconds that its processes had taken by then; *load*: of how many processes the two
  cores were asked for at that moment, the machine's others included.
- *deep*: then ten of these groups a second commit all partitions again, anywhere further on: until
  the target is as far. *tail*: 200 groups commit all partitions every second at the end of the
  logs, while `index_records` runs and another topic is produced and mirrored. By the brokers'
  timestamps.
- *JVM*, *Python*: the most that each held, in MiB; at the start and to the end. Spark's Python
  workers are counted whole, though they share pages. *report*: seconds and MiB of
  `report_status --once`, beside the running job.

The table below is of the version before sealed files, whose start read all rows; what a start by
directories takes is [further down](#what-was-slow-what-was-tried-what-it-gave).

What it shows, beside other work at the lowest priority: all answers were right, and memory stayed
within 2 GiB. The tail's p99 is 1.06 of that with a thousandth of the runs; the run before had 0.68
and 1.81 s with 0.1 million, 0.67 and 1.96 s with 100. A start takes 0.3 s of processor time more
for each million runs, first answers included: with 100 million the first stands after 27 s, and
those of all lagging groups a second later. Answers far from the tail take half a second more there,
none more than 1.6 s. A report takes 0.5 s of processor time for each million.

![What grows with the index, and what does not](benchmarks-scale.svg)
"""
_COLUMNS = {
    "runs": "runs",
    "table MiB": "table_mib",
    "first s": "first_s",
    "all s": "all_s",
    "CPU s": "cpu_s",
    "start: JVM": "java_mib",
    "start: Python": "python_mib",
    "JVM": "peak_java_mib",
    "Python": "peak_python_mib",
    "deep p50 s": "deep_p50_s",
    "deep p99 s": "deep_p99_s",
    "tail p50 s": "tail_p50_s",
    "tail p99 s": "tail_p99_s",
    "report s": "report_s",
    "report CPU s": "report_cpu_s",
    "report MiB": "report_mib",
    "answers compared": "positions",
    "load": "load",
}


def scale_table(rows: Sequence[Mapping[str, Any]]) -> str:
    """Return the rows as Markdown."""
    lines = [list(_COLUMNS), ["---:"] * len(_COLUMNS)]
    lines += [[_cell(row.get(key)) for key in _COLUMNS.values()] for row in rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines) + "\n"


def _cell(value: object) -> str:
    if isinstance(value, float):
        return f"{value:,.1f}" if value >= 10 else f"{value:,.2f}"
    return "" if value is None else f"{value:,}"
