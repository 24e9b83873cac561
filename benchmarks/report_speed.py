"""The part of docs/benchmarks.md about speed: a table per benchmark, from its rows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

SPEED_TEXT = """
## Speed: how far from the limit of the same run

Each figure stands beside the limit that was measured in the same run: what the same machine does
when it only reads, or only writes. The times drift with the machine, the ratios hardly.
"""
SECTIONS = {
    "indexing": """### Indexing: from Kafka's records to runs

Records of 200 bytes, half of them mirrored, in stretches of 1 to 200, 8 partitions of one cluster.
The limit is Kafka's `ConsumerPerformance` on the same topic. The lower rows are the steps of the
job, each with one more than the one above.
""",
    "indexing_contents": """### Indexing by contents, against headers

The same two logs, originals of 200 bytes and a copy of each, read by a running `index_records` from
the beginning until all is in the index: by headers, and with `mirror.identity: fingerprint`.
""",
    "decode": """### Decoding `__consumer_offsets`

Commit records read from Parquet, one process per core. The limit is the same scan without decoding.
""",
    "translate": """### Translating

One partition, two clusters that produce and mirror both ways, one core. *At the tail*: the last
10,000 records.
""",
    "commit_rate": """### Committing

Groups of 8 partitions. The limit is an AdminClient that only writes. The *offset writer* is what
the job does: it reads what stands there, decides, writes, and looks at every partition's error.
The driver reads many groups at once, a task of an executor one by one.
""",
    "append": """### Appending a micro-batch to a Delta table

*spark*: a DataFrame written as Delta. *delta-rs*: ours, a Parquet file by Arrow and its log entry
by delta-rs.
""",
    "maintenance": """### A week of micro-batches, with and without maintain_tables

A day stands for the appends between two runs of maintenance. *start*: a job reads the index.
*append* and *refresh*: a micro-batch, and what a running job does with it. An append that follows
somebody else's lists the folder of the log, so the entries count.
""",
    "latency": """### Latency: from the source's commit to the target's

By the timestamps that the two brokers give, while index_records and sync_offsets run with
`trigger_interval: 1s`. The brokers, the groups and a mirror share the two cores. `partitions`,
`groups` and `index` are ten times the base, at the same number of commits a second. The table is of
before commits were read by one function and looked for four times per interval, and of when all
groups of a second committed at once. Beside each other on 2026-11-26, before that and after, with
other work on the machine at a hundredth of the weight: a group by itself (`alone`) had p50 0.65 and
0.32 s, p99 1.11 and 0.36 s; `base`, now spread over the second, p50 1.19 and 0.61 s, p99 2.71 and
1.43 s; `at_once` afterwards p50 0.44 and p99 0.99 s. An idle `sync_offsets` took 0.02 and 0.025
cores, under `base` 0.47 and 0.61, and as much memory.
""",
    "batch_profile": """### One micro-batch of `sync_offsets`

The scenario `base` above, with a clock around each step (`benchmarks/batch_profile.py`). A dot
stands before each part of the step above it. `cpu`: processor time of the thread that does it; the
rest of a step is waiting, for a broker, for the disk or for a core. What Spark does itself comes
before and after `micro-batch`. The table is of before commits were looked for four times per
interval, and of before Spark's files of a checkpoint were written without processes. A commit waits
half of the time from one micro-batch to the next for its own to begin, and then for all that comes
before the request with its group, half of `commit` included.
""",
}


def speed_table(rows: Sequence[Mapping[str, Any]]) -> str:
    """Return the rows as Markdown, with the names of the columns as words."""
    head = list(dict.fromkeys(name for row in rows for name in row))
    lines = [[_cell(row.get(name)) for name in head] for row in rows]
    titles = [name.replace("_per_", "/").replace("_", " ") for name in head]
    rule = ["---", *["---:"] * (len(head) - 1)]
    return "\n".join(f"| {' | '.join(line)} |" for line in (titles, rule, *lines)) + "\n"


def _cell(value: object) -> str:
    if value is None:
        return ""
    if isinstance(value, (int, float)):
        return f"{value:,}"
    text = str(value)
    return "· " * ((len(text) - len(text.lstrip())) // 2) + text.lstrip()
