"""From where on rows of logs stay, as a table to be matched with theirs."""

from __future__ import annotations

from collections.abc import Mapping

import pyarrow as pa

from offset_sync.config.stream_names import SAME_NAMES, Names
from offset_sync.model.values import ClusterPartition
from offset_sync.tables.maintenance import BEGINS_SCHEMA


def to_begins(begins: Mapping[ClusterPartition, int], names: Names = SAME_NAMES) -> pa.Table:
    """Return the same as rows of :data:`BEGINS_SCHEMA`, by the names that topics have at their clusters."""
    rows = [
        {**log._asdict(), "topic": names.outside(log.cluster, log.topic), "begin": begin}
        for log, begin in begins.items()
    ]
    return pa.Table.from_pylist(rows, BEGINS_SCHEMA)
