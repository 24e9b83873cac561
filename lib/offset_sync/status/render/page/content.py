"""What the page shows, as one JSON document; everything is rolled up here, the page only shows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from offset_sync.status.format import visible
from offset_sync.status.health import Problem
from offset_sync.status.render.page.column_encoding import pack_table
from offset_sync.status.render.page.drift_curves import pack_drift, to_ms
from offset_sync.status.render.page.topic_shapes import with_shapes
from offset_sync.status.rollup import BADNESS, GROUP, PAIR, TOPIC, newest_drift, rank_statuses, roll_up

_ROLLED = (
    "status", "reason", "move", *BADNESS, "partitions", "unknown", "lost", "skipped", "not_mirrored", "duplicates",
    "duplicates_at_most", "source_lag", "mirror_lag", "mirror_gaps", "staleness_ms", "mirror_lag_ms",
)  # fmt: skip
_DRIFT = ("windowed_change", "is_converged")
_PARTITION = (
    "topic", "partition", "status", "reason", "state", "source_offset", "target_offset", "wanted_offset", "source_lag",
    "target_lag", "duplicates", "duplicates_at_most", "lost", "skipped", "not_mirrored", "staleness_ms", "age_ms",
)  # fmt: skip


def page_content(
    status: pa.Table,
    drift: pa.Table,
    problems: Sequence[Problem],
    *,
    reported_at: datetime,
    stale_after: timedelta,
    jobs: Mapping[str, datetime | None],
) -> dict[str, Any]:
    """Return the document that ``files/*.js`` read; ``packing`` has the form of its tables.

    ``partitions`` stand group by group in the order of ``groups``, and by topic and partition within: the first group
    has the first rows, as many as its column ``partitions`` says.
    """
    groups = roll_up(status, GROUP)
    return {
        "reported_at": to_ms(reported_at),
        "stale_after_ms": stale_after // timedelta(milliseconds=1),
        "jobs": [[visible(name), None if at is None else to_ms(at)] for name, at in jobs.items()],
        "problems": [[problem.text, problem.status] for problem in problems],
        "pairs": pack_table(_with_drift(roll_up(status, PAIR), drift), (*PAIR, *_ROLLED, "topics", "groups", *_DRIFT)),
        "groups": pack_table(_with_drift(groups, drift), (*GROUP, *_ROLLED, "topics", *_DRIFT)),
        "topics": pack_table(
            with_shapes(roll_up(status, TOPIC), status), (*TOPIC, *_ROLLED, "groups", "origins", "mirror_by_origin")
        ),
        "partitions": pack_table(
            by_group(status, groups, reported_at), _PARTITION, like={"wanted_offset": "target_offset"}
        ),
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
