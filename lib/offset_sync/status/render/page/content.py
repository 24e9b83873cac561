"""What the page shows, as one JSON document; everything is rolled up here, not in the page."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from offset_sync.model.text import visible
from offset_sync.status.health import Problem
from offset_sync.status.render.page.column_encoding import pack_table
from offset_sync.status.render.page.drift_curves import pack_drift, to_ms
from offset_sync.status.render.page.group_sync import pack_mirror_maker
from offset_sync.status.render.page.topic_shapes import with_shapes
from offset_sync.status.report import Report
from offset_sync.status.rollup import GROUP, PAIR, TOPIC, newest_drift, rank_statuses, roll_up
from offset_sync.status.verdict import DEFAULT_LIMITS, STATUS_WORDS, Limits

_COSTS = ("lost", "skipped", "not_mirrored", "duplicates", "duplicates_at_most", "source_lag")
_MIRROR = ("mirror_lag", "mirror_gaps", "staleness_ms", "mirror_lag_ms")
_ROLLED = ("status", "reason", "move", *STATUS_WORDS, "partitions", "unknown", *_COSTS, *_MIRROR)
_DRIFT = ("windowed_change", "is_converged")
_OFFSETS = ("source_offset", "target_offset", "wanted_offset", "source_lag", "target_lag")
_PARTITION_COSTS = ("duplicates", "duplicates_at_most", "lost", "skipped", "not_mirrored", "staleness_ms", "age_ms")
_PARTITION = ("topic", "target_topic", "partition", "status", "reason", "state", *_OFFSETS, *_PARTITION_COSTS)
_SHAPE = ("groups", "origins", "mirror_by_origin", "target_topic")
STALE_AFTER = timedelta(minutes=2)


@dataclass(frozen=True)
class PageOptions:
    """What the page shows beside the report.

    *jobs* says of each job when it last did something, None: never. A page older than *stale_after*, by the clock of
    its reader, says so in red. Every *reload_every*, unless it is 0, the page looks for a newer one by itself and keeps
    what is open.
    """

    title: str = "Offset Sync"
    jobs: Mapping[str, datetime | None] = field(default_factory=dict)
    limits: Limits = DEFAULT_LIMITS
    stale_after: timedelta = STALE_AFTER
    reload_every: timedelta = timedelta()


def page_content(report: Report, problems: Sequence[Problem], options: PageOptions) -> dict[str, Any]:
    """Return the document that ``files/*.js`` read; ``column_encoding`` has the form of its tables.

    ``partitions`` are listed group by group in the order of ``groups``, and by topic and partition within: the first
    group has the first rows, as many as its column ``partitions`` says.
    """
    status, drift = report.status, report.drift
    groups = roll_up(status, GROUP)
    return {
        "reported_at": to_ms(report.reported_at),
        "stale_after_ms": options.stale_after // timedelta(milliseconds=1),
        "reload_ms": options.reload_every // timedelta(milliseconds=1),
        "jobs": [[visible(name), None if at is None else to_ms(at)] for name, at in options.jobs.items()],
        "problems": [[each.text, each.status.word if each.status is not None else None] for each in problems],
        "pairs": pack_table(_with_drift(roll_up(status, PAIR), drift), (*PAIR, *_ROLLED, "topics", "groups", *_DRIFT)),
        "groups": pack_table(_with_drift(groups, drift), (*GROUP, *_ROLLED, "topics", *_DRIFT)),
        "topics": pack_table(
            with_shapes(roll_up(status, TOPIC), status), (*TOPIC, *_ROLLED, *_SHAPE), {"target_topic": "topic"}
        ),
        "partitions": pack_table(
            by_group(status, groups, report.reported_at),
            _PARTITION,
            like={"wanted_offset": "target_offset", "target_topic": "topic"},
        ),
        "mirror_maker": pack_mirror_maker(status),
        "drift": pack_drift(drift),
    }


def by_group(status: pa.Table, groups: pa.Table, reported_at: datetime) -> pa.Table:
    """Return the partitions in the order of *groups*, then topic and partition, with the number of their ``group``.

    ``age_ms`` is that of their commit when the report was made.
    """
    numbered = groups.select(list(GROUP)).append_column("group", pa.array(np.arange(groups.num_rows)))
    rows = rank_statuses(status).join(numbered, list(GROUP))
    committed = pc.cast(pc.cast(rows["source_committed_at"], pa.timestamp("ms", tz="UTC"), safe=False), pa.int64())
    rows = rows.append_column("age_ms", pc.subtract(to_ms(reported_at), committed))
    return rows.sort_by([("group", "ascending"), ("topic", "ascending"), ("partition", "ascending")])


def _with_drift(rolled: pa.Table, drift: pa.Table) -> pa.Table:
    """Return *rolled*, by GROUP or PAIR, with the columns _DRIFT of the newest report; null where there is none."""
    found = {tuple(row[name] for name in GROUP): row for row in newest_drift(drift).to_pylist()}
    group = rolled["group_id"].to_pylist() if "group_id" in rolled.column_names else [None] * rolled.num_rows
    keys = list(zip(*(rolled[name].to_pylist() for name in PAIR), group, strict=True))
    for name in _DRIFT:
        values = [found[key][name] if key in found else None for key in keys]
        rolled = rolled.append_column(name, pa.array(values, drift.schema.field(name).type))
    return rolled
