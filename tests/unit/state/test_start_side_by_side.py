"""A start of a large table works on both cores and copies little; what it finds is the same."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from builders.index_rows import add, begin, run
from builders.record_indexes import content
from fakes.tables import MemoryTables
from offset_sync.state.equal_columns import is_same, same_everywhere, taken, together
from offset_sync.state.index_logs import IndexLogs
from offset_sync.state.index_pages import IndexPages
from offset_sync.state.packed_columns import pack, unpack
from offset_sync.state.record_index import RecordIndex
from offset_sync.tables.catalog import RECORD_RUNS
from offset_sync.tables.definition import Table

ROWS_AT_ONCE = 512
PLACES: list[Any] = [("X", "many", number) for number in range(400)]


class Watched(MemoryTables):
    """Tells which columns were read."""

    def __init__(self) -> None:
        super().__init__(batch_rows=16)
        self.read: list[Sequence[str] | None] = []

    def batches(
        self, table: Table, names: Sequence[str] | None = None, *args: Any, **options: Any
    ) -> Iterator[pa.Table]:
        """Note the columns."""
        if table is RECORD_RUNS:
            self.read.append(names)
        return super().batches(table, names, *args, **options)


def tables_of_many_logs() -> Watched:
    tables = Watched()
    rows = [row for place in PLACES for row in (begin(0, place=place), run(0, 1, "X", 0, place=place))]
    add(tables, RECORD_RUNS, *rows)
    return tables


def test_each_log_is_taken_in_by_one_of_two_and_all_are_in_their_order(monkeypatch: pytest.MonkeyPatch) -> None:
    calls, take_in = Counter[tuple[Any, str]](), IndexLogs.take_in_part

    def count(self: IndexLogs, of_log: Any, *given: Any, **named: Any) -> None:
        calls[tuple(of_log), threading.current_thread().name] += 1
        take_in(self, of_log, *given, **named)

    tables = tables_of_many_logs()
    wanted = RecordIndex(tables)  # type: ignore[arg-type]
    wanted.refresh()
    monkeypatch.setattr(IndexLogs, "take_in_part", count)
    index = RecordIndex(tables, pages=IndexPages(ROWS_AT_ONCE * 240 * 4))  # type: ignore[arg-type]
    index.refresh()
    assert Counter(place for place, _ in calls.elements()) == Counter(PLACES)
    assert len({thread for _, thread in calls}) == 2
    assert list(index.all_logs()) == list(wanted.all_logs())
    assert index.partitions("X", "many") == len(PLACES)
    assert content(index, PLACES[7]) == content(wanted, PLACES[7])


def test_times_of_records_are_read_only_where_a_topic_is_translated_by_them() -> None:
    tables = tables_of_many_logs()
    RecordIndex(tables).refresh()  # type: ignore[arg-type]
    RecordIndex(tables, lambda topic: topic == "none of these").refresh()  # type: ignore[arg-type]
    without, timed = ({*names} for names in tables.read if names is not None)
    assert timed - without == {"min_timestamp", "max_timestamp"}


def test_a_column_of_one_value_takes_no_room_whatever_becomes_of_it() -> None:
    zeros, sevens, others = same_everywhere(0, 5), same_everywhere(7, 2), np.arange(3)
    rows = np.array([4, 0, 0], np.intp)
    for same in (
        taken(zeros, rows),
        taken(zeros, rows > 0),
        taken(zeros, slice(1, 3)),
        together([zeros, zeros[:0], zeros]),
    ):
        assert is_same(same)
        assert set(same.tolist()) == {0}
    assert taken(zeros, rows).tolist() == [0, 0, 0]
    assert taken(zeros, np.array([True, False, True, False, True])).tolist() == [0, 0, 0]
    assert len(together([zeros, zeros])) == 10
    assert together([zeros, sevens]).tolist() == [0, 0, 0, 0, 0, 7, 7]
    assert together([sevens, others]).tolist() == [7, 7, 0, 1, 2]
    assert together([zeros[:0], zeros[:0]]).tolist() == []
    assert [column.tolist() for column in unpack(pack([zeros[:3], others]))] == [[0, 0, 0], [0, 1, 2]]
