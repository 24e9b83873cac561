"""The table rows of a micro-batch of commits, appended while it is reconciled, once however often it is repeated."""

from __future__ import annotations

from collections.abc import Mapping

import pyarrow as pa
import pyarrow.compute as pc

from offset_sync.ingest.commit_batch import LATEST_MS, MADE, NOT_BEFORE, CommitBatch, committed_at_ms, to_time
from offset_sync.model.values import CONSUMER_OFFSETS
from offset_sync.tables.catalog import GROUP_EVENTS, OFFSET_COMMITS, QUARANTINE
from offset_sync.tables.definition import Table


def rows_of(alias: str, batch: CommitBatch) -> dict[Table, pa.Table]:
    """Return the rows of *batch* by table; its commits are marked as ours or not."""
    same = {"cluster": alias, "captured_at": batch.captured_at, "seen_at": batch.captured_at}
    of_log = same | {"topic": CONSUMER_OFFSETS}
    places = {"partition": "log_partition", "offset": "log_offset"}
    return {
        QUARANTINE: to_rows(QUARANTINE, batch.of_kind("malformed"), of_log, places),
        GROUP_EVENTS: group_event_rows(alias, batch),
        OFFSET_COMMITS: commit_rows(alias, batch),
    }


def group_event_rows(alias: str, batch: CommitBatch) -> pa.Table:
    """Return the records of groups and members in *batch* as rows of ``group_events``."""
    same = {"cluster": alias, "captured_at": batch.captured_at}
    return to_rows(GROUP_EVENTS, _group_events(batch), same, {"at": "timestamp"})


def commit_rows(alias: str, batch: CommitBatch) -> pa.Table:
    """Return the commits of *batch*, marked as ours or not, as rows of ``offset_commits``."""
    same = {"cluster": alias, "captured_at": batch.captured_at}
    return to_rows(OFFSET_COMMITS, _history(batch.commits), same, {})


def to_rows(table: Table, rows: pa.Table, same: Mapping[str, object], renamed: Mapping[str, str]) -> pa.Table:
    """Return *rows* as *table* wants them: some columns the same in all, some under another name."""
    columns = {}
    for field in table.arrow_schema:
        if field.name in same:
            columns[field.name] = pa.repeat(pa.scalar(same[field.name], field.type), rows.num_rows)
        else:
            columns[field.name] = rows.column(renamed.get(field.name, field.name)).cast(field.type)
    return pa.table(columns)


def _history(commits: pa.Table) -> pa.Table:
    history = commits.append_column("committed_at", to_time(pa.array(committed_at_ms(commits))))
    times, text = pa.timestamp("us", tz="UTC"), pa.string()
    for name, kind in ((MADE, times), ("captured_by", text), (NOT_BEFORE, times)):
        if name not in history.column_names:
            history = history.append_column(name, pa.nulls(history.num_rows, kind))
    expires_at_ms = pc.min_element_wise(history.column("expires_at_ms"), LATEST_MS, skip_nulls=False)
    return history.append_column("expires_at", to_time(expires_at_ms))


def _group_events(batch: CommitBatch) -> pa.Table:
    """Return the records of groups and members; a tombstone's kind ends in ``_removed``."""
    names = {"group": "classic", "group_epoch": "epoch", "member": "member"}
    chosen = batch.records.filter(pc.is_in(batch.records.column("kind"), pa.array(list(names))))
    rows = zip(chosen.column("kind").to_pylist(), chosen.column("is_tombstone").to_pylist(), strict=True)
    kinds = [names[kind] + ("_removed" if is_tombstone else "") for kind, is_tombstone in rows]
    return chosen.set_column(chosen.column_names.index("kind"), "kind", pa.array(kinds, pa.string()))
