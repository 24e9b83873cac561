"""The page docs/metrics.md, from the catalog of metrics; ``make docs`` writes it."""

from __future__ import annotations

from collections.abc import Iterable

from offset_sync.jobs.metrics import catalog
from offset_sync.jobs.metrics.catalog import Metric
from offset_sync.jobs.metrics.group_collector import OUTCOME_NAMES
from offset_sync.jobs.metrics.report_collector import OTHER, REASONS, STATUSES
from offset_sync.jobs.metrics.sync_collector import RECORD_KINDS
from offset_sync.model.values import State

_INTRODUCTION = """\
# Metrics

`sync_offsets` and `report_status` answer Prometheus, each at a port of its own. Both are off unless
a port is given:

```yaml
metrics:
  address: 0.0.0.0            # 127.0.0.1: only to this machine
  sync_offsets_port: 9470     # off, a port, or 0: any free one, which the log names
  report_status_port: 9471
  worst: 20                   # at most so many groups of a pair, and topics of a cluster, are named
```

A port that is taken does not stop the job: it logs an error and goes on without metrics. With
`--once` no port is opened. The endpoint has neither encryption nor passwords, and its labels name
groups and topics: let only Prometheus reach it.

`conf/prometheus/` has a scrape configuration and the alert rules, `conf/grafana/` a dashboard to
import or provision.

This page is made from `lib/offset_sync/jobs/metrics/catalog.py`; a test compares them.
"""
_CLOSING = """\
## Reading them

- **Staleness** is the age of the oldest commit that a target does not have, as far as commits have
  been read. It does not grow while the reading itself stands still: `query_up`,
  `batch_running_seconds` and `ready` tell of that.
- `WITHHELD` and `TARGET_ACTIVE` are answers, and may stay so for days; alert on them apart from the
  rest.
- **Duplicates** are those of the newest commit of every group partition, if its group were moved
  this moment. They are no fault.
- A log **stalls** when its last stable offset stands still while records are added behind it: a
  transaction was left open. Until it ends or times out (`transaction.max.timeout.ms`) neither the
  index nor a mirror that reads committed records gets on.
- **What both jobs tell**: `sync_offsets` tells of its newest answers. A report measures from where
  each group really stands at the target, counts as lost also what is not mirrored, and goes on
  while `sync_offsets` is down. Reasons to withhold are the same in both.
- Ages are worked out when Prometheus asks, those of logs and of the index once per
  `sync.reconcile_interval`.
"""


def to_markdown() -> str:
    """Return the whole page."""
    values = ["## Values of labels", "", "| label | values |", "|---|---|", *_label_rows(), ""]
    parts = [
        _INTRODUCTION,
        *_section("sync_offsets", catalog.OF_SYNC_OFFSETS),
        *_section("report_status", catalog.OF_REPORT_STATUS),
        *values,
        _CLOSING,
    ]
    return "\n".join(parts)


def _section(part: str, metrics: Iterable[Metric]) -> list[str]:
    lines = [f"## `{part}`", "", "| metric | kind | labels | what it says |", "|---|---|---|---|"]
    return [*lines, *map(_row, metrics), ""]


def _row(metric: Metric) -> str:
    labels = ", ".join(f"`{label}`" for label in metric.labels)
    text = metric.help.replace("|", r"\|")
    if metric.buckets:
        text += f" (buckets up to {', '.join(f'{bound:g}' for bound in metric.buckets)})"
    return f"| `{metric.name}` | {metric.kind} | {labels} | {text} |"


def _label_rows() -> list[str]:
    answers = [state.name for state in State if not state.is_withheld]
    rows = {
        "`source`, `target`, `cluster`": "aliases of `clusters`",
        "`outcome`": _words(OUTCOME_NAMES),
        "`state`": _words(answers),
        "`reason`": f"{_words(REASONS)}; in a report also `{OTHER}`",
        "`status`": f"{_words(STATUSES)}, `{OTHER}`",
        "`kind`": _words(RECORD_KINDS),
        "`why`": "`not_mirrored`, `deleted`",
        "`origin`": f"aliases of `clusters`, `{OTHER}`",
        "`group_id`, `topic`": "of the worst only, `metrics.worst` of each pair or cluster; at most 200 characters",
    }
    return [f"| {label} | {values} |" for label, values in rows.items()]


def _words(words: Iterable[str]) -> str:
    return ", ".join(f"`{word}`" for word in words)
