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

`record_runs` is written by a script (`benchmarks/scale_index.py`), as `index_records` would have
appended it. No broker holds so many records here: of each log it has the first and the last one,
with a gap between as compaction leaves it (`benchmarks/scale_logs.py`), and some hundred more
above, which `index_records` reads. Nothing that is measured reads the records between. Every
answer is compared with what is right, which is known from how the logs are made: none may be
ahead, or behind in the end.

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

**What this does not show.** The rows are put together from two runs, both at the lowest priority.
*Run 1* was beside much else, three times as much with the small index as with the large one
(*load*), so of its rows only processor seconds and memory can be compared. *Run 2*, later, began on
an idle machine and was ended from outside: 10 million runs had answered first after 32.7 s and all
groups after 33.8 s by then, and 100 million had not begun. So there is no row of 100 million on a
quiet machine: whether it starts within 30 s, how its tail compares with that of a small index, and
whether its deep answers come within 2 s is open; in run 1 the start and the deep answers did not.
Between the runs pages became smaller, from some 35,000 runs in the large row to 4,096 (below).

What it shows: all answers were right, and memory stayed within 2 GiB. In run 1 the large index took
0.5 s of processor time more for each million runs to start, first answers included, and 0.8 to
report. In run 2 one million runs are not slower than a tenth of that.

![What grows with the index, and what does not](benchmarks-scale.svg)
"""
_COLUMNS = {
    "run": "run",
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
