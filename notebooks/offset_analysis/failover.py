"""What a failover would have cost, at a moment and over time; what ``notebooks/failover_drill.ipynb`` shows."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

import duckdb
import pandas as pd

from offset_sync.model.errors import TableError
from offset_sync.tables.views import failover_cost

OTHERS = "all others"
_BY_GROUP = """
SELECT
  CAST(moment AS TIMESTAMPTZ) AS moment, group_id, count(*) AS partitions,
  count(*) FILTER (WHERE repeats_at_most IS NULL) AS unknown,
  CAST(sum(duplicates) AS BIGINT) AS duplicates, CAST(sum(read_since) AS BIGINT) AS read_since,
  CAST(sum(repeats_at_most) AS BIGINT) AS repeats_at_most,
  CAST(sum(not_mirrored) AS BIGINT) AS not_mirrored, CAST(sum(lost) AS BIGINT) AS lost
FROM ({question})
WHERE source_cluster = $source AND target_cluster = $target AND regexp_full_match(group_id, $groups)
GROUP BY ALL
ORDER BY moment, group_id
"""


def moments_between(begins_at: datetime, ends_at: datetime, count: int) -> list[datetime]:
    """Return *count* moments at equal distances, the first and the last among them; at least two."""
    count = max(2, count)
    return [begins_at + (ends_at - begins_at) * step / (count - 1) for step in range(count)]


def answered_between(connection: duckdb.DuckDBPyConnection, source: str, target: str) -> tuple[datetime, datetime]:
    """Return when *source* was first and last translated to *target*; raises TableError where it never was."""
    sql = """SELECT min(translated_at), max(coalesce(committed_at, translated_at)) FROM offset_translations
    WHERE source_cluster = $source AND target_cluster = $target"""
    found = connection.execute(sql, {"source": source, "target": target}).fetchone()
    if found is None or found[0] is None:
        pairs = connection.execute("SELECT DISTINCT source_cluster, target_cluster FROM offset_translations").fetchall()
        known = ", ".join(f"{one} to {other}" for one, other in sorted(pairs)) or "none"
        raise TableError(f"offset_translations: no answers from {source} to {target}; there are: {known}")
    return found[0], found[1]


def costs(
    connection: duckdb.DuckDBPyConnection,
    source: str,
    target: str,
    moments: Sequence[datetime],
    groups: str = ".*",
) -> pd.DataFrame:
    """Return a row per moment and group that had a commit at *source* by then, of groups that match *groups*.

    *unknown* partitions are those of which nobody can tell the cost; the sums leave them out. The other columns are
    sums of those of ``views/failover_cost.sql``, which says what they mean.
    """
    values = {"source": source, "target": target, "groups": groups}
    return connection.execute(_BY_GROUP.format(question=failover_cost(moments)), values).df()


def worst_groups(costs: pd.DataFrame, column: str, count: int = 8) -> pd.DataFrame:
    """Return *column* as a table of moments by group; all but the *count* groups with the highest sums are one."""
    wide = costs.pivot(index="moment", columns="group_id", values=column).fillna(0)
    order = wide.sum().sort_values(ascending=False, kind="stable").index
    shown = wide[order[:count]].copy()
    if len(order) > count:
        shown[OTHERS] = wide[order[count:]].sum(axis=1)
    return shown
