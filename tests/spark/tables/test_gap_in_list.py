"""A list of a log that is made while others append may lack an entry before a later one, as on S3."""

from __future__ import annotations

from datetime import datetime, timezone
from typing import Any

import pyarrow as pa
import pytest

from offset_sync.tables.catalog import RECORD_RUNS
from offset_sync.tables.delta.jvm import JavaError, java
from offset_sync.tables.delta.kernel import Transaction
from offset_sync.tables.store import TableStore

NOW = datetime(2026, 11, 21, tzinfo=timezone.utc)


def append(tables: TableStore) -> None:
    row = ("dc1", "orders", 0, 7, 1, "dc1", 7, NOW, NOW, NOW, None, None)
    rows = [dict(zip(RECORD_RUNS.names, row, strict=True))]
    tables.append(RECORD_RUNS, pa.Table.from_pylist(rows, RECORD_RUNS.arrow_schema), ("query", 1))


@pytest.mark.parametrize(
    ("words", "is_repeated"),
    [("Gaps in Delta log commit files. Expected version 2 but got 5", True), ("Something else", False)],
)
def test_an_append_begins_anew_where_a_list_has_a_gap(
    tables: TableStore, monkeypatch: pytest.MonkeyPatch, words: str, *, is_repeated: bool
) -> None:
    commit, calls = Transaction.commit, list[int]()

    def commit_with_a_gap_first(self: Transaction, *actions: Any) -> Any:
        calls.append(1)
        if len(calls) == 1:
            java("io.delta.kernel.internal.util.Preconditions").checkState(False, words)
        return commit(self, *actions)

    monkeypatch.setattr(Transaction, "commit", commit_with_a_gap_first)
    if is_repeated:
        append(tables)
    else:
        with pytest.raises(JavaError):
            append(tables)
    assert (tables.all_rows(RECORD_RUNS).num_rows, len(calls)) == ((1, 2) if is_repeated else (0, 1))
