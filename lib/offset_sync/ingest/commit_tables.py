"""The table rows of a micro-batch of commits, appended while it is reconciled, once however often it is repeated."""

from __future__ import annotations

from collections.abc import Mapping

import pyarrow as pa
import pyarrow.compute as pc

from offset_sync.ingest.commit_batch import LATEST_MS, CommitBatch, committed_at_ms, to_time
from offset_sync.model.values import CONSUMER_OFFSETS
from offset_sync.tables.catalog import GROUP_EVENTS, OFFSET_COMMITS, QUARANTINE
from offset_sync.tables.definition import Table, fitted


def rows_of(alias: str, batch: CommitBatch) -> dict[Table, pa.Table]:
    """Return the rows of *batch* by table; its commits are marked as ours or not."""
    same = {"cluster": alias, "captured_at": batch.looked.at, "seen_at": batch.looked.at}
    malformed, events = batch.of_kind("malformed"), _group_events(batch)
    places = {"partition": malformed.column("log_partition"), "offset": malformed.column("log_offset")}
    return {
        QUARANTINE: _to_rows(QUARANTINE, malformed, same | {"topic": CONSUMER_OFFSETS}, places),
        GROUP_EVENTS: _to_rows(GROUP_EVENTS, events, same, {"at": events.column("timestamp")}),
        OFFSET_COMMITS: commit_rows(alias, batch),
    }


def commit_rows(alias: str, batch: CommitBatch) -> pa.Table:
    """Return the commits of *batch*, marked as ours or not, as rows of ``offset_commits``."""
    commits, same = batch.commits, {"cluster": alias, "captured_at": batch.looked.at}
    expires_at_ms = pc.min_element_wise(commits.column("expires_at_ms"), LATEST_MS, skip_nulls=False)
    times = {"committed_at": to_time(pa.array(committed_at_ms(commits))), "expires_at": to_time(expires_at_ms)}
    return _to_rows(OFFSET_COMMITS, commits, same, times)


def _to_rows(table: Table, rows: pa.Table, same: Mapping[str, object], more: Mapping[str, pa.ChunkedArray]) -> pa.Table:
    """Return *rows* as rows of *table*, with *more* columns, and some values that are the *same* in all."""
    repeated = {name: pa.repeat(pa.scalar(value), rows.num_rows) for name, value in same.items()}
    columns = dict(zip(rows.column_names, rows.columns, strict=True))
    return fitted(pa.table({**columns, **more, **repeated}), table.arrow_schema)


def _group_events(batch: CommitBatch) -> pa.Table:
    """Return the records of groups and members; a tombstone's kind ends in ``_removed``."""
    names = {"group": "classic", "group_epoch": "epoch", "member": "member"}
    chosen = batch.records.filter(pc.is_in(batch.records.column("kind"), pa.array(list(names))))
    rows = zip(chosen.column("kind").to_pylist(), chosen.column("is_tombstone").to_pylist(), strict=True)
    kinds = [names[kind] + ("_removed" if is_tombstone else "") for kind, is_tombstone in rows]
    return chosen.set_column(chosen.column_names.index("kind"), "kind", pa.array(kinds, pa.string()))
